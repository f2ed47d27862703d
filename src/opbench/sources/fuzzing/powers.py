"""Logarithms and powers of two that every machine computes alike.

The C library's own differ in their last bit from system to system, and one bit is enough for another
item. Here are only additions, products, quotients and square roots, which IEEE 754 defines to the bit.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from typing import Final

_STEPS: Final = 64


def _roots() -> tuple[float, ...]:
    """2 ** (i / 64) for i in 0..64, each from square roots of 2."""
    halves = [2.0]
    while len(halves) < 7:
        halves.append(math.sqrt(halves[-1]))
    roots = []
    for step in range(_STEPS):
        root = 1.0
        for bit in range(6):
            if step >> (5 - bit) & 1:
                root *= halves[bit + 1]
        roots.append(root)
    return (*roots, 2.0)


_ROOTS: Final = _roots()
_LN2: Final = 0.6931471805599453
# log2((1 + s) / (1 - s)) = (2 / ln 2) * (s + s ** 3 / 3 + s ** 5 / 5 + ...), and s is below 0.006.
_LOG: Final = tuple(2 / _LN2 / odd for odd in (1, 3, 5))
# 2 ** r = 1 + r ln 2 + (r ln 2) ** 2 / 2 + ..., and r is below 1 / 64.
_EXP: Final = (_LN2, _LN2 * _LN2 / 2, _LN2 * _LN2 * _LN2 / 6, _LN2 * _LN2 * _LN2 * _LN2 / 24)


def log2(number: float) -> float:
    """The logarithm of a positive number, to about 15 digits."""
    mantissa, exponent = math.frexp(number)
    mantissa *= 2.0
    step = bisect_right(_ROOTS, mantissa) - 1
    root = _ROOTS[step]
    s = (mantissa - root) / (mantissa + root)
    square = s * s
    return (exponent - 1) + step / _STEPS + s * (_LOG[0] + square * (_LOG[1] + square * _LOG[2]))


def exp2(number: float) -> float:
    """Two to the power of a number, to about 12 digits."""
    whole = math.floor(number)
    part = (number - whole) * _STEPS
    step = int(part)
    r = (part - step) / _STEPS
    series = 1.0 + r * (_EXP[0] + r * (_EXP[1] + r * (_EXP[2] + r * _EXP[3])))
    return math.ldexp(_ROOTS[step] * series, whole)
