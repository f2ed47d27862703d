"""A case that does its worst costs exactly one row, with the right status, and the run goes on."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from opbench.cases.builders import call, tensor
from opbench.cases.model import suite_of
from opbench.cases.plan import Plan
from opbench.execution.api import execute
from opbench.execution.options import Isolation, Options
from opbench.results.records import Measurement

OPERATORS = str(Path(__file__).with_name("hostile_operators.py"))
PLAN = Plan(
    budget_s=0.01,
    warmup_s=0.01,
    samples=3,
    warmup_calls=1,
    calls_per_sample=1,
    timeout_s=4.0,
    memory_cap_bytes=256 << 20,
)
# Statuses a reader may see; where two are listed, it depends on who notices first.
EXPECTED = {
    "segfault": {"crashed"},
    "abort": {"crashed"},
    "exit_zero": {"crashed"},
    "sys_exit": {"failed"},
    "interrupt": {"failed"},
    "hang": {"timeout"},
    "hang_deaf": {"timeout"},
    "stop_itself": {"timeout"},
    "hoard": {"out_of_memory"},
    "hoard_python": {"out_of_memory"},
    "gigabyte": {"ok"},
    "leave_child": {"ok"},
    "leave_daemon": {"ok"},
    "fork_and_return": {"ok"},
    "close_files": {"crashed"},
    "raise_unpicklable": {"failed"},
    "raise_mute": {"failed"},
    "raise_unprintable": {"failed"},
    "break_modules": {"crashed"},
    "return_garbage": {"ok", "failed"},
    "write_garbage": {"ok", "crashed"},
    "kill_parent": {"crashed"},
    "kill_itself": {"crashed"},
    "kill_group": {"crashed"},
    "recurse": {"failed", "crashed"},
}


def measure(names: list[str], isolation: Isolation, plan: Plan = PLAN) -> dict[str, Measurement]:
    cases = []
    for name in names:
        # A fine case after each bad one: the run goes on, and the neighbour is unharmed.
        cases.append(call(f"hostile.{name}", tensor(4, 4)))
        cases.append(call("hostile.fine", tensor(4, 4), label=f"after {name}", seed=len(cases)))
    options = Options(plan=plan, isolation=isolation, operators=(OPERATORS,))
    rows = list(execute(suite_of("hostile", cases), options))
    assert [row.case for row in rows] == cases
    return {row.case.name.removeprefix("hostile."): row for row in rows}


def processes_with(text: str) -> list[int]:
    found = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if text.encode() in entry.read_bytes():
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


@pytest.fixture(scope="module")
def forked() -> dict[str, Measurement]:
    return measure(list(EXPECTED), "fork")


@pytest.mark.parametrize("name", EXPECTED)
def test_it_costs_one_row_with_the_right_status(forked: dict[str, Measurement], name: str) -> None:
    row = forked[name]
    assert row.status in EXPECTED[name], row.reason
    assert row.status == "ok" or row.reason
    assert forked[f"after {name}"].status == "ok", forked[f"after {name}"].reason


def test_reasons_say_what_happened(forked: dict[str, Measurement]) -> None:
    assert "SIGSEGV" in forked["segfault"].reason
    assert "SIGABRT" in forked["abort"].reason
    assert "exit code 0" in forked["exit_zero"].reason
    assert "longer than 4 s" in forked["hang"].reason
    assert "cannot be pickled" in forked["raise_unpicklable"].reason
    assert "took its worker with it" in forked["kill_parent"].reason


def test_output_is_bounded_and_kept(forked: dict[str, Measurement]) -> None:
    output = forked["gigabyte"].output
    assert output.stdout.startswith("spam ")
    assert output.dropped_bytes > 1_000_000_000
    assert len(output.stdout) < 20_000


def test_what_was_left_behind_is_gone(forked: dict[str, Measurement]) -> None:
    assert processes_with("7654") == []
    assert "left_processes" in {caution.code for caution in forked["leave_child"].warnings}
    assert "left_processes" in {caution.code for caution in forked["leave_daemon"].warnings}


@pytest.mark.parametrize("isolation", ["none", "spawn"])
def test_other_isolations_survive_as_well(isolation: Isolation) -> None:
    names = ["segfault", "exit_zero", "hang", "raise_unpicklable", "leave_daemon", "kill_itself"]
    rows = measure(names, isolation)
    for name in names:
        assert rows[name].status in EXPECTED[name], rows[name].reason
        assert rows[f"after {name}"].status == "ok"
    assert processes_with("7654") == []


# More than there are processors is where torch settles for fewer threads than it was told of.
@pytest.mark.parametrize("num_threads", [2, 3 * len(os.sched_getaffinity(0))])
def test_a_child_has_threads_and_the_worker_it_was_forked_from_has_none(num_threads: int) -> None:
    cases = [
        call("hostile.matmul_threads", tensor(512, 512), num_threads, num_threads=num_threads, seed=seed)
        for seed in range(3)
    ]
    options = Options(plan=PLAN, operators=(OPERATORS,), oversubscribe=True)
    rows = list(execute(suite_of("threads", cases), options))
    assert [row.status for row in rows] == ["ok"] * 3, [row.reason for row in rows]
    assert not [caution for row in rows for caution in row.warnings if caution.code == "forked_with_threads"]


def test_no_worker_is_left(forked: dict[str, Measurement]) -> None:
    lists = [path.read_text().split() for path in Path("/proc/self/task").glob("*/children")]
    assert not {int(pid) for pids in lists for pid in pids} & set(processes_with("worker/__main__.py"))
