"""Say what this machine can measure, how noisy it is, what is missing and how to get it."""

from __future__ import annotations

import argparse
import json

from opbench.cases.errors import UsageError
from opbench.cli.parser import Parser
from opbench.cli.run_flags import add_store_flag
from opbench.cli.screen import Screen, say
from opbench.cli.units import duration_s
from opbench.execution.calibrate import calibrate
from opbench.execution.doctor import examine
from opbench.reports.machine import calibration_lines, finding_document, finding_lines, findings_summary
from opbench.reports.text import printable
from opbench.results.findings import Finding

EPILOG = """examples:
  opbench doctor
  opbench doctor --calibrate                    once for each machine, for shares of its roofline
  opbench doctor --json                         one JSON object for each finding

exit codes: 0 cases can be measured; 1 something necessary is missing; 2 wrong usage
"""
_NO_WIDTH = 100


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench doctor`."""
    parser.epilog = EPILOG
    parser.add_argument("--json", action="store_true", help="one JSON object for each finding")
    parser.add_argument(
        "--env",
        default="",
        metavar="SPEC",
        help="examine this one: a virtual environment, an interpreter, or a shell command that activates one",
    )
    add_store_flag(parser)
    group = parser.add_argument_group("the limits of the machine")
    group.add_argument(
        "--calibrate",
        action="store_true",
        help="first measure copy bandwidth and the peak of matrix products, and keep them",
    )
    group.add_argument(
        "--num-threads",
        type=_counts,
        metavar="N,...",
        help="with so many threads (default: 1, 2, 4, ... and all)",
    )
    group.add_argument("--dtypes", type=_names, metavar="NAME,...", help="peaks of these only")
    group.add_argument(
        "--budget", type=duration_s, metavar="TIME", help="for each of these numbers (default: 1s)"
    )


def run(arguments: argparse.Namespace) -> int:
    """Examine it."""
    screen = Screen()
    if arguments.calibrate:
        _calibrate(arguments, screen)
    elif arguments.num_threads or arguments.dtypes or arguments.budget is not None:
        raise UsageError("--num-threads, --dtypes and --budget say how to --calibrate")
    findings: list[Finding] = []
    for finding in examine(arguments.env, arguments.store):
        findings.append(finding)
        if arguments.json:
            screen.text(json.dumps(finding_document(finding), allow_nan=False))
        else:
            screen.lines(finding_lines(finding, screen.width or _NO_WIDTH))
    if not arguments.json:
        screen.line([])
        screen.line([(findings_summary(findings), "bold")])
    return 1 if any(finding.state == "broken" for finding in findings) else 0


def _calibrate(arguments: argparse.Namespace, screen: Screen) -> None:
    budget_s = 1.0 if arguments.budget is None else arguments.budget
    if not 0 < budget_s <= 600:
        raise UsageError(f"--budget must be above 0 and at most 10 min, not {budget_s:g} s")
    calibration, path = calibrate(
        arguments.env,
        num_threads=arguments.num_threads or (),
        dtypes=arguments.dtypes or (),
        budget_s=budget_s,
        listener=lambda what: say(f"opbench: calibrating {what} ..."),
    )
    for problem in calibration.problems:
        say(f"opbench: {printable(problem)}")
    say(f"opbench: kept in {path}")
    if not arguments.json:
        screen.lines(calibration_lines(calibration))
        screen.line([])


def _counts(text: str) -> tuple[int, ...]:
    parts = text.split(",")
    if not all(part.isascii() and part.isdecimal() and 0 < len(part) < 6 and int(part) for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of numbers from 1 on, such as 1,2,4")
    return tuple(sorted({int(part) for part in parts}))


def _names(text: str) -> tuple[str, ...]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isidentifier() for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is not a list of dtypes, such as float32,bfloat16")
    return tuple(dict.fromkeys(parts))
