"""Runs as JSON Lines: a line for the run, then one for each of its measurements.

    {"kind":"run","schema":1,"run_id":...}
    {"kind":"measurement","schema":1,"run_id":...,"case_id":...,"status":"ok",...}

A file may hold several runs, one after the other. A run's line may come again, further down, when more is
known about the run; the last one counts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import BinaryIO, TextIO, TypeAlias

from opbench.cases.errors import DocumentError, OpbenchError, Problem
from opbench.results.encoding import RecordError, decode, encode, from_document, parse
from opbench.results.records import Measurement, Run
from opbench.results.store import Store

# A measurement with a million samples has 25 MB.
MAX_LINE_BYTES = 64 * 2**20

Key: TypeAlias = tuple[str, str, int, int]
_RUN, _MEASUREMENT = '{"kind":"run",', '{"kind":"measurement",'


class JsonLinesWriter:
    """Writes records to a text file (in UTF-8), each line flushed before the next is begun."""

    def __init__(self, file: TextIO) -> None:
        self._file = file

    def run(self, run: Run) -> None:
        """Write the line of a run: before its measurements, and again when more is known."""
        self._write(_RUN, encode(run))

    def row(self, measurement: Measurement) -> None:
        """Write the line of a measurement."""
        self._write(_MEASUREMENT, encode(measurement))

    def _write(self, start: str, text: str) -> None:
        # The text begins with a brace, and the object is never empty.
        self._file.write(f"{start}{text[1:]}\n")
        self._file.flush()


def export_runs(store: Store, run_ids: Iterable[str], file: TextIO) -> int:
    """Write runs with all their measurements; returns how many measurements those were."""
    writer = JsonLinesWriter(file)
    count = 0
    for run_id in run_ids:
        run = store.run(run_id)
        writer.run(run)
        for measurement in store.measurements(run.run_id, latest_attempts=False):
            writer.row(measurement)
            count += 1
    return count


@dataclass
class Imported:
    """What an import did. `present` are runs that the store had already; they were left as they are.

    `cut_off` is true when the last line was incomplete, as after a kill, and so not read.
    """

    added: list[str] = field(default_factory=list)
    present: list[str] = field(default_factory=list)
    rows: int = 0
    cut_off: bool = False


def import_runs(store: Store, file: BinaryIO, name: str) -> Imported:
    """Add the runs of a file to a store. A run is added whole or not at all.

    `name` is what messages call the file. Runs before the line of an error are kept.
    """
    done = Imported()
    lines = _Lines(file, name)
    stream = iter(lines)
    line = next(stream, None)
    while line is not None:
        if not isinstance(line.record, Run):
            raise lines.error(line.number, "a measurement comes before the line of its run")
        group = _Group(line, line.record, stream, lines)
        try:
            _import_group(store, group, done)
        except RecordError as error:
            raise lines.error(group.number, str(error)) from None
        line = group.next
    done.cut_off = lines.cut_off
    return done


def _import_group(store: Store, group: _Group, done: Imported) -> None:
    run_id = group.run.run_id
    if run_id in done.added:
        raise RecordError(f"the lines of run {run_id!r} must follow each other")
    if store.has_run(run_id):
        for _ in group:  # wrong lines are told all the same
            pass
        done.present.append(run_id)
        return
    with store.stage(group.run) as staging:
        rows = staging.add_many(group)
        staging.update(group.run)
    done.rows += rows
    done.added.append(run_id)


def read_records(file: BinaryIO, name: str) -> Iterator[Run | Measurement]:
    """The records of a file as they come. What is wrong with a line is a DocumentError."""
    for line in _Lines(file, name):
        yield line.record


@dataclass(frozen=True)
class _Line:
    number: int
    record: Run | Measurement


class _Lines:
    """The lines of a file, decoded. `cut_off` is known at the end."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file = file
        self._name = name
        self.cut_off = False

    def __iter__(self) -> Iterator[_Line]:
        number = 0
        while raw := self._file.readline(MAX_LINE_BYTES + 1):
            number += 1
            if len(raw) > MAX_LINE_BYTES:
                raise self.error(number, f"is longer than {MAX_LINE_BYTES // 2**20} MiB")
            if number == 1:
                raw = raw.removeprefix(b"\xef\xbb\xbf")
            if not raw.strip():
                continue
            try:
                yield _Line(number, _decode(raw))
            except RecordError as error:
                # Only what has been read before makes this a file of records that was cut off.
                if number > 1 and error.is_no_json and not raw.endswith(b"\n"):
                    self.cut_off = True
                    return
                raise self.error(number, str(error)) from None
            except OpbenchError as error:
                raise self.error(number, str(error)) from None

    def error(self, number: int, message: str) -> DocumentError:
        """An error about a line."""
        return DocumentError([Problem(self._name, f"line {number}", message)])


def _decode(raw: bytes) -> Run | Measurement:
    try:
        text = raw.decode().strip()
    except UnicodeDecodeError as error:
        raise RecordError(f"is not UTF-8 (byte {error.start + 1})", is_no_json=True) from None
    # As written here, there is no need to parse the line twice.
    if text.startswith(_RUN):
        return decode(f"{{{text[len(_RUN) :]}", Run)
    if text.startswith(_MEASUREMENT):
        return decode(f"{{{text[len(_MEASUREMENT) :]}", Measurement)
    document = parse(text)
    kind = document.pop("kind", None)
    if kind == "run":
        return from_document(document, Run)
    if kind == "measurement":
        return from_document(document, Measurement)
    raise RecordError('must have a "kind", which is "run" or "measurement"')


class _Group:
    """The measurements of one run, up to the line of the next run, which is then `next`."""

    def __init__(self, first: _Line, run: Run, stream: Iterator[_Line], lines: _Lines) -> None:
        self.run = run
        self.number = first.number
        self.next: _Line | None = None
        self._stream = stream
        self._lines = lines

    def __iter__(self) -> Iterator[Measurement]:
        seen: set[Key] = set()
        for line in self._stream:
            record = line.record
            if isinstance(record, Run):
                if record.run_id != self.run.run_id:
                    self.next = line
                    return
                self.run = record
                continue
            self.number = line.number
            if record.run_id != self.run.run_id:
                raise self._lines.error(
                    line.number,
                    f"a measurement of run {record.run_id!r} among those of run {self.run.run_id!r}",
                )
            key = (record.environment, record.case_id, record.repeat, record.attempt)
            if key in seen:
                what = "environment {!r}, case {!r}, repeat {}, attempt {}".format(*key)
                raise self._lines.error(line.number, f"the run has two measurements of this: {what}")
            seen.add(key)
            yield record
