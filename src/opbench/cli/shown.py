"""Runs to look at, from a store or from a file of JSON Lines."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import BinaryIO

from opbench.cases.errors import OpbenchError
from opbench.results.jsonl import read_records
from opbench.results.records import Measurement, Run, Status
from opbench.results.store import Store


@dataclass(frozen=True)
class Shown:
    """A run and those of its rows that are asked for."""

    run: Run
    rows: Iterator[Measurement]


@contextmanager
def shown_runs(
    wanted: str, store: str | None, *, all_attempts: bool, statuses: Collection[Status] | None
) -> Iterator[Iterator[Shown]]:
    """The run of this name in the store or, where `wanted` is a file, all its runs."""
    path = Path(wanted)
    if _is_file(path):
        try:
            with path.open("rb") as file:
                yield _in_file(file, wanted, all_attempts, statuses)
        except OSError as error:
            raise OpbenchError(f"{wanted} cannot be read: {error.strerror}") from None
        return
    if path.suffix == ".jsonl":
        raise OpbenchError(f"{wanted}: there is no such file")
    with Store.open(store) as opened:
        run = opened.run(wanted)
        yield iter([Shown(run, opened.measurements(run.run_id, not all_attempts, statuses))])


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except ValueError:  # a name that no file can have
        return False


def _in_file(
    file: BinaryIO, name: str, all_attempts: bool, statuses: Collection[Status] | None
) -> Iterator[Shown]:
    # What is known about a run, and which attempt was the last, stands at the end of its lines.
    runs: dict[str, Run] = {}
    latest: dict[tuple[str, str, str, int], int] = {}
    for record in read_records(file, name):
        if isinstance(record, Run):
            runs[record.run_id] = record
        else:
            latest[_key(record)] = max(record.attempt, latest.get(_key(record), 0))

    def rows() -> Iterator[Measurement]:
        file.seek(0)
        for record in read_records(file, name):
            if isinstance(record, Run) or (statuses and record.status not in statuses):
                continue
            if all_attempts or record.attempt == latest[_key(record)]:
                yield record

    for run_id, group in groupby(rows(), key=lambda row: row.run_id):
        yield Shown(runs.pop(run_id, Run(run_id=run_id)), group)
    for run in runs.values():
        yield Shown(run, iter(()))


def _key(row: Measurement) -> tuple[str, str, str, int]:
    return row.run_id, row.environment, row.case_id, row.repeat
