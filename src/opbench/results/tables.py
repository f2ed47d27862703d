"""The tables of a store, and what goes into their columns.

`document` holds the whole record as JSON text and is what is read back. The other columns repeat what
is searched for.
"""

from __future__ import annotations

import math
from typing import Any

import msgspec
from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

from opbench.results.encoding import RecordError, encode
from opbench.results.records import Environment, Measurement, Run

metadata = MetaData()
# SQLite numbers rows by itself only where the type is exactly INTEGER.
_Id = BigInteger().with_variant(Integer, "sqlite")

meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)

runs = Table(
    "runs",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("run_id", Text, nullable=False, unique=True),
    Column("name", Text, nullable=False),
    Column("started_at", Text, nullable=False, index=True),
    Column("finished_at", Text, nullable=False),
    # Not empty while a run is only half there: being imported or being deleted.
    Column("hidden", Text, nullable=False),
    Column("document", Text, nullable=False),
)

environments = Table(
    "environments",
    metadata,
    Column("run_id", Text, ForeignKey("runs.run_id", ondelete="CASCADE"), primary_key=True),
    Column("position", Integer, primary_key=True, autoincrement=False),
    Column("name", Text, nullable=False),
    Column("fingerprint", Text, nullable=False, index=True),
    Column("document", Text, nullable=False),
    UniqueConstraint("run_id", "name"),
)

measurements = Table(
    "measurements",
    metadata,
    Column("id", _Id, primary_key=True),
    Column("run_id", Text, ForeignKey("runs.run_id"), nullable=False),
    Column("environment", Text, nullable=False),
    Column("case_id", Text, nullable=False),
    Column("repeat", Integer, nullable=False),
    Column("attempt", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("op", Text, nullable=False),
    Column("label", Text, nullable=False),
    Column("started_at", Text, nullable=False),
    Column("time_s", Float),
    Column("document", Text, nullable=False),
    UniqueConstraint("run_id", "environment", "case_id", "repeat", "attempt"),
    Index("measurements_in_order", "run_id", "id"),
)


# An entry of a PostgreSQL index has room for 2700 bytes.
_LONGEST = 200


def run_row(run: Run, hidden: str = "") -> dict[str, Any]:
    """Columns of a run. Its environments have a table of their own."""
    return {
        "run_id": _key("run id", run.run_id),
        "name": _searchable(run.name),
        "started_at": _searchable(run.started_at)[:_LONGEST],
        "finished_at": _searchable(run.finished_at),
        "hidden": hidden,
        "document": encode(_without_environments(run)),
    }


def environment_rows(run: Run) -> list[dict[str, Any]]:
    """Columns of the environments of a run, in order."""
    names = [environment.name for environment in run.environments]
    if len(set(names)) < len(names):
        raise RecordError(f"run {run.run_id} has two environments of one name ({', '.join(names)})")
    return [environment_row(run.run_id, position, item) for position, item in enumerate(run.environments)]


def environment_row(run_id: str, position: int, environment: Environment) -> dict[str, Any]:
    """Columns of one environment."""
    return {
        "run_id": run_id,
        "position": position,
        "name": _key("name of an environment", environment.name),
        "fingerprint": _searchable(environment.fingerprint)[:_LONGEST],
        "document": encode(environment),
    }


def measurement_row(measurement: Measurement) -> dict[str, Any]:
    """Columns of a measurement."""
    time = measurement.metric("time")
    return {
        "run_id": _key("run id", measurement.run_id),
        "environment": _key("name of an environment", measurement.environment),
        "case_id": _key("case id", measurement.case_id),
        "repeat": _number("repeat", measurement.repeat),
        "attempt": _number("attempt", measurement.attempt),
        "status": measurement.status,
        "op": _searchable(measurement.case.op)[:_LONGEST],
        "label": _searchable(measurement.case.label),
        "started_at": _searchable(measurement.started_at)[:_LONGEST],
        "time_s": _finite(time.value) if time is not None else None,
        "document": encode(measurement),
    }


def _without_environments(run: Run) -> Run:
    return msgspec.structs.replace(run, environments=())


def is_searchable(text: str) -> bool:
    """Whether a database keeps the text exactly: it has no NUL, and no halves of surrogate pairs."""
    return text == _searchable(text)


def _key(what: str, text: str) -> str:
    """A text that finds a row again, so it must be kept exactly."""
    if not text or len(text) > _LONGEST:
        raise RecordError(f"the {what} must have from 1 to {_LONGEST} characters, not {len(text)}")
    if not is_searchable(text):
        raise RecordError(f"the {what} {text!r} has characters that a database cannot keep")
    return text


def _number(what: str, number: int) -> int:
    if not 0 <= number < 2**31:
        raise RecordError(f"the {what} of a measurement must be from 0 to {2**31 - 1}, not {number}")
    return number


def _finite(value: float | int | None) -> float | None:
    try:
        number = math.nan if value is None else float(value)
    except OverflowError:  # a whole number beyond the range of floats
        return None
    return number if math.isfinite(number) else None


def _searchable(text: str) -> str:
    """The text without what databases refuse."""
    if text.isascii() and "\0" not in text:
        return text
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode()
