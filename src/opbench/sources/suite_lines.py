"""Suites of one case per line (`.jsonl`), which may be longer than memory.

The first line may be a header: `{"opbench": 1, "name": ..., "defaults": {...}}`. A short suite is checked
when it is opened. A long one is checked as it is read; whoever counts its cases first, as a run does while
the framework is imported, meets what is wrong with it before anything is measured.
"""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from opbench.cases.check import collect_case
from opbench.cases.check_fields import INVALID
from opbench.cases.collect import Problems
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
    status = file.stat()
    if not stat.S_ISREG(status.st_mode):
        # A pipe cannot be read twice.
        raise UsageError(f"{file}: not a regular file; write the cases into one first")
    source = _Lines(file, folder, allow_snippets)
    name = source.name() or file.stem
    if status.st_size <= SHORT_BYTES:
        return Suite(name, source.cases, sum(1 for _ in source.cases()), folder)
    # Whoever opens a long suite learns at least whether it begins as one.
    next(source.cases())
    return Suite(name, source.cases, None, folder)


def reason_of(error: Exception) -> str:
    """Why a file cannot be read, for a person."""
    return f"cannot be read ({getattr(error, 'strerror', None) or error})"


class _Lines:
    """Reads the cases of one file, each time anew."""

    def __init__(self, file: Path, folder: str, allow_snippets: bool) -> None:
        self._file = file
        self._hasher = FileHasher(folder)
        self._allow_snippets = allow_snippets

    def name(self) -> str:
        """The name that the suite gives itself, or an empty string. What is wrong is for `cases` to say."""
        problems = Problems(str(self._file), self._hasher)
        reader = JsonReader()
        with self._file.open("rb") as stream:
            for number, data in _numbered(stream, problems):
                header = _header_of(_document(data, number, reader, problems), number, problems)
                return header.name if header else ""
        return ""

    def cases(self) -> Iterator[Case]:
        """All cases. From the first problem on there are no more; all problems are raised at the end."""
        problems = Problems(str(self._file), self._hasher)
        reader = JsonReader()
        first = FirstPlaces("line {}")
        defaults: Mapping[str, Any] = {}
        is_first = True
        try:
            with self._file.open("rb") as stream:
                for number, data in _numbered(stream, problems):
                    place = f"line {number}"
                    document = _document(data, number, reader, problems)
                    header = _header_of(document, number, problems) if is_first else None
                    is_first = False
                    if header is not None:
                        defaults = header.defaults
                    elif document is not INVALID:
                        case = collect_case(
                            document,
                            place,
                            problems,
                            defaults=defaults,
                            allow_snippets=self._allow_snippets,
                        )
                        if case is not None:
                            first.note(case, place, number, problems)
                            if not problems.count:
                                yield case
        except OSError as error:
            raise UsageError(f"{self._file}: {reason_of(error)}") from None
        if not problems.count and not first.count:
            problems.add("", "a suite must have cases", found="none", expected="a case on each line")
        problems.raise_any()


def _numbered(stream: BinaryIO, problems: Problems) -> Iterator[tuple[int, bytes]]:
    """The lines that are not blank, with their numbers."""
    number = 0
    while data := stream.readline(LONGEST_LINE + 1):
        number += 1
        if len(data) > LONGEST_LINE:
            problems.add(
                f"line {number}",
                "the line is too long",
                found=f"more than {LONGEST_LINE >> 20} MiB",
                expected="one case",
            )
            while data and not data.endswith(b"\n"):
                data = stream.readline(LONGEST_LINE)
        elif not data.isspace():
            yield number, data


def _document(data: bytes, number: int, reader: JsonReader, problems: Problems) -> Any:
    place = f"line {number}"
    text = decode_text(data, place, problems)
    return INVALID if text is None else reader.read(text.rstrip(), place, problems)


def _header_of(document: Any, number: int, problems: Problems) -> Header | None:
    if isinstance(document, dict) and "opbench" in document:
        return check_header(document, f"line {number}", problems)
    return None
