"""What may lie where a store is wanted: nothing, a store, or something that must not be touched."""

from __future__ import annotations

import os
import re
import shutil
import sqlite3
import stat
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import Connection

from opbench.cases.errors import OpbenchError, UsageError
from opbench.results import database
from opbench.results.locations import STORE_VARIABLE, locate
from opbench.results.store import Store

from . import postgresql
from .makers import make_measurement, make_run

NAMES = [
    "a b.sqlite",
    "ü 日本.sqlite",
    "what?mode=ro&x=1",
    "100%41#x",
    "file:x",
    ":memory:",
    "'quoted\".db",
    "-x",
]


def filled(path: Path, rows: int = 3) -> Path:
    with Store.open(path) as store:
        store.add_run(make_run())
        store.add_many(make_measurement(number) for number in range(rows))
    return path


def run_sql(path: Path, *statements: str) -> Path:
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()
    return path


@pytest.mark.parametrize("name", NAMES)
def test_any_name_of_a_file_is_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    with Store.open(name) as store:
        store.add_run(make_run())
        # A store that is open stays where it is.
        monkeypatch.chdir("/")
        store.add(make_measurement())
        assert store.path == tmp_path / name
    assert {entry.name for entry in tmp_path.iterdir()} == {name}
    with Store.open(tmp_path / name, create=False) as store:
        assert len(list(store.measurements("run-1"))) == 1


def test_the_default_is_in_the_users_data_folder() -> None:
    home = Path("~").expanduser()
    assert locate(None, {}).path == home / ".local/share/opbench/opbench.sqlite"
    assert locate(None, {"XDG_DATA_HOME": "/data"}).path == Path("/data/opbench/opbench.sqlite")
    # As the specification of these variables asks for.
    assert locate(None, {"XDG_DATA_HOME": "data"}).path == home / ".local/share/opbench/opbench.sqlite"
    assert locate(None, {"XDG_DATA_HOME": "/data", STORE_VARIABLE: "/s"}).path == Path("/s")
    assert locate("/given", {STORE_VARIABLE: "/s"}).path == Path("/given")
    assert locate(None, {STORE_VARIABLE: ""}).is_default
    assert not locate(None, {STORE_VARIABLE: "/s"}).is_default
    assert locate("~/s", {}).path == home / "s"
    assert locate("sqlite:////a/b%20c", {}).path == Path("/a/b c")


def test_the_default_folder_is_made_for_this_user_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "deep" / "data"))
    with Store.open() as store:
        assert store.path == tmp_path / "deep/data/opbench/opbench.sqlite"
    assert stat.S_IMODE((tmp_path / "deep/data/opbench").stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("place", "expected"),
    [
        ("", "empty text"),
        ("a\0b", "NUL"),
        ("nowhere/s.sqlite", "no folder"),
        ("/dev/null", "must be a file"),
        (".", "a folder"),
        ("sqlite://", "needs a file"),
        ("sqlite:///:memory:", "needs a file"),
        ("sqlite:///x?mode=ro", "no options"),
        ("mysql://u:hunter2@h/d", "postgresql://"),
        ("postgresql://u:hunter2@h:port/d", "cannot be read"),
        ("nonsense://", "postgresql://"),
        ("x" * 300, "the store"),
        ("no\ud800thing", "file system"),
    ],
)
def test_what_cannot_be_a_store_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, place: str, expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(UsageError, match=re.escape(expected)) as error:
        Store.open(place)
    assert "hunter2" not in str(error.value)
    assert list(tmp_path.iterdir()) == []


def test_a_file_under_a_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(UsageError, match="no folder"):
        Store.open(tmp_path / "file" / "s.sqlite")


@given(st.text())
@settings(max_examples=200, deadline=None)
def test_any_text_is_a_place_or_refused(text: str) -> None:
    try:
        location = locate(text, {})
    except UsageError:
        return
    assert str(location)


def test_an_empty_file_becomes_a_store(tmp_path: Path) -> None:
    (tmp_path / "s").touch()
    assert len(Path(filled(tmp_path / "s")).read_bytes()) > 0


@pytest.mark.parametrize(
    "content", [b"hello", b"\0" * 5000, os.urandom(5000), b"SQLite format 3\0" + b"x" * 5000]
)
def test_a_file_that_is_no_database_is_left_alone(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes"
    path.write_bytes(content)
    with pytest.raises(UsageError, match=re.escape(str(path))):
        Store.open(path)
    assert path.read_bytes() == content


@pytest.mark.parametrize(
    "statements",
    [
        ["CREATE TABLE a (x)"],
        # As browsers have it.
        ["CREATE TABLE meta (key, value)", "INSERT INTO meta VALUES ('version', '1')"],
        ["CREATE TABLE meta (version)", "CREATE TABLE runs (id)"],
    ],
)
def test_a_database_of_another_program_is_left_alone(tmp_path: Path, statements: list[str]) -> None:
    path = run_sql(tmp_path / "other", *statements)
    content = path.read_bytes()
    with pytest.raises(UsageError, match="of something else"):
        Store.open(path)
    assert path.read_bytes() == content
    assert [entry.name for entry in tmp_path.iterdir()] == ["other"]


def test_what_is_not_there_is_only_made_on_request(place: str) -> None:
    with pytest.raises(UsageError, match="no store"):
        Store.open(place, create=False)
    with Store.open(place) as store:
        store.add_run(make_run())
    with Store.open(place, create=False) as store:
        assert store.has_run("run-1")


def test_a_damaged_store_says_so(tmp_path: Path) -> None:
    path = filled(tmp_path / "s", rows=2000)
    content = bytearray(path.read_bytes())
    for start in range(4096 * 20, len(content), 4096):
        content[start : start + 4096] = b"\xff" * len(content[start : start + 4096])
    path.write_bytes(content)
    with pytest.raises(OpbenchError, match=re.escape(str(path))), Store.open(path) as store:
        list(store.measurements("run-1"))


def test_a_store_that_was_cut_off_says_so(tmp_path: Path) -> None:
    path = filled(tmp_path / "s", rows=2000)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(OpbenchError, match=re.escape(str(path))), Store.open(path) as store:
        list(store.measurements("run-1"))


@pytest.mark.parametrize(
    "document", ["", "[]", "{}", "{", '{"schema":1}', '{"schema":99}', "\x00", "[" * 10**5]
)
@pytest.mark.parametrize("table", ["measurements", "runs", "environments"])
def test_a_row_that_was_edited_says_which(tmp_path: Path, table: str, document: str) -> None:
    path = filled(tmp_path / "s")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"UPDATE {table} SET document = ?", (document,))
        connection.commit()
    with Store.open(path) as store, pytest.raises(OpbenchError, match="run-1"):
        assert [store.run("run-1"), *store.measurements("run-1")]


