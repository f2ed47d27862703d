"""Finding runs in a store: by id, by how an id begins, or the latest."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import msgspec
from sqlalchemy import Connection, func, select

from opbench.cases.errors import OpbenchError, UsageError
from opbench.cases.suggest import nearest
from opbench.results import tables
from opbench.results.encoding import RecordType, decode
from opbench.results.records import Environment, Run

LAST = "last"
# Of ids that begin alike; the rest are counted.
_SHOWN = 5
# Ids that a mistyped one is compared with, the latest first.
_COMPARED = 500

_runs, _environments = tables.runs.c, tables.environments.c


def find_run(connection: Connection, wanted: str) -> str:
    """The id of the run with this id, or of the only one whose id begins so; "last" is the latest run."""
    if wanted == LAST:
        latest = connection.execute(_latest_first(select(_runs.run_id)).limit(1)).scalar()
        if latest is None:
            raise UsageError("the store has no runs yet")
        return str(latest)
    if not wanted:
        raise UsageError('a run is named by its id, the beginning of its id, or "last"; found an empty text')
    # A database refuses such texts, so it has no such run.
    if tables.is_searchable(wanted):
        if has_run(connection, wanted):
            return wanted
        # Not LIKE: for SQLite it would ignore case.
        begins = func.substr(_runs.run_id, 1, len(wanted)) == wanted
        found = connection.execute(_latest_first(select(_runs.run_id)).where(begins)).scalars().all()
        if len(found) == 1:
            return str(found[0])
        if found:
            shown = ", ".join(found[:_SHOWN]) + (", ..." if len(found) > _SHOWN else "")
            raise UsageError(f"the ids of {len(found)} runs begin with {wanted!r}: {shown}")
    raise UsageError(_no_such_run(connection, wanted))


def has_run(connection: Connection, run_id: str) -> bool:
    """Whether there is a run with exactly this id."""
    query = select(_runs.id).where(_runs.run_id == run_id, _runs.hidden == "")
    return tables.is_searchable(run_id) and connection.execute(query).first() is not None


def require_run(connection: Connection, run_id: str) -> None:
    """Refuse an id that no run has."""
    if not has_run(connection, run_id):
        raise UsageError(_no_such_run(connection, run_id))


def load_run(connection: Connection, run_id: str) -> Run:
    """The run with exactly this id."""
    require_run(connection, run_id)
    row = connection.execute(select(_runs.run_id, _runs.document).where(_runs.run_id == run_id)).one()
    query = select(_environments.run_id, _environments.document).where(_environments.run_id == run_id)
    (run,) = _assemble([row], connection.execute(query.order_by(_environments.position)).all())
    return run


def load_runs(connection: Connection, limit: int | None) -> list[Run]:
    """Runs, the latest first."""
    rows = connection.execute(_latest_first(select(_runs.run_id, _runs.document)).limit(limit)).all()
    wanted = _latest_first(select(_runs.run_id)).limit(limit).subquery()
    query = select(_environments.run_id, _environments.document).join(
        wanted, wanted.c.run_id == _environments.run_id
    )
    return _assemble(rows, connection.execute(query.order_by(_environments.position)).all())


def _assemble(rows: Any, environment_rows: Any) -> list[Run]:
    environments: dict[str, list[Environment]] = defaultdict(list)
    for run_id, document in environment_rows:
        environments[run_id].append(_decoded(run_id, document, Environment))
    return [
        msgspec.structs.replace(_decoded(run_id, document, Run), environments=tuple(environments[run_id]))
        for run_id, document in rows
    ]


def _decoded(run_id: str, document: str, kind: type[RecordType]) -> RecordType:
    try:
        return decode(document, kind)
    except OpbenchError as error:
        raise OpbenchError(f"run {run_id} cannot be read: {error}") from None


def _latest_first(query: Any) -> Any:
    return query.where(_runs.hidden == "").order_by(_runs.started_at.desc(), _runs.id.desc())


def _no_such_run(connection: Connection, wanted: str) -> str:
    known = connection.execute(_latest_first(select(_runs.run_id)).limit(_COMPARED)).scalars().all()
    near = nearest(wanted, known)
    hint = f"; did you mean {near}?" if near else "" if known else ": it has no runs yet"
    return f"the store has no run {wanted!r}{hint}"
