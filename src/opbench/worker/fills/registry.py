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

from opbench.worker.dtypes import carrier_of
from opbench.worker.errors import Unsupported
from opbench.worker.streams import Stream, chunks

Spec: TypeAlias = dict[str, Any]


@dataclass(frozen=True)
class Target:
    """The tensor that a fill makes: its shape, dtype, random words, and the folder of `file` fills.

    `named` is the dtype that was asked for, where another one stands in for it.
    """

    shape: tuple[int, ...]
    dtype: torch.dtype
    stream: Stream
    folder: str = ""
    named: str = ""

    @property
    def name(self) -> str:
        """The dtype as people write it."""
        return self.named or str(self.dtype).removeprefix("torch.")

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
        return self.dtype in (torch.float64, torch.complex128)

    def empty(self) -> torch.Tensor:
        """The tensor before it is filled."""
        return torch.empty(self.shape, dtype=self.dtype, device="cpu")


FillFunction: TypeAlias = Callable[[Spec, Target], torch.Tensor]
# Numbers of the elements [start, start + count), in any dtype that can be copied to the target's.
ChunkFunction: TypeAlias = Callable[[int, int], torch.Tensor]
FILLS: dict[str, FillFunction] = {}
# Fills whose numbers mean something only together, and along how many of the last dimensions.
FILLED_DIMENSIONS = {"permutation": 1, "sorted": 1, "offsets": 1, "probabilities": 1, "positive_definite": 2}


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


def real_dtype(dtype: torch.dtype) -> torch.dtype:
    """The dtype of the parts of a complex number, and of any other number itself."""
    return dtype.to_real() if dtype.is_complex else dtype


def is_unsigned(dtype: torch.dtype) -> bool:
    """True for a floating-point dtype of positive numbers only."""
    return bool(dtype.is_floating_point and torch.finfo(dtype).min > 0)


def require_range(target: Target, low: float, high: float) -> None:
    """Refuse numbers from `low` to `high` for a dtype that does not reach so far."""
    if target.dtype == torch.bool:
        return
    slack = 0.0
    carrier = carrier_of(target.name)
    if carrier:
        least, greatest = carrier.low, carrier.high - 1
    elif target.is_integral:
        least, greatest = torch.iinfo(target.dtype).min, torch.iinfo(target.dtype).max
    else:
        reach = torch.finfo(real_dtype(target.dtype))
        least, greatest = reach.min, reach.max
        # Numbers that are rounded to the last one are not beyond it.
        slack = greatest * (reach.eps / 4)
    if not (least - (slack if least < 0 else 0) <= low and high <= greatest + slack):
        raise Unsupported(
            f"the fill gives numbers from {low} to {high}, but {target.name} holds {least} to {greatest}"
        )


def _copy_chunks(flat: torch.Tensor, words_per_element: float, make: ChunkFunction) -> None:
    for start, count in chunks(flat.numel(), words_per_element):
        flat.narrow(0, start, count).copy_(make(start, count))
