"""Whatever is measured comes back from a store, and from JSON Lines, as it was: to the bit."""

from __future__ import annotations

import io
import json
import math
import shutil
import string
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from opbench.cases import values
from opbench.cases.errors import OpbenchError
from opbench.cases.identity import case_id
from opbench.cases.model import Build, Case
from opbench.cases.plan import Plan
from opbench.results.encoding import RecordError, decode, encode
from opbench.results.jsonl import export_runs, import_runs
from opbench.results.records import (
    STATUSES,
    Caution,
    Environment,
    Interval,
    Measurement,
    Metric,
    Output,
    Run,
)
from opbench.results.store import Store

from .makers import bits, make_measurement, make_run

FEW = settings(max_examples=60, deadline=None, suppress_health_check=list(HealthCheck))

# Any character at all, halves of surrogate pairs and NUL included.
texts = st.text(st.characters(exclude_categories=()), max_size=12) | st.sampled_from(
    [
        "\ufdd0",
        "\ufdd0d800",
        "null",
        '"$float"',
        "\0",
        "\ud800",
        "\udc80\ud83d",
        "NaN",
        "日本語 🚀",
        "\u2028",
        "</script>",
    ]
)
floats = st.floats() | st.sampled_from([0.0, -0.0, math.inf, -math.inf, math.nan, 5e-324, 1e308, 1e16])
integers = st.integers() | st.integers(-(2**70), 2**70) | st.sampled_from([2**63, 2**64, -(2**63) - 1])
numbers = floats | integers
small = st.integers(0, 2**31 - 1)
keys = texts | st.sampled_from(["$float", "$object", "schema", "kind"])
plain = st.recursive(
    st.none() | st.booleans() | integers | floats | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
objects = st.dictionaries(keys, plain, max_size=3)
names = st.text(string.ascii_letters + "-. é", min_size=1, max_size=8)

arguments = st.recursive(
    st.builds(values.Int, integers)
    | st.builds(values.Float, floats)
    | st.builds(values.Complex, floats, floats)
    | st.builds(values.Str, texts)
    | st.just(values.Null())
    | st.builds(
        values.Tensor,
        st.lists(small, max_size=3).map(tuple),
        fill=st.none() | st.builds(values.Constant, numbers) | st.builds(values.Zipf, small),
        requires_grad=st.none() | st.booleans(),
    ),
    lambda inner: (
        st.builds(values.List, st.lists(inner, max_size=3).map(tuple))
        | st.builds(values.Dict, st.dictionaries(texts, inner, max_size=2))
    ),
    max_leaves=4,
)
several = st.lists(arguments, max_size=3).map(tuple)
cases = st.builds(
    Case,
    op=texts,
    build=st.none() | st.builds(Build, several),
    args=several,
    kwargs=st.dictionaries(texts, arguments, max_size=2),
    stmt=texts,
    num_threads=st.integers(1, 99),
    seed=integers,
    label=texts,
    tags=st.lists(texts, max_size=2).map(tuple),
    weight=floats,
)
metrics = st.builds(
    Metric,
    tag=texts | st.just("time"),
    value=st.none() | numbers,
    unit=texts,
    hint=st.sampled_from(["duration", "count", "rate"]),
    better=st.sampled_from(["lower", "higher", "neither"]),
    samples=st.lists(floats, max_size=5).map(tuple),
    flags=st.lists(small, max_size=5).map(tuple),
    interval=st.none() | st.builds(Interval, floats, floats, floats),
    provenance=objects,
)
plans = st.builds(Plan, name=texts, budget_s=floats, precision=floats, samples=st.none() | integers)


def measurements(run_id: str) -> st.SearchStrategy[Measurement]:
    return st.builds(
        lambda case, **fields: Measurement(run_id=run_id, case_id=case_id(case), case=case, **fields),
        case=cases,
        status=st.sampled_from(STATUSES),
        reason=texts,
        environment=names,
        repeat=small,
        attempt=small,
        metrics=st.lists(metrics, max_size=2).map(tuple),
        warnings=st.lists(st.builds(Caution, texts, texts), max_size=2).map(tuple),
        output=st.builds(Output, texts, texts, st.integers(0)),
        drawn=st.dictionaries(texts, numbers, max_size=2),
        started_at=texts,
        duration_s=floats,
    )


def runs(run_id: str) -> st.SearchStrategy[Run]:
    environment = st.builds(Environment, name=names, fingerprint=texts, facts=objects)
    return st.builds(
        Run,
        run_id=st.just(run_id),
        name=texts,
        started_at=texts,
        finished_at=texts,
        plan=plans,
        suites=st.lists(texts, max_size=2).map(tuple),
        expected=st.none() | integers,
        environments=st.lists(environment, max_size=2, unique_by=lambda item: item.name).map(tuple),
        request=objects,
    )


def row_key(row: Measurement) -> tuple[str, str, int, int]:
    return row.environment, row.case_id, row.repeat, row.attempt


recorded = st.tuples(runs("run"), st.lists(measurements("run"), max_size=3, unique_by=row_key))


@pytest.fixture(scope="module")
def two_stores(new_place: Callable[[], str]) -> Iterator[tuple[Store, Store]]:
    with ExitStack() as stack:
        yield stack.enter_context(Store.open(new_place())), stack.enter_context(Store.open(new_place()))


def exported(store: Store, *run_ids: str) -> str:
    file = io.StringIO()
    export_runs(store, run_ids, file)
    return file.getvalue()


def imported(store: Store, text: str) -> Any:
    return import_runs(store, io.BytesIO(text.encode()), "file.jsonl")


@given(recorded)
@FEW
def test_store_to_lines_to_store_to_lines(
    two_stores: tuple[Store, Store], record: tuple[Run, list[Measurement]]
) -> None:
    run, rows = record
    first, second = two_stores
    try:
        first.add_run(run)
        assert first.add_many(rows) == len(rows)
        text = exported(first, "run")
        assert imported(second, text).rows == len(rows)
        for store in two_stores:
            assert bits(store.run("run")) == bits(run)
            assert bits(list(store.measurements("run", latest_attempts=False))) == bits(rows)
        assert exported(second, "run") == text
        again = imported(second, text)
        assert (again.added, again.present, again.rows) == ([], ["run"], 0)
        assert sum(second.counts("run").values()) <= len(rows)
        assert len(list(second.measurements("run", latest_attempts=False))) == len(rows)
    finally:
        for store in two_stores:
            if store.has_run("run"):
                store.delete_run("run")


@given(recorded)
@FEW
def test_lines_are_plain_json(record: tuple[Run, list[Measurement]]) -> None:
    def refuse(name: str) -> Any:
        raise AssertionError(f"{name} is no JSON")

    run, rows = record
    for item in (run, *rows):
        text = encode(item)
        assert "\n" not in text
        document = json.loads(text, parse_constant=refuse)
        assert document["schema"] == 1
        assert document["run_id"] == "run"
        # Twice the same name in an object is an accident with most readers.
        json.loads(text, object_pairs_hook=_no_two_alike)
        # Halves of surrogate pairs are what jq and PostgreSQL's jsonb refuse.
        json.dumps(document, ensure_ascii=False).encode()
        assert bits(decode(text, type(item))) == bits(item)


def _no_two_alike(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    assert len({key for key, _ in pairs}) == len(pairs), pairs
    return dict(pairs)


@given(recorded)
@FEW
def test_lines_written_by_another_program_are_the_same_records(
    record: tuple[Run, list[Measurement]],
) -> None:
    """Other programs sort the names, or escape other characters."""
    for item in (record[0], *record[1]):
        text = json.dumps(json.loads(encode(item)), sort_keys=True, indent=1)
        assert bits(decode(text, type(item))) == bits(item)


@pytest.mark.skipif(not shutil.which("jq"), reason="jq is not installed")
def test_jq_reads_the_lines(store: Store) -> None:
    store.add_run(make_run(request={"limit": math.inf}))
    samples = (math.inf, -math.inf, math.nan, -0.0, 1.5)
    store.add(
        make_measurement(
            metrics=(Metric("time", math.nan, "s", "duration", samples=samples),),
            output=Output(stdout="half a pair: \ud800, and nothing: \0"),
        )
    )
    jq = subprocess.run(
        ["jq", "-c", ".request // [.status, .metrics[0].value, .metrics[0].samples[0:3]]"],
        input=exported(store, "run-1").encode(),
        capture_output=True,
        check=True,
    )
    assert jq.stdout.decode().splitlines() == [
        '{"limit":{"$float":"inf"}}',
        '["ok","nan",["inf","-inf","nan"]]',
    ]


def test_many_samples(any_store: Store) -> None:
    row = make_measurement(samples=100_000)
    any_store.add_run(make_run())
    any_store.add(row)
    (back,) = any_store.measurements("run-1")
    assert bits(back) == bits(row)


def test_no_samples(any_store: Store) -> None:
    row = make_measurement(samples=0, status="skipped", reason="not today")
    any_store.add_run(make_run(environments=()))
    any_store.add(row)
    assert [bits(back) for back in any_store.measurements("run-1")] == [bits(row)]
    assert any_store.run("run-1").environments == ()


def refusal(act: Callable[[], None]) -> str | None:
    try:
        act()
    except RecordError as error:
        return str(error)
    return None


@given(texts.filter(bool))
@example("x" * 201)
@FEW
def test_any_run_id_is_kept_or_refused(store: Store, run_id: str) -> None:
    reason = refusal(lambda: store.add_run(make_run(run_id)))
    if reason is None:
        assert store.run(run_id).run_id == run_id
        store.delete_run(run_id)
    else:
        assert len(run_id) > 200 or "cannot keep" in reason
        assert not store.has_run(run_id)


@pytest.mark.parametrize("value", [10**400, -(10**5000)], ids=["long", "longer"])
def test_a_whole_number_beyond_floats_is_kept_or_refused(any_store: Store, value: int) -> None:
    row = make_measurement(metrics=(Metric("time", value, "", "count"),))
    any_store.add_run(make_run())
    reason = refusal(lambda: any_store.add(row))
    assert reason is None or "cannot be written as JSON" in reason
    kept = [back.metrics for back in any_store.measurements("run-1")]
    assert kept == ([row.metrics] if reason is None else [])


def test_what_is_no_data_is_refused(any_store: Store) -> None:
    deep: list[Any] = []
    for _ in range(100_000):
        deep = [deep]
    any_store.add_run(make_run())
    for provenance in ({"deep": deep}, {"object": object()}, {"function": len}):
        metric = Metric("time", 1.0, "s", "duration", provenance=provenance)
        with pytest.raises(OpbenchError):
            any_store.add(make_measurement(metrics=(metric,)))
    assert list(any_store.measurements("run-1")) == []
