"""Suites of one case per line (`.jsonl`), which may be longer than memory.

The first line may be a header: `{"opbench": 1, "name": ..., "defaults": {...}}`. A short suite is checked
when it is opened. A long one is checked as it is read; whoever counts its cases first, as a run does while
the framework is imported, meets what is wrong with it before anything is measured.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from opbench.cases.check import collect_case
from opbench.cases.check_fields import INVALID
from opbench.cases.collect import MOST_PROBLEMS, Problems
from opbench.cases.errors import UsageError
from opbench.cases.files import FileHasher
from opbench.cases.model import Case, Suite
from opbench.cases.strict_json import JsonReader, decode_text
from opbench.sources.suite_document import FirstPlaces, Header, check_header

LONGEST_LINE = 64 << 20
# Checked in well under a second.
SHORT_BYTES = 1 << 20


def open_lines(file: Path, folder: str, *, allow_snippets: bool = False) -> Suite:
    """The suite in a file of lines."""
    source = _Lines(file, folder, allow_snippets)
    if not file.is_file():
        # A pipe cannot be read twice.
        with file.open("rb"):
            raise UsageError(f"{file}: not a regular file; write the cases into one first")
    name = source.header().name or file.stem
    is_short = file.stat().st_size <= SHORT_BYTES
    count = sum(1 for _ in source.cases()) if is_short else None
    if not is_short:
        next(source.cases())
    return Suite(name, source.cases, count, folder)


class _Lines:
    """Reads the cases of one file, each time anew."""

    def __init__(self, file: Path, folder: str, allow_snippets: bool) -> None:
        self._file = file
        self._hasher = FileHasher(folder)
        self._allow_snippets = allow_snippets

    def header(self) -> Header:
        """What the suite says of itself."""
        problems = Problems(str(self._file), self._hasher)
        with self._file.open("rb") as stream:
            for data in self._lines(stream, problems):
                header = self._header(data, problems)
                problems.raise_any()
                return header or Header()
        return Header()

    def _header(self, data: bytes, problems: Problems) -> Header | None:
        if b'"opbench"' not in data:
            return None
        text = decode_text(data, "", problems)
        document = INVALID if text is None else JsonReader().read(text, "", problems)
        if not isinstance(document, dict) or "opbench" not in document:
            return None
        return check_header(document, "", problems)

    def cases(self) -> Iterator[Case]:
        """All cases. From the first problem on there are no more; all problems are raised at the end."""
        problems = Problems(str(self._file), self._hasher)
        reader = JsonReader()
        first = FirstPlaces("line {}")
        header: Header | None = None
        found = 0
        with self._file.open("rb") as stream:
            for number, data in self._lines(stream, problems):
                ...
