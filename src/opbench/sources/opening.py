"""Opens what people name: built-in suites and files, one of them or several as one suite."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from opbench.cases.collect import quote
from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import Case, Suite, tensors_of
from opbench.cases.paths import user_path
from opbench.cases.suggest import nearest
from opbench.cases.values import FromFile
from opbench.sources.builtin import builtin_names, open_builtin
from opbench.sources.suite_file import SUFFIXES, open_suite


def open_sources(names: Sequence[str], *, allow_snippets: bool = False) -> Suite:
    """The suite that these names stand for: built-in suites or files, several of them one after the other.

    Whatever is wrong raises a UsageError or a DocumentError: here, or while a long suite is read.
    """
    if not names:
        raise UsageError(f"name a suite: a file, or one of {', '.join(builtin_names())}")
    suites = [_open(name, allow_snippets) for name in names]
    return suites[0] if len(suites) == 1 else _chained(suites, names)


def _open(name: str, allow_snippets: bool) -> Suite:
    if name in builtin_names():
        return open_builtin(name)
    path = user_path(name)
    if path.suffix.lower() not in SUFFIXES and path.name == name and not _exists(path):
        near = nearest(name, [*builtin_names(), *_neighbours(path)])
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(
            f"no suite is called {quote(name)}: there are {', '.join(builtin_names())}, "
            f"and files that end in {', '.join(SUFFIXES)}{hint}"
        )
    if not _exists(path):
        near = nearest(path.name, _neighbours(path))
        hint = f"; did you mean {path.with_name(near)}?" if near else ""
        raise UsageError(f"{name}: there is no such file{hint}")
    return open_suite(path, allow_snippets=allow_snippets)


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):
        return False


def _neighbours(path: Path) -> list[str]:
    """Names of suite files where this one was looked for."""
    try:
        return [entry.name for entry in path.parent.iterdir() if entry.suffix.lower() in SUFFIXES]
    except (OSError, ValueError):
        return []


def _chained(suites: list[Suite], names: Sequence[str]) -> Suite:
    folders = {suite.folder for suite in suites}
    folder = folders.pop() if len(folders) == 1 else ""

    def cases() -> Iterator[Case]:
        # Ids as numbers, to the suite they were in: a few megabytes for 100,000 cases.
        first: dict[int, int] = {}
        for index, suite in enumerate(suites):
            for case in suite:
                identity = case_id(case)
                before = first.setdefault(int(identity, 16), index)
                if before != index:
                    raise UsageError(
                        f"{names[index]}: {case.name} (id {identity}) is in {names[before]} already: "
                        "it would execute the same thing (--repeat measures cases more than once)"
                    )
                if suite.folder != folder and _has_files(case):
                    raise UsageError(
                        f"{names[index]}: {case.name} has inputs from a file of its suite's folder; "
                        "suites of several folders with such inputs run one by one"
                    )
                yield case

    counts = [suite.count for suite in suites]
    count = sum(known for known in counts if known is not None) if None not in counts else None
    return Suite("+".join(suite.name for suite in suites), cases, count, folder)


def _has_files(case: Case) -> bool:
    return any(isinstance(tensor.fill, FromFile) for tensor in tensors_of(case))
