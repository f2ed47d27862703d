"""What the clock resolves and what reading it costs."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from itertools import pairwise
from time import perf_counter_ns
from typing import NamedTuple


class Timer(NamedTuple):
    """Smallest step that the clock shows, and the time one reading takes."""

    resolution_ns: int
    cost_ns: float


def measured(clock: Callable[[], int], readings: int = 500) -> Timer:
    """Read the clock often, back to back."""
    times = [clock() for _ in range(readings)]
    steps = [later - sooner for sooner, later in pairwise(times) if later > sooner]
    return Timer(min(steps, default=1), (times[-1] - times[0]) / max(1, readings - 1))


@lru_cache(maxsize=1)
def host_timer() -> Timer:
    """The clock of this process, measured once."""
    return measured(perf_counter_ns)
