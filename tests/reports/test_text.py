"""Text from outside cannot do anything but be read."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opbench.reports.text import left, printable, printable_lines, right, shorten, wrap

ANYTHING = st.text(st.characters(exclude_categories=()), max_size=60)


@given(ANYTHING)
def test_nothing_printable_controls_a_terminal(text: str) -> None:
    for char in printable(text):
        assert unicodedata.category(char) not in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        char.encode()


def test_escapes_are_shown_as_text() -> None:
    assert printable("a\x1b[2Jb\nc\u202ed\ud800") == "a\\x1b[2Jb\\nc\\u202ed\\ud800"
    assert printable("plain µ ± 漢字") == "plain µ ± 漢字"


@given(ANYTHING.map(printable), st.integers(0, 40))
def test_left_has_exactly_the_width(text: str, width: int) -> None:
    assert cell_len(left(text, width)) == width


@given(ANYTHING.map(printable), st.integers(1, 40))
def test_shorten_fits_and_says_when_it_cuts(text: str, width: int) -> None:
    short = shorten(text, width)
    assert cell_len(short) <= width
    assert short == text or short.endswith("…")


@given(ANYTHING.map(printable), st.integers(1, 40))
def test_right_cuts_nothing(text: str, width: int) -> None:
    assert right(text, width).endswith(text)
    assert cell_len(right(text, width)) == max(cell_len(text), width)


@given(ANYTHING.map(printable), st.integers(2, 40))
def test_wrap_fits_and_loses_nothing_but_spaces(text: str, width: int) -> None:
    lines = wrap(text, width)
    assert all(cell_len(line) <= width for line in lines)
    assert "".join(lines).replace(" ", "") == text.replace(" ", "")


def test_wrap_breaks_at_spaces() -> None:
    assert wrap("one two three", 7) == ["one two", "three"]
    assert wrap("", 7) == []


def test_long_output_is_cut_in_the_middle() -> None:
    lines = printable_lines("\n".join(map(str, range(100))), 5)
    assert lines == ["0", "1", "2", "... 95 lines ...", "98", "99"]
    assert printable_lines("a\tb\n\x07", 5) == ["a       b", "\\x07"]
