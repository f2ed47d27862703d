"""Opening a database for a store: connections, transactions, tables, and errors in plain words."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy
from sqlalchemy import Connection, Engine, event, insert, inspect, select, text, update
from sqlalchemy.engine.interfaces import DBAPICursor
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from opbench.cases.errors import OpbenchError, UsageError
from opbench.results.locations import Location
from opbench.results.tables import meta, metadata
from opbench.results.upgrade import STORE_VERSION, upgrade_store

# A writer holds the lock for some milliseconds; a queue of many writers may still take a while.
BUSY_TIMEOUT_S = 60.0
CONNECT_TIMEOUT_S = 10
# Pages of 4 KiB that the write-ahead log may have before they are moved into the file.
_LOG_PAGES = 4000
# Other programs, too, have tables "meta" with a "version".
_VERSION = "opbench_store_version"
# Any number that no other program is likely to lock.
_CREATION_LOCK = 0x6F70_6265


def connect(location: Location, create: bool = True) -> Engine:
    """An engine for a store with tables of this version; what is not there is created, or refused."""
    engine = _sqlite(location, create) if location.path else _postgresql(location)
    try:
        with plain_errors(location, opening=True):
            _prepare(engine, location, create)
    except BaseException:
        engine.dispose()
        raise
    return engine


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A transaction that sees one state of the store and blocks nobody."""
    with engine.connect() as connection:
        if connection.dialect.name == "postgresql":
            # By default each statement would see another one.
            connection = connection.execution_options(isolation_level="REPEATABLE READ")
        with connection.begin():
            yield connection


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction that is committed when the block ends, and undone when it raises."""
    with engine.connect() as connection:
        connection = connection.execution_options(opbench_writes=True)
        with connection.begin():
            yield connection


@contextmanager
def plain_errors(location: Location, opening: bool = False) -> Iterator[None]:
    """Turn errors of the database into ones that say what to do."""
    try:
        yield
    except (SQLAlchemyError, sqlite3.Error) as error:
        said = str(error.orig if isinstance(error, DBAPIError) else error)
        cause = location.without_secrets(" ".join(said.split()))
        message = next((plain for known, plain in _KNOWN.items() if known in cause), None)
        told = f"{location}: {message}" if message else f"the store {location} cannot be used: {cause}"
        raise (UsageError if opening else OpbenchError)(told) from error


_KNOWN = {
    "file is not a database": "this file is not a store (not an SQLite database)",
    "malformed": "the store is damaged; sqlite3's .recover may save what is readable",
    "readonly database": "the store cannot be written: the file or its folder is read-only",
    "unable to open database file": "the store cannot be opened: may you read and write it and its folder?",
    "disk is full": "the disk is full",
    "database is locked": f"another program has kept the store locked for {BUSY_TIMEOUT_S:.0f} seconds",
}


def _sqlite(location: Location, create: bool) -> Engine:
    path = location.path
    assert path is not None
    try:
        if path.exists():
            if not path.is_file():
                found = "a folder" if path.is_dir() else "none"
                raise UsageError(f"{path}: the store must be a file, and this is {found}")
        elif not create:
            raise _no_store(location)
        elif location.is_default:
            # The XDG specification asks for these rights.
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        elif not path.parent.is_dir():
            raise UsageError(f"{path}: there is no folder {path.parent} to keep the store in")
    except OSError as error:
        raise UsageError(f"{path}: the store cannot be kept there: {error.strerror}") from error
    engine = sqlalchemy.create_engine(location.url, connect_args={"timeout": BUSY_TIMEOUT_S})
    event.listen(engine, "connect", _set_up_sqlite)
    event.listen(engine, "begin", _begin_sqlite)
    return engine


def _set_up_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # Python's module would begin transactions by itself, and as readers, which may fail when they start to
    # write.
    connection.isolation_level = None
    cursor = connection.cursor()
    # What is committed survives the death of the process, though perhaps not the loss of power.
    cursor.execute("PRAGMA synchronous = NORMAL")
    # Moving the log into the file waits for the disk; with a page in many commits, seldom is cheaper.
    cursor.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    cursor.execute("PRAGMA foreign_keys = ON")
    cursor.close()


def _use_log(engine: Engine) -> None:
    """Keep a write-ahead log: with it, readers and a writer do not wait for each other."""
    deadline = time.monotonic() + BUSY_TIMEOUT_S
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        # Where it is in use already, this changes nothing.
        while not _switched(cursor):
            if time.monotonic() > deadline:
                raise OpbenchError(f"{engine.url.database}: {_KNOWN['database is locked']}")
            time.sleep(0.01)
        cursor.close()
    finally:
        raw.close()


def _switched(cursor: DBAPICursor) -> bool:
    # SQLite does not wait for locks here, so two processes that open a new store at once need to.
    try:
        cursor.execute("PRAGMA journal_mode = WAL")
    except sqlite3.OperationalError as error:
        if "locked" in str(error):
            return False
        raise
    return True


def _begin_sqlite(connection: Connection) -> None:
    # A writer asks for the lock at the start: it may wait there, and cannot fail later.
    writes = connection.get_execution_options().get("opbench_writes")
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def _postgresql(location: Location) -> Engine:
    # libpq takes several hosts with commas between them.
    texts = location.url.query.items()
    given = {key: text if isinstance(text, str) else ",".join(text) for key, text in texts}
    options = {"connect_timeout": CONNECT_TIMEOUT_S, **given, "client_encoding": "utf8"}
    return sqlalchemy.create_engine(location.url.set(query={}), connect_args=options, pool_pre_ping=True)


def _prepare(engine: Engine, location: Location, create: bool) -> None:
    with reading(engine) as connection:
        version = _version(connection)
        if version is None:
            # Not a byte of what belongs to another program is changed.
            _require_room(connection, location)
            if not create:
                raise _no_store(location)
    if engine.dialect.name == "sqlite":
        _use_log(engine)
    if version == STORE_VERSION:
        return
    with writing(engine) as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": _CREATION_LOCK})
        # Another process may have been faster.
        version = _version(connection)
        if version is None:
            _require_room(connection, location)
            metadata.create_all(connection, checkfirst=False)
            connection.execute(insert(meta), {"key": _VERSION, "value": str(STORE_VERSION)})
        elif version != STORE_VERSION:
            version = upgrade_store(connection, version, str(location))
            connection.execute(update(meta).where(meta.c.key == _VERSION).values(value=str(version)))


def _require_room(connection: Connection, location: Location) -> None:
    tables = set(inspect(connection).get_table_names())
    # A team's PostgreSQL database may have other tables, but none that only look like ours.
    taken = sorted(tables & set(metadata.tables) if connection.dialect.name == "postgresql" else tables)
    if taken:
        shown = ", ".join(taken[:5]) + (", ..." if len(taken) > 5 else "")
        raise UsageError(f"{location} is a database of something else (it has tables {shown})")


def _no_store(location: Location) -> UsageError:
    return UsageError(f"there is no store at {location} yet; opbench run makes one")


def _version(connection: Connection) -> int | None:
    """Which version the store has; None where there is no store."""
    if not inspect(connection).has_table("meta"):
        return None
    if {"key", "value"} - {column["name"] for column in inspect(connection).get_columns("meta")}:
        return None
    value = connection.execute(select(meta.c.value).where(meta.c.key == _VERSION)).scalar()
    return int(value) if isinstance(value, str) and value.isdecimal() else None


def vacuum(engine: Engine) -> None:
    """Give unused space back to the file system. Everybody else waits meanwhile."""
    # Neither database can do this inside a transaction, and SQLAlchemy begins one by itself for SQLite.
    if engine.dialect.name == "sqlite":
        raw = engine.raw_connection()
        try:
            cursor = raw.cursor()
            cursor.execute("VACUUM")
            # What was written now lies in the log, until it is moved to the file and cut off.
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            cursor.close()
        finally:
            raw.close()
        return
    with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
        for table in metadata.sorted_tables:
            # Without FULL the space would only be free for new rows.
            connection.exec_driver_sql(f"VACUUM (FULL, ANALYZE) {table.name}")


def file_size_bytes(location: Location) -> int | None:
    """Bytes that the files of an SQLite store take."""
    if location.path is None:
        return None
    files = (Path(f"{location.path}{suffix}") for suffix in ("", "-wal", "-shm"))
    return sum(file.stat().st_size for file in files if file.exists())
