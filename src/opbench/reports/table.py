"""The table of a run, line by line while the run goes on: nothing of a suite is kept but the row at hand.

A line is a list of (text, style) pieces, so one piece of code serves colour terminals and pipes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from rich.cells import cell_len

from opbench.reports import format as fmt
from opbench.reports.inputs import describe_row
from opbench.reports.marks import Marks
from opbench.reports.text import left, right, wrap
from opbench.results.records import Measurement

Line = list[tuple[str, str]]

# From FULL on there is room for long names; below SIDE_BY_SIDE, inputs stand under the name, not beside it.
FULL = 150
SIDE_BY_SIDE = 110
NARROWEST = 50
# So many cells at least for the name, at the cost of the columns that people miss least, in this order.
LEAST_NAME = 22
EXPENDABLE = ("of roof", "n", "GB/s", "GFLOP/s")
# A pipe has no width, but no cell is worth more than this, and running text needs an end.
LONGEST_CELL = 100
TEXT_WIDTH = 100
_DIRECTIONS = {
    "forward": ("forward", "fwd"),
    "backward": ("backward", "bwd"),
    "forward_backward": ("fwd+bwd", "f+b"),
}


@dataclass(frozen=True)
class Column:
    """One number of a row. `short` is its title and width where space is short."""

    title: str
    width: int
    short: tuple[str, int]
    cell: Callable[[Measurement, int], str]


def _scaled(tag: str, factor: float) -> Callable[[Measurement, int], str]:
    def cell(row: Measurement, width: int) -> str:
        metric = row.metric(tag)
        if metric is None or metric.value is None:
            return ""
        return fmt.fitted(metric.value / factor, width)

    return cell


def _hinted(tag: str) -> Callable[[Measurement, int], str]:
    def cell(row: Measurement, width: int) -> str:
        metric = row.metric(tag)
        return "" if metric is None or metric.value is None else fmt.metric_text(metric)

    return cell


def _reach(row: Measurement, width: int) -> str:
    time = row.metric("time")
    reach = fmt.spread(time) if time else None
    if reach is None or not math.isfinite(reach):
        return ""
    return f"±{fmt.fitted(reach * 100, width - 2, decimals=1)}%"


def _samples(row: Measurement, width: int) -> str:
    time = row.metric("time")
    return str(len(time.samples)) if time and time.samples else ""


def _percent(tag: str) -> Callable[[Measurement, int], str]:
    def cell(row: Measurement, width: int) -> str:
        metric = row.metric(tag)
        if metric is None or metric.value is None or not math.isfinite(metric.value):
            return ""
        return f"{fmt.fitted(metric.value * 100, width - 1, decimals=0)}%"

    return cell


TIME = Column("time", 8, ("time", 8), _hinted("time"))
SHARE = Column("of roof", 7, ("roof", 4), _percent("roofline"))
NUMBERS = (
    Column("±", 6, ("±", 6), _reach),
    Column("n", 4, ("n", 4), _samples),
    Column("GFLOP/s", 7, ("GF/s", 5), _scaled("rate.flops", 1e9)),
    Column("GB/s", 6, ("GB/s", 5), _scaled("rate.bytes", 1e9)),
    SHARE,
    Column("peak mem", 8, ("peak mem", 8), _hinted("memory.peak")),
)


@dataclass(frozen=True)
class Layout:
    """Where everything stands. `whole` repeats names on each row and cuts nothing, for what reads a pipe."""

    short: bool
    stacked: bool
    name_width: int = 0
    inputs_width: int = 0
    whole: bool = False
    columns: tuple[Column, ...] = NUMBERS
    # For running text below the rows.
    text_width: int = TEXT_WIDTH

    @property
    def gap(self) -> str:
        """What stands between two columns."""
        return " " if self.stacked else "  "

    @property
    def direction_width(self) -> int:
        """Cells for the direction."""
        return 3 if self.short else 8

    def title_of(self, column: Column) -> tuple[str, int]:
        """Title and width of a column."""
        return column.short if self.short else (column.title, column.width)

    def cell(self, text: str, width: int) -> str:
        """A text flush left: cut, or in a pipe as long as it is."""
        return left(text, max(width, min(cell_len(text), LONGEST_CELL)) if self.whole else width)


def layout_for(width: int | None, names: Iterable[tuple[str, str]] = ()) -> Layout:
    """The layout for so many columns.

    None is for a pipe, where a line may be as long as it likes: as long as `names` (see `describe_row`) need.
    """
    if width is None:
        name_width, inputs_width = len("operator"), len("inputs")
        for name, inputs in names:
            name_width = max(name_width, min(cell_len(name), LONGEST_CELL))
            inputs_width = max(inputs_width, min(cell_len(inputs), LONGEST_CELL))
        return Layout(False, False, name_width, inputs_width, whole=True)
    if width < SIDE_BY_SIDE:
        return _stacked(max(width, NARROWEST))
    short = width < FULL
    free = min(width, 180) - _taken(Layout(short, stacked=False)) - 2
    name_width = min(max(free * 2 // 5, 20), 50)
    return Layout(short, False, name_width, free - name_width, text_width=min(width, 180))


def _stacked(width: int) -> Layout:
    columns: tuple[Column, ...] = NUMBERS
    for title in ("", *EXPENDABLE):
        columns = tuple(column for column in columns if column.title != title)
        name_width = width - _taken(Layout(True, True, columns=columns))
        if name_width >= LEAST_NAME:
            break
    return Layout(True, True, name_width, columns=columns, text_width=width)


def _taken(layout: Layout) -> int:
    gap = len(layout.gap)
    numbers = sum(gap + layout.title_of(column)[1] for column in (TIME, *layout.columns))
    # The last four cells are for marks.
    return gap + layout.direction_width + numbers + 4


class Table:
    """Turns rows into lines, in the order in which they come; neighbours of one call share their name."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.marks = Marks()
        self.confidence: float | None = None
        self._rates = self._shares = False
        self._group: tuple[str, str] | None = None
        self._pending = ""

    def header(self) -> Line:
        """The titles of the columns."""
        layout = self.layout
        titles = [left("operator", layout.name_width)]
        if not layout.stacked:
            titles.append(left("inputs", layout.inputs_width))
        titles.append(" " * layout.direction_width)
        titles += [right(*layout.title_of(column)) for column in (TIME, *layout.columns)]
        return [(layout.gap.join(titles), "bold underline")]

    def fit(self, layout: Layout) -> Iterator[Line]:
        """Go on in another layout, from a header of its own on; nothing when it is the same."""
        if layout != self.layout:
            yield from self._flush()
            self._group = None
            self.layout = layout
            yield self.header()

    def row(self, row: Measurement) -> Iterator[Line]:
        """The lines that this row completes."""
        layout = self.layout
        name, inputs = describe_row(row.case, row.environment, row.repeat, row.attempt, short=layout.short)
        before = self._group
        self._group = (name, inputs)
        if layout.stacked:
            if before == self._group:
                first = (left(self._pending, layout.name_width), "dim")
                self._pending = ""
            else:
                yield from self._flush()
                first = (left(name, layout.name_width), "bold")
                self._pending = f" {inputs}" if inputs else ""
            yield [first, *self._numbers(row)]
            return
        if not layout.whole and before is not None and before[0] == name:
            name = ""
            inputs = "" if before == self._group else inputs
        yield [
            (layout.cell(name, layout.name_width), "bold"),
            (layout.gap + layout.cell(inputs, layout.inputs_width), "dim"),
            *self._numbers(row),
        ]

    def close(self) -> Iterator[Line]:
        """What is left when no more rows come: the rest of the last one, and what the signs mean."""
        yield from self._flush()
        self._group = None
        legend = self.legend()
        if legend:
            yield []
            yield from legend

    def legend(self) -> list[Line]:
        """What ± and the letters behind the rows mean, as far as they were used."""
        lines: list[Line] = []
        if self.confidence is not None:
            confidence = f"{self.confidence * 100:.4g}%"
            text = f"time is the median of n samples; ± reaches to the far end of its {confidence} interval"
            lines += ([(part, "dim")] for part in wrap(text, self.layout.text_width))
        if self._rates and not self._shares and SHARE in self.layout.columns:
            title = self.layout.title_of(SHARE)[0]
            text = f"{title} needs the limits of this machine: opbench doctor --calibrate measures them, once"
            lines += ([(part, "dim")] for part in wrap(text, self.layout.text_width))
        for letter, text in self.marks.entries():
            first, *others = wrap(text, self.layout.text_width - 4)
            lines.append([(f"{letter:>2}", "yellow"), (f"  {first}", "dim")])
            lines += ([(f"    {other}", "dim")] for other in others)
        return lines

    def _numbers(self, row: Measurement) -> Line:
        layout, gap = self.layout, self.layout.gap
        direction = _DIRECTIONS[row.case.direction][1 if layout.short else 0]
        line: Line = [(gap + left(direction, layout.direction_width), "")]
        if row.status != "ok":
            line.append((f"{gap}{right(row.status.replace('_', ' '), TIME.width)}", "red"))
            return line
        self._rates = self._rates or row.metric("rate.flops") is not None
        self._shares = self._shares or row.metric("roofline") is not None
        time = row.metric("time")
        if time is not None and time.interval is not None:
            least = time.interval.confidence
            self.confidence = least if self.confidence is None else min(self.confidence, least)
        line.append((gap + right(TIME.cell(row, TIME.width), TIME.width), "bold green"))
        for column in layout.columns:
            width = layout.title_of(column)[1]
            line.append((gap + right(column.cell(row, width), width), ""))
        marks = self.marks.of(row)
        if marks:
            line.append((f" {marks}", "yellow"))
        return line

    def _flush(self) -> Iterator[Line]:
        if self._pending:
            yield [(left(self._pending, self.layout.name_width), "dim")]
            self._pending = ""
