"""Draws the parameters of an item so that every tensor stays within its budgets, without trial and error.

Parameters are drawn one after the other, each inside the window that the others leave it. What comes first
has a little too much freedom that way, so each is then drawn again, several times over, inside the window
that the values of all others leave it (Gibbs sampling): that converges to the distribution that rejection
has, and never leaves the budgets. Where values leave each other no room to move, several such passes are
weighed against each other instead (importance resampling).
"""

from __future__ import annotations

import itertools
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing.budgets import Form, window
from opbench.sources.fuzzing.distributions import Ordered, WholeChoices
from opbench.sources.fuzzing.parameters import FuzzedParameter
from opbench.sources.fuzzing.structure import MOST_LISTED, Settings, Structure
from opbench.sources.fuzzing.tensors import FuzzedTensor
from opbench.sources.fuzzing.words import WORD_SPAN, WORDS, Place, Stream, Words, below, share

# Each takes away about a third to a half of what is left of the first pass's preference.
SWEEPS = 5
# Where parameters cannot move beside each other, sweeps do not help: then, and where the first pass comes to
# nothing, so many passes are weighed against each other.
PASSES = 32
MOST_STUCK = 0.5
NARROW_DRAWS = 32
# Values that are searched one by one, where no pass comes to anything.
MOST_SEARCHED = 100_000
PASSES_OF_STRUCTURE = 1000
# Draws that estimate how much of a structure's space is within the budgets.
WEIGHING_DRAWS = 256
WEIGHING_DRAWS_IN_ALL = 16_384


