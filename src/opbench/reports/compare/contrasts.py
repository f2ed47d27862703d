"""Times beside a baseline: which one is compared with which, and their ratio."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, TypeAlias

from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Contrast, Grid, GridRow, one_line
from opbench.reports.compare.verdicts import Significance, judged, ratio_of
from opbench.results.units import ordered_unique

Across: TypeAlias = Literal["columns", "rows", "envs"]


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


def contrasted(
    grids: Sequence[Grid], baseline: Baseline, significance: Significance | None
) -> tuple[list[Grid], int]:
    """The grids with a contrast wherever there is a baseline, and how many comparisons these are."""
    groups = [
        [(group, base) for group in _groups(grid, baseline.across) if (base := _chosen(group, baseline))]
        for grid in grids
    ]
    family = sum(_comparisons(len(group), baseline) for found in groups for group, _ in found)
    filled = []
    for grid, found in zip(grids, groups, strict=True):
        rows = [list(row.contrasts) for row in grid.rows]
        for group, base in found:
            for one in group:
                rows[one.row][one.column] = _contrast(one.entry, base, significance, family)
        pairs = zip(grid.rows, rows, strict=True)
        filled.append(replace(grid, rows=tuple(replace(row, contrasts=tuple(new)) for row, new in pairs)))
    return filled, family


class _Rival(NamedTuple):
    """One of those that have a baseline in common: what it is called, and where it stands."""

    name: str
    is_first: bool
    row: int
    column: int
    entry: Entry
    median_s: float


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
                groups.setdefault(key, []).append(
                    _Rival(name, is_first, place, column, entry, entry.times.median)
                )
    return list(groups.values())


def _membership(
    grid: Grid, row: GridRow, place: int, column: int, across: Across
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


def _chosen(group: list[_Rival], baseline: Baseline) -> Entry | None:
    if baseline.which == "best":
        return min(group, key=lambda one: one.median_s).entry
    if baseline.which == "first":
        return next((one.entry for one in group if one.is_first), None)
    return next((one.entry for one in group if one.name == baseline.name), None)


def _contrast(entry: Entry, base: Entry, significance: Significance | None, family: int) -> Contrast:
    if entry is base:
        return Contrast(ratio_of(entry, base), is_baseline=True)
    if significance is None:
        return Contrast(ratio_of(entry, base))
    return judged(entry, base, significance, family)


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
