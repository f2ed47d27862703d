"""Stored runs, a line for each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Any

from rich.cells import cell_len

from opbench.reports.machine import describe_environment
from opbench.reports.table import Line
from opbench.reports.text import left, printable, right, shorten, wrap
from opbench.results.records import Run, Status

_RUN_WIDTH = 22
_STARTED_WIDTH = 16
_LEAST_NAMES = 12
_FULL = 90


class RunTable:
    """Lines of runs: id, when it began, what it measured, how much of it."""

    def __init__(self, width: int | None) -> None:
        # An id tells when, and the plan is with the run: they go first where space is short.
        self._short = width is not None and width < _FULL
        taken = _RUN_WIDTH + 10 + 7 + 3 * 2 + (0 if self._short else _STARTED_WIDTH + 8 + 2 * 2)
        self._names_width = 48 if width is None else max(min(width, 160) - taken, _LEAST_NAMES)

    def header(self) -> Line:
        """The titles of the columns."""
        return [
            (self._join("run", "started (UTC)", "measured", "not ok", "plan", "suites"), "bold underline")
        ]

    def row(self, run: Run, counts: Mapping[Status, int]) -> Line:
        """A run and how many of its rows have which status."""
        ok, total = counts.get("ok", 0), sum(counts.values())
        expected = run.expected if run.expected is not None else total
        measured = f"{ok}/{max(expected, total)}" if not run.finished_at or expected > total else str(ok)
        not_ok = str(total - ok) if total > ok else ""
        started = run.started_at[:16].replace("T", " ")
        suites = [PurePath(suite).name for suite in run.suites]
        names = " · ".join(part for part in (run.name, ", ".join(suites)) if part)
        style = "" if run.finished_at else "yellow"
        text = self._join(run.run_id, started, measured, not_ok, run.plan.name, names)
        return [(text.rstrip(), style)]

    def _join(self, run_id: str, started: str, measured: str, not_ok: str, plan: str, names: str) -> str:
        cells = [
            left(printable(run_id), _RUN_WIDTH),
            left(printable(started), _STARTED_WIDTH),
            right(measured, 10),
            right(not_ok, 7),
            left(printable(plan), 8),
            shorten(printable(names), self._names_width),
        ]
        if self._short:
            del cells[4], cells[1]
        return "  ".join(cells)


def heading(run: Run, width: int) -> Iterator[Line]:
    """What a run was, and where, above the table of its rows."""
    started = f"started {run.started_at[:16].replace('T', ' ')} UTC" if run.started_at else ""
    suites = ", ".join(PurePath(suite).name for suite in run.suites)
    what = printable(
        " · ".join(part for part in (run.name, suites, f"plan {run.plan.name}", started) if part)
    )
    first: Line = [(f"run {printable(run.run_id)}", "bold")]
    if sum(len(text) for text, _ in first) + 2 + cell_len(what) <= width:
        first.append((f"  {what}", "dim"))
        what = ""
    yield first
    for text in (what, *map(describe_environment, run.environments)):
        yield from ([(part, "dim")] for part in wrap(text, width))
    yield []


def run_document(run: Run, counts: Mapping[Status, int]) -> dict[str, Any]:
    """A run as one flat object, for `--json`."""
    return {
        "run_id": run.run_id,
        "name": run.name,
        "suites": list(run.suites),
        "plan": run.plan.name,
        "started_at": run.started_at,
        "finished_at": run.finished_at,
        "expected": run.expected,
        "statuses": dict(counts),
        "environments": [environment.name for environment in run.environments],
        "opbench_version": run.opbench_version,
    }
