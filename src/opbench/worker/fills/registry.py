"""The table of fills, and what a fill is given.

A new kind is one function under `@fill("kind")`: it takes the canonical spec of the fill and the
Target, and returns a contiguous CPU tensor. Only arithmetic that every machine does alike may be used:
integers, single IEEE operations, sorting; no logarithms or powers of the C library, no matrix
products, no floating-point sums whose order is the machine's choice.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import torch

from opbench.worker.errors import Unsupported
from opbench.worker.streams import Stream, chunks

Spec: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """The tensor that a fill makes: its shape, dtype, random words, and the folder of `file` fills."""

    shape: tuple[int, ...]
    dtype: torch.dtype
    stream: Stream
    folder: str = ""

    @property
    def count(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)

    @property
    def is_integral(self) -> bool:
        """True for whole-number dtypes, bool included."""
        return not (self.dtype.is_floating_point or self.dtype.is_complex)

    @property
    def is_double(self) -> bool:
        """True where numbers are drawn with 53 bits instead of 24."""
        return self.dtype in (torch.float64, torch.complex128) or self.is_integral

    def empty(self) -> torch.Tensor:
        """The tensor before it is filled."""
        return torch.empty(self.shape, dtype=self.dtype, device="cpu")


FillFunction: TypeAlias = Callable[[Spec, Target], torch.Tensor]
# Numbers of the elements [start, start + count), in any dtype that can be copied to the target's.
ChunkFunction: TypeAlias = Callable[[int, int], torch.Tensor]
FILLS: dict[str, FillFunction] = {}


def fill(kind: str) -> Callable[[FillFunction], FillFunction]:
    """Register the function of a kind of fill."""

    def register(function: FillFunction) -> FillFunction:
        FILLS[kind] = function
        return function

    return register


def filled(spec: Spec, target: Target) -> torch.Tensor:
    """A contiguous CPU tensor with the numbers that `spec` describes."""
    function = FILLS.get(spec["kind"])
    if function is None:
        raise Unsupported(f"no fill is called {spec['kind']!r}; there are {', '.join(sorted(FILLS))}")
    return function(spec, target)


def default_fill(dtype: torch.dtype) -> Spec:
    """The usual fill of a dtype: normal numbers, small whole numbers, or a mask of one half."""
    if dtype == torch.bool:
        return {"kind": "mask"}
    if dtype.is_floating_point or dtype.is_complex:
        return {"kind": "normal"}
    return {"kind": "integers", "low": -10 if dtype.is_signed else 0, "high": 10}


def chunked(target: Target, words_per_element: float, make: ChunkFunction) -> torch.Tensor:
    """The target's tensor, filled chunk by chunk."""
    out = target.empty()
    _copy_chunks(out.view(-1), words_per_element, make)
    return out


def chunked_parts(target: Target, words_per_element: float, make: ChunkFunction) -> torch.Tensor:
    """The same, where real and imaginary parts count as two numbers."""
    out = target.empty()
    flat = torch.view_as_real(out) if out.is_complex() else out
    _copy_chunks(flat.view(-1), words_per_element, make)
    return out


def number(value: Any) -> Any:
    """A number of a spec; text stands for infinities and NaN."""
    return float(value) if isinstance(value, str) else value


def whole_range(dtype: torch.dtype) -> tuple[int, int]:
    """The least and the greatest whole number of a whole-number dtype."""
    if dtype == torch.bool:
        return 0, 1
    limits = torch.iinfo(dtype)
    return int(limits.min), int(limits.max)


def require_range(target: Target, low: Any, high: Any) -> None:
    """Refuse numbers from `low` to `high` for a whole-number dtype that does not reach so far."""
    if not target.is_integral or target.dtype == torch.bool:
        return
    least, greatest = whole_range(target.dtype)
    if not (least <= low and high <= greatest):
        name = str(target.dtype).removeprefix("torch.")
        raise Unsupported(
            f"the fill gives numbers from {low} to {high}, but {name} holds {least} to {greatest}"
        )


def whole(values: torch.Tensor, dtype: torch.dtype) -> torch.Tensor:
    """Whole float64 numbers (overwritten), brought into the range of a whole-number dtype."""
    if dtype == torch.bool:
        return values
    least, greatest = whole_range(dtype)
    # 2 ** 63 - 1024 is the greatest float64 that int64 holds.
    return values.clamp_(least, min(greatest, 2**63 - 1024))


def _copy_chunks(flat: torch.Tensor, words_per_element: float, make: ChunkFunction) -> None:
    for start, count in chunks(flat.numel(), words_per_element):
        flat.narrow(0, start, count).copy_(make(start, count))
