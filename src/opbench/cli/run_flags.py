"""The flags of `opbench run` beside those of the plan."""

from __future__ import annotations

import argparse
from typing import get_args

from opbench.cases.model import Direction, Language
from opbench.cases.names import LANGUAGE_ALIASES
from opbench.cli.parser import Parser, one_of
from opbench.cli.units import positive, shard, whole
from opbench.execution.options import Isolation
from opbench.results.records import STATUSES


def add_work_flags(parser: Parser) -> None:
    """Add what is measured: suites, an operator, a statement, and changes to all their cases."""
    parser.add_argument(
        "suites",
        nargs="*",
        metavar="SUITE|VALUE",
        help="a file or the name of a built-in suite; with --op its arguments: 'float32[64,64]', 3, '[1, 2]'",
    )
    group = parser.add_argument_group("instead of a suite")
    group.add_argument(
        "--op", metavar="NAME", help="an operator such as torch.mm, F.gelu, nn.Linear, aten::add.Tensor"
    )
    group.add_argument(
        "--arg",
        dest="args",
        action="append",
        metavar="VALUE",
        help="an argument as a flag, for those that begin with a dash: --arg=-inf",
    )
    group.add_argument(
        "--kwarg", dest="kwargs", action="append", metavar="NAME=VALUE", help="a keyword argument"
    )
    group.add_argument(
        "--build-arg",
        dest="build_args",
        action="append",
        metavar="VALUE",
        help="an argument of the constructor",
    )
    group.add_argument(
        "--build-kwarg",
        dest="build_kwargs",
        action="append",
        metavar="NAME=VALUE",
        help="a keyword of the constructor",
    )
    group.add_argument("--fuzz", metavar="NAME", help="random inputs of an operator, as many as --n says")
    add_fuzz_flags(group)
    group.add_argument("--stmt", metavar="CODE", help="a statement to measure")
    group.add_argument("--setup", metavar="CODE", help="code that runs once before it")
    group.add_argument("--global-setup", metavar="CODE", help="code that the setup builds on")
    group.add_argument(
        "--language",
        type=_language,
        metavar="|".join(get_args(Language)),
        help="of the statement (default: python)",
    )
    add_direction_flag(group, "may be given more than once")
    group.add_argument("--label", metavar="TEXT", help="what to call it")
    changes = parser.add_argument_group("changes to every case")
    changes.add_argument("--device", metavar="NAME", help="where to run, as in cuda:0")
    changes.add_argument("--num-threads", type=positive, metavar="N", help="threads to run with")
    changes.add_argument("--dtype", metavar="NAME", help="dtype for all floating-point tensors")
    changes.add_argument("--runtime", metavar="NAME", help="how to run, as in eager")
    changes.add_argument("--seed", type=whole, metavar="N", help="what random inputs are drawn from")


def add_direction_flag(group: argparse._ActionsContainer, text: str) -> None:
    """Add what is timed."""
    group.add_argument(
        "--direction",
        dest="directions",
        action="append",
        type=one_of("direction", get_args(Direction)),
        metavar="|".join(get_args(Direction)),
        help=text,
    )


def add_fuzz_flags(parser: argparse._ActionsContainer) -> None:
    """Add how many random inputs, and of which kind."""
    parser.add_argument("--n", type=positive, metavar="N", help="so many random inputs (default: 100)")
    parser.add_argument(
        "--fuzzer",
        metavar="FAMILY",
        help="of this kind: unary, binary, reduction, ... (default: what the operator takes)",
    )


def add_choice_flags(parser: Parser) -> None:
    """Add which cases, and what names may mean."""
    group = parser.add_argument_group("which cases")
    group.add_argument(
        "--filter", metavar="EXPR", help="only cases that match, as in 'torch.nn.*' or 'dtype:float16'"
    )
    group.add_argument("--shuffle", type=whole, metavar="SEED", help="in random order")
    group.add_argument("--shard", type=shard, metavar="I/N", help="only the Ith of N parts of the suite")
    add_naming_flags(group)
    group.add_argument("--allow-snippets", action="store_true", help="run code that stands in the suite")


def add_execution_flags(parser: Parser) -> None:
    """Add where and when workers run."""
    group = parser.add_argument_group("where and when")
    add_process_flags(group)
    group.add_argument(
        "--env",
        dest="environments",
        action="append",
        type=environment,
        metavar="NAME=SPEC",
        help="measure there: a virtual environment, an interpreter, or a shell command that activates one",
    )
    group.add_argument("--repeat", type=positive, metavar="N", help="measure every case N times")
    group.add_argument(
        "--jobs", type=positive, metavar="N", help="measure N cases at a time, each on its own cores"
    )
    group.add_argument(
        "--retries", type=_retries, metavar="STATUS=N,...", help="try again, as in timeout=1,crashed=2"
    )
    group.add_argument("--fail-fast", action="store_true", help="stop at the first case that is not ok")


def add_run_flags(parser: Parser) -> None:
    """Add what becomes of the run and of its rows."""
    group = parser.add_argument_group("what becomes of it")
    group.add_argument("--resume", metavar="RUN", help="do the cases that this run has not done")
    group.add_argument("--rerun-failed", metavar="RUN", help="do the cases of this run again that are not ok")
    group.add_argument(
        "--dry-run", action="store_true", help="say what would run, and how long it would take"
    )
    add_store_flag(group)
    group.add_argument("--no-store", action="store_true", help="keep nothing")
    group.add_argument("--name", metavar="TEXT", help="what to call the run")
    group.add_argument(
        "--json", action="store_true", help="one JSON object for each row on stdout, and nothing else"
    )
    group.add_argument("-o", "--output", metavar="FILE", help="write the full records as JSON Lines too")
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")


def add_process_flags(group: argparse._ActionsContainer) -> None:
    """Add what process a case gets, and how many threads."""
    group.add_argument(
        "--isolation",
        type=one_of("isolation", get_args(Isolation)),
        metavar="|".join(get_args(Isolation)),
        help="a fork for each case (default), none, or a fresh process for each",
    )
    group.add_argument("--oversubscribe", action="store_true", help="allow more threads than there are cores")


def add_naming_flags(group: argparse._ActionsContainer) -> None:
    """Add what names of operators may mean."""
    group.add_argument(
        "--operators", action="append", metavar="FILE|MODULE", help="Python code that registers operators"
    )
    group.add_argument(
        "--allow", action="append", metavar="PREFIX", help="also resolve names below this module"
    )


def add_store_flag(parser: argparse._ActionsContainer) -> None:
    """Add which store."""
    parser.add_argument(
        "--store", metavar="PATH|URL", help="a file, or postgresql://... (default: see `store where`)"
    )


def environment(text: str) -> tuple[str, str]:
    """NAME=SPEC, for an argument."""
    name, equals, spec = text.partition("=")
    if not equals or not name.strip():
        raise argparse.ArgumentTypeError(f"{text!r} is not NAME=SPEC, such as main=/path/to/venv")
    return name.strip(), spec.strip()


def _language(text: str) -> str:
    return LANGUAGE_ALIASES.get(text) or one_of("language", get_args(Language))(text)


def _retries(text: str) -> list[tuple[str, int]]:
    status_of = one_of("status", [status for status in STATUSES if status != "ok"])
    retries = []
    for part in text.split(","):
        status, equals, times = part.partition("=")
        retries.append((status_of(status.strip()), positive(times) if equals else 1))
    return retries
