"""What stands under the table."""

from __future__ import annotations

import msgspec

from opbench.reports.summary import MOST_SHOWN, Summary
from opbench.results.records import Measurement, Run


def plain(lines: object) -> str:
    return "\n".join("".join(text for text, _ in line) for line in lines)  # type: ignore[attr-defined]


def summary_of(rows: list[Measurement]) -> Summary:
    summary = Summary()
    for row in rows:
        summary.add(row)
    return summary


def test_counts(rows: list[Measurement]) -> None:
    summary = summary_of(rows)
    assert summary.counts() == "8 measured, 1 failed, 1 timeout"
    assert (summary.total, summary.not_ok) == (10, 2)


def test_failures_come_with_their_reasons(rows: list[Measurement]) -> None:
    text = plain(summary_of(rows).failures(80))
    assert "Not measured: 2 of 10" in text
    assert "stopped after 120 s" in text
    assert "A must be batches of square matrices" in text
    assert max(map(len, text.splitlines())) <= 80


def test_many_failures_are_not_all_told(rows: list[Measurement]) -> None:
    failed = [row for row in rows if row.status == "failed"] * (MOST_SHOWN + 5)
    text = plain(summary_of(failed).failures(80))
    assert text.count("linalg.cholesky: A must be") == MOST_SHOWN
    assert text.endswith("and 5 more")


def test_no_failures_no_section(rows: list[Measurement]) -> None:
    assert plain(summary_of(rows[:2]).failures(80)) == ""


def test_a_traceback_is_told_by_its_last_line(rows: list[Measurement]) -> None:
    row = msgspec.structs.replace(
        rows[-1], reason="Traceback (most recent call last):\n  File x\nValueError: no\n"
    )
    text = plain(summary_of([row]).failures(80))
    assert "ValueError: no" in text
    assert "File x" not in text


def test_reasons_cannot_move_the_cursor(rows: list[Measurement]) -> None:
    row = msgspec.structs.replace(rows[-1], reason="\x1b[2J gone\u202e")
    text = plain(summary_of([row]).failures(80))
    assert "\\x1b[2J gone\\u202e" in text
    assert "\x1b" not in text


def test_the_closing_says_what_to_type_next(rows: list[Measurement]) -> None:
    run = Run(run_id="20261118-230000-abcd")
    good, bad = summary_of(rows[:2]), summary_of(rows)
    text = plain(good.closing(elapsed_s=3.21, run=run, kept_in="/data/opbench.sqlite", interrupted=False))
    assert "2 measured in 3.2 s" in text
    assert "Kept as run 20261118-230000-abcd in /data/opbench.sqlite" in text
    assert f"opbench show 20261118-230000-abcd --case {rows[1].case_id}" in text
    assert "--rerun-failed" not in text
    text = plain(bad.closing(elapsed_s=3.21, run=run, kept_in="x", interrupted=False))
    assert "opbench run --rerun-failed 20261118-230000-abcd" in text
    text = plain(bad.closing(elapsed_s=3.21, run=run, kept_in="x", interrupted=True))
    assert "opbench run --resume 20261118-230000-abcd" in text
    assert "(interrupted)" in text
    assert "Nothing was kept" in plain(good.closing(elapsed_s=1, run=None, kept_in="", interrupted=False))
