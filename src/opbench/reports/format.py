"""Numbers for people, by hint: the unit scaled so that the digits that count are in front."""

from __future__ import annotations

import math
from collections.abc import Callable

from opbench.results.records import Hint, Metric

MISSING = "–"
_DURATIONS = ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns"))
_SIZES = ((2.0**40, "TiB"), (2.0**30, "GiB"), (2.0**20, "MiB"), (2.0**10, "KiB"), (1.0, "B"))
_PREFIXES = ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, ""))


def significant(value: float, digits: int = 3) -> str:
    """The number with so many significant digits, never with an exponent between 1e-6 and 1e15."""
    if not math.isfinite(value):
        return {math.inf: "inf", -math.inf: "-inf"}.get(value, "nan")
    if value == 0:
        return "0"
    if not 1e-6 <= abs(value) < 1e15:
        return f"{value:.{digits - 1}e}"
    # Rounding first: 9.996 has one digit before the point, but shows as 10.00.
    rounded = float(f"{value:.{digits - 1}e}")
    decimals = digits - 1 - math.floor(math.log10(abs(rounded)))
    return f"{rounded:.{max(decimals, 0)}f}"


def fitted(value: float, width: int, decimals: int | None = None) -> str:
    """The number in so many cells: three significant digits or so many decimals, fewer if need be."""
    text = significant(value) if decimals is None else f"{value:.{decimals}f}"
    if len(text) <= width or not math.isfinite(value):
        return text
    if abs(value) < 1:
        return f"{value:.{max(width - 2, 0)}f}"
    whole = f"{value:.0f}"
    return whole if len(whole) <= width else f"{value:.0e}".replace("e+0", "e").replace("e+", "e")


def _scaled(value: float, steps: tuple[tuple[float, str], ...], digits: int) -> tuple[str, str]:
    rounded = float(f"{value:.{digits - 1}e}") if math.isfinite(value) else value
    for factor, unit in steps:
        if abs(rounded) >= factor * (1 - 1e-12):
            return significant(value / factor, digits), unit
    factor, unit = steps[-1]
    return significant(value / factor, digits), unit


def duration(seconds: float) -> str:
    """Seconds as `512.3 µs`: four digits, the unit always two cells wide so that units align."""
    number, unit = _scaled(seconds, _DURATIONS, 4)
    return f"{number} {unit:>2}"


def elapsed(seconds: float) -> str:
    """A span that a person waits for, as `850 ms`, `4.2 s`, `3 min 05 s` or `2 h 07 min`."""
    if seconds < 0.9995:
        return f"{seconds * 1e3:.0f} ms"
    if seconds < 99.95:
        return f"{seconds:.1f} s"
    minutes, rest = divmod(round(seconds), 60)
    if minutes < 60:
        return f"{minutes} min {rest:02d} s"
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02d} min"


def size(size_bytes: float) -> str:
    """Bytes as `256 KiB`."""
    if not abs(size_bytes) >= 1024:
        return f"{size_bytes:.4g} B"
    # 1023.6 KiB shows as 1.00 MiB.
    factor, unit = next(step for step in _SIZES if abs(size_bytes) >= step[0] * (1 - 0.5 / 1024))
    value = size_bytes / factor
    # Between 1000 and 1024 three digits are not enough.
    return f"{value:.0f} {unit}" if abs(value) >= 999.5 else f"{significant(value)} {unit}"


def count(value: float) -> str:
    """A number of things, as `1,234`."""
    if math.isfinite(value) and float(value).is_integer():
        return f"{int(value):,}"
    return significant(value, 4)


def ratio(value: float) -> str:
    """A share, in percent: `81.2%`."""
    return f"{significant(value * 100, 3)}%" if abs(value) < 10 else f"{significant(value, 3)}×"


def rate(value: float, unit: str) -> str:
    """A rate with a decimal prefix: `65.5 GFLOP/s`."""
    number, prefix = _scaled(value, _PREFIXES, 3)
    return f"{number} {prefix}{unit}".rstrip()


_BY_HINT: dict[Hint, Callable[[float, str], str]] = {
    "duration": lambda value, unit: duration(value),
    "bytes": lambda value, unit: size(value),
    "count": lambda value, unit: count(value),
    "ratio": lambda value, unit: (
        ratio(value) if unit in ("", "1", "ratio") else f"{significant(value)} {unit}"
    ),
    "rate": rate,
    "flop_rate": lambda value, unit: rate(value, "FLOP/s"),
    "byte_rate": lambda value, unit: rate(value, "B/s"),
}


def by_hint(value: float | None, hint: Hint, unit: str = "") -> str:
    """A number as its hint says."""
    return MISSING if value is None else _BY_HINT[hint](value, unit)


def metric_text(metric: Metric) -> str:
    """The value of a metric as its hint says."""
    return by_hint(metric.value, metric.hint, metric.unit)


def spread(metric: Metric) -> float | None:
    """How far the interval reaches from the value on its wider side, as a share of the value."""
    if metric.interval is None or not metric.value:
        return None
    reach = max(metric.interval.high - metric.value, metric.value - metric.interval.low)
    return abs(reach / metric.value)
