"""Runs and their rows in a store: found, counted, changed, deleted."""

from __future__ import annotations

import pytest

from opbench.cases.errors import OpbenchError, UsageError
from opbench.results.encoding import RecordError
from opbench.results.records import Environment
from opbench.results.staging import CHUNK_ROWS
from opbench.results.store import Store

from .makers import bits, make_measurement, make_run


def ids(store: Store, limit: int | None = None) -> list[str]:
    return [run.run_id for run in store.runs(limit)]


def test_runs_are_listed_the_latest_first(any_store: Store) -> None:
    for number, day in enumerate((3, 1, 2, 3)):
        any_store.add_run(make_run(f"run-{number}", started_at=f"2024-05-0{day}T00:00:00Z"))
    assert ids(any_store) == ["run-3", "run-0", "run-2", "run-1"]
    assert ids(any_store, 2) == ["run-3", "run-0"]
    assert any_store.count_runs() == 4


def test_a_run_is_found_by_the_beginning_of_its_id(any_store: Store) -> None:
    for name in ("20240501-aa", "20240501-ab", "20240502-%_", "2024", "Upper"):
        any_store.add_run(make_run(name))
    assert any_store.run("20240501-ab").run_id == "20240501-ab"
    assert any_store.run("20240502").run_id == "20240502-%_"
    # An id is itself, whatever else begins so.
    assert any_store.run("2024").run_id == "2024"
    assert any_store.run("U").run_id == "Upper"
    for wanted, says in {
        "20240501": "2 runs begin with '20240501': 20240501-ab, 20240501-aa",
        "202": "4 runs begin",
        "u": "no run 'u'",
        "20240501-%": "no run",
        "2024050_": "no run",
        "20240501-aaa": "did you mean 20240501-aa",
        "": "empty text",
        "a\0": "no run",
        "\ud800": "no run",
        "' OR 1=1 --": "no run",
    }.items():
        with pytest.raises(UsageError, match=says):
            any_store.run(wanted)


def test_the_last_run_is_the_one_that_began_last(any_store: Store) -> None:
    with pytest.raises(UsageError, match="has no runs yet"):
        any_store.run("last")
    with pytest.raises(UsageError, match="it has no runs yet"):
        any_store.run("x")
    any_store.add_run(make_run("b", started_at="2024-05-02T00:00:00Z"))
    any_store.add_run(make_run("a", started_at="2024-05-01T00:00:00Z"))
    assert any_store.run("last").run_id == "b"


def test_an_ambiguous_beginning_names_a_few_and_counts_all(any_store: Store) -> None:
    for number in range(8):
        any_store.add_run(make_run(f"run-{number}"))
    with pytest.raises(UsageError, match=r"the ids of 8 runs begin with 'run-': run-7, run-6, .*, \.\.\.$"):
        any_store.run("run-")


def test_a_run_is_kept_once(any_store: Store) -> None:
    any_store.add_run(make_run())
    with pytest.raises(OpbenchError, match="already has a run run-1"):
        any_store.add_run(make_run(name="another"))
    assert any_store.run("run-1").name == ""


def test_what_is_known_about_a_run_may_change(any_store: Store) -> None:
    any_store.add_run(make_run())
    any_store.add(make_measurement())
    two = tuple(Environment(name=name, fingerprint="f") for name in ("b", "a"))
    changed = make_run(name="new name", environments=two)
    any_store.update_run(changed)
    assert bits(any_store.run("run-1")) == bits(changed)
    any_store.finish_run("run-1", "2024-05-02T00:00:00Z")
    assert any_store.run("run-1").finished_at == "2024-05-02T00:00:00Z"
    assert any_store.run("run-1").environments == two
    assert any_store.counts("run-1") == {"ok": 1}
    for act in (
        lambda: any_store.update_run(make_run("run-2")),
        lambda: any_store.finish_run("run-2", ""),
        lambda: any_store.counts("run-2"),
        lambda: any_store.done_keys("run-2"),
        lambda: any_store.delete_run("run-2"),
        lambda: any_store.measurements("run-2"),
        lambda: any_store.add(make_measurement(run_id="run-2")),
        lambda: any_store.add_many([make_measurement(run_id="run-2")]),
    ):
        with pytest.raises(UsageError, match="no run 'run-2'; did you mean run-1"):
            act()
    assert ids(any_store) == ["run-1"]


def test_two_environments_of_one_name_are_refused(any_store: Store) -> None:
    with pytest.raises(RecordError, match="two environments of one name"):
        any_store.add_run(make_run(environments=make_run().environments * 2))
    assert ids(any_store) == []


