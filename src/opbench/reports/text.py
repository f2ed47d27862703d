"""Text from outside, made safe to show: names, reasons and output may hold anything."""

from __future__ import annotations

from rich.cells import cell_len, set_cell_size


def printable(text: str) -> str:
    """The text with line breaks, control sequences, surrogates and bidirectional marks written as escapes.

    So nothing that a case is called or prints can move the cursor, colour the terminal or reorder a line.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in text)


def printable_lines(text: str, limit: int) -> list[str]:
    """The text line by line, each printable, at most `limit` lines with the cut in the middle."""
    lines = [printable(line.expandtabs()) for line in text.splitlines()]
    if len(lines) <= limit:
        return lines
    head = (limit + 1) // 2
    tail = limit - head
    return [*lines[:head], f"... {len(lines) - limit} lines ...", *lines[len(lines) - tail :]]


def shorten(text: str, width: int) -> str:
    """The text cut to so many terminal cells, with an ellipsis where something is missing."""
    if cell_len(text) <= width:
        return text
    return set_cell_size(text, width - 1).rstrip() + "…" if width > 1 else "…"[:width]


def left(text: str, width: int) -> str:
    """The text flush left in exactly so many terminal cells."""
    return set_cell_size(shorten(text, width), width)


def right(text: str, width: int) -> str:
    """The text flush right in at least so many terminal cells: a number is never cut."""
    return " " * (width - cell_len(text)) + text


def wrap(text: str, width: int) -> list[str]:
    """The text in lines of at most so many terminal cells, broken at spaces where there are any."""
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        joined = f"{line} {word}" if line else word
        if cell_len(joined) <= width:
            line = joined
            continue
        if line:
            lines.append(line)
        while cell_len(word) > width:
            part = set_cell_size(word, width).rstrip()
            # A wide character may not fit into the last cell; one character is always taken.
            part = part or word[0]
            lines.append(part)
            word = word[len(part) :]
        line = word
    return [*lines, line] if line else lines
