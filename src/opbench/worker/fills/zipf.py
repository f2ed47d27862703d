"""Indices with P(rank k) proportional to k ** -alpha, for bounds up to 2 ** 63 - 1.

Ranks are drawn by a table of blocks: every rank below 2048 is a block of its own; further on, 1024 equal
blocks lie between a power of two and the next, and a block's ranks are equally likely (they differ by
alpha / 1024 at most). So the table has 20 thousand entries for a bound of 10 ** 9, and is the same
everywhere: its powers are computed here, with single IEEE operations, not by a C library.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import accumulate

import torch

from opbench.worker.bijection import scattered
from opbench.worker.fills.registry import Spec, Target, chunked, fill, require_range

BLOCK_BITS = 10
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
# Below, exp(x) is nothing beside the probability of rank 1.
SMALLEST_EXPONENT = -700.0


@fill("zipf")
def zipf(spec: Spec, target: Target) -> torch.Tensor:
    """Indices in [0, bound); index 0 is the most frequent unless they are scattered."""
    bound = int(spec["bound"])
    require_range(target, 0, bound - 1)
    ends, first_ranks, widths = _blocks(bound, float(spec.get("alpha", 1.0)))
    is_scattered, key = spec.get("scatter", False), target.stream.substream("scatter")

    def make(start: int, count: int) -> torch.Tensor:
        words = target.stream.words(2 * start, 2 * count).view(count, 2)
        words.bitwise_right_shift_(1).bitwise_and_((1 << 63) - 1)
        choice, place = words.unbind(1)
        block = torch.searchsorted(ends, choice.contiguous(), right=True)
        ranks = place.remainder(widths.index_select(0, block)).add_(first_ranks.index_select(0, block))
        indices = ranks.sub_(1)
        return scattered(indices, bound, key) if is_scattered else indices

    return chunked(target, 2, make)


# Enough for the tables of one case, and no more than a worker that lives long can hold.
@lru_cache(maxsize=32)
def _blocks(bound: int, alpha: float) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """For each block: where it ends in [0, 2 ** 63) (for all but the last), its first rank, its width."""
    starts = list(range(1, min(bound + 1, 2 << BLOCK_BITS)))
    for exponent in range(BLOCK_BITS + 1, bound.bit_length()):
        end = min(bound + 1, 2 << exponent)
        starts.extend(range(1 << exponent, end, 1 << (exponent - BLOCK_BITS)))
    first_ranks = torch.tensor(starts, dtype=torch.int64, device="cpu")
    widths = first_ranks.new_tensor([*map(int.__sub__, starts[1:], starts), bound + 1 - starts[-1]])
    middles = (widths - 1).to(torch.float64).mul_(0.5).add_(first_ranks.to(torch.float64))
    weights = power(middles, -alpha).mul_(widths.to(torch.float64))
    sums = list(accumulate(weights.tolist()))
    ends = [int(part / sums[-1] * 2.0**63) for part in sums[:-1]]
    return first_ranks.new_tensor([min(end, 2**63 - 1) for end in ends]), first_ranks, widths


def power(bases: torch.Tensor, exponent: float) -> torch.Tensor:
    """`bases ** exponent` for float64 bases of at least 1 and an exponent of at most 0, bit for bit alike
    on every machine (to about 15 digits)."""
    return _exp(_ln(bases).mul_(exponent).clamp_(min=SMALLEST_EXPONENT))


def _ln(numbers: torch.Tensor) -> torch.Tensor:
    mantissas, exponents = torch.frexp(numbers)
    # From [0.5, 1) to [0.75, 1.5), where the series is short.
    is_low = mantissas < 0.75
    mantissas = torch.where(is_low, mantissas * 2.0, mantissas)
    exponents = exponents.to(torch.float64).sub_(is_low.to(torch.float64))
    ratio = (mantissas - 1.0).div_(mantissas + 1.0)
    square = ratio * ratio
    series = torch.full_like(square, 1.0 / 25)
    for odd in range(23, 0, -2):
        series.mul_(square).add_(1.0 / odd)
    series.mul_(ratio).mul_(2.0)
    return series.add_(exponents * LN2_LOW).add_(exponents * LN2_HIGH)


def _exp(numbers: torch.Tensor) -> torch.Tensor:
    halvings = numbers.div(LN2_HIGH).round_()
    rest = numbers - halvings * LN2_HIGH
    rest.sub_(halvings * LN2_LOW)
    series = torch.ones_like(rest)
    for term in range(16, 0, -1):
        series.mul_(rest).div_(float(term)).add_(1.0)
    # 2 ** n, by the bits of its exponent.
    scale = halvings.to(torch.int64).add_(1023).bitwise_left_shift_(52).view(torch.float64)
    return series.mul_(scale)
