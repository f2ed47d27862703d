"""Runs that are only half there: added out of sight until they are complete, or deleted bit by bit.

Both take many short transactions, so that nobody waits long for them, and either may be cut off. Until
the end the run is hidden; `delete_hidden` clears away what was cut off.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from itertools import islice
from types import TracebackType
from typing import Any, TypeAlias

from sqlalchemy import Connection, delete, insert, select, update

from opbench.cases.errors import OpbenchError
from opbench.results import tables
from opbench.results.encoding import RecordError
from opbench.results.records import Measurement, Run

Writing: TypeAlias = Callable[[], AbstractContextManager[Connection]]
# Rows that are written or deleted in one transaction. Other writers wait some 50 ms for it.
CHUNK_ROWS = 500

_runs, _measurements = tables.runs.c, tables.measurements.c


class Staging:
    """A run that shows only when the `with` block has ended without an error; otherwise it is deleted."""

    def __init__(self, writing: Writing, run: Run, place: str) -> None:
        self._writing = writing
        self._run = run
        self._place = place
        # Tells this import from another one of the same run.
        self._token = f"importing {secrets.token_hex(8)}"

    def __enter__(self) -> Staging:
        run_id = self._run.run_id
        with self._writing() as connection:
            state = connection.execute(select(_runs.hidden).where(_runs.run_id == run_id)).scalar()
            if state == "":
                raise OpbenchError(f"{self._place} already has a run {run_id}")
            if state is not None:
                # Of an import that was cut off, or whose place this one takes.
                hide(connection, run_id, self._token)
        if state is not None:
            delete_rows(self._writing, run_id, self._token)
        with self._writing() as connection:
            connection.execute(insert(tables.runs), tables.run_row(self._run, hidden=self._token))
            write_environments(connection, self._run)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if kind is not None:
            delete_rows(self._writing, self._run.run_id, self._token)
            return
        with self._writing() as connection:
            self._require(connection)
            replace_run(connection, self._run)
            hide(connection, self._run.run_id, "")

    def update(self, run: Run) -> None:
        """Replace what will be kept about the run; its id must stay."""
        self._run = run

    def add_many(self, rows: Iterable[Measurement]) -> int:
        """Add measurements of the run, a chunk at a time; returns how many."""
        stream = map(self._row, rows)
        count = 0
        while chunk := list(islice(stream, CHUNK_ROWS)):
            with self._writing() as connection:
                self._require(connection)
                connection.execute(insert(tables.measurements), chunk)
            count += len(chunk)
        return count

    def _row(self, measurement: Measurement) -> dict[str, Any]:
        if measurement.run_id != self._run.run_id:
            raise RecordError(f"run {self._run.run_id} cannot have rows of run {measurement.run_id}")
        return tables.measurement_row(measurement)

    def _require(self, connection: Connection) -> None:
        query = select(_runs.hidden).where(_runs.run_id == self._run.run_id).with_for_update()
        if connection.execute(query).scalar() != self._token:
            raise OpbenchError(
                f"the import of run {self._run.run_id} was cleared away by another import or a vacuum"
            )


def hide(connection: Connection, run_id: str, state: str) -> None:
    """Take a run out of sight; an empty state shows it again."""
    connection.execute(update(tables.runs).where(_runs.run_id == run_id).values(hidden=state))


def delete_rows(writing: Writing, run_id: str, state: str) -> int:
    """Delete a hidden run and its measurements, unless another process has taken it over since."""
    count = 0
    while True:
        with writing() as connection:
            # The lock keeps PostgreSQL from adding rows between the last look and the end of the run.
            query = select(_runs.hidden).where(_runs.run_id == run_id).with_for_update()
            if connection.execute(query).scalar() != state:
                return count
            chunk = select(_measurements.id).where(_measurements.run_id == run_id).limit(CHUNK_ROWS)
            rows = delete(tables.measurements).where(_measurements.id.in_(chunk))
            deleted = connection.execute(rows).rowcount
            count += deleted
            if deleted < CHUNK_ROWS:
                connection.execute(delete(tables.runs).where(_runs.run_id == run_id))
                return count


def delete_hidden(writing: Writing) -> None:
    """Delete what imports and deletions that were cut off have left."""
    with writing() as connection:
        left = connection.execute(select(_runs.run_id, _runs.hidden).where(_runs.hidden != "")).all()
    for run_id, state in left:
        delete_rows(writing, run_id, state)


def replace_run(connection: Connection, run: Run) -> None:
    """Replace what is kept about a run; hidden stays hidden."""
    row = tables.run_row(run)
    del row["hidden"]
    connection.execute(update(tables.runs).where(_runs.run_id == run.run_id).values(**row))
    connection.execute(delete(tables.environments).where(tables.environments.c.run_id == run.run_id))
    write_environments(connection, run)


def write_environments(connection: Connection, run: Run) -> None:
    """Add the environments of a run."""
    if run.environments:
        connection.execute(insert(tables.environments), tables.environment_rows(run))
