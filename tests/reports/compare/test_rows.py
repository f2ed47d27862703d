"""Rows of runs and stores in a comparison: what they are called, which are replicates, which failed."""

from __future__ import annotations

import re
from typing import Any

import msgspec
import pytest

from opbench import call, snippet, tensor
from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.reports.compare import Compare
from opbench.results.records import Caution, Measurement, Metric, Run
from opbench.results.store import Store

from .timings import SPREAD, timed


def row(case: Case, time_s: float = 1e-6, **fields: Any) -> Measurement:
    samples = tuple(time_s * (1 + share) for share in SPREAD)
    time = Metric(tag="time", value=time_s, unit="s", hint="duration", samples=samples)
    defaults: dict[str, Any] = {"run_id": "run-1", "status": "ok", "metrics": (time,)}
    return Measurement(case_id=case_id(case), case=case, **{**defaults, **fields})


def failed(case: Case, status: Any = "crashed", reason: str = "signal 11", **fields: Any) -> Measurement:
    return row(case, **{"status": status, "reason": reason, "metrics": (), **fields})


def mm(size: int, **fields: Any) -> Case:
    return call("torch.mm", tensor(size, size), tensor(size, size), **fields)


def table(results: list[Any], **settings: Any) -> list[str]:
    compare = Compare(results)
    for name, value in settings.items():
        getattr(compare, name)(**value)
    return [line.rstrip() for line in str(compare).splitlines()]


def test_rows_are_named_by_their_inputs_and_columns_by_direction() -> None:
    cases = [mm(size, direction=direction) for size in (8, 64) for direction in ("forward", "backward")]
    results = [row(case, place * 1e-6) for place, case in enumerate(cases, 1)]
    assert table(results) == [
        "[-------------------- torch.mm --------------------]",
        "                             |  forward  |  backward",
        "1 threads: -----------------------------------------",
        "      f32[8,8] f32[8,8]      |    1.0    |    2.0",
        "      f32[64,64] f32[64,64]  |    3.0    |    4.0",
        "",
        "Times are in microseconds (us).",
    ]


def test_labels_of_a_case_come_first() -> None:
    case = mm(8, label="matmul", sub_label="small", description="ours", num_threads=2)
    [record] = Compare([row(case, environment="main")]).to_records()
    assert [record[name] for name in ("label", "row", "column", "num_threads", "env")] == [
        *("matmul", "small · f32[8,8] f32[8,8]", "ours", 2, "main"),
    ]


def test_what_is_not_usual_is_in_the_column() -> None:
    cases = [mm(8), mm(8, runtime="compile"), mm(8, device="cuda"), mm(8, seed=3)]
    records = Compare([*map(row, cases), row(cases[0], environment="main")]).to_records()
    assert [record["column"] for record in records] == [
        *("forward", "forward, compile", "forward, cuda", "forward, seed 3", "main, forward"),
    ]


def test_a_snippet_is_named_by_its_statement() -> None:
    [record] = Compare([row(snippet("x + 1", setup="x = 1"))]).to_records()
    assert [record[name] for name in ("label", "row", "column", "stmt", "setup")] == [
        *(None, "x + 1", "", "x + 1", "x = 1"),
    ]


def test_repeats_are_replicates_and_of_attempts_the_last_counts() -> None:
    results = [row(mm(8), 1e-6, repeat=0), row(mm(8), 3e-6, repeat=1)]
    [record] = Compare(results).to_records()
    assert record["samples"] == 2 * len(SPREAD)
    results = [row(mm(8), 3e-6, attempt=1), failed(mm(8), attempt=0), row(mm(8), 9e-6, attempt=0)]
    [record] = Compare(results).to_records()
    assert (record["samples"], record["warnings"]) == (len(SPREAD), "")
    assert record["median_s"] == pytest.approx(3e-6)


def test_runs_of_one_case_are_compared_not_merged() -> None:
    results = [row(mm(8)), row(mm(9)), row(mm(8), 2e-6, run_id="run-2")]
    compare = Compare(results)
    compare.show_ratios(env="run-1")
    records = compare.to_records()
    assert [(record["env"], record["ratio"]) for record in records] == [
        ("run-1", 1.0),
        ("run-1", 1.0),
        ("run-2", pytest.approx(2.0)),
    ]
    # Where runs have nothing in common, they need no names.
    assert Compare([row(mm(8)), row(mm(9), run_id="run-2")]).to_records()[0]["env"] is None


