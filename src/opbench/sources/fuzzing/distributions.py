"""How a parameter draws its value, whole or inside a window of what it can be.

Drawing inside a window gives exactly the distribution that drawing from the whole and throwing away
what is outside would give. A word makes a value with integers and single IEEE operations alone.
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Protocol

from opbench.sources.fuzzing.powers import exp2, log2
from opbench.sources.fuzzing.words import WORD_SPAN, below, share


class Distribution(Protocol):
    """What every distribution can do."""

    def draw(self, word: int) -> Any:
        """The value that a word stands for."""


class Ordered(Distribution, Protocol):
    """A distribution of whole numbers: it has a least and a greatest one, and windows between."""

    least: int
    greatest: int

    def draw_within(self, word: int, low: int, high: int) -> int | None:
        """A value in [low, high], or None when there is none."""

    def mass(self, low: int, high: int) -> float:
        """The probability of [low, high]."""


class UniformWhole:
    """Every whole number in [least, greatest] alike."""

    def __init__(self, least: int, greatest: int) -> None:
        self.least, self.greatest = least, greatest
        self._span = greatest - least + 1

    def draw(self, word: int) -> int:
        """The value that a word stands for."""
        return self.least + below(word, self._span)

    def draw_within(self, word: int, low: int, high: int) -> int | None:
        """A value in [low, high], or None when there is none."""
        low, high = max(low, self.least), min(high, self.greatest)
        return low + below(word, high - low + 1) if low <= high else None

    def mass(self, low: int, high: int) -> float:
        """The probability of [low, high]."""
        return max(min(high, self.greatest) - max(low, self.least) + 1, 0) / self._span


class LoguniformWhole:
    """Whole numbers in [least, greatest], n with a probability in proportion to log((n + 1) / n).

    So each number is as likely as the piece of the logarithmic scale from it to the next one.
    """

    def __init__(self, least: int, greatest: int) -> None:
        self.least, self.greatest = least, greatest
        self._low, self._high = log2(least), log2(greatest + 1)

    def draw(self, word: int) -> int:
        """The value that a word stands for."""
        value = int(exp2(self._low + share(word) * (self._high - self._low)))
        return min(max(value, self.least), self.greatest)

    def draw_within(self, word: int, low: int, high: int) -> int | None:
        """A value in [low, high], or None when there is none."""
        if low <= self.least:
            low, start = self.least, self._low
        else:
            start = log2(low)
        if high >= self.greatest:
            high, end = self.greatest, self._high
        else:
            end = log2(high + 1) if high >= 0 else 0.0
        if low > high:
            return None
        value = int(exp2(start + share(word) * (end - start)))
        return low if value < low else high if value > high else value

    def mass(self, low: int, high: int) -> float:
        """The probability of [low, high]."""
        low, high = max(low, self.least), min(high, self.greatest)
        return (log2(high + 1) - log2(low)) / (self._high - self._low) if low <= high else 0.0


class UniformReal:
    """Any number in [least, greatest] alike."""

    def __init__(self, least: float, greatest: float) -> None:
        self._least, self._greatest = least, greatest

    def draw(self, word: int) -> float:
        """The value that a word stands for."""
        part = share(word)
        # Not least + part * (greatest - least): the difference may be more than a float holds.
        return min(max(self._least * (1.0 - part) + self._greatest * part, self._least), self._greatest)


class LoguniformReal:
    """Positive numbers in [least, greatest], their logarithms all alike."""

    def __init__(self, least: float, greatest: float) -> None:
        self._least, self._greatest = least, greatest
        self._low, self._high = log2(least), log2(greatest)

    def draw(self, word: int) -> float:
        """The value that a word stands for."""
        value = exp2(self._low + share(word) * (self._high - self._low))
        return min(max(value, self._least), self._greatest)


class Choices:
    """Any objects, each with its own probability."""

    def __init__(self, probabilities: Mapping[Any, float]) -> None:
        self.values = tuple(probabilities)
        self.ends = _ends(probabilities.values())

    def draw(self, word: int) -> Any:
        """The value that a word stands for."""
        return self.values[bisect_right(self.ends, word)]

    def probabilities(self) -> list[float]:
        """The probability of each value."""
        return _probabilities(self.ends)


class WholeChoices:
    """Some whole numbers, each with its own probability."""

    def __init__(self, probabilities: Mapping[int, float]) -> None:
        possible = {value: probabilities[value] for value in sorted(probabilities) if probabilities[value]}
        self.values = tuple(possible)
        self.ends = _ends(possible.values())
        self.least, self.greatest = self.values[0], self.values[-1]

    def draw(self, word: int) -> int:
        """The value that a word stands for."""
        return self.values[bisect_right(self.ends, word)]

    def draw_within(self, word: int, low: int, high: int) -> int | None:
        """A value in [low, high], or None when there is none."""
        first, last = bisect_left(self.values, low), bisect_right(self.values, high) - 1
        if first > last:
            return None
        start = self.ends[first - 1] if first else 0
        return self.values[bisect_right(self.ends, start + below(word, self.ends[last] - start))]

    def mass(self, low: int, high: int) -> float:
        """The probability of [low, high]."""
        first, last = bisect_left(self.values, low), bisect_right(self.values, high) - 1
        return (
            (self.ends[last] - (self.ends[first - 1] if first else 0)) / WORD_SPAN if first <= last else 0.0
        )

    def probabilities(self) -> list[float]:
        """The probability of each value."""
        return _probabilities(self.ends)


def _probabilities(ends: Sequence[int]) -> list[float]:
    return [(end - start) / WORD_SPAN for start, end in zip((0, *ends), ends, strict=False)]


def _ends(probabilities: Any) -> tuple[int, ...]:
    """Where the words of each value end; the last end is the end of all words."""
    exact = [Fraction(float(probability)) for probability in probabilities]
    total, reached, ends = sum(exact), Fraction(0), []
    for part in exact:
        reached += part
        ends.append(int(reached * WORD_SPAN / total))
    return tuple(ends)


def is_whole(value: Any) -> bool:
    """True for whole numbers, also those of NumPy; not for truth values."""
    if isinstance(value, bool):
        return False
    try:
        operator.index(value)
    except TypeError:
        return False
    return True


def is_real(value: Any) -> bool:
    """True for finite numbers that are no truth values."""
    if isinstance(value, (bool, str, bytes)):
        return False
    if is_whole(value):
        return True
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False
