"""A table as texts and tones: what every way of writing it has in common."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from opbench.reports import format as fmt
from opbench.reports.compare import figures
from opbench.reports.compare.contrasts import Baseline, Contrast, Contrasts, Test
from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Grid, Row, one_line
from opbench.reports.compare.tones import Colorize, Tone, tone_of
from opbench.reports.text import printable
from opbench.results.timing import Measurement
from opbench.results.units import ordered_unique, unit_to_english

RATIO = "ratio"
_WIDE = "(! XX%) Measurement has high variance, where XX is the IQR / median * 100."


@dataclass(frozen=True)
class Look:
    """How times are shown. `as_torch`: rounded, coloured and warned of by torch's rules."""

    as_torch: bool = False
    trims: bool = False
    warns: bool = False
    colorize: Colorize = Colorize.NONE
    baseline: Baseline | None = None
    test: Test | None = None


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


def sheet_of(grid: Grid, look: Look, ratios: Contrasts | None, table: int, places: list[int]) -> Sheet:
    """The table of a grid; `places` says where each of its rows stands among the ratios of the table."""
    unit, scale = grid.unit
    titles: list[str] = []
    is_ratio: list[bool] = []
    columns: list[list[Cell]] = []
    for place, title in enumerate(grid.columns):
        titles.append(title if look.as_torch else printable(title))
        is_ratio.append(False)
        columns.append(_times(grid, place, scale, look))
        found = [ratios.found.get((table, row, place)) for row in places] if ratios is not None else []
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
        tuple(_notes(grid, look, ratios)),
    )


def _name(row: Row, look: Look) -> str:
    return row.name if look.as_torch else printable(one_line(row.name))


def _times(grid: Grid, place: int, scale: float, look: Look) -> list[Cell]:
    entries = [row.cells[place] for row in grid.rows]
    timed = [entry.times if entry is not None else None for entry in entries]
    write = figures.as_torch if look.as_torch else figures.as_known
    texts = write(timed, scale, trims=look.trims, warns=look.warns)
    return [
        Cell(text if text is not None else _problem(entry), _tone(grid, row, place, look))
        for text, entry, row in zip(texts, entries, grid.rows, strict=True)
    ]


def _problem(entry: Entry | None) -> str:
    return entry.status if entry is not None else ""


def _tone(grid: Grid, row: Row, place: int, look: Look) -> Tone:
    entry = row.cells[place]
    if look.colorize is Colorize.NONE or entry is None or entry.times is None:
        return Tone.PLAIN
    rowwise = look.colorize is Colorize.ROWWISE
    rivals = row.cells if rowwise else [other.cells[place] for other in grid.block_of(row)]
    timed = [rival.times for rival in rivals if rival is not None and rival.times is not None]
    return tone_of(entry.times, min(timed, key=_median), as_torch=look.as_torch)


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


def _notes(grid: Grid, look: Look, ratios: Contrasts | None) -> Iterator[str]:
    timed = [entry.times for entry in grid.entries if entry.times is not None]
    if look.warns:
        if any(not times.meets_confidence() for times in timed):
            yield _WIDE
        if not look.as_torch:
            messages = ordered_unique(caution.message for times in timed for caution in times.cautions)
            yield from (f"(!) {printable(one_line(message))}" for message in messages)
    reasons = ordered_unique((entry.status, entry.reason) for entry in grid.entries if entry.times is None)
    yield from (f"{status}: {printable(one_line(reason))}" for status, reason in reasons if reason)
    if ratios is not None and look.baseline is not None and ratios.found:
        yield f"Ratios are times divided by those of {printable(look.baseline.text)}: below 1 is faster."
        if look.test is not None and ratios.comparisons:
            yield from _verdict_notes(look.test, ratios.comparisons)


def _verdict_notes(test: Test, comparisons: int) -> Iterator[str]:
    together = f"all {comparisons} comparisons together" if comparisons > 1 else "this comparison"
    yield (
        f"Verdicts have a confidence of {test.confidence * 100:.4g}% for {together}, as far as the samples "
        f"are independent; same: within {test.same_within * 100:.3g}%."
    )
