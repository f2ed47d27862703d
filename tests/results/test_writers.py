"""Several processes write into one store at once, and some are killed while they do."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from opbench.results.store import Store

from .makers import make_measurement, make_run

ROWS = 200
# Adds rows one by one and says so, after each: what has been said must be there.
WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from results.makers import make_measurement, make_run
from opbench.results.store import Store

place, run_id, rows, how = sys.argv[2:]
with Store.open(place) as store:
    if how == "own":
        store.add_run(make_run(run_id))
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(int(rows)):
        environment = "this" if how == "own" else how
        store.add(make_measurement(number % 5, run_id=run_id, repeat=number, environment=environment))
        print(number, flush=True)
"""


def writer(place: str, run_id: str, rows: int = ROWS, how: str = "own") -> subprocess.Popen[str]:
    tests = str(Path(__file__).resolve().parents[1])
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, tests, place, run_id, str(rows), how],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def said(process: subprocess.Popen[str]) -> list[int]:
    """The rows that a writer has said it added, once it is over."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.close()
    with process.stdout:
        numbers = [int(line) for line in process.stdout if line.endswith("\n") and line != "ready\n"]
    process.wait()
    return numbers


def start_together(processes: list[subprocess.Popen[str]]) -> None:
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()


def repeats(store: Store, run_id: str) -> list[int]:
    return [row.repeat for row in store.measurements(run_id, latest_attempts=False)]


def test_writers_of_runs_of_their_own_lose_nothing(place: str) -> None:
    """The store is not there yet: they create it at once, too."""
    processes = [writer(place, f"run-{number}") for number in range(4)]
    start_together(processes)
    for process in processes:
        assert said(process) == list(range(ROWS))
        assert process.returncode == 0
    with Store.open(place) as store:
        assert sorted(run.run_id for run in store.runs()) == [f"run-{number}" for number in range(4)]
        for number in range(4):
            assert repeats(store, f"run-{number}") == list(range(ROWS))


def test_writers_of_one_run_lose_nothing_while_others_read(place: str) -> None:
    with Store.open(place) as store:
        store.add_run(make_run("run"))
        processes = [writer(place, "run", how=f"env{number}") for number in range(4)]
        start_together(processes)
        seen = 0
        while any(process.poll() is None for process in processes) and seen < 4 * ROWS:
            now = len(repeats(store, "run"))
            assert now >= seen
            assert sum(store.counts("run").values()) >= now
            seen = now
        for process in processes:
            assert said(process) == list(range(ROWS))
            assert process.returncode == 0
        assert sorted(repeats(store, "run")) == sorted(list(range(ROWS)) * 4)


def test_no_writer_waits_long_for_an_import_a_deletion_or_a_slow_reader(any_store: Store, place: str) -> None:
    any_store.add_run(make_run("old"))
    any_store.add_many(make_measurement(0, run_id="old", repeat=number) for number in range(3000))
    any_store.add_run(make_run("new"))
    reader = any_store.measurements("old")
    next(reader)
    process = writer(place, "other")
    start_together([process])
    # However busy the machine: a writer that waited for all of it would not be between its chunks.
    with any_store.stage(make_run("staged")) as staging:
        for number in range(20):
            staging.add_many([make_measurement(0, run_id="staged", repeat=number)])
            any_store.add(make_measurement(0, run_id="new", repeat=number))
    assert any_store.delete_run("old") == 3000
    assert said(process) == list(range(ROWS))
    # A reader whose run is deleted under it ends with what it had read so far.
    assert len(list(reader)) < 3000


@pytest.mark.parametrize("seed", range(4))
def test_a_killed_writer_loses_nothing_that_it_had_committed_and_stops_nobody(place: str, seed: int) -> None:
    rng = random.Random(seed)
    victim, survivor = processes = [writer(place, "victim", rows=100_000), writer(place, "survivor", rows=50)]
    start_together(processes)
    time.sleep(rng.uniform(0, 0.15))
    victim.send_signal(signal.SIGKILL)
    committed = said(victim)
    assert said(survivor) == list(range(50))
    with Store.open(place) as store:
        kept = repeats(store, "victim")
        # The row after the last that it could speak of may have been committed.
        assert kept == list(range(len(kept)))
        assert len(kept) in (len(committed), len(committed) + 1)
        assert repeats(store, "survivor") == list(range(50))
        store.add(make_measurement(0, run_id="victim", repeat=99_999))
        if store.path:
            raw = sqlite3.connect(store.path)
            assert raw.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
            raw.close()


IMPORTER = """
import sys
from opbench.results.jsonl import import_runs
from opbench.results.store import Store
with Store.open(sys.argv[1]) as store, open(sys.argv[2], "rb") as file:
    print("ready", flush=True)
    import_runs(store, file, "file")
"""


@pytest.mark.parametrize("delay_s", [0.01, 0.05, 0.1])
def test_a_killed_import_leaves_no_run_and_can_be_done_again(
    place: str, tmp_path: Path, delay_s: float, new_place: Callable[[], str]
) -> None:
    from opbench.results.jsonl import JsonLinesWriter, import_runs

    path = tmp_path / "run.jsonl"
    with path.open("w", encoding="utf-8") as text:
        lines = JsonLinesWriter(text)
        lines.run(make_run("run"))
        for number in range(5000):
            lines.row(make_measurement(0, run_id="run", repeat=number))
    process = subprocess.Popen(
        [sys.executable, "-c", IMPORTER, place, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(delay_s)
    process.kill()
    process.wait()
    process.stdout.close()
    with Store.open(place) as store:
        # Not there, or (on a fast machine) whole.
        complete = store.has_run("run")
        assert [run.run_id for run in store.runs()] == (["run"] if complete else [])
        with path.open("rb") as file:
            assert import_runs(store, file, "file").rows == (0 if complete else 5000)
        assert len(repeats(store, "run")) == 5000


def test_a_store_that_is_locked_too_long_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from opbench.cases.errors import OpbenchError
    from opbench.results import database

    monkeypatch.setattr(database, "BUSY_TIMEOUT_S", 0.05)
    with Store.open(tmp_path / "s.sqlite") as store:
        store.add_run(make_run())
        other = sqlite3.connect(tmp_path / "s.sqlite", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(OpbenchError, match="kept the store locked"):
            store.add(make_measurement())
        assert [run.run_id for run in store.runs()] == ["run-1"]
        other.execute("ROLLBACK")
        other.close()
        store.add(make_measurement())
