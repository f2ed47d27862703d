"""`opbench run` with every flag that chooses, orders, repeats, keeps and goes on."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from opbench.execution import api
from opbench.execution.worker import Exit

from ..execution.fakes import OK, FakeWorker
from .conftest import Bench, Command

ALL = ["torch.add", "torch.mul", "torch.sub", "torch.div", "torch.neg", "torch.abs"]


def failing(*ops: str) -> Any:
    def script(request: dict[str, Any]) -> dict[str, Any]:
        return {"status": "failed", "reason": "no luck"} if request["case"]["op"] in ops else OK

    return script


def test_rows_come_as_json_lines_and_messages_elsewhere(opbench: Command, bench: Bench, suite: str) -> None:
    ended = opbench("run", suite, "--json")
    assert ended.code == 0
    assert [row["op"] for row in ended.rows] == ALL
    for row in ended.rows:
        assert {"case_id", "status", "op", "metrics", "reason", "run_id"} <= row.keys()
        assert row["status"] == "ok"
        assert row["metrics"]["time"] == row["time_s"] == 1e-6
    assert "6 measured" in ended.err


def test_a_table_stands_alone_on_stdout(opbench: Command, bench: Bench, suite: str) -> None:
    ended = opbench("run", suite)
    assert ended.code == 0
    assert ended.err == ""
    lines = ended.out.splitlines()
    assert re.fullmatch(r"run \S+  six.jsonl · plan default · started .* UTC", lines[0])
    header = next(line for line in lines if line.startswith("operator"))
    rows = [line for line in lines if line.startswith("torch.")]
    assert len(rows) == 6
    assert {row.index("µs") + 2 for row in rows} == {header.index("time") + 4}
    assert "6 measured" in ended.out
    assert "\x1b" not in ended.out


def test_a_case_that_fails_makes_the_exit_code_one(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = failing("torch.sub")
    ended = opbench("run", suite)
    assert ended.code == 1
    assert "Not measured: 1 of 6" in ended.out
    assert "no luck" in ended.out
    assert "opbench run --rerun-failed" in ended.out


def test_only_the_failed_cases_are_run_again(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = failing("torch.sub", "torch.abs")
    opbench("run", suite)
    bench.script = failing("torch.abs")
    ended = opbench("run", "--rerun-failed", "last", "--json")
    assert [(row["op"], row["status"], row["attempt"]) for row in ended.rows] == [
        ("torch.sub", "ok", 1),
        ("torch.abs", "failed", 1),
    ]
    assert ended.code == 1
    bench.script = failing()
    assert opbench("run", "--rerun-failed", "last").code == 0
    assert "nothing to do" in opbench("run", "--rerun-failed", "last").err
    assert [row["status"] for row in opbench("show", "--json").rows] == ["ok"] * 6


def test_fail_fast_stops_and_resume_does_the_rest(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = failing("torch.sub")
    ended = opbench("run", suite, "--fail-fast", "--json")
    assert ended.code == 1
    assert [row["op"] for row in ended.rows] == ALL[:3]
    bench.script = failing()
    ended = opbench("run", "--resume", "last", "--json")
    assert [row["op"] for row in ended.rows] == ALL[3:]
    assert ended.code == 1  # the failed case of the first time is still there
    assert opbench("run", "--resume", "last", "--json").out == ""


def test_a_resumed_run_keeps_what_it_was_asked_for(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = failing("torch.sub")
    opbench("run", suite, "--fail-fast", "--filter", "tag:binary", "--repeat", "2", "--plan", "quick")
    bench.script = failing()
    rows = opbench("run", "--resume", "last", "--json").rows
    assert [(row["op"], row["repeat"]) for row in rows] == [
        ("torch.sub", 1),
        ("torch.div", 0),
        ("torch.div", 1),
    ]
    assert bench.workers[-1].requests[0]["plan"]["budget_s"] == 0.2


def test_a_run_can_be_resumed_from_another_folder(
    opbench: Command, bench: Bench, suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.script = failing("torch.add")
    opbench("run", "six.jsonl", "--fail-fast")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert len(opbench("run", "--resume", "last", "--json").rows) == 5


def test_shards_are_a_partition(opbench: Command, bench: Bench, suite: str) -> None:
    parts = [opbench("run", suite, "--shard", f"{part}/4", "--json").rows for part in (1, 2, 3, 4)]
    assert sorted(row["op"] for part in parts for row in part) == sorted(ALL)
    assert [len(part) for part in parts] == [2, 2, 1, 1]


def test_a_shard_may_be_empty(opbench: Command, bench: Bench, suite: str) -> None:
    ended = opbench("run", suite, "--shard", "9/9", "--json")
    assert (ended.code, ended.out) == (0, "")
    assert "nothing to do" in ended.err


def test_filters_choose(opbench: Command, bench: Bench, suite: str) -> None:
    for text, ops in (
        ("torch.neg", ["torch.neg"]),
        ("tag:unary", ["torch.neg", "torch.abs"]),
        ("torch.?u?", ["torch.mul", "torch.sub"]),
        ("not tag:unary and not torch.?u?", ["torch.add", "torch.div"]),
        ("dtype:float32 and torch.abs", ["torch.abs"]),
    ):
        assert [row["op"] for row in opbench("run", suite, "--filter", text, "--json").rows] == ops


def test_a_filter_that_matches_nothing_is_wrong_usage_and_leaves_no_run(
    opbench: Command, bench: Bench, suite: str
) -> None:
    for verb in (["run", suite], ["run", suite, "--dry-run"], ["list", suite]):
        ended = opbench(*verb, "--filter", "torch.nosuch")
        assert (ended.code, ended.out) == (2, "")
        assert "no case matches --filter 'torch.nosuch'" in ended.err
    assert opbench("store", "list", "--json").rows == []


def test_a_shuffle_is_the_same_each_time(opbench: Command, bench: Bench, suite: str) -> None:
    orders = [
        [row["op"] for row in opbench("run", suite, "--shuffle", seed, "--json").rows]
        for seed in ("1", "1", "2")
    ]
    assert orders[0] == orders[1] != orders[2]
    assert sorted(orders[0]) == sorted(orders[2]) == sorted(ALL)
    assert [row["op"] for row in opbench("list", suite, "--shuffle", "1", "--json").rows] == orders[0]


def test_repeats_are_rows_of_their_own(opbench: Command, bench: Bench, suite: str) -> None:
    rows = opbench("run", suite, "--filter", "torch.add", "--repeat", "3", "--json").rows
    assert [row["repeat"] for row in rows] == [0, 1, 2]
    assert len({row["case_id"] for row in rows}) == 1


def test_retries_try_what_timed_out_again(opbench: Command, bench: Bench, suite: str) -> None:
    left = [Exit(timed_out=True), Exit(timed_out=True)]
    bench.script = lambda request: left.pop() if left else OK
    ended = opbench("run", suite, "--filter", "torch.add", "--retries", "timeout=2,crashed")
    assert ended.code == 0
    assert bench.ops == ["torch.add"] * 3


def test_environments_alternate(opbench: Command, bench: Bench, suite: str, tmp_path: Path) -> None:
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    python.write_text("#!/bin/sh\n")
    python.chmod(0o755)
    ended = opbench(
        "run", suite, "--env", f"one={tmp_path}", "--env", f"two={python}", "--filter", "torch.?u?", "--json"
    )
    assert [(row["op"], row["environment"]) for row in ended.rows] == [
        ("torch.mul", "one"),
        ("torch.mul", "two"),
        ("torch.sub", "one"),
        ("torch.sub", "two"),
    ]
    assert set(bench.environments) == {"one", "two"}
    shown = opbench("show").out
    assert "one · f32[8] f32[8]" in shown


def test_workers_get_what_the_flags_say(opbench: Command, bench: Bench, suite: str) -> None:
    opbench("run", suite, "--isolation", "spawn", "--allow", "mine", "--operators", suite, "--seed", "7")
    assert bench.options[0]["isolation"] == "spawn"
    assert bench.options[0]["allow"] == ("mine",)
    assert bench.options[0]["operators"] == (suite,)
    assert bench.workers[0].requests[0]["case"]["seed"] == 7


def test_every_knob_of_a_plan_reaches_the_worker(opbench: Command, bench: Bench, suite: str) -> None:
    opbench(
        *("run", suite, "--plan", "rigorous", "--budget", "500ms", "--precision", "1%", "--samples", "30"),
        *("-w", "3", "--no-baseline", "--mode", "discrete", "--flush-cache", "--timeout", "2min"),
        *("--memory-cap", "1GiB", "--no-memory", "--no-flops"),
    )
    plan = bench.workers[0].requests[0]["plan"]
    expected = {
        "budget_s": 0.5,
        "precision": 0.01,
        "samples": 30,
        "warmup_calls": 3,
        "baseline": False,
        "mode": "discrete",
        "flush_cache": True,
        "timeout_s": 120.0,
        "memory_cap_bytes": 2**30,
        "memory": False,
        "flops": False,
        "min_samples": 100,
    }
    assert {knob: plan[knob] for knob in expected} == expected


def test_a_plan_file_gives_way_to_flags(opbench: Command, bench: Bench, suite: str, tmp_path: Path) -> None:
    (tmp_path / "plan.toml").write_text('name = "quick"\nprecision = 0.03\nbudget_s = 3\n')
    opbench("run", suite, "--plan-file", "plan.toml", "--budget", "1s")
    plan = bench.workers[0].requests[0]["plan"]
    assert (plan["precision"], plan["budget_s"], plan["warmup_s"]) == (0.03, 1.0, 0.15)


def test_a_case_with_more_threads_than_cores_is_refused(opbench: Command, bench: Bench, suite: str) -> None:
    ended = opbench("run", suite, "--num-threads", "4096", "--filter", "torch.add", "--json")
    assert ended.code == 1
    assert ended.rows[0]["status"] == "unsupported"
    assert "--oversubscribe" in ended.rows[0]["reason"]
    assert bench.ops == []
    ended = opbench(
        "run", suite, "--num-threads", "4096", "--filter", "torch.add", "--oversubscribe", "--json"
    )
    assert (ended.code, ended.rows[0]["num_threads"]) == (0, 4096)


def test_an_operator_can_be_spelled_out(opbench: Command, bench: Bench) -> None:
    ended = opbench(
        *("run", "--op", "torch.add", "float32[4,4]", "3", "--kwarg", "alpha=2"),
        *("--direction", "forward", "--direction", "backward", "--label", "mine", "--json"),
    )
    assert ended.code == 0
    assert [row["direction"] for row in ended.rows] == ["forward", "backward"]
    assert ended.rows[0]["inputs"] == "f32[4,4] 3 alpha=2"
    assert ended.rows[0]["label"] == "mine"
    assert len({row["case_id"] for row in ended.rows}) == 2


def test_a_module_gets_its_build_arguments(opbench: Command, bench: Bench) -> None:
    opbench(
        *("run", "--op", "nn.Linear", "--build-arg", "4", "--build-arg", "2", "--build-kwarg", "bias=false"),
        "float32[1,4]",
    )
    case = bench.workers[0].requests[0]["case"]
    assert list(case["build"]["args"]) == [{"type": "int", "value": 4}, {"type": "int", "value": 2}]
    assert case["build"]["kwargs"] == {"bias": {"type": "bool", "value": False}}


def test_a_statement_can_be_spelled_out(opbench: Command, bench: Bench) -> None:
    ended = opbench("run", "--stmt", "x + 1", "--setup", "x = 1", "--json")
    assert (ended.code, ended.rows[0]["stmt"]) == (0, "x + 1")
    assert bench.workers[0].requests[0]["case"]["setup"] == "x = 1"


def test_code_in_a_suite_runs_only_when_allowed(opbench: Command, bench: Bench, tmp_path: Path) -> None:
    (tmp_path / "code.jsonl").write_text('{"stmt": "1 + 1"}\n')
    ended = opbench("run", "code.jsonl")
    assert (ended.code, ended.out) == (2, "")
    assert "--allow-snippets" in ended.err
    assert opbench("run", "code.jsonl", "--allow-snippets").code == 0


def test_a_dry_run_says_what_it_would_take_and_does_nothing(
    opbench: Command, bench: Bench, suite: str, store: Path
) -> None:
    ended = opbench("run", suite, "--dry-run", "--repeat", "2", "--shard", "1/2")
    assert ended.code == 0
    assert sum("torch." in line for line in ended.out.splitlines()) == 6
    assert "6 cases in about" in ended.err
    assert "nothing was run" in ended.err
    assert bench.workers == []
    assert not store.exists()
    rows = opbench("run", suite, "--dry-run", "--json").rows
    assert [row["op"] for row in rows] == ALL
    assert all(row["estimate"]["input_bytes"] > 0 and row["estimate"]["duration_s"] > 0 for row in rows)


def test_a_dry_run_of_a_resumption_shows_what_is_missing(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = failing("torch.sub")
    opbench("run", suite, "--fail-fast")
    assert [row["op"] for row in opbench("run", "--resume", "last", "--dry-run", "--json").rows] == ALL[3:]
    rows = opbench("run", "--rerun-failed", "last", "--dry-run", "--json").rows
    assert [row["op"] for row in rows] == ["torch.sub"]


def test_records_go_to_a_file_and_can_be_shown(opbench: Command, bench: Bench, suite: str) -> None:
    ended = opbench("run", suite, "--no-store", "-o", "out.jsonl", "--name", "trial")
    assert ended.code == 0
    assert "Nothing was kept" in ended.out
    kinds = [json.loads(line)["kind"] for line in Path("out.jsonl").read_text().splitlines()]
    assert kinds == ["run", *["measurement"] * 6, "run"]
    shown = opbench("show", "out.jsonl")
    assert "trial" in shown.out
    assert "6 measured" in shown.out
    assert [row["op"] for row in opbench("show", "out.jsonl", "--json").rows] == ALL


def test_without_a_store_none_is_made(opbench: Command, bench: Bench, suite: str, store: Path) -> None:
    assert opbench("run", suite, "--no-store").code == 0
    assert not store.exists()


def test_a_store_can_be_named(opbench: Command, bench: Bench, suite: str, store: Path) -> None:
    opbench("run", suite, "--store", "other.sqlite")
    assert not store.exists()
    assert len(opbench("show", "--store", "other.sqlite", "--json").rows) == 6


def test_a_worker_that_cannot_start_is_a_clean_message(
    opbench: Command, suite: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(api, "Worker", lambda *_, **__: FakeWorker(broken=True))
    ended = opbench("run", suite)
    assert ended.code == 2
    assert "torch cannot be imported" in ended.err


def test_a_language_has_the_names_that_it_has_in_suites(opbench: Command) -> None:
    for name in ("cpp", "c++"):
        (row,) = opbench("run", "--stmt", "x;", "--language", name, "--dry-run", "--json").rows
        assert row["language"] == "cpp"
