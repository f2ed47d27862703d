"""What older versions have kept is read, and made new, by later ones."""

from __future__ import annotations

import io
import json
import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy
from sqlalchemy import Connection

from opbench.cases.errors import DocumentError, OpbenchError, UsageError
from opbench.results import database, encoding, upgrade
from opbench.results.jsonl import export_runs, import_runs
from opbench.results.records import SCHEMA_VERSION, Measurement, Run
from opbench.results.store import Store

from .makers import make_measurement, make_run

DATA = Path(__file__).parent / "data"
# What each version wrote, from the first on. When a version is added, so are its two files.
VERSIONS = [int(path.stem.partition("-")[2]) for path in sorted(DATA.glob("version-*.sql"))]


def stored(version: int, folder: Path) -> Path:
    path = folder / f"version-{version}.sqlite"
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript((DATA / f"version-{version}.sql").read_text(encoding="utf-8"))
    return path


def lines_of(store: Store) -> list[Any]:
    file = io.StringIO()
    export_runs(store, [run.run_id for run in store.runs()], file)
    return [json.loads(line) for line in file.getvalue().splitlines()]


def test_there_is_a_store_of_each_version() -> None:
    assert list(range(1, upgrade.STORE_VERSION + 1)) == VERSIONS


@pytest.mark.parametrize("version", VERSIONS)
def test_a_store_of_each_version_is_read_and_written(tmp_path: Path, version: int) -> None:
    with Store.open(stored(version, tmp_path)) as store:
        kept = lines_of(store)
        assert kept[0]["name"] == "the first"
        assert [line.get("status") for line in kept] == [None, "ok", "timeout", "ok"]
        store.add(make_measurement(7))
        assert store.counts("run-1") == {"ok": 3}
        assert kept == lines_of(store)[:-1]


@pytest.mark.parametrize("version", VERSIONS)
def test_lines_of_each_version_are_what_its_store_holds(tmp_path: Path, version: int, store: Store) -> None:
    with (DATA / f"version-{version}.jsonl").open("rb") as file:
        assert import_runs(store, file, "file").rows == 3
    with Store.open(stored(version, tmp_path)) as old:
        assert lines_of(store) == lines_of(old)


def test_the_first_version_is_written_as_it_was(store: Store) -> None:
    """A change of what is written needs a new version, or must not be visible to old readers."""
    if SCHEMA_VERSION > 1:
        pytest.skip("there is a newer version")
    with (DATA / "version-1.jsonl").open("rb") as file:
        import_runs(store, file, "file")
    file_now = io.StringIO()
    export_runs(store, ["run-1"], file_now)
    assert file_now.getvalue() == (DATA / "version-1.jsonl").read_text(encoding="utf-8")


@pytest.fixture
def second(monkeypatch: pytest.MonkeyPatch) -> None:
    """A version 2 of store and records: a column more, and another reason in each row."""

    def store_step(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE measurements ADD COLUMN seed BIGINT")
        connection.exec_driver_sql("UPDATE measurements SET seed = 7")

    def record_step(kind: str, document: dict[str, Any]) -> dict[str, Any]:
        return document | {"reason": "upgraded"} if kind == "measurement" else document

    monkeypatch.setattr(upgrade, "STORE_STEPS", {1: store_step})
    monkeypatch.setattr(upgrade, "RECORD_STEPS", {1: record_step})
    for module in (upgrade, database):
        monkeypatch.setattr(module, "STORE_VERSION", 2)
    for module in (upgrade, encoding):
        monkeypatch.setattr(module, "SCHEMA_VERSION", 2)
    monkeypatch.setattr(encoding, "_SCHEMA", '"schema":2')


def version_of(store: Store) -> str:
    with store._engine.connect() as connection:
        return str(connection.exec_driver_sql("SELECT value FROM meta").scalar_one())


def test_an_old_store_is_upgraded_when_it_is_opened(place: str, request: pytest.FixtureRequest) -> None:
    with Store.open(place) as store:
        store.add_run(make_run())
        store.add(make_measurement())
        assert version_of(store) == "1"
    request.getfixturevalue("second")
    failures: list[BaseException] = []
    threads = [threading.Thread(target=lambda: _open(place, failures.append)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    with Store.open(place) as store:
        assert version_of(store) == "2"
        assert [row.reason for row in store.measurements("run-1")] == ["upgraded"]
        with store._engine.connect() as connection:
            assert connection.exec_driver_sql("SELECT seed FROM measurements").scalar_one() == 7


def _open(place: str, failed: Callable[[BaseException], None]) -> None:
    try:
        Store.open(place).close()
    except BaseException as error:
        failed(error)


def test_an_upgrade_that_fails_changes_nothing(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store.open(place) as store:
        store.add_run(make_run())

    def step(connection: Connection) -> None:
        connection.exec_driver_sql("ALTER TABLE measurements ADD COLUMN seed BIGINT")
        connection.exec_driver_sql("UPDATE nothing SET x = 1")

    with monkeypatch.context() as patch:
        patch.setattr(upgrade, "STORE_STEPS", {1: step})
        for module in (upgrade, database):
            patch.setattr(module, "STORE_VERSION", 2)
        with pytest.raises(UsageError, match="nothing"):
            Store.open(place)
    with Store.open(place) as store:
        assert version_of(store) == "1"
        assert "seed" not in {
            c["name"] for c in sqlalchemy.inspect(store._engine).get_columns("measurements")
        }
        assert store.has_run("run-1")


@pytest.mark.parametrize(("version", "says"), [("2", "from a newer opbench"), ("0", "cannot upgrade")])
def test_a_store_of_another_time_is_refused_and_left_alone(place: str, version: str, says: str) -> None:
    with Store.open(place) as store, store._engine.begin() as connection:
        connection.exec_driver_sql(f"UPDATE meta SET value = '{version}'")
    with pytest.raises(UsageError, match=says):
        Store.open(place)


@pytest.mark.parametrize(
    ("schema", "says"),
    [
        ("2", "from a newer opbench"),
        ("0", "cannot read"),
        ("-1", "cannot read"),
        ('"1"', "as a number"),
        ("true", "as a number"),
        ("1.0", "as a number"),
        ("null", "found none"),
        ("[]", "as a number"),
    ],
)
def test_a_record_of_another_time_is_refused(schema: str, says: str) -> None:
    for kind in (Measurement, Run):
        with pytest.raises(OpbenchError, match=says):
            encoding.decode(f'{{"schema":{schema},"run_id":"r"}}', kind)


def test_a_line_of_a_newer_opbench_says_where_it_stands(store: Store) -> None:
    lines = (
        (DATA / "version-1.jsonl")
        .read_text(encoding="utf-8")
        .replace('"measurement","schema":1', '"measurement","schema":5')
    )
    with pytest.raises(
        DocumentError, match=r"file: line 2: a measurement has schema version 5, from a newer"
    ):
        import_runs(store, io.BytesIO(lines.encode()), "file")
    assert store.runs() == []
