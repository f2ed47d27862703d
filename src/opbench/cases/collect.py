"""Where the checks of a document put what they find: a place in the document, and all problems."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any, TypeAlias

from opbench.cases.errors import DocumentError, Problem
from opbench.cases.suggest import nearest

# A step into a document, after the place it was taken from. It becomes a JSON path only when something is
# wrong there.
Place: TypeAlias = "tuple[Place, str | int] | str"

LONGEST_QUOTE = 60
# Problems that are kept in full; more of them say nothing more to a person.
MOST_PROBLEMS = 1000


def path_text(place: Place) -> str:
    """A place as a JSON path: `cases[0].args[1].dtype`."""
    steps: list[str] = []
    while isinstance(place, tuple):
        place, step = place
        if isinstance(step, int):
            steps.append(f"[{step}]")
        elif step.isascii() and step.replace("-", "_").isidentifier() and len(step) <= LONGEST_QUOTE:
            steps.append(f".{step}")
        else:
            steps.append(f"[{quote(step)}]")
    return (place + "".join(reversed(steps))).removeprefix(".")


def quote(text: str) -> str:
    """Text in double quotes, printable ASCII, shortened when long."""
    if len(text) <= LONGEST_QUOTE:
        return json.dumps(text)
    return f"{json.dumps(text[: LONGEST_QUOTE - 10])}... ({len(text)} characters)"


def describe(value: Any) -> str:
    """What a value is, in a few words, however large or odd it is."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, int):
        return str(value) if value.bit_length() <= 128 else f"a whole number of {value.bit_length()} bits"
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, (list, tuple)):
        if len(value) <= 6 and all(type(item) is int and item.bit_length() <= 64 for item in value):
            return str(list(value))
        return f"a list of {len(value)}"
    if isinstance(value, dict):
        keys = [quote(str(key)) if isinstance(key, str) else type(key).__name__ for key in list(value)[:3]]
        if not keys:
            return "an empty object"
        return f"an object with {', '.join(keys)}" + (f", ... ({len(value)})" if len(value) > 3 else "")
    return f"a Python {type(value).__name__}"


class Problems:
    """All problems found in a document so far, and what its checks need to know of its surroundings.

    `hash_file` gives the SHA-256 of a file that a fill names, or raises ValueError saying what is wrong
    with it; None leaves files alone.
    """

    def __init__(self, file: str = "", hash_file: Callable[[str], str] | None = None) -> None:
        self.file = file
        self.hash_file = hash_file
        # How deep in nested values the check is.
        self.depth = 0
        self.kept: list[Problem] = []
        self.count = 0

    def add(self, place: Place, message: str, *, found: str, expected: str, suggestion: str = "") -> None:
        """Note one problem at a place."""
        self.count += 1
        if len(self.kept) < MOST_PROBLEMS:
            self.kept.append(Problem(self.file, path_text(place), message, found, expected, suggestion))

    def wrong_type(self, place: Place, value: Any, expected: str) -> None:
        """Note a value of the wrong type."""
        self.add(place, "wrong type", found=describe(value), expected=expected)

    def missing(self, place: Place, name: str, document: Any, expected: str = "") -> None:
        """Note a field that there must be."""
        self.add(
            place, f"{name} is missing", found=describe(document), expected=expected or f'a field "{name}"'
        )

    def too_many(self, place: Place, document: Any, most: int) -> None:
        """Note a list or an object that is too long."""
        self.add(place, "too long", found=describe(document), expected=f"at most {most} entries")

    def unknown(self, place: Place, what: str, name: str, valid: Iterable[str], expected: str = "") -> None:
        """Note a name that does not exist, with the nearest one that does."""
        names = list(valid)
        if not expected:
            expected = "one of " + ", ".join(names)
        # Looking for it takes a while, and what is not kept needs none.
        suggestion = nearest(name, names) if len(self.kept) < MOST_PROBLEMS else ""
        self.add(place, f"unknown {what}", found=quote(name), expected=expected, suggestion=suggestion)

    def raise_any(self) -> None:
        """Raise everything found so far as one DocumentError."""
        if self.kept:
            raise self.error()

    def error(self) -> DocumentError:
        """Everything found so far, as an error."""
        return DocumentError(self.kept, self.count)
