"""Where runs and measurements are kept: an SQLite file, or a PostgreSQL database for a team."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias

import msgspec
from sqlalchemy import Connection, Engine, and_, exists, func, insert, select, text
from sqlalchemy.exc import IntegrityError

from opbench.cases.errors import OpbenchError
from opbench.results import database, tables
from opbench.results.encoding import decode
from opbench.results.locations import Location, locate
from opbench.results.lookup import find_run, has_run, load_run, load_runs, require_run
from opbench.results.records import STATUSES, Measurement, Run, Status
from opbench.results.staging import (
    CHUNK_ROWS,
    Staging,
    delete_hidden,
    delete_rows,
    hide,
    replace_run,
    write_environments,
)

# Made once: SQLAlchemy remembers with the statement how it is compiled.
_INSERT = insert(tables.measurements)
# (environment, case id, repeat)
Key: TypeAlias = tuple[str, str, int]


class Store:
    """A store that is open. Use `Store.open(...)` in a `with` statement.

    What a method has written is committed when it returns: killing the process afterwards loses nothing.
    Any number of threads and processes may read and write at once.
    """

    def __init__(self, location: Location, engine: Engine) -> None:
        self._location = location
        self._engine = engine

    @classmethod
    def open(cls, path_or_url: str | os.PathLike[str] | None = None, create: bool = True) -> Store:
        """Open a store; where there is none, create it, or refuse to.

        A path, `sqlite:///PATH` or `postgresql://...`; by default $OPBENCH_STORE, else a file in the user's
        data folder.
        """
        location = locate(path_or_url)
        return cls(location, database.connect(location, create))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __str__(self) -> str:
        return str(self._location)

    @property
    def path(self) -> Path | None:
        """The file, for SQLite."""
        return self._location.path

    @property
    def url(self) -> str:
        """The database's URL, without its password."""
        return self._location.shown_url

    @property
    def size_bytes(self) -> int:
        """What the store takes on disk."""
        size = database.file_size_bytes(self._location)
        if size is not None:
            return size
        with self._reading() as connection:
            return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    def add_run(self, run: Run) -> None:
        """Add a run; its id must be new."""
        with self._writing() as connection:
            try:
                connection.execute(insert(tables.runs), tables.run_row(run))
            except IntegrityError:
                raise OpbenchError(f"{self._location} already has a run {run.run_id}") from None
            write_environments(connection, run)

    def update_run(self, run: Run) -> None:
        """Replace what is kept about a run; its measurements stay."""
        with self._writing() as connection:
            require_run(connection, run.run_id)
            replace_run(connection, run)

    def finish_run(self, run_id: str, finished_at: str) -> None:
        """Note when a run ended."""
        with self._writing() as connection:
            run = load_run(connection, run_id)
            replace_run(connection, msgspec.structs.replace(run, finished_at=finished_at))

    def runs(self, limit: int | None = None) -> list[Run]:
        """Runs, the latest first."""
        with self._reading() as connection:
            return load_runs(connection, limit)

    def count_runs(self) -> int:
        """How many runs there are."""
        query = select(func.count()).select_from(tables.runs).where(tables.runs.c.hidden == "")
        with self._reading() as connection:
            return int(connection.execute(query).scalar_one())

    def run(self, wanted: str) -> Run:
        """The run of this id, or of the only id that begins so; "last" is the latest run."""
        with self._reading() as connection:
            return load_run(connection, find_run(connection, wanted))

    def has_run(self, run_id: str) -> bool:
        """Whether there is a run with exactly this id."""
        with self._reading() as connection:
            return has_run(connection, run_id)

    def add(self, measurement: Measurement) -> None:
        """Add one measurement to its run."""
        self._insert([measurement])

    def add_many(self, rows: Iterable[Measurement]) -> int:
        """Add measurements, a chunk at a time; returns how many. Much faster than one by one.

        When one is refused, earlier chunks are kept.
        """
        stream = iter(rows)
        count = 0
        while chunk := list(islice(stream, CHUNK_ROWS)):
            self._insert(chunk)
            count += len(chunk)
        return count

    def measurements(
        self, run_id: str, latest_attempts: bool = True, statuses: Collection[Status] | None = None
    ) -> Iterator[Measurement]:
        """Rows of a run in the order they were added, read a chunk at a time.

        Of a case that was tried more than once, only the last attempt, unless `latest_attempts` is false.
        """
        with self._reading() as connection:
            require_run(connection, run_id)
        return self._stream(run_id, latest_attempts, statuses)

    def done_keys(self, run_id: str) -> dict[Key, tuple[Status, int]]:
        """Status and number of the last attempt, for each (environment, case id, repeat) that has a row."""
        table = tables.measurements
        columns = (table.c.environment, table.c.case_id, table.c.repeat, table.c.status, table.c.attempt)
        with self._reading() as connection:
            require_run(connection, run_id)
            rows = connection.execute(
                select(*columns).where(table.c.run_id == run_id).order_by(table.c.attempt)
            ).all()
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows}

    def counts(self, run_id: str) -> dict[Status, int]:
        """How many cases of a run ended with which status, by their last attempts. Zeros are left out."""
        table = tables.measurements
        query = select(table.c.status, func.count()).where(table.c.run_id == run_id, _is_latest())
        with self._reading() as connection:
            require_run(connection, run_id)
            found = {row[0]: row[1] for row in connection.execute(query.group_by(table.c.status))}
        return {status: found[status] for status in STATUSES if status in found}

    def stage(self, run: Run) -> Staging:
        """Add a run that shows only once it is complete. Use it in a `with` statement."""
        return Staging(self._writing, run, str(self._location))

    def delete_run(self, run_id: str) -> int:
        """Delete a run and its measurements; returns how many those were."""
        with self._writing() as connection:
            require_run(connection, run_id)
            hide(connection, run_id, "deleting")
        return delete_rows(self._writing, run_id, "deleting")

    def vacuum(self) -> None:
        """Give back the space of deleted runs, and of imports and deletions that were cut off."""
        delete_hidden(self._writing)
        with database.plain_errors(self._location):
            database.vacuum(self._engine)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with database.plain_errors(self._location), database.reading(self._engine) as connection:
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        with database.plain_errors(self._location), database.writing(self._engine) as connection:
            yield connection

    def _insert(self, chunk: list[Measurement]) -> None:
        rows = [tables.measurement_row(measurement) for measurement in chunk]
        try:
            with self._writing() as connection:
                connection.execute(_INSERT, rows)
        except OpbenchError as error:
            if not isinstance(error.__cause__, IntegrityError):
                raise
            with self._reading() as connection:
                for run_id in {measurement.run_id for measurement in chunk}:
                    require_run(connection, run_id)
            raise OpbenchError(_already_there(chunk)) from None

    def _stream(
        self, run_id: str, latest_attempts: bool, statuses: Collection[Status] | None
    ) -> Iterator[Measurement]:
        table = tables.measurements
        query = select(table.c.id, table.c.document).where(table.c.run_id == run_id)
        if latest_attempts:
            query = query.where(_is_latest())
        if statuses is not None:
            query = query.where(table.c.status.in_(statuses))
        query = query.order_by(table.c.id).limit(CHUNK_ROWS)
        last = 0
        while True:
            # A transaction for each chunk: a reader that stops half-way, or is slow, holds nothing open.
            with self._reading() as connection:
                rows = connection.execute(query.where(table.c.id > last)).all()
            for row in rows:
                try:
                    measurement = decode(row.document, Measurement)
                except OpbenchError as error:
                    raise OpbenchError(f"{self._location}: row {row.id} of run {run_id}: {error}") from None
                yield measurement
            if len(rows) < CHUNK_ROWS:
                return
            last = rows[-1].id


def _is_latest() -> Any:
    """The condition that no later attempt at the same case exists."""
    table = tables.measurements
    later = table.alias()
    same = [later.c[name] == table.c[name] for name in ("run_id", "environment", "case_id", "repeat")]
    return ~exists().where(and_(*same, later.c.attempt > table.c.attempt))


def _already_there(chunk: list[Measurement]) -> str:
    first = chunk[0]
    what = (
        f"environment {first.environment}, case {first.case_id}, "
        f"repeat {first.repeat}, attempt {first.attempt}"
    )
    return (
        f"run {first.run_id} already has a measurement of this: {what}"
        if len(chunk) == 1
        else (f"run {first.run_id} already has one of {len(chunk)} measurements that begin with this: {what}")
    )
