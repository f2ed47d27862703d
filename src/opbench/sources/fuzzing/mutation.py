"""Neighbours of an item: the same parameters but one or two, inside the same budgets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opbench.sources.fuzzing.conditional import Sampler
from opbench.sources.fuzzing.distributions import WholeChoices
from opbench.sources.fuzzing.words import Place, Stream, below, happens

# A number moves to at most so many times, or to this part of what it was.
FACTOR = 2


class Mutation:
    """Changes parameters by words of its own: the same ones for the same parent and number, always."""

    def __init__(self, sampler: Sampler, seed: int) -> None:
        self._sampler = sampler
        self._stream = Stream(seed, "mutation")

    def mutated(self, values: Sequence[Any], place: Place) -> tuple[list[Any], bool]:
        """Values beside those of a parent, and whether tensors are laid out in memory anew."""
        words = self._stream.words(place)
        changed = list(values)
        count = len(self._sampler.parameters)
        if not count:
            return changed, True
        self._change(below(words[0], count), changed, words[1])
        if happens(words[2], 0.5):
            self._change(below(words[3], count), changed, words[4])
        return changed, happens(words[5], 0.25)

    def _change(self, index: int, values: list[Any], word: int) -> None:
        structure = self._sampler.structure
        ordered = structure.distributions.get(index)
        before = values[index]
        if ordered is None or index in structure.places:
            values[index] = self._sampler.parameters[index].distribution.draw(word)
            if not self._sampler.fits(values):
                values[index] = before
            return
        low, high = self._sampler.window(index, values) or (ordered.least, ordered.greatest)
        if before > 0 and not isinstance(ordered, WholeChoices):
            low, high = max(low, before // FACTOR), min(high, before * FACTOR)
        values[index] = ordered.draw_within(word, low, high)
