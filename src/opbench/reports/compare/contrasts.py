"""Times beside a baseline: their ratio, where it truly lies, and whether it is more than noise.

Two medians differ when their intervals do not meet. Each interval comes from order statistics, so nothing is
assumed of how the times are distributed, and each is so wide that all comparisons together hold with the
confidence asked for (Bonferroni's rule).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple, TypeAlias

from opbench.reports.compare.grid import Grid, Row, one_line
from opbench.results.timing import Measurement
from opbench.results.units import ordered_unique
from opbench.worker.probes.estimate import fewest

Across: TypeAlias = Literal["columns", "rows", "envs"]
Verdict: TypeAlias = Literal["faster", "slower", "same", "undecided"]


@dataclass(frozen=True)
class Baseline:
    """What times are divided by: in the direction of `across` the one of this name, the first or the best."""

    across: Across
    which: Literal["named", "first", "best"]
    name: str = ""

    @property
    def text(self) -> str:
        """In words for below a table."""
        kind = self.across[:-1]
        what = "environment" if kind == "env" else kind
        if self.which == "named":
            return f"{what} {one_line(self.name)!r}"
        if self.which == "first":
            return f"the first {what}"
        return f"the best of all {what}s"


@dataclass(frozen=True)
class Test:
    """What a difference must be to count: certain to this degree, and larger than `same_within`."""

    confidence: float = 0.95
    same_within: float = 0.01


@dataclass(frozen=True)
class Contrast:
    """A time divided by that of its baseline. The interval holds together with those of all others."""

    ratio: float
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    reason: str = ""
    is_baseline: bool = False


@dataclass(frozen=True)
class Contrasts:
    """The contrasts of all tables; those of one family stand or fall together."""

    # By table, row and column.
    found: dict[tuple[int, int, int], Contrast]
    comparisons: int


def contrasts(tables: Sequence[Grid], baseline: Baseline, test: Test | None) -> Contrasts:
    """Every time that has a baseline beside it; with a test also a verdict for each."""
    groups = [
        (table, group, base)
        for table, grid in enumerate(tables)
        for group in _groups(grid, baseline.across)
        if (base := _chosen(group, baseline)) is not None
    ]
    family = sum(_comparisons(len(group), baseline) for _, group, _ in groups)
    found = {}
    for table, group, base in groups:
        for one in group:
            ratio = _ratio(one.times.median, base.median)
            if one.times is base:
                contrast = Contrast(ratio, is_baseline=True)
            elif test is None:
                contrast = Contrast(ratio)
            else:
                contrast = _tested(one.times, base, ratio, test, family)
            found[(table, one.row, one.column)] = contrast
    return Contrasts(found, family)


class _Rival(NamedTuple):
    """One of those that have a baseline in common: what it is called, where it stands, its times."""

    name: str
    is_first: bool
    row: int
    column: int
    times: Measurement


def _groups(grid: Grid, across: Across) -> list[list[_Rival]]:
    """Which times are compared with each other, each group in the order of the table."""
    groups: dict[tuple[object, ...], list[_Rival]] = {}
    started: set[tuple[object, ...]] = set()
    for place, row in enumerate(grid.rows):
        for column, entry in enumerate(row.cells):
            key, name = _membership(grid, row, place, column, across)
            is_first = key not in started
            started.add(key)
            if entry is not None and entry.times is not None:
                groups.setdefault(key, []).append(_Rival(name, is_first, place, column, entry.times))
    return list(groups.values())


def _membership(
    grid: Grid, row: Row, place: int, column: int, across: Across
) -> tuple[tuple[object, ...], str]:
    """The group that a cell belongs to, and what it is called among the others there."""
    if across == "columns":
        return (place,), grid.columns[column]
    if across == "rows":
        return (row.num_threads, row.env, column), row.name
    return (row.num_threads, row.name, column), env_name(row.env)


def env_name(env: str | None) -> str:
    """What an environment is called, also where nobody said."""
    return "unspecified" if env is None else env


def _chosen(group: list[_Rival], baseline: Baseline) -> Measurement | None:
    if baseline.which == "best":
        return min((one.times for one in group), key=lambda times: times.median)
    if baseline.which == "first":
        return next((one.times for one in group if one.is_first), None)
    return next((one.times for one in group if one.name == baseline.name), None)


def _comparisons(count: int, baseline: Baseline) -> int:
    """How many are made in a group: with the best, which is known only after looking, of all with all."""
    return count * (count - 1) // 2 if baseline.which == "best" else count - 1


def names(tables: Sequence[Grid], across: Across) -> list[str]:
    """Every name that a baseline can have."""
    found: list[str] = []
    for grid in tables:
        if across == "columns":
            found += grid.columns
        else:
            found += [row.name if across == "rows" else env_name(row.env) for row in grid.rows]
    return ordered_unique(found)


def _ratio(value: float, base: float) -> float:
    if base > 0:
        return value / base
    return math.inf if value > 0 else math.nan


def _tested(times: Measurement, base: Measurement, ratio: float, test: Test, family: int) -> Contrast:
    each = 1 - (1 - test.confidence) / (2 * family)
    own, other = times.interval(each), base.interval(each)
    if own is None or other is None or min(own.confidence, other.confidence) < each:
        least = min(len(times.raw_times), len(base.raw_times))
        return Contrast(
            ratio, verdict="undecided", reason=f"{least} samples are too few, {fewest(each)} are needed"
        )
    low, high = _ratio(own.low, other.high), _ratio(own.high, other.low)
    if low >= 1 / (1 + test.same_within) and high <= 1 + test.same_within:
        return Contrast(ratio, low, high, "same", f"they differ by less than {test.same_within:.3g}")
    if own.high < other.low:
        return Contrast(ratio, low, high, "faster", "the intervals of the medians do not meet")
    if own.low > other.high:
        return Contrast(ratio, low, high, "slower", "the intervals of the medians do not meet")
    return Contrast(ratio, low, high, "undecided", "the intervals of the medians meet")