def test_of_several_attempts_the_last_counts(any_store: Store) -> None:
    any_store.add_run(make_run())
    first, second = (
        make_measurement(0, attempt=0, status="timeout", reason="too slow"),
        make_measurement(0, attempt=1),
    )
    others = [
        make_measurement(0, repeat=1, status="crashed", reason="signal 11"),
        make_measurement(0, environment="main"),
        make_measurement(1, status="failed", reason="no"),
    ]
    any_store.add_many([second, *others, first])
    assert list(any_store.measurements("run-1")) == [second, *others]
    assert list(any_store.measurements("run-1", latest_attempts=False)) == [second, *others, first]
    assert list(any_store.measurements("run-1", statuses=["timeout"])) == []
    assert list(any_store.measurements("run-1", statuses=["crashed", "failed"])) == [others[0], others[2]]
    assert any_store.counts("run-1") == {"ok": 2, "failed": 1, "crashed": 1}
    case_id = first.case_id
    assert any_store.done_keys("run-1") == {
        ("this", case_id, 0): ("ok", 1),
        ("this", case_id, 1): ("crashed", 0),
        ("main", case_id, 0): ("ok", 0),
        ("this", others[2].case_id, 0): ("failed", 0),
    }


def test_a_measurement_is_kept_once(any_store: Store) -> None:
    any_store.add_run(make_run())
    any_store.add(make_measurement(0))
    with pytest.raises(OpbenchError, match="already has a measurement of this: environment this, case"):
        any_store.add(make_measurement(0, status="failed", reason="another"))
    with pytest.raises(OpbenchError, match="already has one of 2 measurements"):
        any_store.add_many([make_measurement(1), make_measurement(0)])
    assert any_store.counts("run-1") == {"ok": 1}


def test_a_long_run_is_read_in_order(any_store: Store) -> None:
    any_store.add_run(make_run())
    rows = [make_measurement(0, repeat=number, samples=0) for number in range(2 * CHUNK_ROWS + 1)]
    assert any_store.add_many(iter(rows)) == len(rows)
    assert [row.repeat for row in any_store.measurements("run-1")] == list(range(len(rows)))
    assert any_store.delete_run("run-1") == len(rows)


def test_a_deleted_run_is_gone_and_its_id_free(any_store: Store) -> None:
    for run_id in ("run-1", "run-2"):
        any_store.add_run(make_run(run_id))
        any_store.add(make_measurement(run_id=run_id))
    assert any_store.delete_run("run-1") == 1
    assert ids(any_store) == ["run-2"]
    with pytest.raises(UsageError):
        any_store.measurements("run-1")
    any_store.add_run(make_run("run-1"))
    assert list(any_store.measurements("run-1")) == []
    assert any_store.counts("run-2") == {"ok": 1}


def test_vacuum_gives_back_what_was_deleted(any_store: Store) -> None:
    empty = any_store.size_bytes
    any_store.add_run(make_run())
    any_store.add_many(make_measurement(0, repeat=number, samples=200) for number in range(3000))
    any_store.add_run(make_run("run-2"))
    any_store.add(make_measurement(0, run_id="run-2"))
    full = any_store.size_bytes
    assert full > empty + 3_000_000
    any_store.delete_run("run-1")
    any_store.vacuum()
    assert any_store.size_bytes < empty + (full - empty) / 10
    assert any_store.counts("run-2") == {"ok": 1}
    any_store.vacuum()


def test_an_import_that_fails_leaves_nothing(any_store: Store) -> None:
    rows = [make_measurement(0, repeat=number) for number in range(CHUNK_ROWS + 1)]

    def broken() -> object:
        yield from rows
        raise KeyError("reader")

    with pytest.raises(KeyError), any_store.stage(make_run()) as staging:
        staging.add_many(broken())
    with (
        pytest.raises(RecordError, match="cannot have rows of run run-2"),
        any_store.stage(make_run()) as staging,
    ):
        staging.add_many([make_measurement(run_id="run-2")])
    assert ids(any_store) == []
    with any_store.stage(make_run()) as staging:
        assert not any_store.has_run("run-1")
        assert staging.add_many(rows) == len(rows)
        assert ids(any_store) == []
        staging.update(make_run(name="known at the end"))
    assert any_store.run("run-1").name == "known at the end"
    assert any_store.counts("run-1") == {"ok": len(rows)}
    with pytest.raises(OpbenchError, match="already has a run"), any_store.stage(make_run()):
        pass


def test_of_two_imports_of_one_run_the_later_wins(any_store: Store) -> None:
    slow = any_store.stage(make_run(name="slow"))
    slow.__enter__()
    slow.add_many([make_measurement(0)])
    with any_store.stage(make_run(name="fast")) as fast:
        fast.add_many([make_measurement(1)])
    for act in (lambda: slow.add_many([make_measurement(2)]), lambda: slow.__exit__(None, None, None)):
        with pytest.raises(OpbenchError, match="cleared away"):
            act()
    # Nor does clearing up after itself take away what is now another's.
    slow.__exit__(KeyError, KeyError(), None)
    assert any_store.run("run-1").name == "fast"
    assert list(any_store.measurements("run-1")) == [make_measurement(1)]


def test_vacuum_clears_what_was_cut_off(any_store: Store) -> None:
    staging = any_store.stage(make_run())
    staging.__enter__()
    staging.add_many([make_measurement(0)])
    # Its process is killed here.
    any_store.vacuum()
    with any_store._engine.connect() as connection:
        for table in ("runs", "measurements", "environments"):
            assert connection.exec_driver_sql(f"SELECT count(*) FROM {table}").scalar_one() == 0
