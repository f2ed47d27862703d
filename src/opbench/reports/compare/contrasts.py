"""Times beside a baseline: their ratio, where it truly lies, and whether it is more than noise.

Two medians differ when their intervals do not meet. Each interval comes from order statistics, so nothing is
assumed of how the times are distributed, and each is so wide that all comparisons together hold with the
confidence asked for (Bonferroni's rule).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opbench.reports.compare.entries import Entry
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
    pairs = {
        (table, row, column): (times, base)
        for table, grid in enumerate(tables)
        for row, column, times, base in _pairs(grid, baseline)
    }
    family = _family(tables, baseline, [times is not base for times, base in pairs.values()])
    found = {}
    for place, (times, base) in pairs.items():
        ratio = _ratio(times.median, base.median)
        if times is base:
            found[place] = Contrast(ratio, is_baseline=True)
        elif test is None:
            found[place] = Contrast(ratio)
        else:
            found[place] = _tested(times, base, ratio, test, family)
    return Contrasts(found, family)


def _pairs(grid: Grid, baseline: Baseline) -> Iterator[tuple[int, int, Measurement, Measurement]]:
    for place, row in enumerate(grid.rows):
        for column, entry in enumerate(row.cells):
            base = _chosen(_candidates(grid, row, column, baseline), baseline)
            if entry is not None and entry.times is not None and base is not None:
                yield place, column, entry.times, base


def _candidates(grid: Grid, row: Row, column: int, baseline: Baseline) -> list[tuple[str, Entry | None]]:
    """All that could be the baseline of this cell, by name."""
    if baseline.across == "columns":
        return list(zip(grid.columns, row.cells, strict=True))
    block = grid.block_of(row)
    if baseline.across == "rows":
        return [(other.name, other.cells[column]) for other in block if other.env == row.env]
    return [(env_name(other.env), other.cells[column]) for other in block if other.name == row.name]


def env_name(env: str | None) -> str:
    """What an environment is called, also where nobody said."""
    return "unspecified" if env is None else env


def _chosen(candidates: list[tuple[str, Entry | None]], baseline: Baseline) -> Measurement | None:
    if baseline.which == "best":
        timed = [entry.times for _, entry in candidates if entry is not None and entry.times is not None]
        return min(timed, key=lambda times: times.median, default=None)
    if baseline.which == "named":
        candidates = [(name, entry) for name, entry in candidates if name == baseline.name]
    entry = candidates[0][1] if candidates else None
    return entry.times if entry is not None else None


def names(tables: Sequence[Grid], across: Across) -> list[str]:
    """Every name that a baseline can have."""
    found: list[str] = []
    for grid in tables:
        if across == "columns":
            found += grid.columns
        else:
            found += [row.name if across == "rows" else env_name(row.env) for row in grid.rows]
    return ordered_unique(found)


def _family(tables: Sequence[Grid], baseline: Baseline, is_compared: list[bool]) -> int:
    """How many comparisons are made: with the best, which is chosen after looking, of all with all."""
    if baseline.which != "best":
        return sum(is_compared)
    groups: dict[tuple[int, int], int] = {}
    for grid in tables:
        for row in grid.rows:
            for column, entry in enumerate(row.cells):
                if entry is not None and entry.times is not None:
                    timed = [one for _, one in _candidates(grid, row, column, baseline) if one and one.times]
                    groups[min(id(one) for one in timed), len(timed)] = len(timed)
    return sum(count * (count - 1) // 2 for count in groups.values())


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
