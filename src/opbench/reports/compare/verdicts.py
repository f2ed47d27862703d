"""Whether a time differs from that of its baseline by more than noise.

Two medians differ when their intervals do not meet. Each interval comes from order statistics, so nothing is
assumed of how the times are distributed, and each is so wide that all comparisons together hold with the
confidence asked for (Bonferroni's rule).

Samples of one measurement know nothing of how far the next one would lie from it: the clock of the
processor, its temperature and its neighbours change in between. Replicates do know. Where there are enough
of them on both sides, they are what is compared; else an allowance is made for what they would show.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Contrast, Verdict
from opbench.worker.probes.estimate import Span, fewest, median_interval


@dataclass(frozen=True)
class Significance:
    """What a difference must be to count: certain to this degree, and larger than `same_within`.

    `drift` is the share by which two measurements of one thing may differ, where there are no replicates.
    """

    confidence: float = 0.95
    same_within: float = 0.01
    drift: float = 0.05


def ratio_of(entry: Entry, base: Entry) -> float:
    """The time divided by that of its baseline."""
    if entry.times is None or base.times is None:
        return math.nan
    return _quotient(entry.times.median, base.times.median)


def judged(entry: Entry, base: Entry, significance: Significance, family: int) -> Contrast:
    """The ratio, its interval and a verdict, as one of so many comparisons."""
    ratio = ratio_of(entry, base)
    each = 1 - (1 - significance.confidence) / (2 * family)
    needed = fewest(each)
    drift = significance.drift
    if min(len(entry.medians), len(base.medians)) >= needed:
        own, other, drift = _span(entry.medians, each), _span(base.medians, each), 0.0
    else:
        own, other = (_span(one.times.times if one.times is not None else (), each) for one in (entry, base))
    if own is None or other is None:
        reason = f"too few samples: such confidence needs {needed} on both sides"
        return Contrast(ratio, verdict="undecided", reason=reason, drift=drift)
    # Replicates of different length may have their middle elsewhere than all samples together.
    low = min(_quotient(own.low, other.high) / (1 + drift), ratio)
    high = max(_quotient(own.high, other.low) * (1 + drift), ratio)
    return Contrast(ratio, low, high, *_verdict(low, high, significance.same_within), drift)


def _span(values: tuple[float, ...] | list[float], confidence: float) -> Span | None:
    """The interval of the median, if there are enough values for so much confidence."""
    span = median_interval(sorted(values), confidence)
    return span if span is not None and span.confidence >= confidence else None


def _verdict(low: float, high: float, within: float) -> tuple[Verdict, str]:
    if low >= 1 / (1 + within) and high <= 1 + within:
        return "same", f"the whole interval of the ratio is within {within * 100:.3g}%"
    if high < 1:
        return "faster", "the whole interval of the ratio is below 1"
    if low > 1:
        return "slower", "the whole interval of the ratio is above 1"
    return "undecided", "the interval of the ratio holds both 1 and what would matter"


def _quotient(value: float, base: float) -> float:
    if base > 0:
        return value / base
    return math.inf if value > 0 else math.nan
