"""Which measurements a comparison shows, and in which order its rows stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, TypeAlias

from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Grid, GridRow
from opbench.results.timing import Measurement

Order: TypeAlias = Literal["time", "name", "ratio"]
ORDERS: tuple[Order, ...] = ("time", "name", "ratio")


@dataclass(frozen=True)
class Filter:
    """What to keep: what a function says, and what has these texts in its names, in upper or lower case."""

    keep: Callable[[Measurement], Any] | None = None
    # By field of the task; "" is for any of label, row and column.
    texts: tuple[tuple[str, str], ...] = ()

    def lets_pass(self, entry: Entry) -> bool:
        """Whether this entry is shown. What has no times is shown where only texts are asked for."""
        task = entry.task
        for field, text in self.texts:
            named = (getattr(task, field),) if field else (task.label, task.as_row_name, task.description)
            if not any(text.lower() in (name or "").lower() for name in named):
                return False
        return self.keep is None or (entry.times is not None and bool(self.keep(entry.times)))


@dataclass(frozen=True)
class Sorting:
    """The order of the rows of a block."""

    by: Order
    descending: bool = False


def ordered(grid: Grid, sorting: Sorting) -> Grid:
    """The grid with the rows of each block in this order."""
    blocks = groupby(grid.rows, key=lambda row: (row.num_threads, row.env))
    return replace(grid, rows=tuple(row for _, block in blocks for row in _block(list(block), sorting)))


def _block(block: list[GridRow], sorting: Sorting) -> list[GridRow]:
    if sorting.by == "name":
        return sorted(block, key=lambda row: natural(row.name), reverse=sorting.descending)
    value = _shortest if sorting.by == "time" else _smallest_ratio
    found = [(value(row), row) for row in block]
    with_value = [(number, row) for number, row in found if number is not None]
    with_value.sort(key=lambda item: item[0], reverse=sorting.descending)
    # Rows without a number are last, whichever way the others go.
    return [row for _, row in with_value] + [row for number, row in found if number is None]


def _shortest(row: GridRow) -> float | None:
    times = [entry.times.median for entry in row.cells if entry is not None and entry.times is not None]
    return min(times, default=None)


def _smallest_ratio(row: GridRow) -> float | None:
    found = [one.ratio for one in row.contrasts if one is not None and not one.is_baseline]
    return min((ratio for ratio in found if not math.isnan(ratio)), default=None)


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in names by size: `(16, 128)` before `(128, 16)`."""
    parts: Sequence[str] = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part]
