"""Compiling in figures: rows for people, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from opbench.execution.compile_record import CompileRecord
from opbench.results.timing import Measurement

HEADINGS = (
    *("Train/Inference", "Backend", "Mode", "Compilation Time", "Average Running Time"),
    *("Speed-up", "Pays Off After", "Notes"),
)
# Of what torch warned of.
MOST_NOTES = 2
LONGEST_NOTE = 120


def table(records: Sequence[CompileRecord], eager: Measurement | None = None) -> str:
    """The model as it is, then a row for each backend and mode, as Markdown.

    Without `eager`, the model's own row is what the first record measured of it.
    """
    eager = eager or next((record.eager for record in records if record.eager is not None), None)
    rows: list[tuple[str, ...]] = []
    if eager is not None:
        rows.append(("Eager", "-", "-", milliseconds(eager.median), "-", "-", ""))
    rows += map(_row, records)
    kind = "Training" if any(record.training for record in records) else "Inference"
    return markdown(HEADINGS, [(kind, *row) for row in rows])


def markdown(headings: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table as GitHub reads it, and people too."""
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (headings, *rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    lines = [
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)) + " |"
        for row in cells
    ]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join((lines[0], rule, *lines[1:]))


def milliseconds(seconds: float | None) -> str:
    """A time in the unit of the table, to four figures or the next microsecond."""
    if seconds is None:
        return "-"
    value = seconds * 1e3
    return f"{value:.0f} ms" if value >= 1000 else f"{value:.4g} ms"


def _row(record: CompileRecord) -> tuple[str, ...]:
    steady = record.steady
    mode = record.mode or "-"
    if record.status != "ok" or steady is None:
        words = f"{record.status.replace('_', ' ')}: {record.reason}"
        return (record.backend, mode, "-", "-", "-", "-", "; ".join((words, *_shortly(record.notes))))
    return (
        record.backend,
        mode,
        milliseconds(record.compile_s),
        milliseconds(steady.median),
        _speed_up(record),
        _pays_off(record),
        "; ".join(_notes(record)),
    )


def _speed_up(record: CompileRecord) -> str:
    interval = record.speed_up_interval
    if record.speed_up is None:
        return "-"
    if interval is None:
        return f"{record.speed_up:.3g}"
    return f"{record.speed_up:.3g} ({interval.low:.3g} to {interval.high:.3g})"


def _pays_off(record: CompileRecord) -> str:
    calls = record.pays_off_after_calls
    if calls is not None:
        return f"{calls:,} call{'s' if calls > 1 else ''}"
    return "never" if record.verdict == "slower" else "undecided"


def _notes(record: CompileRecord) -> list[str]:
    found = []
    if record.agrees is False:
        apart = record.max_abs_difference
        found.append(
            "RESULTS DIFFER from eager"
            + (" in shape or type" if apart is None else f" by {apart:.2g} at most")
        )
    breaks, again = len(record.graph_breaks), record.recompilations
    if breaks:
        found.append(f"{record.graphs} graph{'s' if record.graphs > 1 else ''}, {record.graph_breaks[0]}")
    if again:
        found.append(f"compiled again {again} time{'s' if again > 1 else ''}")
    if any(
        caution.code == "interference"
        for one in (record.steady, record.eager)
        if one
        for caution in one.cautions
    ):
        found.append("other work disturbed the times")
    return [*found, *_shortly(record.notes)]


def _shortly(notes: Sequence[str]) -> list[str]:
    """The first of what may be hundreds of long warnings; the record has them all."""
    shown = [note if len(note) <= LONGEST_NOTE else f"{note[:LONGEST_NOTE]}…" for note in notes[:MOST_NOTES]]
    more = len(notes) - len(shown)
    return [*shown, f"and {more} more note{'s' if more > 1 else ''}"] if more else shown
