"""Units of time and significant figures, as `torch.utils.benchmark` picks them."""

from __future__ import annotations

import math
import struct
from collections.abc import Hashable, Iterable
from typing import TypeVar

from opbench.cases.errors import ArgumentError

Element = TypeVar("Element", bound=Hashable)

_SCALES = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
_ENGLISH = {"ns": "nanosecond", "us": "microsecond", "ms": "millisecond", "s": "second"}


def single(value: float) -> float:
    """The nearest number of single precision.

    torch decides on magnitudes in it: 9.9999999e-7 is a microsecond then, as it should be.
    """
    rounded: float = struct.unpack("f", struct.pack("f", value))[0]
    return rounded


def magnitude(value: float) -> float:
    """The logarithm to base ten, in single precision."""
    return single(math.log10(single(value)))


def _number(name: str, value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ArgumentError(f"{name} must be a number, not {value!r}")
    return value


def select_unit(t: float) -> tuple[str, float]:
    """The unit in which a time has one to three digits before the point, and how long that unit is."""
    seconds = abs(_number("t", t))
    if not math.isfinite(seconds) or seconds >= 1:
        return "s", 1.0
    unit = "ns"
    if single(seconds) >= 1e-12:
        unit = {-1: "ms", -2: "us"}.get(int(magnitude(seconds) // 3), "ns")
        unit = "s" if magnitude(seconds) >= 0 else unit
    return unit, _SCALES[unit]


def unit_to_english(u: str) -> str:
    """The name of a unit that `select_unit` gives."""
    if u not in _ENGLISH:
        raise ArgumentError(f"u must be one of {', '.join(_ENGLISH)}, not {u!r}")
    return _ENGLISH[u]


def trim_sigfig(x: float, n: int) -> float:
    """The number rounded to so many significant figures: 3.14159 to two of them is 3.1."""
    if isinstance(n, bool) or not isinstance(n, (int, float)) or n != int(n) or n < 1:
        raise ArgumentError(f"n must be a whole number of significant figures from 1 on, not {n!r}")
    x = _number("x", x)
    if x == 0 or not math.isfinite(x):
        return float(x)
    # Through text, so that no scaling adds an error of its own.
    return float(f"{x:.{int(n) - 1}e}")


def ordered_unique(elements: Iterable[Element]) -> list[Element]:
    """The elements without repetition, in the order in which each came first."""
    return list(dict.fromkeys(elements))
