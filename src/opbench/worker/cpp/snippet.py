"""A C++ snippet, and which of several may share a translation unit."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

# One translation unit with more would be one that somebody waits for.
MOST_IN_A_UNIT = 100
# Everything in C++ that may hide a bracket or a quote, then what is left over when it is not closed.
_TOKEN = re.compile(
    r"""
      (?P<whole> (?:u8|[uUL])? R"(?P<mark>[^()\\\s"]{0,16})\( .*? \)(?P=mark)"
      | //(?:[^\\\n]|\\.)* | /\*.*?\*/
      | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)*'
      | \.?\d(?:'?[\w.])* )
    | (?P<directive> \#|%:|\?\?=|_Pragma\b )
    | (?P<digraph> <%|%>|<:|:> )
    | (?P<unclosed> (?:u8|[uUL])?R" | " | ' | /\* | \\\Z )
    | \w+
    | (?P<open> [(\[{] )
    | (?P<close> [)\]}] )
    """,
    re.VERBOSE | re.DOTALL,
)
_PAIRS = {")": "(", "]": "[", "}": "{"}
_PYTHON = re.compile(r"\b(?:py\s*::|pybind11\b|PYBIND11|Py[A-Z_]|THP[A-Z])")
_INCLUDE = re.compile(r"\binclude\b")


class CppSnippet(NamedTuple):
    """A statement, its set-up, and what is to be at file scope in front of both."""

    stmt: str
    setup: str = ""
    global_setup: str = ""

    @property
    def uses_python(self) -> bool:
        """Whether it names anything of Python's C interface or of pybind11."""
        return any(_PYTHON.search(part) for part in self)

    @property
    def includes(self) -> bool:
        """Whether it may include files of its own."""
        return any(_INCLUDE.search(part) for part in self)

    @property
    def can_share(self) -> bool:
        """Whether nothing in it can reach into the code behind it: it closes what it opens."""
        return is_closed(self.stmt) and is_closed(self.setup)


def is_closed(text: str) -> bool:
    """Whether brackets, quotes and comments are closed, and there are no preprocessor directives."""
    opened: list[str] = []
    for token in _TOKEN.finditer(text):
        if token["directive"] or token["digraph"] or token["unclosed"] is not None:
            return False
        if token["open"]:
            opened.append(token["open"])
        elif token["close"] and (not opened or opened.pop() != _PAIRS[token["close"]]):
            return False
    return not opened


def units(snippets: Iterable[CppSnippet]) -> list[list[CppSnippet]]:
    """Snippets that are compiled together: those with the same global set-up, and each odd one alone."""
    shared: dict[tuple[str, bool], list[CppSnippet]] = {}
    alone: list[list[CppSnippet]] = []
    for snippet in snippets:
        if snippet.can_share:
            shared.setdefault((snippet.global_setup, snippet.uses_python), []).append(snippet)
        else:
            alone.append([snippet])
    parts = [
        group[start : start + MOST_IN_A_UNIT]
        for group in shared.values()
        for start in range(0, len(group), MOST_IN_A_UNIT)
    ]
    return parts + alone
