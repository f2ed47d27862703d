"""Suites in files: `.json`, `.toml` and `.yaml` hold one document, `.jsonl` one case per line."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from opbench.cases.check_fields import INVALID
from opbench.cases.collect import LONGEST_QUOTE, Problems
from opbench.cases.errors import UsageError
from opbench.cases.files import FileHasher
from opbench.cases.model import Suite
from opbench.cases.strict_json import TOO_DEEP, JsonReader, decode_text
from opbench.cases.suggest import nearest
from opbench.sources.suite_document import check_suite
from opbench.sources.suite_lines import open_lines, reason_of
from opbench.sources.suite_yaml import read_yaml

# What is one document is in memory as a whole.
LARGEST_DOCUMENT = 256 << 20


def open_suite(path: str | Path, *, allow_snippets: bool = False) -> Suite:
    """The suite in a file; DocumentError with all that is wrong with it.

    A `.jsonl` suite is read again each time it is opened, and is never in memory as a whole.
    """
    file = Path(path)
    suffix = file.suffix.lower()
    if _is_folder(file):
        raise UsageError(f"{path}: this is a folder, not a suite")
    if suffix not in SUFFIXES:
        near = nearest(suffix, SUFFIXES)
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(f"{path}: suites are files that end in {', '.join(SUFFIXES)}{hint}")
    try:
        folder = str(file.resolve().parent)
        if suffix == ".jsonl":
            return open_lines(file, folder, allow_snippets=allow_snippets)
        with file.open("rb") as stream:
            data = stream.read(LARGEST_DOCUMENT + 1)
    except (OSError, ValueError) as error:
        raise UsageError(f"{path}: {reason_of(error)}") from None
    if len(data) > LARGEST_DOCUMENT:
        raise UsageError(
            f"{path}: a suite of more than {LARGEST_DOCUMENT >> 20} MiB; "
            "write it as .jsonl, one case per line"
        )
    return document_suite(data, str(path), suffix, folder, file.stem, allow_snippets=allow_snippets)


def _is_folder(file: Path) -> bool:
    try:
        return file.is_dir()
    except (OSError, ValueError):
        return False


def document_suite(
    data: bytes, file: str, suffix: str, folder: str, name: str, *, allow_snippets: bool = False
) -> Suite:
    """The suite that the bytes of one document hold."""
    problems = Problems(file, FileHasher(folder))
    text = decode_text(data, "", problems)
    document = INVALID if text is None else READERS[suffix](text, problems)
    problems.raise_any()
    header, cases = check_suite(document, problems, allow_snippets=allow_snippets)
    problems.raise_any()
    return Suite(header.name or name, lambda: cases, len(cases), folder)


def _read_json(text: str, problems: Problems) -> Any:
    return JsonReader().read(text, "", problems)


def _read_toml(text: str, problems: Problems) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    try:
        return tomllib.loads(text, parse_float=_finite_or_named)
    except RecursionError:
        problems.add("", TOO_DEEP, found="thousands of levels", expected="a few")
    except ValueError as error:
        # What comes first is what is wrong, then its place.
        message = " ".join(str(error).split())
        problems.add("", "not TOML", found=message.partition("; ")[0][:200], expected="TOML")
    return INVALID


def _finite_or_named(text: str) -> float:
    number = float(text)
    if math.isinf(number) and "inf" not in text:
        raise ValueError(f"{text[:LONGEST_QUOTE]} is larger than any number")
    return number


READERS: dict[str, Callable[[str, Problems], Any]] = {
    ".json": _read_json,
    ".toml": _read_toml,
    ".yaml": read_yaml,
    ".yml": read_yaml,
}
SUFFIXES = (*READERS, ".jsonl")
