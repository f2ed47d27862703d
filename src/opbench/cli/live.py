"""Rows as they come: a table for people or JSON Lines for programs, and what is to be said at the end."""

from __future__ import annotations

import sys
from collections.abc import Iterable

from opbench.cli.screen import Screen
from opbench.reports.rows import row_line
from opbench.reports.summary import Summary
from opbench.reports.table import Line, Table, layout_for
from opbench.results.records import Measurement

# For reasons and other running text in a pipe.
TEXT_WIDTH = 100


class RowPrinter:
    """Prints rows one by one and counts them. With `json`, nothing but JSON goes to stdout."""

    def __init__(self, screen: Screen, *, json: bool) -> None:
        self.screen = screen
        self.summary = Summary()
        self._json = json
        self._table: Table | None = None

    def add(self, row: Measurement) -> None:
        """Print a row."""
        self.summary.add(row)
        if self._json:
            self.screen.text(row_line(row))
            return
        layout = layout_for(self.screen.width)
        if self._table is None:
            self._table = Table(layout)
            self.screen.line(self._table.header())
        else:
            # The terminal may have another width by now.
            self.screen.lines(self._table.fit(layout))
        self.screen.lines(self._table.row(row))

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
