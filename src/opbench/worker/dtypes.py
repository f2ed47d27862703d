"""Dtypes by name, and how those that torch cannot compute with are stored."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from opbench.worker.errors import Unsupported


@dataclass(frozen=True)
class Carrier:
    """A dtype of the same size that torch can fill, and the whole numbers [low, high) to fill it with."""

    dtype: torch.dtype
    low: int
    high: int


@dataclass(frozen=True)
class Quantised:
    """What a quantised dtype stores: whole numbers from `low` to `high`, `per_byte` of them in a byte
    where that is more than one, else in `storage` each."""

    storage: torch.dtype
    low: int
    high: int
    per_byte: int = 1


QUANTISED = {
    "qint8": Quantised(torch.int8, -128, 127),
    "quint8": Quantised(torch.uint8, 0, 255),
    "qint32": Quantised(torch.int32, -(1 << 31), (1 << 31) - 1),
    "quint4x2": Quantised(torch.uint8, 0, 15, per_byte=2),
    "quint2x4": Quantised(torch.uint8, 0, 3, per_byte=4),
}


def dtype_named(name: str) -> torch.dtype:
    """The torch dtype of that name."""
    dtype = getattr(torch, name, None)
    if not isinstance(dtype, torch.dtype):
        raise Unsupported(f"torch {torch.__version__} has no dtype called {name!r}")
    return dtype


def carrier_of(name: str) -> Carrier | None:
    """What stands in for a dtype that torch can hold but neither fill nor convert to: all its bits are
    drawn as whole numbers, one narrow number (int4, uint1, ...) to a byte. None for other dtypes."""
    if name == "float4_e2m1fn_x2" or (name.startswith("bits") and name != "bits16"):
        return Carrier(torch.uint8, 0, 1 << 8)
    if name == "bits16":
        return Carrier(torch.int16, -(1 << 15), 1 << 15)
    kind, _, bits = name.rpartition("int")
    if kind in ("", "u") and bits in ("1", "2", "3", "4", "5", "6", "7"):
        count = 1 << int(bits)
        return Carrier(torch.uint8, 0, count) if kind else Carrier(torch.int8, -count // 2, count // 2)
    return None


def differentiable(dtype: torch.dtype) -> bool:
    """True for dtypes that can have a gradient; numbers packed two to an element have none."""
    if dtype == getattr(torch, "float4_e2m1fn_x2", None):
        return False
    return bool(dtype.is_floating_point or dtype.is_complex)
