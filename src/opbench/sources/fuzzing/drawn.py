"""A strided tensor as it was drawn: the Value that it is, and the properties that torch tells of it."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from opbench.cases.errors import ArgumentError
from opbench.cases.layouts import FORMAT_RANKS, channels_last_strides, contiguous_strides
from opbench.cases.values import AnyFill, Tensor


class DrawnTensor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Shape, steps and order in memory of one tensor of one item.

    Memory is laid out for `size * steps`, dimension `order[0]` outermost; the tensor is each `steps`-th
    element of it.
    """

    size: tuple[int, ...]
    steps: tuple[int, ...]
    order: tuple[int, ...]
    dtype: str
    device: str = "cpu"
    fill: AnyFill | None = None
    storage_offset: int = 0
    # The dimension that has one place in memory for all its indices.
    expanded: int | None = None
    # The tensor's name, where a function of the user makes it.
    constructed: str = ""

    @property
    def allocation(self) -> tuple[int, ...]:
        """The shape of what is allocated before it is sliced."""
        return tuple(size * step for size, step in zip(self.size, self.steps, strict=True))

    @property
    def strides(self) -> tuple[int, ...]:
        """How far apart in memory neighbours are, in elements."""
        if self.order == tuple(range(len(self.order))) and all(step == 1 for step in self.steps):
            strides = list(contiguous_strides(self.size))
        else:
            strides = [0] * len(self.size)
            stride = 1
            for dim in reversed(self.order):
                strides[dim] = stride * self.steps[dim]
                stride *= max(self.size[dim] * self.steps[dim], 1)
        if self.expanded is not None:
            strides[self.expanded] = 0
        return tuple(strides)

    @property
    def is_contiguous(self) -> bool:
        """What torch's `is_contiguous()` says of it."""
        return _is_contiguous(self.size, self.strides)

    def value(self) -> Tensor:
        """The tensor as data, in its canonical form; ArgumentError where it is made by code."""
        if self.constructed:
            raise ArgumentError(
                f"tensor {self.constructed!r} is made by a tensor_constructor, which is code, and a case"
                " holds none: leave it out, and say with fill which numbers there are"
            )
        strides = self.strides
        size, dtype = self.size, self.dtype
        if _is_contiguous(size, strides):
            if self.storage_offset:
                return Tensor(size, dtype, self.fill, storage_offset=self.storage_offset)
            return Tensor(size, dtype, self.fill)
        for name, rank in FORMAT_RANKS.items():
            if len(size) == rank and strides == channels_last_strides(size):
                return Tensor(size, dtype, self.fill, storage_offset=self.storage_offset, memory_format=name)
        return Tensor(size, dtype, self.fill, strides, self.storage_offset)

    def properties(self) -> dict[str, Any]:
        """What torch's fuzzer tells of a tensor, by its names."""
        return {
            "numel": math.prod(self.size),
            "order": self.order,
            "steps": self.steps,
            "is_contiguous": self.is_contiguous,
            "dtype": f"torch.{self.dtype}",
        }


def _is_contiguous(size: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    expected = 1
    for length, stride in zip(reversed(size), reversed(strides), strict=True):
        if length == 0:
            return True
        if length != 1:
            if stride != expected:
                break
            expected *= length
    else:
        return True
    return 0 in size
