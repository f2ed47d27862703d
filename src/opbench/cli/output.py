"""The file that `-o` names."""

from __future__ import annotations

from collections.abc import Iterable
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
    try:
        return file.open("w", encoding="utf-8")
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise OpbenchError(f"{path} cannot be written: {reason}") from None


class RecordFile:
    """The full records of a run as JSON Lines, row by row; without a path, nothing."""

    def __init__(self, path: str | None, run: Run, inputs: Iterable[str] = ()) -> None:
        self._file = open_output(path, inputs) if path else None
        self._writer = JsonLinesWriter(self._file) if self._file else None
        if self._writer:
            self._writer.run(run)

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file:
            self._file.close()

    def add(self, row: Measurement) -> None:
        """Write a row."""
        if self._writer:
            self._writer.row(row)

    def finish(self, run: Run) -> None:
        """Write what is known about the run in the end."""
        if self._writer:
            self._writer.run(run)
