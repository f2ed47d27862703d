"""Medians and what is known about them, from order statistics alone: no distribution is assumed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from math import ceil, exp, lgamma, log, log2
from typing import NamedTuple


class Span(NamedTuple):
    """Where the true median lies, with the confidence that the method really gives."""

    low: float
    high: float
    confidence: float


def median(ordered: Sequence[float]) -> float:
    """The middle of sorted numbers."""
    count = len(ordered)
    half = count // 2
    return ordered[half] if count % 2 else (ordered[half - 1] + ordered[half]) / 2


def quantile(ordered: Sequence[float], share: float) -> float:
    """The number below which `share` of the sorted numbers lie, between neighbours linearly."""
    place = share * (len(ordered) - 1)
    below = int(place)
    above = min(below + 1, len(ordered) - 1)
    low, high, weight = ordered[below], ordered[above], place - below
    # From the nearer end, so that rounding never carries it past a neighbour.
    return low + (high - low) * weight if weight < 0.5 else high - (high - low) * (1 - weight)


def spread(ordered: Sequence[float]) -> float:
    """From the first quartile to the third."""
    return quantile(ordered, 0.75) - quantile(ordered, 0.25)


def median_interval(ordered: Sequence[float], confidence: float) -> Span | None:
    """The narrowest pair of order statistics that covers the median with at least this confidence.

    With too few numbers for it, the pair of extremes with the confidence that they give; None for less than
    two numbers.
    """
    if len(ordered) < 2:
        return None
    rank, actual = ranks(len(ordered), confidence)
    return Span(ordered[rank - 1], ordered[-rank], actual)


def fewest(confidence: float) -> int:
    """The smallest count of numbers whose extremes cover the median with this confidence."""
    return max(2, ceil(1 - log2(1 - confidence)))


@lru_cache(maxsize=8192)
def ranks(count: int, confidence: float) -> tuple[int, float]:
    """The largest k for which [k-th smallest, k-th largest] covers the median often enough, and how often.

    The median lies below the k-th smallest when fewer than k of `count` fair coins show heads.
    """
    log_all = count * log(2)
    below = 0.0
    rank, actual = 1, 1 - 2 * exp(-log_all)
    for heads in range(count // 2):
        below += exp(lgamma(count + 1) - lgamma(heads + 1) - lgamma(count - heads + 1) - log_all)
        if 1 - 2 * below < confidence:
            break
        rank, actual = heads + 1, 1 - 2 * below
    return rank, actual
