"""How good a time is beside the best one, and how that looks on a terminal."""

from __future__ import annotations

import enum

from opbench.results.timing import Measurement

# From torch: best is what is at most so much above the best, and so on.
_AS_GOOD_AS_BEST = 1.01
_GOOD = 1.1
_BAD = 2
_VERY_BAD = 5
# torch's second rule: whatever is that close to the best, on any machine, is best too.
_TORCH_LEAST_DIFFERENCE_S = 100e-9

END = "\033[0m\033[0m"


class Colorize(enum.Enum):
    """What each time is coloured by: nothing, the best of its column, or the best of its row."""

    NONE = "none"
    COLUMNWISE = "columnwise"
    ROWWISE = "rowwise"


class Tone(enum.Enum):
    """How good a time is; the value is what switches a terminal to its colour."""

    BEST = "\033[92m\033[1m"
    GOOD = "\033[34m\033[1m"
    PLAIN = ""
    BAD = "\033[2m\033[91m"
    VERY_BAD = "\033[31m\033[1m"


def tone_of(times: Measurement, best: Measurement, *, as_torch: bool) -> Tone:
    """How good these times are beside the best ones.

    Best is also what differs from it by less than is known about both, and what is hardly slower.
    """
    value, least = times.median, best.median
    is_close = value <= least + _TORCH_LEAST_DIFFERENCE_S if as_torch else _may_be_equal(times, best)
    if is_close or value <= least * _AS_GOOD_AS_BEST:
        return Tone.BEST
    if value <= least * _GOOD:
        return Tone.GOOD
    if value >= least * _VERY_BAD:
        return Tone.VERY_BAD
    return Tone.BAD if value >= least * _BAD else Tone.PLAIN


def _may_be_equal(times: Measurement, best: Measurement) -> bool:
    low, high = times.interval(), best.interval()
    return (low.low if low else times.median) <= (high.high if high else best.median)


def coloured(text: str, tone: Tone) -> str:
    """The text in the colour of its tone."""
    return f"{tone.value}{text}{END}" if tone.value else text
