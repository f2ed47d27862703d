"""What a compiler says, as errors of snippets."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from opbench.worker.cpp.errors import CppError
from opbench.worker.cpp.source import PLACE_NAME

# More than these help nobody: most follow from the first.
MOST_SHOWN = 3
LONGEST_MESSAGE = 300
_PLACE = re.compile(
    rf"\b{PLACE_NAME}\.(?:(?P<snippet>\d+)\.(?P<part>setup|stmt)|global_setup)(?P<end>_end)?:(?P<line>\d+)"
)
# What a neighbour may have to do with: alone it need not be an error.
_CLASH = re.compile(r"conflict|redefin|redeclar|previous|different|ambigu")
_ERROR = re.compile(r"(?:^|: )(?:(?:fatal|internal compiler) )?error: (?P<message>.*)", re.IGNORECASE)


class Place(NamedTuple):
    """Where in the user's text. `snippet` is None for the global set-up, `line` 0 behind the end."""

    snippet: int | None
    part: str
    line: int

    def __str__(self) -> str:
        return f"line {self.line} of {self.part}" if self.line else f"the end of {self.part}"


class Diagnostic(NamedTuple):
    """One error, and where it comes from, if that is in somebody's snippet."""

    place: Place | None
    message: str


def diagnostics(output: str) -> list[Diagnostic]:
    """The errors in what GCC or Clang printed.

    An error in a header belongs to the line of a snippet that led there: GCC names it before the error,
    Clang after it.
    """
    found: list[Diagnostic] = []
    led_here: Place | None = None
    for line in output.splitlines():
        error, place = _ERROR.search(line), _place_in(line)
        if error is not None:
            found.append(Diagnostic(place or led_here, error["message"].strip()))
            led_here = None
        elif place is not None:
            if found and found[-1].place is None:
                found[-1] = found[-1]._replace(place=place)
            if ": note:" not in line:
                led_here = place
    return found


def _place_in(line: str) -> Place | None:
    match = _PLACE.search(line)
    if match is None:
        return None
    snippet = None if match["snippet"] is None else int(match["snippet"])
    return Place(snippet, match["part"] or "global_setup", 0 if match["end"] else int(match["line"]))


def error_of(output: str, errors: Sequence[Diagnostic]) -> CppError:
    """The first of the errors for a person to read; all that the compiler said goes along."""
    shown = list(
        dict.fromkeys(f"{error.place}: {error.message}" if error.place else error.message for error in errors)
    )
    if not shown:
        shown = [line for line in output.splitlines() if line.strip()][:1] or ["the compiler gave no reason"]
    text = "\n".join(_cut(line) for line in shown[:MOST_SHOWN])
    if len(shown) > MOST_SHOWN:
        text += f"\n(and {len(shown) - MOST_SHOWN} more)"
    return CppError(text, output)


def by_snippet(output: str, count: int) -> dict[int, CppError]:
    """Which of so many snippets are wrong, and why; empty where the output does not tell."""
    errors = diagnostics(output)
    if any(error.place is not None and error.place.snippet is None for error in errors):
        # What is wrong at file scope is wrong for everybody.
        return {place: error_of(output, errors) for place in range(count)}
    mine: dict[int, list[Diagnostic]] = {}
    for error in errors:
        if error.place is not None and error.place.snippet is not None:
            mine.setdefault(error.place.snippet, []).append(error)
    return {place: error_of(output, own) for place, own in mine.items() if place < count}


def may_clash(error: CppError) -> bool:
    """Whether an error could come from what another snippet of the same translation unit declares."""
    return _CLASH.search(str(error)) is not None


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST_MESSAGE else text[: LONGEST_MESSAGE - 1] + "…"
