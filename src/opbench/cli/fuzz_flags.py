"""The flags of `opbench fuzz` beside those of the plan."""

from __future__ import annotations

from opbench.cli.parser import Parser
from opbench.cli.run_flags import (
    add_direction_flag,
    add_fuzz_flags,
    add_naming_flags,
    add_process_flags,
    environment,
)
from opbench.cli.units import positive, whole
from opbench.execution.fuzz_search import Effort


def add_side_flags(parser: Parser) -> None:
    """Add what the two sides are."""
    parser.add_argument("op", metavar="NAME", help="an operator such as torch.add, F.gelu, aten::mm")
    group = parser.add_argument_group("what is compared: one of these twice, or --against")
    group.add_argument(
        "--env",
        dest="environments",
        action="append",
        type=environment,
        metavar="NAME=SPEC",
        help="an environment: a virtual environment, an interpreter, or a shell command",
    )
    group.add_argument("--runtime", action="append", metavar="NAME", help="a runtime, as in eager")
    group.add_argument("--num-threads", action="append", type=positive, metavar="N", help="so many threads")
    group.add_argument("--against", metavar="NAME", help="another operator, with the same inputs")


def add_search_flags(parser: Parser) -> None:
    """Add which inputs there are, and how far they are searched."""
    effort = Effort()
    group = parser.add_argument_group("which inputs")
    add_fuzz_flags(group)
    group.add_argument("--seed", type=whole, metavar="N", help="what they are drawn from (default: 0)")
    group.add_argument("--dtype", metavar="NAME", help="dtype of their tensors")
    group.add_argument("--device", metavar="NAME", help="where to run, as in cuda:0")
    add_direction_flag(group, "what is timed (default: forward)")
    group.add_argument(
        "--generations",
        type=whole,
        metavar="N",
        default=effort.generations,
        help=f"how often to try neighbours of the largest differences (default: {effort.generations})",
    )
    group.add_argument(
        "--top",
        type=positive,
        metavar="N",
        default=effort.top,
        help=f"how many to measure afresh and report (default: {effort.top})",
    )


def add_worker_flags(parser: Parser) -> None:
    """Add where workers run, and what names may mean to them."""
    group = parser.add_argument_group("where and when")
    add_process_flags(group)
    add_naming_flags(group)


def add_output_flags(parser: Parser) -> None:
    """Add what becomes of what is found."""
    group = parser.add_argument_group("what becomes of it")
    group.add_argument("-o", "--output", metavar="FILE", help="write what was found as a suite to run")
    group.add_argument(
        "--json", action="store_true", help="one JSON object for each difference on stdout, and nothing else"
    )
    group.add_argument("-q", "--quiet", action="store_true", help="no progress")