@pytest.fixture
def powerless(tmp_path: Path) -> Iterator[Path]:
    """A folder of an ordinary user, whom rights of files stop."""
    if os.geteuid() != 0:
        yield tmp_path
        return
    folder = Path(tempfile.mkdtemp(prefix="opbench-"))
    os.chown(folder, 65534, 65534)
    os.seteuid(65534)
    try:
        yield folder
    finally:
        os.seteuid(0)
        shutil.rmtree(folder)


def test_a_store_that_cannot_be_written_says_so(powerless: Path) -> None:
    path = filled(powerless / "s")
    path.chmod(0o444)
    with pytest.raises(OpbenchError, match="read-only"), Store.open(path) as store:
        store.add(make_measurement(9))


def test_a_store_in_a_folder_that_cannot_be_written_says_so(powerless: Path) -> None:
    path = filled(powerless / "s")
    powerless.chmod(0o500)
    try:
        for place in (path, powerless / "new"):
            with pytest.raises(OpbenchError, match=r"read-only|may you read and write"):
                Store.open(place)
    finally:
        powerless.chmod(0o700)


def test_a_store_that_may_not_be_read_says_so(powerless: Path) -> None:
    path = filled(powerless / "s")
    path.chmod(0)
    with pytest.raises(UsageError, match="may you read and write"):
        Store.open(path)
    powerless.chmod(0)
    with pytest.raises(UsageError, match=r"cannot be kept there|may you read and write"):
        Store.open(path)
    powerless.chmod(0o700)


def test_a_full_disk_says_so(store: Store) -> None:
    store.add_run(make_run())
    with store._engine.connect() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar_one()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages + 1}")
    rows = [make_measurement(0, repeat=number, samples=100) for number in range(100)]
    with pytest.raises(OpbenchError, match="disk is full"):
        store.add_many(rows)
    assert store.run("run-1").run_id == "run-1"


def test_a_password_is_never_shown(server: postgresql.Server) -> None:
    url = server.new_database().replace("opbench@", "opbench:hunter2@")
    for place in (url, f"{url}?sslpassword=hunter2&application_name=x"):
        with Store.open(place) as store:
            assert "hunter2" not in store.url + str(store)
            assert str(store).startswith("postgresql://opbench:***@127.0.0.1:")
    for place in (
        "postgresql://u:hunter2@127.0.0.1:1/db",
        "postgresql://u@127.0.0.1:1/db?password=hunter2",
        url + "x",
    ):
        with pytest.raises(UsageError, match="cannot be used") as error:
            Store.open(place)
        assert "hunter2" not in str(error.value)
        assert "\n" not in str(error.value)


def test_a_database_with_other_tables_is_shared_unless_they_have_our_names(server: postgresql.Server) -> None:
    shared, taken = server.new_database(), server.new_database()
    server.execute("CREATE TABLE theirs (x int)", shared.rpartition("/")[2])
    server.execute("CREATE TABLE runs (x int)", taken.rpartition("/")[2])
    with Store.open(shared) as store:
        store.add_run(make_run())
    with pytest.raises(UsageError, match=r"something else.*runs"):
        Store.open(taken)


def test_a_store_that_another_process_makes_meanwhile_is_used(
    server: postgresql.Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = server.new_schema()
    look = database._version

    def look_too_early(connection: Connection) -> int | None:
        version = look(connection)
        if version is None:
            monkeypatch.undo()
            Store.open(place).close()
        return version

    monkeypatch.setattr(database, "_version", look_too_early)
    with Store.open(place) as store:
        store.add_run(make_run())


def test_a_server_that_goes_away_is_an_error_in_plain_words(server: postgresql.Server) -> None:
    url = server.new_database()
    name = url.rpartition("/")[2]
    stop = f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    with Store.open(url) as store:
        store.add_run(make_run())
        server.execute(stop)
        # A connection that was closed while nobody used it is replaced.
        store.add(make_measurement())
        server.execute(f"ALTER DATABASE {name} ALLOW_CONNECTIONS false")
        server.execute(stop)
        with pytest.raises(OpbenchError, match="cannot be used"):
            store.add(make_measurement(1))