def test_a_failure_is_a_cell_with_its_reason() -> None:
    results = [row(mm(8)), failed(mm(9)), failed(mm(10), "out_of_memory", "")]
    lines = table(results, colorize={}, trim_significant_figures={}, show_significance={})
    assert lines[4].split("|")[1].strip() == "crashed"
    assert lines[5].split("|")[1].strip() == "out of memory"
    assert "crashed: signal 11" in lines
    records = Compare(results).to_records()
    assert [(record["status"], record["reason"], record["samples"]) for record in records] == [
        ("ok", None, len(SPREAD)),
        ("crashed", "signal 11", 0),
        ("out of memory", None, 0),
    ]
    assert records[1]["median_s"] is None


def test_a_row_without_times_says_so() -> None:
    foreign = Metric(tag="time", value=1e-6, unit="s", hint="duration", samples=(1e-6, float("nan")))
    for metrics, reason in (((), "has no times"), ((foreign,), "raw_times[1] must be a number of seconds")):
        compare = Compare([row(mm(8), metrics=metrics), row(mm(9))])
        record, other = compare.to_records()
        assert (record["status"], other["status"]) == ("not timed", "ok")
        assert reason in record["reason"]
        assert "not timed" in str(compare)


def test_a_failed_replicate_is_not_forgotten() -> None:
    results = [row(mm(8)), failed(mm(8), repeat=1)]
    [record] = Compare(results).to_records()
    assert record["warnings"] == "1 of 2 replicates crashed: signal 11"
    lines = table(results, highlight_warnings={})
    assert lines[3].endswith("1.0 (!)")
    assert lines[-1] == "(!) 1 of 2 replicates crashed: signal 11"


def test_cases_described_in_the_same_words_are_not_merged() -> None:
    first, second = (
        call("torch.neg", tensor(2, fill={"kind": "literal", "values": values}))
        for values in ([1, 2], [3, 4])
    )
    records = Compare([row(first), row(second, 2e-6)]).to_records()
    assert [record["samples"] for record in records] == [len(SPREAD)] * 2
    assert [record["row"] for record in records] == [
        f"f32[2]~literal [case_id: {case_id(case)}]" for case in (first, second)
    ]


def test_many_reasons_are_not_all_told() -> None:
    lines = table([failed(mm(size), reason=f"signal {size}") for size in range(1, 16)])
    assert sum(line.startswith("crashed: ") for line in lines) == 10
    assert lines[-1] == "... and 5 more reasons"


def test_rows_and_measurements_of_timers_stand_side_by_side() -> None:
    mine = timed(2e-6, label="torch.mm", sub_label="f32[8,8] f32[8,8]", description="mine")
    assert "f32[8,8] f32[8,8]  |    1.0    |  2.0" in "\n".join(table([row(mm(8)), mine]))


def test_rows_of_a_store_are_taken(tmp_path: Any) -> None:
    caution = Caution("busy", "others work")
    rows = [row(mm(size), size * 1e-6, warnings=(caution,)) for size in (8, 16)]
    with Store.open(tmp_path / "store.sqlite") as store:
        store.add_run(Run(run_id="run-1"))
        store.add_many(rows)
        compare = Compare(store.measurements("run-1"))
    assert str(compare) == str(Compare(rows))
    assert {record["warnings"] for record in compare.to_records()} == {"others work"}


def test_a_filter_by_text_keeps_failures_and_a_function_does_not() -> None:
    compare = Compare([row(mm(8)), failed(mm(88)), row(mm(9))])
    compare.filter("8,8")
    assert len(compare.to_records()) == 2
    compare.filter(lambda one: one.median < 1)
    assert len(compare.to_records()) == 1


def test_what_json_holds_is_plain() -> None:
    compare = Compare([row(mm(8)), failed(mm(9))])
    assert msgspec.json.decode(compare.to_json()) == compare.to_records()
    assert not re.search("NaN|Infinity", compare.to_json())
