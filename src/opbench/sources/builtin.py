"""Suites that come with opbench: JSON documents beside this file."""

from __future__ import annotations

import json
from functools import cache
from importlib.resources import files

from opbench.cases.model import Suite
from opbench.sources.suite_file import document_suite

_FOLDER = files("opbench.sources") / "suites"
_SUFFIX = ".json"


@cache
def builtin_names() -> tuple[str, ...]:
    """The names of all built-in suites."""
    names = (entry.name for entry in _FOLDER.iterdir() if entry.name.endswith(_SUFFIX))
    return tuple(sorted(name.removesuffix(_SUFFIX) for name in names))


def builtin_suites() -> dict[str, str]:
    """The built-in suites: name and description."""
    return {name: json.loads(_read(name)).get("description", "") for name in builtin_names()}


def open_builtin(name: str) -> Suite:
    """A built-in suite; KeyError when there is none of this name."""
    if name not in builtin_names():
        raise KeyError(name)
    return document_suite(_read(name), f"built-in suite {name}", _SUFFIX, "", name)


def _read(name: str) -> bytes:
    return (_FOLDER / (name + _SUFFIX)).read_bytes()
