"""Quantities as people type them: `2s`, `4GiB`, `1%`."""

from __future__ import annotations

import argparse
import math
import re

_NUMBER = re.compile(r"\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)\s*([^\d\s.]*)\s*", re.ASCII)
_SECONDS = {
    "": 1.0,
    "s": 1.0,
    "ms": 1e-3,
    "us": 1e-6,
    "µs": 1e-6,
    "ns": 1e-9,
    "m": 60.0,
    "min": 60.0,
    "h": 3600.0,
}
_BYTES = {"": 1, "b": 1} | {
    f"{letter}{ending}": base ** (power + 1)
    for power, letter in enumerate("kmgt")
    for ending, base in (("", 1024), ("ib", 1024), ("b", 1000))
}


def duration_s(text: str) -> float:
    """Seconds from `2`, `2s`, `500ms`, `1.5min` or `1h`."""
    number, unit = _split(text, "a duration such as 2s, 500ms or 1.5min")
    if unit not in _SECONDS:
        raise argparse.ArgumentTypeError(
            f"{text!r} has the unit {unit!r}; durations are in ns, us, ms, s, min or h"
        )
    return number * _SECONDS[unit]


def size_bytes(text: str) -> int:
    """Bytes from `4GiB`, `512M` (both powers of 1024), `4GB` (power of 1000) or a plain number."""
    number, unit = _split(text, "a size such as 4GiB or 512M")
    if unit.lower() not in _BYTES:
        raise argparse.ArgumentTypeError(
            f"{text!r} has the unit {unit!r}; sizes are in B, KiB, MiB, GiB or TiB"
        )
    factor: int = _BYTES[unit.lower()]
    return round(number * factor)


def ratio(text: str) -> float:
    """A share from `1%` or `0.01`."""
    number, unit = _split(text, "a share such as 1% or 0.01")
    if unit not in ("", "%"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a share such as 1% or 0.01")
    return number / 100 if unit else number


def shard(text: str) -> tuple[int, int]:
    """(i, n) from `i/n`, i counting from 1."""
    match = re.fullmatch(r"(\d{1,9})/(\d{1,9})", text, re.ASCII)
    if match is None or not 1 <= int(match[1]) <= int(match[2]):
        raise argparse.ArgumentTypeError(f"{text!r} is not i/n with i from 1 to n, such as 1/4")
    return int(match[1]), int(match[2])


def whole(text: str) -> int:
    """A whole number."""
    if not re.fullmatch(r"[+-]?\d{1,18}", text, re.ASCII):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number")
    return int(text)


def positive(text: str) -> int:
    """A whole number above zero."""
    number = whole(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not above 0")
    return number


def _split(text: str, expected: str) -> tuple[float, str]:
    match = _NUMBER.fullmatch(text)
    if match is None or not math.isfinite(float(match[1])):
        raise argparse.ArgumentTypeError(f"{text!r} is not {expected}")
    return float(match[1]), match[2]
