"""Search for the inputs that take two environments, runtimes, thread counts or operators the most different
times."""

from __future__ import annotations

import argparse
import contextlib
import time
from pathlib import Path

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.plan import Plan, preset
from opbench.cli.fuzz_findings import DifferenceLines, difference_line, found_suite
from opbench.cli.fuzz_flags import add_output_flags, add_search_flags, add_side_flags, add_worker_flags
from opbench.cli.fuzz_sides import sides_from
from opbench.cli.output import open_output
from opbench.cli.parser import Parser
from opbench.cli.plan_flags import add_plan_flags, plan_from
from opbench.cli.progress import Bar, progress_for
from opbench.cli.screen import Screen, say
from opbench.cli.signals import Interrupts
from opbench.execution.fuzz_pairs import FuzzedSpace, PairMeasure
from opbench.execution.fuzz_search import Effort, Outcome, search
from opbench.execution.interrupt import StopSignal
from opbench.execution.options import Options
from opbench.reports.format import elapsed
from opbench.sources.fuzzing import FuzzedOperator, Item

EPILOG = """examples:
  opbench fuzz torch.add --env main=/path/to/venv --env mine=../mine/.venv -o found.json
  opbench fuzz torch.softmax --num-threads 1 --num-threads 2 --n 50
  opbench fuzz torch.mul --against torch.div --top 5 --seed 1
  opbench run found.json                                     what was found, as any other suite

exit codes: 0 all measured; 1 some inputs were not; 2 wrong usage; 130 interrupted
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench fuzz`."""
    parser.epilog = EPILOG
    parser.usage = (
        "opbench fuzz NAME --env A=... --env B=... | --runtime A --runtime B"
        " | --num-threads A --num-threads B | --against NAME  [flags]"
    )
    add_side_flags(parser)
    add_search_flags(parser)
    add_plan_flags(parser)
    add_worker_flags(parser)
    add_output_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it."""
    if len(arguments.directions or ()) > 1:
        raise UsageError("--direction names two: differences are searched in one at a time")
    sides, environments = sides_from(arguments)
    seed = arguments.seed or 0
    operator = FuzzedOperator(arguments.op, seed=seed, fuzzer=arguments.fuzzer, dtype=arguments.dtype or "")
    space = FuzzedSpace(operator, (arguments.directions or ["forward"])[0], arguments.device or "cpu")
    effort = Effort(generations=arguments.generations, top=arguments.top)
    if arguments.n is not None:
        effort = Effort(arguments.n, arguments.generations, top=arguments.top)
    # Wrong names are told of before anything is measured.
    first = space.sample(0)
    for side in sides:
        side.change(space.case(first))
    names = (sides[0].name, sides[1].name)
    plans = plan_from(arguments, _search_plan()), plan_from(arguments)
    started = time.monotonic()
    screen = Screen()
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(contextlib.closing(StopSignal()))
        output = None
        if arguments.output:
            # A suite without cases is none: whatever ends the search before there are any, no file is left.
            stack.callback(_remove_if_empty, Path(arguments.output))
            output = stack.enter_context(open_output(arguments.output))
        interrupts = stack.enter_context(Interrupts(stop))
        progress = stack.enter_context(progress_for(arguments.quiet))
        if isinstance(progress, Bar):
            stack.enter_context(screen.use(progress.console))
        looking, confirming = (
            PairMeasure(space, sides, _options(arguments, plan, environments), listener=progress, stop=stop)
            for plan in plans
        )
        outcome = search(space, looking, effort, confirm=confirming, stopped=lambda: stop.finishing)
        pairs = [(found, looking.cases(found.candidate)) for found in outcome.found]
        if output is not None and pairs:
            what = f"where {names[1]} and {names[0]} differ most on {arguments.op}, of seed {seed}"
            output.write(found_suite(f"{arguments.op} differences", what, names, pairs))
    if arguments.json:
        for found, cases in pairs:
            screen.text(difference_line(found, names, cases))
    elif pairs:
        lines = DifferenceLines(names, screen.width)
        screen.line(lines.header())
        screen.lines(lines.line(found, cases[0]) for found, cases in pairs)
    _say_what_came_of_it(outcome, names, time.monotonic() - started, arguments.output)
    problems = [*looking.problems, *confirming.problems]
    if problems and not interrupts.received:
        say(f"opbench: not measured: {outcome.not_measured}; the first: {problems[0]}")
    return interrupts.exit_code or (1 if problems or not pairs else 0)


def _remove_if_empty(path: Path) -> None:
    if path.is_file() and not path.stat().st_size:
        path.unlink()


def _search_plan() -> Plan:
    """Quick, and nothing but times: what is found is measured again."""
    return msgspec.structs.replace(preset("quick"), memory=False, flops=False)


def _options(arguments: argparse.Namespace, plan: Plan, environments: dict[str, str]) -> Options:
    return Options(
        plan=plan,
        isolation=arguments.isolation or "fork",
        environments=environments,
        operators=tuple(arguments.operators or ()),
        allow=tuple(arguments.allow or ()),
        oversubscribe=arguments.oversubscribe,
    )


def _say_what_came_of_it(
    outcome: Outcome[Item], names: tuple[str, str], duration_s: float, output: str | None
) -> None:
    found = outcome.found
    measured = f"{outcome.measured:,} inputs measured on both sides in {elapsed(duration_s)}"
    if not found:
        left_out = f", so {output} was not written" if output else ""
        say(f"opbench: {measured}, none of them afresh: nothing was found{left_out}")
        return
    apart = sum(one.fresh.is_apart for one in found)
    say(f"opbench: {measured}; the {len(found)} that differed most were measured afresh")
    say(
        f"opbench: ratio is how many times as long {names[1]} takes as {names[0]}; in {apart} of {len(found)}"
        " it is beyond what the intervals of both leave open"
    )
    if output:
        say(f"opbench: written to {output}; opbench run {output} measures them")
