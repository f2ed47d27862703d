"""Show a stored run as a table, or one of its rows in full."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from itertools import chain, islice
from pathlib import Path
from shlex import quote

from opbench.cases.errors import UsageError
from opbench.cli.live import NAMES_AHEAD, RowPrinter
from opbench.cli.parser import Parser, one_of
from opbench.cli.run_flags import add_store_flag
from opbench.cli.screen import Screen
from opbench.cli.shown import Shown, shown_runs
from opbench.reports.details import details
from opbench.reports.inputs import describe_row
from opbench.reports.rows import row_line
from opbench.reports.runs import heading
from opbench.reports.summary import Summary
from opbench.reports.table import TEXT_WIDTH
from opbench.results.records import STATUSES, Measurement, Run

EPILOG = """examples:
  opbench show                                  the last run
  opbench show 20261118-2300 --case 1bb8        one row of a run, by the beginnings of their ids
  opbench show results.jsonl                    what another machine has measured
  opbench show --status failed --json           for programs
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench show`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "wanted",
        nargs="?",
        default="last",
        metavar="RUN|FILE",
        help="id, its beginning, or last (default); or a file that `-o` or `store export` wrote",
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
    with shown_runs(
        arguments.wanted, arguments.store, all_attempts=arguments.all_attempts, statuses=arguments.status
    ) as runs:
        found: set[str] = set()
        for shown in runs:
            if arguments.case:
                shown = Shown(shown.run, _only(shown.rows, arguments.case, found))
            if arguments.json:
                for row in shown.rows:
                    screen.text(row_line(row))
            elif arguments.case:
                _details(screen, shown)
            else:
                _table(screen, shown, arguments.wanted)
        if arguments.case and not found:
            raise UsageError(
                f"no row of {arguments.wanted} has a case id that begins with {arguments.case!r} "
                f"(opbench show {arguments.wanted} --json has them all)"
            )
    return 0


def _only(rows: Iterator[Measurement], case: str, found: set[str]) -> Iterator[Measurement]:
    for row in rows:
        if row.case_id.startswith(case):
            found.add(row.case_id)
            yield row


def _details(screen: Screen, shown: Shown) -> None:
    environments = {environment.name: environment for environment in shown.run.environments}
    for row in shown.rows:
        screen.lines(details(row, screen.width or TEXT_WIDTH, environments.get(row.environment)))
        screen.line([])


def _table(screen: Screen, shown: Shown, wanted: str) -> None:
    run = shown.run
    screen.lines(heading(run, screen.width or TEXT_WIDTH))
    first = list(islice(shown.rows, NAMES_AHEAD))
    names = [describe_row(row.case, row.environment, row.repeat, row.attempt) for row in first]
    printer = RowPrinter(screen, json=False, names=lambda: names)
    for row in chain(first, shown.rows):
        printer.add(row)
    printer.finish()
    screen.line([])
    summary = printer.summary
    screen.line([(f"{summary.counts()}{_missing(run, summary)}", "bold")])
    if summary.last_ok:
        source = wanted if Path(wanted).is_file() else run.run_id
        screen.line([(f"One in full: opbench show {quote(source)} --case {summary.last_ok}", "")])


def _missing(run: Run, summary: Summary) -> str:
    if run.finished_at or run.expected is None or summary.total >= run.expected:
        return ""
    return f"; {run.expected - summary.total} to do (opbench run --resume {run.run_id})"
