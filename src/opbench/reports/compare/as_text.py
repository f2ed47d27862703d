"""Tables as text, laid out as `torch.utils.benchmark.Compare` does."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from rich.cells import cell_len

from opbench.reports.compare.sheet import Cell, Line, Sheet
from opbench.reports.compare.tones import coloured
from opbench.reports.text import printable, wrap

_BETWEEN = "  |  "
UNSPECIFIED = "(unspecified)"


def text_of(sheet: Sheet, *, as_torch: bool, width: int | None = None) -> str:
    """One table with what its numbers mean below. With a width, what does not fit stands further down."""
    measure: Callable[[str], int] = len if as_torch else cell_len
    parts = _parts(sheet, measure, width)
    first = 1
    blocks = []
    for columns in parts:
        times = sum(not sheet.is_ratio[column] for column in columns)
        title = sheet.title
        if len(parts) > 1:
            last = first + times - 1
            range_text = f"columns {first} to {last}" if times > 1 else f"column {first}"
            title = f"{title} ({range_text})".strip()
        first += times
        blocks.append("\n".join(_lines(_cut(sheet, columns, title), measure, as_torch)))
    notes = (sheet.unit_line, *sheet.notes)
    ends = "".join(f"{line}\n" for note in notes for line in (wrap(note, width) if width else [note]))
    return "\n\n".join(blocks) + f"\n\n{ends}"


def _parts(sheet: Sheet, measure: Callable[[str], int], width: int | None) -> list[list[int]]:
    """The columns that stand side by side; ratios stay with their times."""
    count = len(sheet.columns)
    if width is None:
        return [list(range(count))]
    widths = [_width(sheet, column, measure) + len(_BETWEEN) for column in range(count)]
    name_width = max(measure(name) for name in _names(sheet, measure))
    parts: list[list[int]] = []
    taken = 0
    for column in range(count):
        if sheet.is_ratio[column]:
            continue
        group = [column, *([column + 1] if column + 1 < count and sheet.is_ratio[column + 1] else [])]
        needed = sum(widths[one] for one in group)
        if not parts or taken + needed > width:
            parts.append([])
            taken = name_width
        parts[-1] += group
        taken += needed
    return parts


def _cut(sheet: Sheet, columns: Sequence[int], title: str) -> Sheet:
    return replace(
        sheet,
        title=title,
        columns=tuple(sheet.columns[column] for column in columns),
        lines=tuple(
            replace(line, cells=tuple(line.cells[column] for column in columns)) for line in sheet.lines
        ),
    )


def _lines(sheet: Sheet, measure: Callable[[str], int], as_torch: bool) -> Iterator[str]:
    names = _names(sheet, measure, as_torch)
    name_width = max(measure(name) for name in names)
    widths = [_width(sheet, column, measure) for column in range(len(sheet.columns))]
    header = _BETWEEN.join(
        [
            " " * name_width,
            *(centred(title, width, measure) for title, width in zip(sheet.columns, widths, strict=True)),
        ]
    )
    overall = measure(header)
    title = f" {sheet.title} "
    yield f"[{centred(title, overall - 2, measure, '-')}]"
    yield header
    threads = None
    for line, name in zip(sheet.lines, names, strict=True):
        if line.num_threads != threads:
            threads = line.num_threads
            yield f"{threads} threads: ".ljust(overall, "-")
        padded = name + " " * (name_width - measure(name))
        yield _BETWEEN.join([padded, *_cells(line.cells, widths, measure)])


def _cells(cells: Sequence[Cell], widths: Sequence[int], measure: Callable[[str], int]) -> Iterator[str]:
    for cell, width in zip(cells, widths, strict=True):
        yield coloured(centred(cell.text, width, measure), cell.tone)


def _width(sheet: Sheet, column: int, measure: Callable[[str], int]) -> int:
    return max(measure(sheet.columns[column]), *(measure(line.cells[column].text) for line in sheet.lines))


def _names(sheet: Sheet, measure: Callable[[str], int], as_torch: bool = False) -> list[str]:
    """The name of each row, behind its environment where that differs from the one above."""
    envs = [env_text(line, as_torch) if sheet.tells_env else "" for line in sheet.lines]
    env_width = max((measure(env) for env in envs), default=0) + (2 if sheet.tells_env else 4)
    names = []
    before: Line | None = None
    for line, env in zip(sheet.lines, envs, strict=True):
        is_same = before is not None and (before.num_threads, before.env) == (line.num_threads, line.env)
        shown = "" if is_same or (as_torch and not line.env) else env
        names.append("  " + shown + " " * (env_width - measure(shown)) + line.name)
        before = line
    return names


def env_text(line: Line, as_torch: bool = False) -> str:
    """The environment of a row in brackets."""
    if line.env is None:
        return UNSPECIFIED
    return f"({line.env if as_torch else printable(line.env)})"


def centred(text: str, width: int, measure: Callable[[str], int], fill: str = " ") -> str:
    """The text in the middle of so many cells; of an odd rest, `str.center` decides where it goes."""
    missing = max(width - measure(text), 0)
    left = missing // 2 + (missing & width & 1)
    return fill * left + text + fill * (missing - left)
