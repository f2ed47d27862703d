"""What compiling a model with one backend cost, and what it was worth."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from opbench.results.records import Interval, Status
from opbench.results.timing import Measurement
from opbench.worker.probes.estimate import median, median_interval

Verdict: TypeAlias = Literal["faster", "slower", "undecided"]

# What is asked of an interval; few turns give less.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class CompileRecord:
    """One backend in one mode: a row, also where it failed.

    Times are seconds. `first_call_s` is the first call as its caller lives through it, `compile_s` is that
    without the call itself: what the calls that compiled took more than as many steady ones.
    """

    backend: str
    mode: str | None
    status: Status
    reason: str = ""
    training: bool = False
    # What it took the backend to start, where this process had not used it before. Not in `compile_s`.
    start_up_s: float | None = None
    first_call_s: float | None = None
    compile_s: float | None = None
    # The same once more, as a new process would find it: with what the first time left on the disk.
    warm_compile_s: float | None = None
    # How much of it torch itself accounts for.
    accounted_s: float | None = None
    graphs: int = 0
    # Why the first call is more than one graph, with places.
    graph_breaks: tuple[str, ...] = ()
    recompilations: int = 0
    steady: Measurement | None = field(default=None, repr=False)
    # The model as it is, measured in turns with the compiled one.
    eager: Measurement | None = field(default=None, repr=False)
    # How many times faster the compiled one was, turn by turn.
    ratios: tuple[float, ...] = ()
    max_abs_difference: float | None = None
    # Whether results have half of their digits in common with those of the model as it is. None: unknown.
    agrees: bool | None = None
    # What torch said on the way, and what else there is to know.
    notes: tuple[str, ...] = ()

    @property
    def speed_up(self) -> float | None:
        """How many times faster a steady call is than one of the model as it is: the median of all turns."""
        return median(sorted(self.ratios)) if self.ratios else None

    @property
    def speed_up_interval(self) -> Interval | None:
        """Where the true speed-up lies, as far as the turns tell."""
        span = median_interval(sorted(self.ratios), CONFIDENCE)
        return None if span is None else Interval(span.low, span.high, span.confidence)

    @property
    def verdict(self) -> Verdict | None:
        """Whether steady calls are faster; `undecided` where turns disagree, None where it failed."""
        interval = self.speed_up_interval
        if interval is None:
            return None
        if interval.low <= 1 <= interval.high:
            return "undecided"
        return "faster" if interval.low > 1 else "slower"

    @property
    def pays_off_after_calls(self) -> int | None:
        """After how many calls compiling has saved what it took; None where it never does, or who knows."""
        if self.verdict != "faster" or self.steady is None or self.compile_s is None:
            return None
        saved_s = self.steady.median * ((self.speed_up or 1) - 1)
        return max(1, math.ceil(self.compile_s / saved_s))
