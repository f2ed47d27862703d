"""The search for inputs that take two sides the most different times.

It knows neither inputs nor clocks: candidates come from a space, times from a function. With the same
times it finds the same things, so it is tested with made-up ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, Protocol, TypeAlias, TypeVar

# Draws for each candidate that is looked for, before a space counts as exhausted.
TRIES = 20
# So many times as many as are needed show their difference twice.
RECHECKED = 2

Candidate = TypeVar("Candidate")


class Space(Protocol[Candidate]):
    """Where candidates come from. The same number always gives the same one."""

    def sample(self, number: int) -> Candidate | None:
        """A random candidate."""

    def neighbour(self, parent: Candidate, number: int) -> Candidate | None:
        """One that differs a little from another."""

    def key(self, candidate: Candidate) -> str:
        """Equal for candidates that would measure the same thing."""


@dataclass(frozen=True)
class Estimate:
    """What one side took, and between what its true time lies."""

    time_s: float
    low_s: float
    high_s: float


@dataclass(frozen=True)
class Difference:
    """Two sides' times of one candidate."""

    first: Estimate
    second: Estimate

    @property
    def ratio(self) -> float:
        """How many times as long the second side takes."""
        return self.second.time_s / self.first.time_s

    @property
    def range(self) -> tuple[float, float]:
        """The least and the greatest ratio that the intervals of both sides allow."""
        return self.second.low_s / self.first.high_s, self.second.high_s / self.first.low_s

    @property
    def size(self) -> float:
        """How far from equal, whichever side is the slower one."""
        return abs(math.log(self.ratio))

    @property
    def certain(self) -> float:
        """The logarithm of the ratio that is nearest to equal among those that the intervals allow: 0 when
        they allow equal sides, above it when the second side is the slower one."""
        low, high = self.range
        return max(math.log(low), 0.0) + min(math.log(high), 0.0)

    @property
    def is_apart(self) -> bool:
        """True when the intervals do not allow the sides to be equal."""
        return self.certain != 0.0


# For each candidate in order; None for one that could not be measured on both sides.
Measure: TypeAlias = Callable[[Sequence[Candidate]], Sequence[Difference | None]]


@dataclass(frozen=True)
class Found(Generic[Candidate]):
    """A candidate with what was seen of it in the search, and in the fresh measurement that counts."""

    candidate: Candidate
    searched: Difference
    fresh: Difference


@dataclass(frozen=True)
class Effort:
    """How much is tried: random samples, then generations of children of the best, then the last few."""

    samples: int = 100
    generations: int = 2
    parents: int = 8
    children: int = 4
    top: int = 10


@dataclass(frozen=True)
class Outcome(Generic[Candidate]):
    """What was found, the largest difference first, and how many candidates there were."""

    found: tuple[Found[Candidate], ...]
    measured: int
    not_measured: int


def search(
    space: Space[Candidate],
    measure: Measure[Candidate],
    effort: Effort,
    *,
    confirm: Measure[Candidate] | None = None,
    stopped: Callable[[], bool] = lambda: False,
) -> Outcome[Candidate]:
    """Find the candidates of a space whose two times differ most.

    The largest of many noisy ratios flatters itself. So whoever leads is measured once more before it gets
    children or is kept, and the last few are measured afresh (by `confirm`, if that is given), and ranked
    and reported by those times alone.
    """
    known: _Known[Candidate] = _Known(space, measure)
    seen: set[str] = set()
    numbers = range(TRIES * effort.samples)
    known.add(_distinct(space, map(space.sample, numbers), effort.samples, seen))
    counters: dict[str, Iterator[int]] = {}
    for _ in range(effort.generations):
        if stopped():
            break
        known.repeat(RECHECKED * effort.parents)
        children: list[Candidate] = []
        for parent, _difference in known.largest(effort.parents):
            # Where an earlier generation has stopped.
            numbers_left = counters.setdefault(space.key(parent), iter(range(TRIES * effort.samples)))
            near = (space.neighbour(parent, number) for number in numbers_left)
            children += _distinct(space, near, effort.children, seen, tries=TRIES * effort.children)
        known.add(children)
    if not stopped():
        known.repeat(RECHECKED * effort.top)
    largest = known.largest(effort.top)
    fresh: Sequence[Difference | None] = []
    if not stopped():
        fresh = (confirm or measure)([candidate for candidate, _ in largest])
    found = [
        Found(candidate, searched, again)
        for (candidate, searched), again in zip(largest, fresh, strict=False)
        if again is not None
    ]
    found.sort(key=lambda one: (-one.fresh.size, space.key(one.candidate)))
    return Outcome(tuple(found), known.count, known.not_measured + sum(again is None for again in fresh))


class _Known(Generic[Candidate]):
    """What was measured of each candidate. One counts for as much as all of its measurements agree on."""

    def __init__(self, space: Space[Candidate], measure: Measure[Candidate]) -> None:
        self._space = space
        self._measure = measure
        self._known: dict[str, tuple[Candidate, list[Difference]]] = {}
        self.not_measured = 0

    @property
    def count(self) -> int:
        """How many candidates were measured on both sides."""
        return len(self._known)

    def add(self, candidates: Sequence[Candidate]) -> None:
        """Measure candidates."""
        for candidate, difference in zip(candidates, self._measure(candidates), strict=True):
            if difference is None:
                self.not_measured += 1
            else:
                key = self._space.key(candidate)
                self._known.setdefault(key, (candidate, []))[1].append(difference)

    def repeat(self, count: int) -> None:
        """Measure those that differ most once more, where that was not done yet."""
        once = [candidate for candidate, differences in self._ranked()[:count] if len(differences) == 1]
        self.add(once)

    def largest(self, count: int) -> list[tuple[Candidate, Difference]]:
        """Those that differ most, each with the difference that was first seen of it."""
        return [(candidate, differences[0]) for candidate, differences in self._ranked()[:count]]

    def _ranked(self) -> list[tuple[Candidate, list[Difference]]]:
        ranked = sorted(self._known.items(), key=lambda one: (*_rank(one[1][1]), one[0]))
        return [entry for _, entry in ranked]


def _rank(differences: Sequence[Difference]) -> tuple[float, float]:
    """What to sort by: first how much all measurements are certain of, then what they say on average."""
    certain = [difference.certain for difference in differences]
    agreed = max(min(certain), 0.0) - min(max(certain), 0.0)
    sizes = [math.log(difference.ratio) for difference in differences]
    return -agreed, -abs(sum(sizes) / len(sizes))


def _distinct(
    space: Space[Candidate],
    candidates: Iterator[Candidate | None],
    count: int,
    seen: set[str],
    tries: int | None = None,
) -> list[Candidate]:
    """So many candidates that were not seen before; fewer where there are no more."""
    kept: list[Candidate] = []
    tried = 0
    while len(kept) < count and (tries is None or tried < tries):
        try:
            candidate = next(candidates)
        except StopIteration:
            break
        tried += 1
        if candidate is not None and (key := space.key(candidate)) not in seen:
            seen.add(key)
            kept.append(candidate)
    return kept
