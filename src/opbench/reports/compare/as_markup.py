"""Tables as Markdown, and as HTML that needs nothing from elsewhere. What comes from outside is escaped."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from html import escape

from opbench.reports.compare.as_text import env_text
from opbench.reports.compare.sheet import Cell, Line, Sheet
from opbench.reports.compare.tones import Tone

# What means something to Markdown in the middle of a line; no text here begins one.
_MARKDOWN = re.compile(r"([\\`*_\[\]|~$])")
_LEFT, _RIGHT = ":--", "--:"
_STYLES = {
    Tone.BEST: "color:#15803d;font-weight:bold",
    Tone.GOOD: "color:#1d4ed8;font-weight:bold",
    Tone.PLAIN: "",
    Tone.BAD: "color:#b45309",
    Tone.VERY_BAD: "color:#b91c1c;font-weight:bold",
}
_CELL = "padding:2px 10px;text-align:{align};white-space:pre"
_RULE = ";border-bottom:1px solid currentColor"


def markdown_of(sheet: Sheet) -> str:
    """One table in the Markdown that GitHub reads; the best times are bold where they are coloured."""
    heads = _heads(sheet)
    lines = [f"**{_plain(sheet.title)}**", ""] if sheet.title else []
    lines += [
        _row([*(_plain(head) for head in heads), *(_plain(title) for title in sheet.columns)]),
        _row([_LEFT if head != "threads" else _RIGHT for head in heads] + [_RIGHT] * len(sheet.columns)),
    ]
    for line in sheet.lines:
        lines.append(_row([*(_plain(text) for text in _keys(sheet, line)), *map(_marked, line.cells)]))
    return "\n".join([*lines, "", *(f"{_plain(note)}  " for note in (sheet.unit_line, *sheet.notes))]) + "\n"


def _heads(sheet: Sheet) -> list[str]:
    return ["threads", *(["environment"] if sheet.tells_env else []), ""]


def _keys(sheet: Sheet, line: Line) -> list[str]:
    return [str(line.num_threads), *([env_text(line)[1:-1]] if sheet.tells_env else []), line.name]


def _row(texts: Sequence[str]) -> str:
    return f"| {' | '.join(texts)} |"


def _marked(cell: Cell) -> str:
    text = _plain(cell.text)
    return f"**{text}**" if text and cell.tone is Tone.BEST else text


def _plain(text: str) -> str:
    """The text as itself: on one line, with nothing in it that Markdown or HTML would take for its own."""
    escaped = escape(" ".join(text.split()), quote=False)
    return _MARKDOWN.sub(r"\\\1", escaped)


def html_of(sheets: Sequence[Sheet]) -> str:
    """All tables as a fragment for a page or a notebook."""
    body = "".join("".join(_table(sheet)) for sheet in sheets)
    return f'<div style="font-family:sans-serif;overflow-x:auto">{body}</div>'


def page_of(sheets: Sequence[Sheet]) -> str:
    """All tables as a page of its own."""
    title = escape(", ".join(sheet.title for sheet in sheets if sheet.title) or "Comparison")
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width"><meta name="color-scheme" content="light dark">'
        f"<title>{title}</title></head>\n<body>{html_of(sheets)}</body></html>\n"
    )


def _table(sheet: Sheet) -> Iterator[str]:
    yield '<table style="border-collapse:collapse;margin:8px 0">'
    if sheet.title:
        yield f'<caption style="text-align:left;font-weight:bold">{escape(sheet.title)}</caption>'
    titles = [*_heads(sheet)[:-1], "", *sheet.columns]
    names = len(titles) - len(sheet.columns)
    heads = "".join(
        f'<th style="{_CELL.format(align="left" if place < names else "right")}{_RULE}">{escape(title)}</th>'
        for place, title in enumerate(titles)
    )
    yield f"<thead><tr>{heads}</tr></thead><tbody>"
    for line in sheet.lines:
        keys = "".join(
            f'<th style="{_CELL.format(align="left")};font-weight:normal">{escape(text)}</th>'
            for text in _keys(sheet, line)
        )
        yield f"<tr>{keys}{''.join(map(_html_cell, line.cells))}</tr>"
    yield "</tbody></table>"
    for note in (sheet.unit_line, *sheet.notes):
        yield f'<p style="margin:2px 0;font-size:smaller">{escape(note)}</p>'


def _html_cell(cell: Cell) -> str:
    style = ";".join(part for part in (_CELL.format(align="right"), _STYLES[cell.tone]) if part)
    return f'<td style="{style}">{escape(cell.text)}</td>'
