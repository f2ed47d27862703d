"""What a tensor's shape says about its memory, and what is filled in where a document says nothing."""

from __future__ import annotations

from functools import cache

from opbench.cases import values
from opbench.cases.dtypes import DTypeInfo
from opbench.cases.values import AnyFill

# Memory formats that are more than "contiguous", with the number of dimensions they are for.
FORMAT_RANKS = {"channels_last": 4, "channels_last_3d": 5}


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a row-major tensor."""
    strides = [1] * len(shape)
    for dim in range(len(shape) - 1, 0, -1):
        strides[dim - 1] = strides[dim] * max(shape[dim], 1)
    return tuple(strides)


def channels_last_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a tensor whose second dimension varies fastest."""
    inner = contiguous_strides((shape[0], *shape[2:], shape[1]))
    return (inner[0], inner[-1], *inner[1:-1])


def storage_elements(shape: tuple[int, ...], strides: tuple[int, ...] | None, storage_offset: int) -> int:
    """How many elements the memory behind a tensor has."""
    if 0 in shape:
        return storage_offset
    chosen = contiguous_strides(shape) if strides is None else strides
    return storage_offset + 1 + sum((size - 1) * stride for size, stride in zip(shape, chosen, strict=True))


@cache
def default_fill(info: DTypeInfo) -> AnyFill | None:
    """The fill of a tensor that names none; None where it is the worker's choice."""
    if info.kind == "bool":
        return values.Mask()
    if info.kind in ("float", "complex"):
        return values.Normal()
    if info.kind == "int" and info.high >= 127:
        return values.Integers(-10 if info.low else 0, 10)
    return None
