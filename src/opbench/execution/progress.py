"""How far a run is, and how long the rest will take."""

from __future__ import annotations

from collections.abc import Callable

from opbench.execution.options import Progress
from opbench.results.records import Measurement


class Pace:
    """Counts rows against a clock. The rest is taken to go as fast as what is done so far."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._started = clock()
        self._first_row: float | None = None
        self._done = 0
        self._not_ok = 0
        self.expected: int | None = None

    def start(self, expected: int | None) -> None:
        """Begin; `expected` rows are to come."""
        self._started = self._clock()
        self.expected = expected

    def finished(self, row: Measurement) -> None:
        """A row is there."""
        self._done += 1
        self._not_ok += row.status != "ok"
        if self._first_row is None:
            self._first_row = self._clock()

    def progress(self) -> Progress:
        """The state of things now."""
        at = self._clock()
        return Progress(self._done, self.expected, self._not_ok, at - self._started, self._eta_s(at))

    def _eta_s(self, at: float) -> float | None:
        # The first row waited for the framework to be imported, so the pace is that of the others.
        if self.expected is None or self._first_row is None or self._done < 2:
            return None
        return (at - self._first_row) / (self._done - 1) * (self.expected - self._done)
