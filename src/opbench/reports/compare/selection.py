"""Which measurements a comparison shows, and in which order its rows stand."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, Literal, TypeAlias

from opbench.reports.compare.contrasts import Contrasts
from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Grid, Row
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


def ordered(grid: Grid, table: int, sorting: Sorting, ratios: Contrasts | None) -> tuple[Grid, list[int]]:
    """The grid with the rows of each block in this order, and where each of them stood before."""
    numbered = list(enumerate(grid.rows))
    found: list[tuple[int, Row]] = []
    for _, block in groupby(numbered, key=lambda item: (item[1].num_threads, item[1].env)):
        found += _block(list(block), table, sorting, ratios)
    return replace(grid, rows=tuple(row for _, row in found)), [place for place, _ in found]


def _block(
    block: list[tuple[int, Row]], table: int, sorting: Sorting, ratios: Contrasts | None
) -> list[tuple[int, Row]]:
    if sorting.by == "name":
        return sorted(block, key=lambda item: natural(item[1].name), reverse=sorting.descending)
    values = {place: _value(row, (table, place), sorting, ratios) for place, row in block}
    # Rows without a number are last, whichever way the others go.
    with_number = [item for item in block if values[item[0]] is not None]
    without = [item for item in block if values[item[0]] is None]
    return [
        *sorted(with_number, key=lambda item: values[item[0]] or 0.0, reverse=sorting.descending),
        *without,
    ]


def _value(row: Row, place: tuple[int, int], sorting: Sorting, ratios: Contrasts | None) -> float | None:
    """The shortest time of a row, or the smallest of its ratios."""
    if sorting.by == "time":
        times = [entry.times.median for entry in row.cells if entry is not None and entry.times is not None]
        return min(times, default=None)
    if ratios is None:
        return None
    found = [ratios.found.get((*place, column)) for column in range(len(row.cells))]
    return min(
        (one.ratio for one in found if one and not one.is_baseline and not math.isnan(one.ratio)),
        default=None,
    )


def natural(name: str) -> list[tuple[int, int, str]]:
    """A key that sorts numbers in names by size: `(16, 128)` before `(128, 16)`."""
    parts: Sequence[str] = re.split(r"(\d+)", name)
    return [(0, int(part), "") if part.isdecimal() else (1, 0, part.lower()) for part in parts if part]
