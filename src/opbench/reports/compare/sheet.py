"""A table as texts and tones: what every way of writing it has in common."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from opbench.reports import format as fmt
from opbench.reports.compare import figures
from opbench.reports.compare.contrasts import Baseline
from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Contrast, Grid, GridRow, one_line
from opbench.reports.compare.tones import Colorize, Tone, tone_of
from opbench.reports.compare.verdicts import Significance
from opbench.reports.text import printable
from opbench.results.timing import Measurement
from opbench.results.units import ordered_unique, unit_to_english

RATIO = "ratio"
# So many reasons for missing times are told below a table.
_MOST_REASONS = 10
_WIDE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."


@dataclass(frozen=True)
class Look:
    """How times are shown. `as_torch`: rounded, coloured and warned of by torch's rules."""

    as_torch: bool = False
    trims: bool = False
    warns: bool = False
    colorize: Colorize = Colorize.NONE
    baseline: Baseline | None = None
    significance: Significance | None = None


@dataclass(frozen=True)
class Cell:
    """One text, and how good what it says is."""

    text: str = ""
    tone: Tone = Tone.PLAIN


@dataclass(frozen=True)
class Line:
    """One row of a table."""

    num_threads: int
    env: str | None
    name: str
    cells: tuple[Cell, ...]


@dataclass(frozen=True)
class Sheet:
    """One table. `columns` are titles, of which those of ratios belong to the one before."""

    title: str
    columns: tuple[str, ...]
    is_ratio: tuple[bool, ...]
    lines: tuple[Line, ...]
    tells_env: bool
    unit_line: str
    notes: tuple[str, ...]


def sheet_of(grid: Grid, look: Look, comparisons: int) -> Sheet:
    """The table of a grid, one of several in which so many comparisons are made."""
    unit, scale = grid.unit
    titles: list[str] = []
    is_ratio: list[bool] = []
    columns: list[list[Cell]] = []
    for place, title in enumerate(grid.columns):
        titles.append(title if look.as_torch else printable(title))
        is_ratio.append(False)
        columns.append(_times(grid, place, scale, look))
        found = [row.contrasts[place] for row in grid.rows]
        # A column that is the baseline would be nothing but ones.
        if any(one is not None and not one.is_baseline for one in found):
            titles.append(RATIO)
            is_ratio.append(True)
            columns.append(_ratios(found))
    label = grid.label or ""
    return Sheet(
        label if look.as_torch else printable(label),
        tuple(titles),
        tuple(is_ratio),
        tuple(
            Line(row.num_threads, row.env, _name(row, look), cells)
            for row, cells in zip(grid.rows, zip(*columns, strict=True), strict=True)
        ),
        grid.tells_env,
        f"Times are in {unit_to_english(unit)}s ({unit}).",
        (*_notes(grid, look), *(_ratio_notes(grid, look, comparisons) if any(is_ratio) else ())),
    )


def _name(row: GridRow, look: Look) -> str:
    return row.name if look.as_torch else printable(one_line(row.name))


def _times(grid: Grid, place: int, scale: float, look: Look) -> list[Cell]:
    entries = [row.cells[place] for row in grid.rows]
    timed = [entry.times if entry is not None else None for entry in entries]
    write = figures.as_torch if look.as_torch else figures.as_known
    texts = write(timed, scale, trims=look.trims, warns=look.warns)
    bests = _bests(grid, place, look.colorize)
    cells = []
    for text, entry, times, best in zip(texts, entries, timed, bests, strict=True):
        tone = Tone.PLAIN
        if times is not None and best is not None:
            tone = tone_of(times, best, as_torch=look.as_torch)
        cells.append(Cell(text or (entry.status if entry is not None else ""), tone))
    return cells


def _bests(grid: Grid, place: int, colorize: Colorize) -> list[Measurement | None]:
    """The best times that each time of a column is coloured by."""
    if colorize is Colorize.NONE:
        return [None] * len(grid.rows)
    if colorize is Colorize.ROWWISE:
        return [_best(row.cells) for row in grid.rows]
    blocks: dict[int, list[Entry | None]] = {}
    for row in grid.rows:
        blocks.setdefault(row.num_threads, []).append(row.cells[place])
    bests = {num_threads: _best(entries) for num_threads, entries in blocks.items()}
    return [bests[row.num_threads] for row in grid.rows]


def _best(entries: Iterable[Entry | None]) -> Measurement | None:
    timed = (entry.times for entry in entries if entry is not None and entry.times is not None)
    return min(timed, key=_median, default=None)


def _median(times: Measurement) -> float:
    return times.median


def _ratios(found: list[Contrast | None]) -> list[Cell]:
    texts = [ratio_text(one) if one is not None else "" for one in found]
    verdicts = [one.verdict or "" if one is not None else "" for one in found]
    width = max(len(text) for text in texts)
    verdict_width = max(len(verdict) for verdict in verdicts)
    gap = " " if verdict_width else ""
    return [
        Cell(f"{text:>{width}}{gap}{verdict:<{verdict_width}}" if text else "")
        for text, verdict in zip(texts, verdicts, strict=True)
    ]


def ratio_text(contrast: Contrast) -> str:
    """A ratio with three figures."""
    return "" if math.isnan(contrast.ratio) else f"{fmt.significant(contrast.ratio)}x"


def _notes(grid: Grid, look: Look) -> Iterator[str]:
    timed = [entry.times for entry in grid.entries if entry.times is not None]
    if look.warns:
        if any(not times.meets_confidence() for times in timed):
            yield _WIDE
        if not look.as_torch:
            yield from _cautions(timed)
    reasons = ordered_unique((entry.status, entry.reason) for entry in grid.entries if entry.times is None)
    told = [f"{status}: {printable(one_line(reason))}" for status, reason in reasons if reason]
    yield from told[:_MOST_REASONS]
    if len(told) > _MOST_REASONS:
        yield f"... and {len(told) - _MOST_REASONS} more reasons"


def _cautions(timed: Sequence[Measurement]) -> Iterator[str]:
    """One of each kind: those of one kind differ in their numbers at most."""
    kinds: dict[str, list[str]] = {}
    for times in timed:
        for caution in times.cautions:
            kinds.setdefault(caution.code, []).append(printable(one_line(caution.message)))
    for messages in kinds.values():
        more = f" (and {len(messages) - 1} more of this kind)" if len(messages) > 1 else ""
        yield f"(!) {messages[0]}{more}"


def _ratio_notes(grid: Grid, look: Look, comparisons: int) -> Iterator[str]:
    if look.baseline is not None:
        yield f"Ratios are times divided by those of {printable(look.baseline.text)}: below 1 is faster."
    if look.significance is not None:
        confidence, within = look.significance.confidence * 100, look.significance.same_within * 100
        together = f"all {comparisons} comparisons together" if comparisons > 1 else "this comparison"
        yield f"Verdicts have a confidence of {confidence:.4g}% for {together}; same: within {within:.3g}%."
        drift = max((one.drift for row in grid.rows for one in row.contrasts if one is not None), default=0.0)
        if drift:
            share = f"{drift * 100:.3g}%"
            yield f"Too few replicates to see how far measurements drift: {share} were allowed for it."
