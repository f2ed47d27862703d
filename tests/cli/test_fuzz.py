"""`opbench run --fuzz` and `opbench fuzz`, on workers that answer at once."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opbench.sources import open_sources

from ..execution.fakes import OK
from .conftest import Bench, Command


def shapes(rows: list[dict[str, Any]]) -> list[str]:
    return [row["inputs"] for row in rows]


def test_random_inputs_are_measured_and_are_the_same_for_the_same_seed(
    opbench: Command, bench: Bench
) -> None:
    first = opbench("run", "--fuzz", "torch.add", "--n", "6", "--seed", "3", "--json")
    again = opbench("run", "--fuzz", "torch.add", "--n", "6", "--seed", "3", "--json")
    other = opbench("run", "--fuzz", "torch.add", "--n", "6", "--seed", "4", "--json")
    assert (first.code, len(first.rows)) == (0, 6)
    assert [row["case_id"] for row in first.rows] == [row["case_id"] for row in again.rows]
    assert shapes(first.rows) != shapes(other.rows)
    assert all(row["op"] == "torch.add" and row["tags"] == ["fuzzed", "binary"] for row in first.rows)
    without = opbench("run", "--fuzz", "torch.add", "--json")
    zero = opbench("run", "--fuzz", "torch.add", "--json", "--seed", "0", "--n", "100")
    assert [row["case_id"] for row in without.rows] == [row["case_id"] for row in zero.rows]


def test_changes_to_every_case_apply(opbench: Command, bench: Bench) -> None:
    words = ("--dtype", "float16", "--device", "cuda:0", "--label", "mine", "--num-threads", "1")
    directions = ("--direction", "forward", "--direction", "backward")
    ended = opbench("run", "--fuzz", "F.gelu", "--n", "2", *words, *directions, "--json")
    assert [row["direction"] for row in ended.rows] == ["forward", "backward"] * 2
    assert all(row["device"] == "cuda:0" and row["label"] == "mine" for row in ended.rows)
    assert all(row["inputs"].startswith("f16[") for row in ended.rows)


def test_a_run_is_resumed_and_may_go_further(opbench: Command, bench: Bench) -> None:
    opbench("run", "--fuzz", "torch.mm", "--n", "3", "--seed", "5", "-q")
    nothing = opbench("run", "--resume", "last", "--json")
    assert nothing.rows == []
    more = opbench("run", "--resume", "last", "--fuzz", "torch.mm", "--n", "5", "--json")
    assert len(more.rows) == 2
    whole = opbench("run", "--fuzz", "torch.mm", "--n", "5", "--seed", "5", "--json")
    assert [row["case_id"] for row in whole.rows[3:]] == [row["case_id"] for row in more.rows]


def test_a_dry_run_and_a_list_show_what_would_run(opbench: Command) -> None:
    listed = opbench("list", "--fuzz", "torch.sum", "--n", "4", "--json")
    dry = opbench("run", "--fuzz", "torch.sum", "--n", "4", "--dry-run", "--json")
    assert [row["case_id"] for row in listed.rows] == [row["case_id"] for row in dry.rows]
    assert len(listed.rows) == 4


def test_a_family_may_be_chosen(opbench: Command) -> None:
    rows = opbench("list", "--fuzz", "my.op", "--fuzzer", "matmul", "--n", "1", "--json").rows
    assert len(rows[0]["args"]) == 2


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--fuzz", "torch.frobnicate"), "no family of inputs is known for 'torch.frobnicate'"),
        (("--fuzz", "torch.add", "--fuzzer", "binry"), "no family 'binry'"),
        (("--fuzz", "torch.add", "--op", "torch.add"), "--op and --fuzz exclude each other"),
        (("quick", "--fuzz", "torch.add"), "SUITE and --fuzz exclude each other"),
        (("quick", "--n", "3"), "--n and --fuzzer belong to --fuzz"),
        (("--op", "torch.add", "--fuzzer", "unary"), "--n and --fuzzer belong to --fuzz"),
        (("--fuzz", "torch.add", "--n", "0"), "--n"),
        (("--fuzz", "torch.add", "--arg", "3"), "belong to --op"),
        (("--fuzz", "torch.add", "--dtype", "flot"), "no dtype is called 'flot'"),
        (("--fuzz", "torch.add", "--seed", "99999999999999999999"), "--seed"),
        ((), "--fuzz NAME"),
    ],
)
def test_wrong_usage_of_run(words: tuple[str, ...], message: str, opbench: Command) -> None:
    ended = opbench("run", *words)
    assert ended.code == 2
    assert message in ended.err
    assert ended.out == ""


def by_size(request: dict[str, Any]) -> dict[str, Any]:
    """torch.div takes twice as long, and longer with more columns."""
    case = request["case"]
    time_s = 1e-6 if case["op"] == "torch.mul" else 2e-6 + case["args"][0]["shape"][0] * 1e-9
    interval = {"low": time_s * 0.99, "high": time_s * 1.01, "confidence": 0.95}
    return {**OK, "metrics": [{**OK["metrics"][0], "value": time_s, "interval": interval}]}


WORDS = ("fuzz", "torch.mul", "--against", "torch.div", "--n", "6", "--generations", "1", "--top", "3")


def test_differences_are_found_and_written_as_a_suite(opbench: Command, bench: Bench, tmp_path: Path) -> None:
    bench.script = by_size
    ended = opbench(*WORDS, "-o", "found.json", "--json")
    assert ended.code == 0
    assert len(ended.rows) == 3
    ratios = [row["ratio"] for row in ended.rows]
    assert ratios == sorted(ratios, reverse=True)
    for row in ended.rows:
        first, second = row["sides"]
        assert (first["name"], second["name"]) == ("torch.mul", "torch.div")
        assert first["case"]["args"] == second["case"]["args"]
        assert row["ratio"] == second["time_s"] / first["time_s"]
        assert row["ratio_low"] < row["ratio"] < row["ratio_high"]
        assert row["is_apart"]
    assert "written to found.json" in ended.err
    cases = list(open_sources(("found.json",)))
    assert [case.op for case in cases] == ["torch.mul", "torch.div"] * 3
    assert "as long as torch.mul" in cases[0].description
    again = opbench("run", "found.json", "--json")
    assert (again.code, len(again.rows)) == (0, 6)
    assert opbench(*WORDS, "--json").rows == ended.rows


def test_a_table_says_how_many_times_as_long(opbench: Command, bench: Bench) -> None:
    bench.script = by_size
    ended = opbench(*WORDS, "-q")
    lines = ended.out.splitlines()
    assert lines[0].split() == ["torch.mul", "torch.div", "ratio", "range", "in", "search", "inputs"]
    assert len(lines) == 4
    assert all("×" in line and "f32[" in line for line in lines[1:])
    assert "inputs measured on both sides" in ended.err
    assert "in 3 of 3 it is beyond" in ended.err


def test_two_environments_measure_the_same_cases(opbench: Command, bench: Bench) -> None:
    ended = opbench(
        *("fuzz", "torch.abs", "--env", "a=", "--env", "b=", "--n", "3", "--generations", "0", "--top", "2"),
        *("--json", "-o", "found.json"),
    )
    assert ended.code == 0
    assert {*bench.environments} == {"a", "b"}
    assert [[side["name"] for side in row["sides"]] for row in ended.rows] == [["a", "b"]] * 2
    assert not any(row["is_apart"] for row in ended.rows)
    # The case is the same in both, so it is in the suite once.
    assert len(json.loads(Path("found.json").read_text(encoding="utf-8"))["cases"]) == 2


def test_thread_counts_make_cases_of_their_own(opbench: Command, bench: Bench) -> None:
    words = (
        "fuzz",
        "torch.abs",
        "--num-threads",
        "1",
        "--num-threads",
        "2",
        "--n",
        "2",
        "--generations",
        "0",
    )
    ended = opbench(*words, "--oversubscribe", "--json", "--direction", "backward", "--dtype", "float64")
    for row in ended.rows:
        first, second = (side["case"] for side in row["sides"])
        assert (first.get("num_threads", 1), second["num_threads"]) == (1, 2)
        assert first["direction"] == "backward"
        assert first["args"][0]["dtype"] == "float64"


def test_the_fresh_measurement_has_the_plan_and_the_search_is_quick(opbench: Command, bench: Bench) -> None:
    opbench(*WORDS, "-q", "--plan", "rigorous")
    names = [request["plan"]["name"] for worker in bench.workers for request in worker.requests]
    assert set(names) == {"rigorous"}
    bench.workers.clear()
    opbench(*WORDS, "-q")
    names = [request["plan"]["name"] for worker in bench.workers for request in worker.requests]
    assert names[0] == "quick"
    assert names[-6:] == ["default"] * 6
    assert set(names[:-6]) == {"quick"}


def test_inputs_that_cannot_be_measured_make_the_exit_code_one(opbench: Command, bench: Bench) -> None:
    bench.script = lambda request: {"status": "failed", "reason": "no luck"}
    ended = opbench(*WORDS, "--json", "-o", "found.json")
    assert (ended.code, ended.out) == (1, "")
    assert "not measured: 6; the first: torch.mul: failed: no luck" in ended.err
    assert "nothing was found, so found.json was not written" in ended.err
    assert not Path("found.json").exists()


def test_what_cannot_be_written_is_told_of_before_anything_is_measured(
    opbench: Command, bench: Bench
) -> None:
    ended = opbench(*WORDS, "-o", "nosuch/found.json")
    assert ended.code == 2
    assert "nosuch/found.json cannot be written" in ended.err
    assert not bench.workers


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "NAME"),
        (("torch.add",), "say what to compare: --env"),
        (("torch.add", "--against", "torch.add"), "both sides are torch.add"),
        (("torch.add", "--against", "not a name"), "not the name of an operator"),
        (("torch.add", "--runtime", "eager"), "say what to compare"),
        (("torch.add", "--runtime", "eager", "--runtime", "eager"), "both sides are eager"),
        (("torch.add", "--runtime", "eager", "--runtime", "egar"), "did you mean eager"),
        (("torch.add", *("--num-threads", "1") * 3), "--num-threads names 3 sides, and two are compared"),
        (("torch.add", *("--env", "a=") * 2), "--env gives one name twice"),
        (
            ("torch.add", "--against", "torch.sub", "--num-threads", "1", "--num-threads", "2"),
            "--num-threads and --against would change two things at once",
        ),
        (("torch.add", "--against", "torch.sub", *("--direction", "forward") * 2), "one at a time"),
        (("torch.frobnicate", "--against", "torch.sub"), "no family of inputs is known"),
        (("torch.add", "--against", "torch.sub", "--device", "gpu"), "did you mean cuda"),
        (("torch.add", "--against", "torch.sub", "--top", "0"), "--top"),
    ],
)
def test_wrong_usage_of_fuzz(words: tuple[str, ...], message: str, opbench: Command, bench: Bench) -> None:
    ended = opbench("fuzz", *words)
    assert ended.code == 2
    assert message in ended.err
    assert not bench.workers
