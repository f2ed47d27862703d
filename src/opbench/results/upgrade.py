"""Old records and stores made new: one step for each version, applied in order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sqlalchemy import Connection

from opbench.cases.errors import OpbenchError, UsageError
from opbench.results.records import SCHEMA_VERSION

STORE_VERSION = 1

RecordStep: TypeAlias = Callable[[str, dict[str, Any]], dict[str, Any]]
StoreStep: TypeAlias = Callable[[Connection], None]

# The step under n takes version n to n + 1. A record step gets the kind of the record ("measurement", "run",
# "environment") and its document; a store step changes the tables. Version 1 is the first, so there are none.
RECORD_STEPS: dict[int, RecordStep] = {}
STORE_STEPS: dict[int, StoreStep] = {}


def upgrade_record(kind: str, document: dict[str, Any]) -> dict[str, Any]:
    """The document as this version of opbench writes it."""
    version = document.get("schema", SCHEMA_VERSION if kind == "environment" else None)
    if not isinstance(version, int) or isinstance(version, bool):
        found = "none" if version is None else repr(version)
        raise OpbenchError(f"a {kind} must say which schema version it has, as a number; found {found}")
    if version > SCHEMA_VERSION:
        raise OpbenchError(
            f"a {kind} has schema version {version}, from a newer opbench; "
            f"this one reads up to {SCHEMA_VERSION}"
        )
    while version < SCHEMA_VERSION:
        if version not in RECORD_STEPS:
            raise OpbenchError(f"a {kind} has schema version {version}, which this opbench cannot read")
        document = RECORD_STEPS[version](kind, document)
        version += 1
    return {**document, "schema": version} if kind != "environment" else document


def upgrade_store(connection: Connection, version: int, place: str) -> int:
    """Bring the tables to this version of opbench, within the caller's transaction. Returns the version."""
    if version > STORE_VERSION:
        raise UsageError(
            f"{place} has store version {version}, from a newer opbench; "
            f"this one knows up to {STORE_VERSION}: "
            "use the newer one, or another store"
        )
    while version < STORE_VERSION:
        if version not in STORE_STEPS:
            raise UsageError(f"{place} has store version {version}, which this opbench cannot upgrade")
        STORE_STEPS[version](connection)
        version += 1
    return version
