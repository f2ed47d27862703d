"""Show a stored run as a table, or one of its rows in full."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from opbench.cases.errors import UsageError
from opbench.cli.parser import Parser, one_of
from opbench.cli.run_flags import add_store_flag
from opbench.cli.screen import Screen
from opbench.reports.details import details
from opbench.reports.rows import row_line
from opbench.reports.summary import Summary
from opbench.reports.table import Table, layout_for
from opbench.reports.text import printable
from opbench.results.records import STATUSES, Measurement, Run
from opbench.results.store import Store

EPILOG = """examples:
  opbench show                                  the last run
  opbench show 20261118-2300 --case 1bb8        one row of a run, by the beginnings of their ids
  opbench show --status failed --json           for programs
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench show`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "wanted", nargs="?", default="last", metavar="RUN", help="id, its beginning, or last (default)"
    )
    parser.add_argument(
        "--case", metavar="ID", help="one row in full; the beginning of its case id is enough"
    )
    parser.add_argument(
        "--status", action="append", type=one_of("status", STATUSES), metavar="STATUS", help="only these rows"
    )
    parser.add_argument(
        "--all-attempts", action="store_true", help="also rows that a later attempt took the place of"
    )
    parser.add_argument("--json", action="store_true", help="one JSON object for each row")
    add_store_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    """Show it."""
    screen = Screen()
    with Store.open(arguments.store) as store:
        shown = store.run(arguments.wanted)
        rows = store.measurements(shown.run_id, not arguments.all_attempts, arguments.status)
        if arguments.case:
            rows = _only(rows, arguments.case, shown)
        if arguments.json:
            for row in rows:
                screen.text(row_line(row))
        elif arguments.case:
            for row in rows:
                screen.lines(details(row, screen.width or 100))
                screen.line([])
        else:
            _table(screen, shown, rows)
    return 0


def _only(rows: Iterator[Measurement], case: str, shown: Run) -> Iterator[Measurement]:
    found: set[str] = set()
    for row in rows:
        if row.case_id.startswith(case):
            found.add(row.case_id)
            yield row
    if not found:
        raise UsageError(
            f"run {shown.run_id} has no case whose id begins with {case!r} "
            f"(see opbench show {shown.run_id} --json)"
        )


def _table(screen: Screen, shown: Run, rows: Iterator[Measurement]) -> None:
    screen.line(title(shown))
    screen.line([])
    table = Table(layout_for(screen.width))
    summary = Summary()
    screen.line(table.header())
    for row in rows:
        screen.lines(table.row(row))
        summary.add(row)
    screen.lines(table.close())
    screen.lines(summary.failures(screen.width or 100))
    screen.line([])
    screen.line([(f"{summary.counts()}{_missing(shown, summary)}", "bold")])
    if summary.last_ok:
        screen.line([(f"One in full: opbench show {shown.run_id} --case {summary.last_ok}", "")])


def title(run: Run) -> list[tuple[str, str]]:
    """What a run was, in one line."""
    parts = [run.name, ", ".join(run.suites), f"plan {run.plan.name}", f"started {run.started_at}"]
    return [
        (f"run {run.run_id}", "bold"),
        (f"  {printable(' · '.join(part for part in parts if part))}", "dim"),
    ]


def _missing(run: Run, summary: Summary) -> str:
    if run.finished_at or run.expected is None or summary.total >= run.expected:
        return ""
    return f"; {run.expected - summary.total} to do (opbench run --resume {run.run_id})"
