"""A Timer whose clock was put in its place: torch's rules for block sizes and stopping, to the letter.

`Timer._timer_cls` takes a class with `timeit(number)`, which gives the seconds of so many calls. With a
simulated one, what comes out can be compared with `torch.utils.benchmark` digit by digit.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import Any, Protocol

from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement

GROWTH = 10
MOST_CALLS = 2**31 - 1
OVERHEAD_READINGS = 5
MOST_OVERHEAD_SHARE = 1e-4
# A block lasts at least this share of all measuring.
LEAST_SHARE = 1e-3
LEAST_BLOCK_S = 1e-9
FEWEST_FOR_SPREAD = 4

Heard = Callable[[int, float], Any]


class ReplacedClock(Protocol):
    """What may take the place of the clock."""

    def timeit(self, number: int) -> float:
        """How many seconds so many calls take."""


class ReplacedSession:
    """Measures one task with a clock of somebody's own."""

    def __init__(self, clock: ReplacedClock, task: TaskSpec) -> None:
        self._clock = clock
        self._task = task

    def calls(self, number: int) -> Measurement:
        """Time so many calls as one block, after a hundredth as many for warming up."""
        self._time(max(number // 100, 2))
        return self._measurement(number, [self._time(number)])

    def for_seconds(self, min_run_time: float, heard: Heard | None) -> Measurement:
        """Time blocks until they have lasted so long together."""
        number = self._block_size(min_run_time)
        return self._measurement(number, self._blocks(number, lambda times: True, min_run_time, None, heard))

    def until_narrow(
        self, threshold: float, min_run_time: float, max_run_time: float, heard: Heard | None
    ) -> Measurement:
        """Time blocks until they agree with each other."""
        number = self._block_size(0.05)

        def narrow(times: list[float]) -> bool:
            return len(times) >= FEWEST_FOR_SPREAD and self._measurement(number, times).meets_confidence(
                threshold
            )

        return self._measurement(number, self._blocks(number, narrow, min_run_time, max_run_time, heard))

    def _time(self, number: int) -> float:
        return max(self._clock.timeit(number), LEAST_BLOCK_S)

    def _block_size(self, min_run_time: float) -> int:
        overhead = statistics.median(self._time(0) for _ in range(OVERHEAD_READINGS))
        number = 1
        while True:
            taken = self._time(number)
            amortised = overhead / taken <= MOST_OVERHEAD_SHARE and taken >= min_run_time * LEAST_SHARE
            if amortised or taken > min_run_time or number * GROWTH > MOST_CALLS:
                return number
            number *= GROWTH

    def _blocks(
        self,
        number: int,
        enough: Callable[[list[float]], bool],
        least_s: float,
        most_s: float | None,
        heard: Heard | None,
    ) -> list[float]:
        times: list[float] = []
        total = 0.0
        while True:
            taken = self._time(number)
            times.append(taken)
            total += taken
            if heard is not None:
                heard(number, taken)
            done = enough(times)
            if (most_s and total > most_s) or (done and total >= least_s):
                return times

    def _measurement(self, number: int, times: list[float]) -> Measurement:
        return Measurement(number, times, self._task, source="replaced")