class Sampler:
    """The parameters of items under a seed, raw: a choice that is an alias is still one."""

    def __init__(
        self, parameters: Sequence[FuzzedParameter], tensors: Sequence[FuzzedTensor], seed: int
    ) -> None:
        self.parameters = parameters
        self.structure = Structure(parameters, tensors)
        self._streams = [Stream(seed, f"parameter/{parameter.name}") for parameter in parameters]
        self._structure_stream = Stream(seed, "structure")
        self._plain = [
            (parameter.distribution.draw, stream.words, parameter.strict)
            for parameter, stream in zip(parameters, self._streams, strict=True)
        ]
        self._free = [place for place in self.structure.places if not parameters[place].strict]
        self._tables: dict[Settings, _Table] = {}
        self._refuse_impossible()

    def draw(self, place: Place, attempt: int = 0) -> list[Any]:
        """The values of one item. Strict parameters have the same ones in every attempt."""
        words = [make(place, 0 if strict else attempt) for _, make, strict in self._plain]
        values = [draw(own[0]) for (draw, _, _), own in zip(self._plain, words, strict=True)]
        structure = self.structure
        if self._free:
            self._set_structure(values, place, attempt)
        form = structure.form(tuple([values[index] for index in structure.places]))
        if form.problem:
            raise ArgumentError(self._impossible(form.problem, values))
        if form.roots:
            self._fit(form, values, words, place, attempt)
        return values

    def window(self, index: int, values: Sequence[Any]) -> tuple[int, int] | None:
        """Between what a parameter may lie while all others stay; None where no budget depends on it."""
        form = self.structure.form(tuple([values[place] for place in self.structure.places]))
        shares = form.shares.get(index)
        return None if shares is None else window(shares, values, values)

    def fits(self, values: Sequence[Any]) -> bool:
        """True when these values keep all budgets."""
        form = self.structure.form(tuple([values[place] for place in self.structure.places]))
        if form.problem:
            return False
        windows = ((root, window(shares, values, values)) for root, shares in form.shares.items())
        return all(low <= values[root] <= high for root, (low, high) in windows)

    def _fit(self, form: Form, values: list[Any], words: list[Words], place: Place, attempt: int) -> None:
        ordered = self.structure.distributions
        free = [root for root in form.roots if not self.parameters[root].strict]
        if free:
            # Whoever comes first is a little too free: that is somebody else in each item.
            start = below(words[free[0]][WORDS - 1], len(free))
            free = free[start:] + free[:start]
        found = (
            not free
            or (not self._is_narrow(form) and _first(form, free, values, words, ordered))
            or self._weighed(form, free, values, words, place, attempt)
            or _searched(form, free, values, words, ordered)
        )
        if not found or (len(free) < len(form.roots) and not self.fits(values)):
            raise ArgumentError(
                self._impossible(
                    f"{'; '.join(form.what)}: no values of the parameters were found that fit", values
                )
            )
        for sweep in range(1, SWEEPS + 1):
            for root in free:
                low, high = window(form.shares[root], values, values)
                values[root] = ordered[root].draw_within(words[root][sweep], low, high)

    def _weighed(
        self,
        form: Form,
        free: Sequence[int],
        values: list[Any],
        words: Sequence[Words],
        place: Place,
        attempt: int,
    ) -> bool:
        """Of some first passes take one, by how much more often rejection would have come to it."""
        ordered = self.structure.distributions
        passes, ends, reached = [], [], 0.0
        for number in range(1, PASSES + 1):
            own = {root: self._streams[root].words(place, attempt + (number << 32))[0] for root in free}
            weight, found = _pass(form, free, values, own, ordered)
            if weight:
                reached += weight
                passes.append(found)
                ends.append(reached)
        if not passes:
            return False
        chosen = bisect_right(ends, share(words[free[0]][WORDS - 2]) * reached)
        for root, value in passes[min(chosen, len(passes) - 1)].items():
            values[root] = value
        return True

    def _is_narrow(self, form: Form) -> bool:
        """True when parameters mostly have a single value left beside those of the others."""
        if form.is_narrow is None:
            form.is_narrow = _stuck(form, self.structure.distributions, NARROW_DRAWS) > MOST_STUCK
        return form.is_narrow

    def _set_structure(self, values: list[Any], place: Place, attempt: int) -> None:
        strict = tuple(
            values[index] if self.parameters[index].strict else None for index in self.structure.places
        )
        table = self._tables.get(strict)
        if table is None:
            if len(self._tables) >= MOST_LISTED:
                self._tables.clear()
            table = self._tables[strict] = _Table(self.structure, strict)
        settings = table.draw(self._structure_stream.words(place, attempt)[0])
        if settings is not None:
            for index, setting in zip(self.structure.places, settings, strict=True):
                values[index] = setting
            return
        # Too many to list: the first of some that is possible.
        for number in range(1, PASSES_OF_STRUCTURE):
            if not self.structure.form(tuple([values[index] for index in self.structure.places])).problem:
                return
            for index in self._free:
                word = self._streams[index].words(place, attempt + (number << 32))[0]
                values[index] = self.parameters[index].distribution.draw(word)

    def _refuse_impossible(self) -> None:
        """Whatever strict parameters are set to, there must be an item."""
        problems: dict[Settings, str] = {}
        for settings, _ in self.structure.all_settings():
            strict = tuple(
                setting if self.parameters[index].strict else None
                for index, setting in zip(self.structure.places, settings, strict=True)
            )
            problem = self.structure.form(settings).problem
            if problem and strict not in problems:
                problems[strict] = f"{problem}{self._where(settings)}"
            elif not problem:
                problems[strict] = ""
        for problem in problems.values():
            if problem:
                raise ArgumentError(problem)

    def _impossible(self, problem: str, values: Sequence[Any]) -> str:
        return problem + self._where(tuple(values[index] for index in self.structure.places))

    def _where(self, settings: Settings) -> str:
        return f" (with {self.structure.describe(settings)})" if settings else ""


