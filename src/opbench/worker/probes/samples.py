"""Samples as they come in: which are clean, what they say so far, what to subtract."""

from __future__ import annotations

from bisect import insort
from collections.abc import Mapping, Sequence
from math import hypot
from typing import Any

from opbench.worker.probes.estimate import Span, fewest, median, median_interval, spread
from opbench.worker.probes.interference import MATERIAL_SHARE, STOLEN
from opbench.worker.probes.sampler import Block
from opbench.worker.probes.stopping import Progress


class Samples:
    """Everything measured so far, in ns for each block (or for each call, where calls are marked)."""

    def __init__(self, plan: Mapping[str, Any]) -> None:
        self._plan = plan
        self.times: list[float] = []
        self.flags: list[int] = []
        self.host: list[float] = []
        self.cpu: list[float] = []
        self.whole_ns = 0.0
        self.waited_ns = 0.0
        self.cpu_ns = 0.0
        self._gaps: list[float] = []
        self._ordered: list[float] = []
        self._clean: list[float] = []
        self._base: dict[str, list[float]] = {"time": [], "host": [], "cpu": []}

    def add(self, block: Block) -> None:
        """Take in a block of calls."""
        whole = sum(block.times_ns) if len(block.times_ns) > 1 else max(block.times_ns[0], block.host_ns)
        gap = 1 - (block.cpu_ns + block.waited_ns) / whole if whole > 0 else 0.0
        self.whole_ns += whole
        self.waited_ns += block.waited_ns
        self.cpu_ns += block.cpu_ns
        self.host.append(block.host_ns)
        self.cpu.append(block.cpu_ns)
        for time in block.times_ns:
            self.times.append(time)
            self.flags.append(block.flags)
            self._gaps.append(gap)
            insort(self._ordered, time)
            if not block.flags:
                insort(self._clean, time)

    def add_baseline(self, block: Block) -> None:
        """Take in a block of nothing."""
        for time in block.times_ns:
            insort(self._base["time"], time)
        insort(self._base["host"], block.host_ns)
        insort(self._base["cpu"], block.cpu_ns)

    def mark_stolen(self, first: int) -> None:
        """The hypervisor took time during the samples from `first` on: mark those that miss some.

        Where none shows it, the accounting of this system hides it, and any of them may be the one.
        """
        window = range(first, len(self.times))
        missing = [place for place in window if self._gaps[place] > MATERIAL_SHARE]
        for place in missing or window:
            self.flags[place] |= STOLEN
        self._clean = sorted(time for time, flag in zip(self.times, self.flags, strict=True) if not flag)

    @property
    def baselines(self) -> int:
        """How often nothing was timed."""
        return len(self._base["time"])

    @property
    def disturbed(self) -> int:
        """How many samples have a flag."""
        return len(self.times) - len(self._clean)

    def base(self, what: str = "time") -> float:
        """What a block of nothing takes; zero where that was not measured."""
        return median(self._base[what]) if self._base[what] else 0.0

    def base_uncertainty(self) -> float:
        """Half the width of the interval of the baseline; half its spread where there are too few."""
        ordered = self._base["time"]
        if len(ordered) < 2:
            return 0.0
        span = median_interval(ordered, self._plan["confidence"])
        if span is None or span.confidence < self._plan["confidence"]:
            return spread(ordered) / 2
        return (span.high - span.low) / 2

    @property
    def keeps_all(self) -> bool:
        """Whether all samples must count: too few are clean, or just so many were asked for."""
        if self._plan["samples"] is not None:
            return True
        return len(self._clean) < min(fewest(self._plan["confidence"]), len(self.times))

    def counted(self) -> list[float]:
        """The samples that the estimate is made from, sorted."""
        return self._ordered if self.keeps_all else self._clean

    def counts(self, place: int) -> bool:
        """Whether the estimate is made from this sample too."""
        return self.keeps_all or not self.flags[place]

    def interval(self) -> Span | None:
        """Where the median of a block lies: wider by what is not known of the baseline to subtract."""
        return self._interval(self.counted())

    def _interval(self, ordered: Sequence[float]) -> Span | None:
        span = median_interval(ordered, self._plan["confidence"])
        unsure = self.base_uncertainty()
        if span is None or not unsure:
            return span
        # Two independent errors: their squares add up.
        middle = median(ordered)
        return span._replace(
            low=middle - hypot(middle - span.low, unsure), high=middle + hypot(span.high - middle, unsure)
        )

    def progress(self, elapsed_s: float) -> Progress:
        """How far the sampling is."""
        return Progress(len(self.times), self.disturbed, elapsed_s, self._half_width(self.counted()))

    def _half_width(self, ordered: Sequence[float]) -> float | None:
        """How far the interval reaches on its wider side, relative to the median above the baseline.

        None while the numbers are too few for the confidence, or the median is not above the baseline.
        """
        span = self._interval(ordered)
        if span is None or span.confidence < self._plan["confidence"]:
            return None
        middle, base = median(ordered), self.base()
        return max(span.high - middle, middle - span.low) / (middle - base) if middle > base else None
