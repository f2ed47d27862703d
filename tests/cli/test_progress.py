"""What is said while a run goes on."""

from __future__ import annotations

import io

import pytest
from rich.console import Console

from opbench.cases.model import Case
from opbench.cli.progress import SECONDS_BETWEEN_LINES, Bar, Lines, Quiet, standing_text
from opbench.execution.options import Progress
from opbench.results.records import Measurement, Metric

CASE = Case(op="torch.add", label="two\nlines\x1b[2J")
ROW = Measurement(
    run_id="r", case_id="c", case=CASE, status="ok", metrics=(Metric("time", 1.5e-6, "s", "duration"),)
)


def standing(done: int, expected: int | None = 4, not_ok: int = 0, eta_s: float | None = None) -> Progress:
    return Progress(done, expected, not_ok, 1.0, eta_s)


@pytest.mark.parametrize(
    ("progress", "text"),
    [
        (standing(0), "0/4"),
        (standing(2, eta_s=75.0, not_ok=1), "2/4, 1 not ok, about 75.0 s to go"),
        (standing(4, eta_s=0.0), "4/4"),
        (standing(3, expected=None), "3 done"),
    ],
)
def test_how_far_a_run_is(progress: Progress, text: str) -> None:
    assert standing_text(progress) == text


def test_lines_come_now_and_then() -> None:
    now = [0.0]
    stream = io.StringIO()
    lines = Lines(stream, lambda: now[0])
    for done, at in enumerate((1.0, 4.9, 5.0, 6.0, 5.0 + SECONDS_BETWEEN_LINES), 1):
        now[0] = at
        lines.row_finished(ROW, standing(done, 5))
    assert [line.split("]")[0] for line in stream.getvalue().splitlines()] == ["[3/5", "[5/5"]
    assert "1.500 µs" in stream.getvalue()
    assert "\x1b" not in stream.getvalue()


def test_a_line_for_a_row_that_failed_says_so() -> None:
    stream = io.StringIO()
    now = iter((0.0, 9.0))
    row = Measurement(run_id="r", case_id="c", case=CASE, status="out_of_memory")
    Lines(stream, lambda: next(now)).row_finished(row, standing(1))
    assert stream.getvalue().endswith("forward: out of memory\n")


def test_quiet_shows_notices_only() -> None:
    stream = io.StringIO()
    with Quiet(stream) as quiet:
        quiet.case_started(CASE, standing(0))
        quiet.row_finished(ROW, standing(1))
        quiet.notice("mind\x1b[2J this")
    assert stream.getvalue() == "opbench: mind\\x1b[2J this\n"


@pytest.mark.parametrize("width", [40, 80, 200])
def test_a_bar_stays_on_its_line_and_is_gone_at_the_end(width: int) -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=width, color_system=None)
    with Bar(console) as bar:
        bar.case_started(Case(op="torch." + "x" * 300), standing(1, eta_s=3.0))
        bar.row_finished(ROW, standing(2, eta_s=2.0, not_ok=1))
        bar.notice("a word")
    text = stream.getvalue()
    assert "opbench: a word" in text
    # The last thing written erases the line of the bar.
    assert text.rstrip().endswith("\x1b[2K")
