"""Where each entry stands: a grid for every label, with rows, columns and nothing put over anything else."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from opbench.reports.compare.entries import Entry
from opbench.reports.text import shorten
from opbench.results.units import ordered_unique, select_unit

# What may differ between entries that would stand in one cell; the last only where nothing else does.
_TELLING = ("stmt", "setup", "global_setup", "language")
_LAST_RESORTS = ("sub_label", "case_id")
# So long may a row's name get by what tells it from others.
_LONGEST_DIFFERENCE = 40
_KEPT_BEFORE_DIFFERENCE = 12

RowKey: TypeAlias = tuple[int, str | None, str]
Verdict: TypeAlias = Literal["faster", "slower", "same", "undecided"]


@dataclass(frozen=True)
class Contrast:
    """A time divided by that of its baseline; the interval is such that those of all tables hold together."""

    ratio: float
    low: float | None = None
    high: float | None = None
    verdict: Verdict | None = None
    reason: str = ""
    # By how much measurements of one thing were allowed to differ, where that is not known.
    drift: float = 0.0
    is_baseline: bool = False


@dataclass(frozen=True)
class GridRow:
    """One line of a table; `cells` has an entry or None for each column, and so have `contrasts`."""

    num_threads: int
    env: str | None
    name: str
    cells: tuple[Entry | None, ...]
    contrasts: tuple[Contrast | None, ...]


@dataclass(frozen=True)
class Grid:
    """All entries of one label, those of the fewest threads first."""

    label: str | None
    columns: tuple[str, ...]
    rows: tuple[GridRow, ...]

    @property
    def entries(self) -> Iterator[Entry]:
        """Every entry, row by row."""
        return (entry for row in self.rows for entry in row.cells if entry is not None)

    @property
    def tells_env(self) -> bool:
        """Whether there are several environments, so that each row has to say which is its own."""
        return len({row.env for row in self.rows}) > 1

    @property
    def unit(self) -> tuple[str, float]:
        """The unit of all its times, from the shortest of them."""
        medians = [entry.times.median for entry in self.entries if entry.times is not None]
        return select_unit(min((median for median in medians if median > 0), default=0.0))


def grids(entries: Sequence[Entry]) -> list[Grid]:
    """A grid for each label, in the order in which the labels came first."""
    labels: dict[str | None, list[Entry]] = {}
    for entry in entries:
        labels.setdefault(entry.task.label, []).append(entry)
    return [_grid(label, found) for label, found in labels.items()]


def _grid(label: str | None, entries: list[Entry]) -> Grid:
    columns = ordered_unique(_column(entry) for entry in entries)
    cells = _told_apart(entries)
    # Sorting is stable: within threads and environment, rows stay in the order in which they came.
    keys = sorted(
        ordered_unique(row for row, _ in cells), key=lambda row: (row[0], row[1] is not None, row[1] or "")
    )
    return Grid(
        label,
        tuple(columns),
        tuple(
            GridRow(*key, tuple(cells.get((key, column)) for column in columns), (None,) * len(columns))
            for key in keys
        ),
    )


def _column(entry: Entry) -> str:
    return entry.task.description or ""


def _row(entry: Entry) -> RowKey:
    return entry.task.num_threads, entry.task.env, entry.task.as_row_name


def _told_apart(entries: list[Entry]) -> dict[tuple[RowKey, str], Entry]:
    """Each entry by row and column; what would share a cell gets rows that say what differs."""
    rows: dict[RowKey, list[Entry]] = {}
    for entry in entries:
        rows.setdefault(_row(entry), []).append(entry)
    places = {id(entry): row for row in rows for entry, row in _named_apart(row, rows[row])}
    # In the order of the entries again: it is the order of the rows.
    cells: dict[tuple[RowKey, str], Entry] = {}
    for entry in entries:
        threads, env, name = places[id(entry)]
        number, taken = 1, name
        while ((threads, env, taken), _column(entry)) in cells:
            number += 1
            taken = f"{name} #{number}"
        cells[(threads, env, taken), _column(entry)] = entry
    return cells


def _named_apart(row: RowKey, entries: list[Entry]) -> Iterator[tuple[Entry, RowKey]]:
    fields = _differing(entries)
    texts = {field: _short_texts([_value(entry, field) for entry in entries]) for field in fields}
    named: dict[str, tuple[str, ...]] = {}
    for entry in entries:
        values = tuple(_value(entry, field) for field in fields)
        shown = ", ".join(
            f"{field}: {texts[field][value]}" for field, value in zip(fields, values, strict=True)
        )
        name, number = f"{row[2]} [{shown}]" if fields else row[2], 1
        # Two values may look alike when shortened.
        while named.setdefault(name if number == 1 else f"{name} #{number}", values) != values:
            number += 1
        yield entry, (row[0], row[1], name if number == 1 else f"{name} #{number}")


def _differing(entries: list[Entry]) -> list[str]:
    """The fields by which to tell entries of this row apart that would stand in one cell."""
    columns: dict[str, list[Entry]] = {}
    for entry in entries:
        columns.setdefault(_column(entry), []).append(entry)
    shared = [found for found in columns.values() if len(found) > 1]

    def differs(field: str, alike: Sequence[str] = ()) -> bool:
        """Whether a field differs between entries that agree in others."""
        for found in shared:
            values: dict[tuple[str, ...], str] = {}
            for entry in found:
                agreed = tuple(_value(entry, name) for name in alike)
                if values.setdefault(agreed, _value(entry, field)) != _value(entry, field):
                    return True
        return False

    fields = [field for field in _TELLING if differs(field)]
    for field in _LAST_RESORTS:
        if differs(field, fields):
            fields.append(field)
    return fields


def _value(entry: Entry, field: str) -> str:
    value = entry.case_id if field == "case_id" else getattr(entry.task, field)
    return value or ""


def _short_texts(values: list[str]) -> dict[str, str]:
    lines = {value: one_line(value) for value in values}
    start = 0
    if max(len(line) for line in lines.values()) > _LONGEST_DIFFERENCE:
        start = max(_shared_length(list(lines.values())) - _KEPT_BEFORE_DIFFERENCE, 0)
    before = "…" if start else ""
    return {
        value: before + shorten(line[start:], _LONGEST_DIFFERENCE) if line else "none"
        for value, line in lines.items()
    }


def _shared_length(lines: list[str]) -> int:
    """How many characters all lines have in common at their beginning."""
    first, last = min(lines), max(lines)
    places = range(min(len(first), len(last)))
    return next((place for place in places if first[place] != last[place]), len(places))


def one_line(code: str) -> str:
    """Code of several lines on one, as far as that is readable."""
    lines = [line.strip() for line in code.splitlines() if line.strip()]
    joined = [line if line.endswith((":", ";", ",", "(", "[", "{")) else f"{line};" for line in lines[:-1]]
    return " ".join([*joined, *lines[-1:]])
