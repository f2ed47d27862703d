"""Errors that a person can act on: where, what was found, what was expected, what is near."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


class OpbenchError(Exception):
    """Anything opbench refuses on purpose. The message is meant for the person who caused it."""


class UsageError(OpbenchError):
    """The request itself is wrong (a flag, a name, a combination): exit code 2."""


class ArgumentError(UsageError, ValueError):
    """An argument of a Python call is wrong, and the message names it."""


@dataclass(frozen=True, order=True)
class Problem:
    """One thing wrong with a document."""

    file: str
    path: str
    message: str
    found: str = ""
    expected: str = ""
    suggestion: str = ""

    def __str__(self) -> str:
        place = ": ".join(part for part in (self.file, self.path) if part)
        parts = [f"{place}: {self.message}" if place else self.message]
        if self.found:
            parts.append(f"found {self.found}")
        if self.expected:
            parts.append(f"expected {self.expected}")
        text = "; ".join(parts)
        return f"{text}; did you mean {self.suggestion}?" if self.suggestion else text


class DocumentError(OpbenchError):
    """A document is wrong; `problems` holds everything wrong with it, not only the first thing.

    The message shows the first hundred. `count` is their true number, where not all of them were kept.
    """

    SHOWN = 100

    def __init__(self, problems: Iterable[Problem], count: int | None = None) -> None:
        self.problems: tuple[Problem, ...] = tuple(problems)
        self.count = len(self.problems) if count is None else count
        lines = [str(problem) for problem in self.problems[: self.SHOWN]]
        if self.count > len(lines):
            lines.append(f"... and {self.count - len(lines)} more problems ({self.count} in all)")
        super().__init__("\n".join(lines))
