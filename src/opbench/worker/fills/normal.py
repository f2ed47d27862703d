"""Gaussian numbers by a table of quantiles.

The top 12 bits of a random word choose one of 4096 equally likely bins, the others a place in it. The
knots come from `statistics.NormalDist` and are rounded to a grid far coarser than the differences
between C libraries, so that the table is the same everywhere.
"""

from __future__ import annotations

from functools import cache
from statistics import NormalDist

import torch

from opbench.worker.fills.registry import (
    Spec,
    Target,
    chunked_parts,
    fill,
    is_unsigned,
    require_range,
)

BIN_BITS = 12
BINS = 1 << BIN_BITS
GRID = 2.0**24


@fill("normal")
def normal(spec: Spec, target: Target) -> torch.Tensor:
    """Gaussian numbers; both parts of a complex one are."""
    mean, std = float(spec.get("mean", 0.0)), float(spec.get("std", 1.0))
    knots, _ = _table(torch.float64, 64 - BIN_BITS)
    farthest = abs(mean) - std * float(knots[0])
    # float8_e8m0fnu has no sign: it gets the sizes of the numbers.
    require_range(target, farthest if is_unsigned(target.dtype) else -farthest, farthest)

    def make(start: int, count: int) -> torch.Tensor:
        numbers = _wide(target, start, count) if target.is_double else _narrow(target, start, count)
        if std != 1.0:
            numbers.mul_(std)
        if mean != 0.0:
            numbers.add_(mean)
        return numbers

    return chunked_parts(target, 1 if target.is_double else 0.5, make)


def _narrow(target: Target, start: int, count: int) -> torch.Tensor:
    knots, slopes = _table(torch.float32, 32 - BIN_BITS)
    halves = target.stream.halves(start, count)
    return _interpolated(halves, 32 - BIN_BITS, knots, slopes)


def _wide(target: Target, start: int, count: int) -> torch.Tensor:
    knots, slopes = _table(torch.float64, 64 - BIN_BITS)
    words = target.stream.words(start, count)
    return _interpolated(words, 64 - BIN_BITS, knots, slopes)


def _interpolated(words: torch.Tensor, bits: int, knots: torch.Tensor, slopes: torch.Tensor) -> torch.Tensor:
    bins = words.bitwise_right_shift(bits).bitwise_and_(BINS - 1)
    numbers = words.bitwise_and_((1 << bits) - 1).to(knots.dtype)
    return numbers.mul_(slopes.index_select(0, bins)).add_(knots.index_select(0, bins))


@cache
def _table(dtype: torch.dtype, bits: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The lower end of each bin, and the rise for each of its 2 ** bits places."""
    quantile = NormalDist().inv_cdf
    upper = [round(quantile(0.5 + index / BINS) * GRID) for index in range(1, BINS // 2)]
    # The outermost bins end where their mean is right for a Gaussian's tail.
    upper.append(2 * round(_tail_mean(quantile(1 - 1 / BINS)) * GRID) - upper[-1])
    ends = torch.tensor(
        [-end for end in reversed(upper)] + [0, *upper], dtype=torch.float64, device="cpu"
    ).div_(GRID)
    slopes = (ends[1:] - ends[:-1]) * 2.0**-bits
    return ends[:-1].to(dtype), slopes.to(dtype)


def _tail_mean(bound: float) -> float:
    return NormalDist().pdf(bound) * BINS
