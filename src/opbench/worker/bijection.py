"""A keyed bijection of [0, bound): spreads ranks over indices, and chooses distinct positions."""

from __future__ import annotations

import torch

from opbench.worker.streams import FIRST_MULTIPLIER, Stream, wrapped

ROUNDS = 4


def scattered(numbers: torch.Tensor, bound: int, stream: Stream) -> torch.Tensor:
    """Where the bijection of this stream takes distinct or repeated int64 numbers of [0, bound)."""
    bits = (bound - 1).bit_length()
    if not bits:
        return numbers
    keys = [stream.substream(f"round {index}").integer(1 << bits) for index in range(ROUNDS)]
    result = _scrambled(numbers, bits, keys)
    # Bijective on `bits` bits; walking on from what lies outside keeps it so on [0, bound).
    outside = (result >= bound).nonzero().view(-1)
    while outside.numel():
        moved = _scrambled(result.index_select(0, outside), bits, keys)
        result.index_copy_(0, outside, moved)
        outside = outside[moved >= bound]
    return result


def _scrambled(numbers: torch.Tensor, bits: int, keys: list[int]) -> torch.Tensor:
    mask = (1 << bits) - 1
    # Multiplying carries low bits up, shifting brings high bits down.
    shift = (bits + 1) // 2
    for key in keys:
        numbers = numbers.add(key).mul_(wrapped(FIRST_MULTIPLIER)).bitwise_and_(mask)
        numbers.bitwise_xor_(numbers.bitwise_right_shift(shift))
    return numbers
