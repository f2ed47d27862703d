"""Rows as they come: a table for people or JSON Lines for programs, and what is to be said at the end."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable

from opbench.cli.screen import Screen
from opbench.reports.rows import row_line
from opbench.reports.summary import Summary
from opbench.reports.table import TEXT_WIDTH, Layout, Line, Table, layout_for
from opbench.results.records import Measurement

Names = Iterable[tuple[str, str]]
# So many rows have a say in how wide the columns of a table in a pipe are.
NAMES_AHEAD = 500


class RowPrinter:
    """Prints rows one by one and counts them. With `json`, nothing but JSON goes to stdout.

    `names` gives names and inputs of rows to come: the columns of a table in a pipe are made to hold them.
    """

    def __init__(self, screen: Screen, *, json: bool, names: Callable[[], Names] = tuple) -> None:
        self.screen = screen
        self.summary = Summary()
        self._json = json
        self._names = names
        self._table: Table | None = None

    def add(self, row: Measurement) -> None:
        """Print a row."""
        self.summary.add(row)
        if self._json:
            self.screen.text(row_line(row))
            return
        if self._table is None:
            self._table = Table(self._layout())
            self.screen.line(self._table.header())
        elif self.screen.width is not None:
            # The terminal may have another width by now.
            self.screen.lines(self._table.fit(self._layout()))
        self.screen.lines(self._table.row(row))

    def _layout(self) -> Layout:
        width = self.screen.width
        return layout_for(width, self._names() if width is None else ())

    def finish(self) -> None:
        """Print what the signs in the table mean, and what was not measured."""
        if self._table is not None:
            self.screen.lines(self._table.close())
        if not self._json:
            self.screen.lines(self.summary.failures(self.screen.width or TEXT_WIDTH))

    def say(self, lines: Iterable[Line]) -> None:
        """Lines for the person: below the table, or on stderr where stdout is for a program."""
        if not self._json:
            self.screen.lines(lines)
            return
        for line in lines:
            text = "".join(piece for piece, _ in line).rstrip()
            if text:
                print(f"opbench: {text}", file=sys.stderr, flush=True)
