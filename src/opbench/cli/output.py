"""The file that `-o` names."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import TextIO

from opbench.cases.errors import OpbenchError, UsageError
from opbench.results.jsonl import JsonLinesWriter
from opbench.results.records import Measurement, Run


def open_output(path: str, inputs: Iterable[str] = ()) -> TextIO:
    """A file to write text to; never one of those that are being read."""
    if path == "-":
        raise UsageError("-o needs the name of a file; results for another program are what --json prints")
    file = Path(path)
    for read in inputs:
        if file.exists() and Path(read).exists() and file.samefile(read):
            raise UsageError(f"-o {path} would overwrite what is to be read from it")
    with _plain_errors(path):
        return file.open("w", encoding="utf-8")


@contextmanager
def _plain_errors(path: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OpbenchError(f"{path} cannot be written: {reason}") from None


class RecordFile:
    """The full records of a run as JSON Lines, row by row; without a path, nothing."""

    def __init__(self, path: str | None, run: Run, inputs: Iterable[str] = ()) -> None:
        self._path = path or ""
        self._file = open_output(path, inputs) if path else None
        self._writer = JsonLinesWriter(self._file) if self._file else None
        self.about(run)

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            # Each line is flushed as it is written: closing has nothing left to lose.
            with suppress(OSError):
                self._file.close()

    def add(self, row: Measurement) -> None:
        """Write a row."""
        if self._writer:
            with _plain_errors(self._path):
                self._writer.row(row)

    def about(self, run: Run) -> None:
        """Write what is known about the run by now."""
        if self._writer:
            with _plain_errors(self._path):
                self._writer.run(run)
