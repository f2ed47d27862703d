"""The times of one column as texts of equal width: as torch rounds them, and as their uncertainty allows."""

from __future__ import annotations

import math
from collections.abc import Sequence

from opbench.results.timing import Measurement
from opbench.results.units import magnitude, single

# Of what is trimmed: no fewer figures than this, and as many where nothing is known of the uncertainty.
_FEWEST_FIGURES = 2
_FIGURES_OF_UNKNOWN = 4
# No clock goes more exactly than that.
_MOST_FIGURES = 6
_USUAL_DECIMALS = 1
_MOST_DECIMALS = 6


def as_torch(
    column: Sequence[Measurement | None], scale: float, *, trims: bool, warns: bool
) -> list[str | None]:
    """As `torch.utils.benchmark.Compare` writes a column, in the precision that it calculates in."""
    known = [times for times in column if times is not None]
    digits = [_leading_digits(times.median / scale) for times in known]
    decimals = (
        min(max(times.significant_figures - digit, 0) for times, digit in zip(known, digits, strict=True))
        if trims and known
        else _USUAL_DECIMALS
    )
    width = max(max(digits, default=0) + decimals + (1 if decimals else 0), 0)
    warned = [times is not None and warns and not times.meets_confidence() for times in column]
    note_width = 7 if any(warned) else 0

    def text(times: Measurement, warn: bool) -> str:
        value = times.median / scale
        if trims:
            value = _torch_trimmed(value, times.significant_figures)
        note = f" (! {times.spread * 100:.0f}%)" if warn else ""
        return f"{value:{width}.{decimals}f}{note:>{note_width}}"

    return [
        text(times, warn) if times is not None else None for times, warn in zip(column, warned, strict=True)
    ]


def _leading_digits(value: float) -> int:
    return math.ceil(magnitude(value)) if value > 0 else 0


def _torch_trimmed(value: float, figures: int) -> float:
    if value <= 0:
        return value
    scale = 10 ** (math.ceil(magnitude(value)) - figures)
    return single(round(single(value / scale)) * single(scale))


def as_known(
    column: Sequence[Measurement | None], scale: float, *, trims: bool, warns: bool
) -> list[str | None]:
    """As exactly as the times are known when trimmed, else with a decimal or what the smallest one needs."""
    known = [times for times in column if times is not None]
    if trims:
        numbers = [_trimmed(times, scale) for times in known]
    else:
        decimals = _decimals_for([times.median / scale for times in known])
        numbers = [f"{times.median / scale:.{decimals}f}" for times in known]
    numbers = _aligned(numbers)
    notes = [_note(times) if warns else "" for times in known]
    width = max((len(note) for note in notes), default=0)
    texts = iter(f"{number}{note:<{width}}" for number, note in zip(numbers, notes, strict=True))
    return [next(texts) if times is not None else None for times in column]


def _decimals_for(values: Sequence[float]) -> int:
    """One, as torch has it, or so many that the smallest value shows two figures."""
    least = min((value for value in values if value > 0), default=1.0)
    if least >= 1:
        return _USUAL_DECIMALS
    return min(_FEWEST_FIGURES - 1 - math.floor(math.log10(least)), _MOST_DECIMALS)


def _trimmed(times: Measurement, scale: float) -> str:
    """The median with as few figures as its interval allows: rounding moves it by less than half of that."""
    value = times.median / scale
    if value <= 0:
        return "0"
    span = times.interval()
    reach = (span.high - span.low) / 2 / scale if span is not None else 0.0
    # The place of the last figure, 0 for ones, -1 for tenths: rounding there errs by half of it at most.
    leading = math.floor(math.log10(value))
    place = math.floor(math.log10(2 * reach)) if reach > 0 else leading - _FIGURES_OF_UNKNOWN + 1
    place = min(max(place, leading - _MOST_FIGURES + 1), leading - _FEWEST_FIGURES + 1)
    return f"{round(value, -place):.{max(-place, 0)}f}"


def _aligned(numbers: Sequence[str]) -> list[str]:
    """Padded so that all have one width, with their decimal points below each other."""
    whole = max((len(number.partition(".")[0]) for number in numbers), default=0)
    rest = max((len(number) - len(number.partition(".")[0]) for number in numbers), default=0)
    padded = []
    for number in numbers:
        before = len(number.partition(".")[0])
        padded.append((" " * (whole - before) + number).ljust(whole + rest))
    return padded


def _note(times: Measurement) -> str:
    """A mark for what to be warned of: with the spread where that is the reason."""
    if not times.has_warnings:
        return ""
    is_wide = not times.meets_confidence() and math.isfinite(times.spread)
    return f" (! {times.spread * 100:.0f}%)" if is_wide else " (!)"
