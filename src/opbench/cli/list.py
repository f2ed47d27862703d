"""Say what would run: the cases of suites; without a suite, the built-in suites."""

from __future__ import annotations

import argparse
import json
from itertools import chain, islice

from opbench.cases.errors import UsageError
from opbench.cases.filter import compile_filter
from opbench.cases.identity import case_document, case_id
from opbench.cases.select import select
from opbench.cli.listing import CaseLines, SuiteLines
from opbench.cli.live import NAMES_AHEAD
from opbench.cli.parser import Parser
from opbench.cli.request import WORK, request_from
from opbench.cli.run_flags import add_choice_flags, add_work_flags
from opbench.cli.screen import Screen, say
from opbench.cli.suites import requested_suite
from opbench.reports.rows import case_line
from opbench.sources import builtin_suites, open_sources

EPILOG = """examples:
  opbench list                                  the built-in suites
  opbench list quick --filter 'torch.nn.*'      cases, with the ids that they have in results
  opbench list suite.json --json                every case in full, one JSON object for each
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench list`."""
    parser.epilog = EPILOG
    parser.usage = "opbench list [SUITE... | --op NAME VALUE... | --fuzz NAME | --stmt CODE ...]  [flags]"
    add_work_flags(parser)
    add_choice_flags(parser)
    parser.add_argument("--json", action="store_true", help="one JSON object for each case or suite")


def run(arguments: argparse.Namespace) -> int:
    """List them."""
    screen = Screen()
    if not any(getattr(arguments, name) for name in WORK):
        _suites(arguments, screen)
    else:
        _cases(arguments, screen)
    return 0


def _suites(arguments: argparse.Namespace, screen: Screen) -> None:
    if arguments.filter or arguments.shard or arguments.shuffle is not None:
        raise UsageError("--filter, --shard and --shuffle choose cases: name the suite that has them")
    suites = builtin_suites()
    lines = SuiteLines(screen.width, suites)
    if not arguments.json:
        screen.line(lines.header())
    for name, description in suites.items():
        count = open_sources((name,)).count
        if arguments.json:
            screen.text(json.dumps({"suite": name, "cases": count, "description": description}))
        else:
            screen.lines(lines.lines(name, count, description))
    if not arguments.json:
        say("opbench: opbench list NAME shows the cases of one; a suite can be a file as well")


def _cases(arguments: argparse.Namespace, screen: Screen) -> None:
    request = request_from(arguments)
    keep = compile_filter(request.filter) if request.filter else None
    cases = select(requested_suite(request), keep=keep, shuffle=request.shuffle, shard=request.shard)
    ahead = list(islice(cases, NAMES_AHEAD))
    lines = CaseLines(screen.width, ahead)
    count = 0
    for case in chain(ahead, cases):
        if arguments.json:
            screen.text(case_line(case_id(case), case_document(case)))
        else:
            if not count:
                screen.line(lines.header())
            screen.line(lines.line(case))
        count += 1
    if not arguments.json:
        say(f"{count:,} case{'' if count == 1 else 's'}")
