"""What `--json` prints for a row."""

from __future__ import annotations

import json
import math

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.model import Case
from opbench.reports.rows import case_line, row_document, row_line
from opbench.results.records import Measurement, Metric

# Scripts rely on these: a new one may come, none may go.
KEYS = {
    *("case_id", "status", "reason", "op", "stmt", "label", "sub_label", "inputs", "direction", "runtime"),
    *("device", "num_threads", "tags", "environment", "run_id", "repeat", "attempt", "time_s", "time_low_s"),
    *("time_high_s", "confidence", "samples", "metrics", "warnings", "started_at", "duration_s"),
}


def test_keys(rows: list[Measurement]) -> None:
    assert all(set(row_document(row)) >= KEYS for row in rows)


def test_values(rows: list[Measurement]) -> None:
    document = json.loads(row_line(rows[1]))
    assert document["op"] == "torch.mm"
    assert document["direction"] == "backward"
    assert document["time_s"] == 1.0214e-3
    assert document["metrics"]["memory.peak"] == 262144
    assert document["warnings"] == ["unstable"]
    assert document["samples"] == 10


def test_what_was_not_measured_has_a_reason_and_no_time(rows: list[Measurement]) -> None:
    document = json.loads(row_line(rows[5]))
    assert (document["status"], document["reason"]) == ("timeout", "stopped after 120 s")
    assert document["time_s"] is None
    assert document["metrics"] == {}


@given(st.text(), st.floats())
def test_always_one_line_of_strict_ascii_json(text: str, value: float) -> None:
    case = Case(op="torch.add", label=text, description=text)
    row = Measurement(
        run_id="r",
        case_id="c",
        case=case,
        status="ok",
        reason=text,
        metrics=(Metric("time", value, "s", "duration"),),
    )
    for line in (row_line(row), case_line("c", msgspec.to_builtins(case))):
        assert line.isascii()
        assert "\n" not in line
        document = json.loads(line, parse_constant=lambda name: 1 / 0)
        assert document["case_id"] == "c"
        assert document.get("label", "") == text
    expected = value if math.isfinite(value) else None
    assert row_document(row)["time_s"] == expected
