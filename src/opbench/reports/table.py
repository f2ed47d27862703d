"""The table of a run, line by line while the run goes on: nothing of a suite is kept but the row at hand.

A line is a list of (text, style) pieces, so one piece of code serves colour terminals and pipes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from opbench.reports import format as fmt
from opbench.reports.inputs import describe_inputs, describe_variant, short_op
from opbench.reports.marks import Marks
from opbench.reports.text import left, printable, right
from opbench.results.records import Measurement

Line = list[tuple[str, str]]

# From here on, the name and the inputs of a case stand side by side; below, one above the other.
WIDE = 120
NARROWEST = 60
_DIRECTIONS = {
    "forward": ("forward", "fwd"),
    "backward": ("backward", "bwd"),
    "forward_backward": ("fwd+bwd", "f+b"),
}


@dataclass(frozen=True)
class Column:
    """One number of a row. `narrow` is the title and the width where space is short."""

    title: str
    width: int
    narrow: tuple[str, int]
    cell: Callable[[Measurement], str]


def _scaled(tag: str, factor: float) -> Callable[[Measurement], str]:
    def cell(row: Measurement) -> str:
        metric = row.metric(tag)
        if metric is None or metric.value is None:
            return ""
        return fmt.significant(metric.value / factor, 3)

    return cell


def _hinted(tag: str) -> Callable[[Measurement], str]:
    def cell(row: Measurement) -> str:
        metric = row.metric(tag)
        return "" if metric is None or metric.value is None else fmt.metric_text(metric)

    return cell


def _reach(row: Measurement) -> str:
    time = row.metric("time")
    reach = fmt.spread(time) if time else None
    return "" if reach is None else f"±{reach * 100:.{0 if reach >= 0.9995 else 1}f}%"


def _samples(row: Measurement) -> str:
    time = row.metric("time")
    return str(len(time.samples)) if time and time.samples else ""


def _percent(tag: str) -> Callable[[Measurement], str]:
    def cell(row: Measurement) -> str:
        metric = row.metric(tag)
        return "" if metric is None or metric.value is None else f"{metric.value * 100:.0f}%"

    return cell


TIME = Column("time", 8, ("time", 8), _hinted("time"))
NUMBERS = (
    Column("±", 6, ("±", 6), _reach),
    Column("n", 4, ("n", 4), _samples),
    Column("GFLOP/s", 7, ("GF/s", 5), _scaled("rate.flops", 1e9)),
    Column("GB/s", 6, ("GB/s", 5), _scaled("rate.bytes", 1e9)),
    Column("of roof", 7, ("roof", 4), _percent("roofline")),
    Column("peak mem", 8, ("peak mem", 8), _hinted("memory.peak")),
)


@dataclass(frozen=True)
class Layout:
    """Where everything stands. `repeat_names` writes them on each row, for programs that take lines apart."""

    wide: bool
    name_width: int
    inputs_width: int
    repeat_names: bool

    @property
    def gap(self) -> str:
        """What stands between two columns."""
        return "  " if self.wide else " "


def layout_for(width: int | None) -> Layout:
    """The layout for so many columns; None for a pipe, where a line may be as long as it likes."""
    if width is None:
        return Layout(True, 32, 40, repeat_names=True)
    if width < WIDE:
        taken = 4 + TIME.width + sum(1 + column.narrow[1] for column in NUMBERS) + 4
        return Layout(False, max(width, NARROWEST) - taken, 0, repeat_names=False)
    taken = 2 + 8 + 2 + TIME.width + sum(2 + column.width for column in NUMBERS) + 4
    free = min(width, 180) - taken - 2
    name_width = min(max(free * 2 // 5, 20), 40)
    return Layout(True, name_width, free - name_width, repeat_names=False)


class Table:
    """Turns rows into lines, in the order in which they come; neighbours of one call share their name."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.marks = Marks()
        self.confidence: float | None = None
        self._group: tuple[str, str] | None = None
        self._pending = ""

    def header(self) -> Line:
        """The titles of the columns."""
        wide = self.layout.wide
        titles = [left("operator", self.layout.name_width)]
        if wide:
            titles.append(left("inputs", self.layout.inputs_width))
        titles.append(left("", 8 if wide else 3))
        titles.append(right(TIME.title, TIME.width))
        for column in NUMBERS:
            titles.append(right(*((column.title, column.width) if wide else column.narrow)))
        return [(self.layout.gap.join(titles), "bold")]

    def row(self, row: Measurement) -> Iterator[Line]:
        """The lines that this row completes."""
        layout = self.layout
        name, inputs = self._names(row)
        if self._group == (name, inputs):
            first, second = ("", self._pending) if not layout.wide else ("", "")
            self._pending = ""
        else:
            yield from self._flush()
            self._group = (name, inputs)
            first, second = name, inputs
        repeated = layout.repeat_names
        line: Line = []
        if layout.wide:
            line.append((left(name if repeated else first, layout.name_width), "bold"))
            line.append((layout.gap + left(inputs if repeated else second, layout.inputs_width), "dim"))
        elif first:
            line.append((left(first, layout.name_width), "bold"))
            self._pending = f" {inputs}" if inputs else ""
        else:
            line.append((left(second, layout.name_width), "dim"))
        line += self._numbers(row)
        yield line

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
            percent = f"{self.confidence * 100:.4g}%"
            lines.append(
                [(f"time is the median; ± the wider side of its confidence interval ({percent} or more)", "dim")]
            )
        for letter, code, times, message in self.marks.entries():
            many = f" ({times} rows)" if times > 1 else ""
            lines.append([(f"{letter:>2}", "yellow"), (f"  {code}{many}: {message}", "dim")])
        return lines

    def _names(self, row: Measurement) -> tuple[str, str]:
        case = row.case
        name = case.name if self.layout.wide else short_op(case.name)
        variant = [
            describe_variant(case),
            "" if row.environment == "this" else row.environment,
            f"repeat {row.repeat}" if row.repeat else "",
            f"attempt {row.attempt}" if row.attempt else "",
        ]
        parts = [case.sub_label, ", ".join(part for part in variant if part), describe_inputs(case)]
        return printable(name), printable(" · ".join(part for part in parts if part))

    def _numbers(self, row: Measurement) -> Line:
        wide, gap = self.layout.wide, self.layout.gap
        long, short = _DIRECTIONS[row.case.direction]
        line: Line = [(gap + (left(long, 8) if wide else left(short, 3)), "")]
        if row.status != "ok":
            line.append((f"{gap}{right(row.status.replace('_', ' '), TIME.width)}", "red"))
            return line
        time = row.metric("time")
        if time is not None and time.interval is not None:
            least = time.interval.confidence
            self.confidence = least if self.confidence is None else min(self.confidence, least)
        line.append((gap + right(TIME.cell(row), TIME.width), "bold green"))
        numbers = (right(column.cell(row), column.width if wide else column.narrow[1]) for column in NUMBERS)
        line.append((gap + gap.join(numbers), ""))
        marks = self.marks.of(row)
        if marks:
            line.append((f" {marks}", "yellow"))
        return line

    def _flush(self) -> Iterator[Line]:
        if self._pending:
            yield [(left(self._pending, self.layout.name_width), "dim")]
            self._pending = ""