class _Table:
    """The structures that go with given strict settings, weighted by how much of each is within budgets."""

    def __init__(self, structure: Structure, strict: Settings) -> None:
        listed = [
            (settings, probability)
            for settings, probability in structure.all_settings()
            if all(fixed in (None, setting) for fixed, setting in zip(strict, settings, strict=True))
            and not structure.form(settings).problem
        ]
        draws = min(WEIGHING_DRAWS, max(WEIGHING_DRAWS_IN_ALL // max(len(listed), 1), 16))
        self._settings: list[Settings] = []
        self._ends: list[float] = []
        reached = 0.0
        for settings, probability in listed:
            reached += probability * _mass(structure.form(settings), structure.distributions, draws)
            self._settings.append(settings)
            self._ends.append(reached)

    def draw(self, word: int) -> Settings | None:
        """One of them, or None where there are none or too many to list."""
        if not self._settings or not self._ends[-1]:
            return None
        index = bisect_right(self._ends, share(word) * self._ends[-1])
        return self._settings[min(index, len(self._settings) - 1)]


def _first(
    form: Form,
    free: Sequence[int],
    values: list[Any],
    words: Mapping[int, Words] | Sequence[Words],
    ordered: Mapping[int, Ordered],
) -> bool:
    """Draw parameters one after the other, each inside what the ends of those to come leave possible."""
    lows, highs = _ends(form, free, values, ordered)
    for root in free:
        low, high = window(form.shares[root], lows, highs)
        value = ordered[root].draw_within(words[root][0], low, high)
        if value is None:
            return False
        values[root] = lows[root] = highs[root] = value
    return True


def _ends(
    form: Form, free: Sequence[int], values: Sequence[Any], ordered: Mapping[int, Ordered]
) -> tuple[dict[int, int], dict[int, int]]:
    lows = {root: ordered[root].least for root in free}
    highs = {root: ordered[root].greatest for root in free}
    if len(free) < len(form.roots):
        strict = {root: values[root] for root in form.roots if root not in lows}
        lows.update(strict)
        highs.update(strict)
    return lows, highs


def _searched(
    form: Form,
    free: Sequence[int],
    values: list[Any],
    words: Sequence[Words],
    ordered: Mapping[int, Ordered],
) -> bool:
    """Try values one by one, the last parameter's fastest and each from a random one on, until all fit."""
    lows, highs = _ends(form, free, values, ordered)
    pending: list[Iterator[int]] = []
    left = MOST_SEARCHED
    while len(pending) < len(free):
        root = free[len(pending)]
        low, high = window(form.shares[root], lows, highs)
        pending.append(_turned(ordered[root], low, high, words[root][WORDS - 2]))
        while (value := next(pending[-1], None)) is None or not left:
            # Nothing is left to try here: back to the parameter before.
            pending.pop()
            lows[root], highs[root] = ordered[root].least, ordered[root].greatest
            if not pending or not left:
                return False
            root = free[len(pending) - 1]
        left -= 1
        lows[root] = highs[root] = value
    for root in free:
        values[root] = lows[root]
    return True


def _turned(distribution: Ordered, low: int, high: int, word: int) -> Iterator[int]:
    """All values in [low, high], from one that a word chooses to the one before it."""
    low, high = max(low, distribution.least), min(high, distribution.greatest)
    inside: Sequence[int] = range(low, high + 1)
    if isinstance(distribution, WholeChoices):
        inside = [value for value in distribution.values if low <= value <= high]
    start = below(word, len(inside))
    return itertools.chain(inside[start:], inside[:start])


def _pass(
    form: Form,
    free: Sequence[int],
    values: Sequence[Any],
    words: Mapping[int, int],
    ordered: Mapping[int, Ordered],
) -> tuple[float, dict[int, int]]:
    """A first pass, and the probability of the windows that it went through: 0 where it came to nothing."""
    lows, highs = _ends(form, free, values, ordered)
    weight, found = 1.0, {}
    for root in free:
        low, high = window(form.shares[root], lows, highs)
        value = ordered[root].draw_within(words[root], low, high)
        if value is None:
            return 0.0, {}
        weight *= ordered[root].mass(low, high)
        found[root] = lows[root] = highs[root] = value
    return weight, found


def _passes(form: Form, ordered: Mapping[int, Ordered], count: int) -> Iterator[tuple[float, dict[int, int]]]:
    """Passes over all parameters of a form, with words of their own: the same ones for every seed."""
    streams = [Stream(0, f"weighing/{number}") for number in range(len(form.roots))]
    for number in range(count):
        words = {root: stream.words((number,))[0] for root, stream in zip(form.roots, streams, strict=True)}
        yield _pass(form, form.roots, (), words, ordered)


def _mass(form: Form, ordered: Mapping[int, Ordered], draws: int) -> float:
    """The probability that independent draws are within the budgets, estimated."""
    return sum(weight for weight, _ in _passes(form, ordered, draws)) / draws


def _stuck(form: Form, ordered: Mapping[int, Ordered], draws: int) -> float:
    """How often a parameter has one value only, of those that the others leave it."""
    alone = total = 0
    for weight, values in _passes(form, ordered, draws):
        for root in form.roots if weight else ():
            low, high = window(form.shares[root], values, values)
            ends = (ordered[root].draw_within(word, low, high) for word in (0, WORD_SPAN - 1))
            alone += len(set(ends)) == 1
            total += 1
    return alone / total if total else 1.0
