"""Warnings as letters behind a row, explained once under the table."""

from __future__ import annotations

from collections.abc import Iterator
from string import ascii_lowercase

from opbench.reports.text import printable
from opbench.results.records import Measurement


class Marks:
    """Gives each warning code a letter in order of appearance, so that a new code needs nothing here."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}
        self._times: dict[str, int] = {}
        self._messages: dict[str, str] = {}
        self._differ: set[str] = set()

    def of(self, row: Measurement) -> str:
        """The letters of a row's warnings."""
        letters = []
        for code, message in {warning.code: warning.message for warning in row.warnings}.items():
            # More codes than letters share the last sign.
            fresh = ascii_lowercase[len(self._letters)] if len(self._letters) < len(ascii_lowercase) else "*"
            letters.append(self._letters.setdefault(code, fresh))
            self._times[code] = self._times.get(code, 0) + 1
            if self._messages.setdefault(code, message) != message:
                self._differ.add(code)
        return "".join(sorted(set(letters)))

    def entries(self) -> Iterator[tuple[str, str]]:
        """Each letter with its code, the number of rows and the message; where they differ, the first one."""
        for code, letter in self._letters.items():
            times = f", {self._times[code]} rows" if self._times[code] > 1 else ""
            first = "; of the first" if code in self._differ else ""
            yield letter, f"{printable(code)}{times}{first}: {printable(self._messages[code])}"
