"""Where runs and measurements are kept: an SQLite file, or a PostgreSQL database for a team."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import TypeAlias

from sqlalchemy import Connection, Engine, and_, exists, insert, select, text
from sqlalchemy.exc import IntegrityError

from opbench.cases.errors import OpbenchError
from opbench.results import database, tables
from opbench.results.encoding import decode
from opbench.results.locations import Location, locate
from opbench.results.records import Measurement, Run, Status

# (environment, case id, repeat)
Key: TypeAlias = tuple[str, str, int]
# Rows that are read, or written in one transaction, at a time. Other writers wait some 20 ms for it.
CHUNK_ROWS = 500


class Store:
    """A store that is open. Use `Store.open(...)` in a `with` statement.

    What a method has written is committed when it returns: killing the process afterwards loses nothing.
    Any number of processes may read and write at once.
    """

    def __init__(self, location: Location, engine: Engine) -> None:
        self._location = location
        self._engine = engine

    @classmethod
    def open(cls, path_or_url: str | os.PathLike[str] | None = None) -> Store:
        """Open a store, and create it if it is not there.

        A path, `sqlite:///PATH` or `postgresql://...`; by default $OPBENCH_STORE, else a file in the user's
        data folder.
        """
        location = locate(path_or_url)
        return cls(location, database.connect(location))

    def close(self) -> None:
        """Let go of the database."""
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def path(self) -> Path | None:
        """The file, for SQLite."""
        return self._location.path

    @property
    def url(self) -> str:
        """The database's URL, without its password."""
        return self._location.url.render_as_string(hide_password=True)

    @property
    def size_bytes(self) -> int:
        """What the store takes on disk."""
        size = database.file_size_bytes(self._location)
        if size is not None:
            return size
        with database.plain_errors(self._location), database.reading(self._engine) as connection:
            return int(connection.execute(text("SELECT pg_database_size(current_database())")).scalar_one())

    def add_run(self, run: Run) -> None:
        """Add a run; its id must be new."""
        try:
            with database.writing(self._engine) as connection:
                _insert_run(connection, run)
        except IntegrityError:
            raise OpbenchError(f"run {run.run_id} is already in the store {self._location}") from None

    def add(self, measurement: Measurement) -> None:
        """Add one measurement to its run."""
        self._insert([tables.measurement_row(measurement)])

    def add_many(self, rows: Iterable[Measurement]) -> int:
        """Add measurements, a chunk at a time; returns how many. Much faster than one by one."""
        count = 0
        stream = iter(rows)
        while chunk := [tables.measurement_row(row) for row in islice(stream, CHUNK_ROWS)]:
            self._insert(chunk)
            count += len(chunk)
        return count

    def _insert(self, rows: list[dict[str, object]]) -> None:
        try:
            with database.writing(self._engine) as connection:
                connection.execute(insert(tables.measurements), rows)
        except IntegrityError as error:
            raise OpbenchError(f"measurements cannot be added: {error.orig}") from None

    def measurements(
        self, run_id: str, latest_attempts: bool = True, statuses: Collection[Status] | None = None
    ) -> Iterator[Measurement]:
        """Rows of a run in the order they were added, read a chunk at a time.

        Of a case that was tried more than once, only the last attempt, unless `latest_attempts` is false.
        """
        table = tables.measurements
        query = select(table.c.id, table.c.document).where(table.c.run_id == run_id)
        if latest_attempts:
            later = table.alias()
            same = [later.c[name] == table.c[name] for name in ("run_id", "environment", "case_id", "repeat")]
            query = query.where(~exists().where(and_(*same, later.c.attempt > table.c.attempt)))
        if statuses is not None:
            query = query.where(table.c.status.in_(statuses))
        query = query.order_by(table.c.id).limit(CHUNK_ROWS)
        last = 0
        while True:
            # A transaction for each chunk: a reader that stops half-way, or is slow, holds nothing open.
            with database.reading(self._engine) as connection:
                rows = connection.execute(query.where(table.c.id > last)).all()
            for row in rows:
                yield decode(row.document, Measurement)
            if len(rows) < CHUNK_ROWS:
                return
            last = rows[-1].id

    def done_keys(self, run_id: str) -> dict[Key, tuple[Status, int]]:
        """Status and number of the last attempt, for each (environment, case id, repeat) that has a row."""
        table = tables.measurements
        columns = (table.c.environment, table.c.case_id, table.c.repeat, table.c.status, table.c.attempt)
        query = select(*columns).where(table.c.run_id == run_id).order_by(table.c.attempt)
        with database.reading(self._engine) as connection:
            rows = connection.execute(query).all()
        return {(row[0], row[1], row[2]): (row[3], row[4]) for row in rows}


def _insert_run(connection: Connection, run: Run) -> None:
    connection.execute(insert(tables.runs), tables.run_row(run))
    if run.environments:
        connection.execute(insert(tables.environments), tables.environment_rows(run))
