"""Compile times: what follows from what was measured, and how a table shows it."""

from __future__ import annotations

import pytest

from opbench.execution.compile_record import CompileRecord
from opbench.execution.compile_table import milliseconds, table
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement


@pytest.mark.parametrize(
    ("ratios", "verdict", "calls"),
    [
        ((2.0, 2.0, 2.0, 2.0, 2.0), "faster", 10),
        ((0.5, 0.9, 0.7, 0.8, 0.6), "slower", None),
        ((2.0, 2.0, 0.9, 2.0, 2.0), "undecided", None),
        ((), None, None),
    ],
)
def test_the_verdict_needs_all_turns(
    ratios: tuple[float, ...], verdict: str | None, calls: int | None
) -> None:
    steady = Measurement(1, [0.1, 0.1], TaskSpec("f()", "pass"))
    found = CompileRecord("b", None, "ok", compile_s=1.0, steady=steady, ratios=ratios)
    assert found.verdict == verdict
    assert found.pays_off_after_calls == calls
    shown = {"faster": "10 calls", "slower": "never", "undecided": "undecided", None: "undecided"}
    assert shown[verdict] in table([found])


def test_the_table_shows_the_first_notes_only() -> None:
    notes = tuple(f"{number} {'x' * 500}" for number in range(9))
    found = CompileRecord("b", None, "failed", reason="why", notes=notes)
    last = table([found]).splitlines()[-1]
    assert "failed: why; 0 xxx" in last
    assert last.endswith("; and 7 more notes |")
    assert len(last) < 500


@pytest.mark.parametrize(
    ("seconds", "text"), [(None, "-"), (3.21e-5, "0.0321 ms"), (0.0123456, "12.35 ms"), (3.0126, "3013 ms")]
)
def test_times_of_the_table(seconds: float | None, text: str) -> None:
    assert milliseconds(seconds) == text
