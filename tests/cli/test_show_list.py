"""`opbench show`, `list`, `store` and `schema` on runs that are there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from opbench.execution.worker import Exit

from ..execution.fakes import OK
from .conftest import Bench, Command


@pytest.fixture
def shown(opbench: Command, bench: Bench, suite: str) -> None:
    """A run of six cases: one failed, one crashed at first and was run again."""

    def first(request: dict[str, Any]) -> dict[str, Any] | Exit:
        op = request["case"]["op"]
        if op == "torch.sub":
            return {"status": "failed", "reason": "no luck"}
        return Exit(signal=6) if op == "torch.abs" else OK

    bench.script = first
    assert opbench("run", suite, "-o", "out.jsonl", "--plan", "quick", "--name", "trial").code == 1
    bench.script = lambda request: first(request) if request["case"]["op"] == "torch.sub" else OK
    assert opbench("run", "--rerun-failed", "last", "--isolation", "spawn").code == 1


def test_a_run_is_shown_as_it_was(shown: None, opbench: Command) -> None:
    for words in ([], ["last"], [opbench("store", "list", "--json").rows[0]["run_id"][:12]]):
        ended = opbench("show", *words)
        assert (ended.code, ended.err) == (0, "")
        assert "trial · six.jsonl · plan quick" in ended.out
        assert "5 measured, 1 failed" in ended.out
        assert "no luck" in ended.out


def test_only_the_last_attempts_are_shown_unless_all_are_wanted(shown: None, opbench: Command) -> None:
    rows = opbench("show", "--json").rows
    assert len(rows) == 6
    assert {row["op"]: row["status"] for row in rows}["torch.abs"] == "ok"
    every = opbench("show", "--json", "--all-attempts").rows
    assert sorted(row["attempt"] for row in every) == [0] * 6 + [1, 1]


def test_rows_are_chosen_by_status(shown: None, opbench: Command) -> None:
    assert [row["op"] for row in opbench("show", "--status", "failed", "--json").rows] == ["torch.sub"]
    words = ("--status", "failed", "--status", "crashed", "--all-attempts", "--json")
    assert {row["op"] for row in opbench("show", *words).rows} == {"torch.sub", "torch.abs"}


def test_a_row_in_full_has_its_samples_and_its_environment(shown: None, opbench: Command) -> None:
    case_id = next(row["case_id"] for row in opbench("show", "--json").rows if row["op"] == "torch.add")
    out = opbench("show", "--case", case_id[:6]).out
    assert out.startswith("torch.add  f32[8] f32[8]")
    for words in (
        "Samples of time (2)",
        "median 1.500 µs",
        "Environment",
        "torch 2.13.0",
        '{"op": "torch.add"',
    ):
        assert words in out
    assert opbench("show", "--case", case_id, "--json").rows[0]["case_id"] == case_id


def test_a_file_is_shown_like_the_run_it_came_from(shown: None, opbench: Command, store: Path) -> None:
    opbench("store", "export", "last", "-o", "export.jsonl")
    stored, stored_rows = opbench("show"), opbench("show", "--json", "--all-attempts")
    store.unlink()
    filed = opbench("show", "export.jsonl")
    assert filed.code == 0
    assert filed.out.splitlines()[:-1] == stored.out.splitlines()[:-1]
    assert opbench("show", "export.jsonl", "--json", "--all-attempts").out == stored_rows.out
    assert filed.out.splitlines()[-1].startswith("One in full: opbench show export.jsonl --case ")
    assert not store.exists()


def test_a_file_may_hold_several_runs_and_be_cut_off(
    shown: None, opbench: Command, suite: str, tmp_path: Path
) -> None:
    opbench("run", suite, "--filter", "torch.add", "--name", "second")
    opbench("store", "export", "-o", "both.jsonl")
    out = opbench("show", "both.jsonl").out
    assert out.index("trial ·") < out.index("second ·")
    text = (tmp_path / "both.jsonl").read_text()
    (tmp_path / "cut.jsonl").write_text(text[:-20])
    assert len(opbench("show", "cut.jsonl", "--json").rows) == 6


def test_a_run_that_is_not_over_says_what_is_to_do(opbench: Command, bench: Bench, suite: str) -> None:
    bench.script = lambda _: {"status": "failed", "reason": "no luck"}
    opbench("run", suite, "--fail-fast")
    assert "5 to do (opbench run --resume " in opbench("show").out
    assert "0/6" in opbench("store", "list").out


def test_suites_are_listed_with_what_they_are_for(opbench: Command) -> None:
    ended = opbench("list")
    assert ended.out.splitlines()[1].startswith("quick ")
    (quick,) = opbench("list", "--json").rows
    assert quick["suite"] == "quick"
    assert quick["cases"] == len(opbench("list", "quick", "--json").rows)


def test_cases_are_listed_with_the_ids_that_they_have_in_results(
    opbench: Command, bench: Bench, suite: str
) -> None:
    listed = opbench("list", suite, "--json").rows
    measured = opbench("run", suite, "--json").rows
    assert [row["case_id"] for row in listed] == [row["case_id"] for row in measured]
    plain = opbench("list", suite)
    assert [line.split()[0] for line in plain.out.splitlines()[1:]] == [row["case_id"] for row in listed]
    assert plain.err == "6 cases\n"


def test_columns_of_a_list_stand_below_their_titles(opbench: Command, tmp_path: Path) -> None:
    header, *lines = opbench("list", "quick").out.splitlines()
    assert {line[header.index("inputs") - 1] for line in lines} == {" "}
    assert all(line[header.index("inputs")] not in " " for line in lines)
    assert not any("…" in line for line in lines)


def test_a_listed_case_is_a_case_of_a_suite(opbench: Command, tmp_path: Path) -> None:
    rows = opbench("list", "quick", "--json").rows
    again = tmp_path / "again.jsonl"
    again.write_text(
        "".join(json.dumps({k: v for k, v in row.items() if k != "case_id"}) + "\n" for row in rows)
    )
    assert [row["case_id"] for row in opbench("list", str(again), "--json").rows] == [
        row["case_id"] for row in rows
    ]


def test_the_store_is_looked_after(shown: None, opbench: Command, store: Path) -> None:
    assert opbench("store", "where").out == f"{store}\n"
    assert opbench("store", "where", "--json").rows[0]["runs"] == 1
    run_id = opbench("store", "list", "--json").rows[0]["run_id"]
    assert opbench("store", "export", "-o", "all.jsonl").code == 0
    assert opbench("store", "delete", run_id[:16]).code == 0
    assert opbench("store", "list", "--json").rows == []
    assert opbench("store", "import", "all.jsonl").out == f"{run_id}\n"
    assert "there already" in opbench("store", "import", "all.jsonl").err
    assert opbench("store", "vacuum").code == 0
    assert len(opbench("show", "--json").rows) == 6


@pytest.mark.parametrize("what", ["suite", "result", "run", "plan"])
def test_schemas_are_json(opbench: Command, what: str) -> None:
    ended = opbench("schema", what)
    assert (ended.code, ended.err) == (0, "")
    assert "$schema" in json.loads(ended.out)
