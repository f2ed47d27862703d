"""Fills with numbers that belong together along a row: permutation, sorted, offsets, probabilities."""

from __future__ import annotations

import math

import torch

from opbench.worker.errors import Unsupported
from opbench.worker.fills.numbers import bounded, number_beside, uniform_chunks
from opbench.worker.fills.registry import ChunkFunction, Spec, Target, fill, require_range
from opbench.worker.streams import CHUNK_WORDS, wrapped

# The least weight of a row is 1/256 of the greatest, so that a small float holds nearly all of them.
WEIGHT_BITS = 31
LEAST_WEIGHT = 1 << (WEIGHT_BITS - 8)


@fill("permutation")
def permutation(spec: Spec, target: Target) -> torch.Tensor:
    """Each row is a permutation of 0..n-1, all of them equally likely."""
    size = _row_size(spec, target)
    require_range(target, 0, max(size - 1, 0))

    def make(start: int, count: int) -> torch.Tensor:
        return target.stream.words(start, count).view(-1, size).argsort(dim=-1, stable=True)

    return _by_rows(target, size, make)


@fill("sorted")
def ascending(spec: Spec, target: Target) -> torch.Tensor:
    """Each row is ascending, of uniform numbers in [low, high)."""
    size = _row_size(spec, target)
    draw = _whole_chunks(spec, target) if target.is_integral else uniform_chunks(spec, target)

    def make(start: int, count: int) -> torch.Tensor:
        numbers = draw(start, count).view(-1, size)
        if target.dtype != torch.uint64:
            return numbers.sort(dim=-1).values
        # Their bits are held as signed words: from half the range on, those are below zero.
        return numbers.bitwise_xor_(-(1 << 63)).sort(dim=-1).values.bitwise_xor_(-(1 << 63))

    return _by_rows(target, size, make)


@fill("offsets")
def offsets(spec: Spec, target: Target) -> torch.Tensor:
    """Each row is ascending from 0, of whole numbers up to `total`, which is the last with `include_last`."""
    size = _row_size(spec, target)
    total, include_last = int(spec["total"]), spec.get("include_last", False)
    require_range(target, 0, total)
    if include_last and total and size == 1:
        raise Unsupported(f"one offset cannot be both 0 and the total, {total}")

    def make(start: int, count: int) -> torch.Tensor:
        rows = bounded(target.stream, start, count, total + 1).view(-1, size)
        rows[:, 0] = 0
        if include_last:
            rows[:, -1] = total
        return rows.sort(dim=-1).values

    return _by_rows(target, size, make)


@fill("probabilities")
def probabilities(spec: Spec, target: Target) -> torch.Tensor:
    """Each row is of positive numbers that sum to one, but for rounding."""
    size = _row_size(spec, target)
    normal = torch.finfo(target.dtype).smallest_normal
    if target.count and 1 / size < normal:
        raise Unsupported(
            f"{size} numbers that sum to one are too small for {target.name}: it is exact down to {normal}"
        )
    least = number_beside(0.0, 1, target.dtype)

    def make(start: int, count: int) -> torch.Tensor:
        weights = target.stream.words(start, count).view(-1, size)
        weights.bitwise_and_((1 << WEIGHT_BITS) - 1).add_(LEAST_WEIGHT)
        # A sum of whole numbers does not depend on its order.
        sums = weights.sum(dim=-1, keepdim=True).to(torch.float64)
        return weights.to(torch.float64).div_(sums).clamp_(min=least)

    return _by_rows(target, size, make)


def _whole_chunks(spec: Spec, target: Target) -> ChunkFunction:
    low, high = math.ceil(spec.get("low", 0)), math.ceil(spec.get("high", 1))
    if low == high:
        raise Unsupported(f"there is no whole number from {spec['low']} to below {spec['high']}")
    require_range(target, low, high - 1)
    return lambda start, count: bounded(target.stream, start, count, high - low).add_(wrapped(low))


def _row_size(spec: Spec, target: Target) -> int:
    if not target.shape:
        raise Unsupported(f"the fill {spec['kind']} needs at least one dimension")
    return target.shape[-1]


def _by_rows(target: Target, size: int, make: ChunkFunction) -> torch.Tensor:
    """The target's tensor, filled with whole rows at a time; `make` gets the first element and the count."""
    out = target.empty()
    if not target.count:
        return out
    rows = out.view(-1, size)
    # Even, because 32-bit words are drawn from even positions on.
    step = max(2, CHUNK_WORDS // size & ~1)
    for start in range(0, len(rows), step):
        some = rows.narrow(0, start, min(step, len(rows) - start))
        some.copy_(make(start * size, some.numel()))
    return out
