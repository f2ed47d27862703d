"""Measure suites, or one operator or statement given here; keep and show the results."""

from __future__ import annotations

import argparse
import contextlib
import time
from collections.abc import Iterator
from itertools import islice

import msgspec

from opbench.cases.errors import OpbenchError, UsageError
from opbench.cases.filter import compile_filter
from opbench.cases.model import Suite
from opbench.cases.select import select
from opbench.cli.live import NAMES_AHEAD, RowPrinter
from opbench.cli.output import RecordFile
from opbench.cli.parser import Parser
from opbench.cli.plan_flags import add_plan_flags, plan_from
from opbench.cli.progress import Bar, progress_for
from opbench.cli.request import Request, request_from
from opbench.cli.run_flags import add_choice_flags, add_execution_flags, add_run_flags, add_work_flags
from opbench.cli.screen import Screen, say
from opbench.cli.signals import Interrupts
from opbench.cli.suites import requested_suite
from opbench.execution.api import execute, new_run
from opbench.execution.interrupt import StopSignal
from opbench.execution.options import Options
from opbench.execution.tasks import Resume
from opbench.reports.inputs import describe_row
from opbench.reports.runs import heading
from opbench.reports.table import TEXT_WIDTH
from opbench.results.records import Run
from opbench.results.store import Store

EPILOG = """examples:
  opbench run quick                                          a built-in suite (opbench list names all)
  opbench run suite.json --plan rigorous --filter 'torch.nn.*'
  opbench run --op torch.mm 'float32[64,64]' 'float32[64,64]' --direction backward
  opbench run --fuzz torch.add --n 100 --seed 0              random inputs, the same ones for the same seed
  opbench run --stmt 'x + 1' --setup 'import torch; x = torch.ones(8)'
  opbench run suite.json --env main=/path/to/venv --env mine='. ../mine/bin/activate'
  opbench run --resume last                                  what an interrupted run has not done

exit codes: 0 all measured; 1 some were not; 2 wrong usage; 130 interrupted, with all rows so far kept
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench run`."""
    parser.epilog = EPILOG
    parser.usage = (
        "opbench run SUITE... | --op NAME VALUE... | --fuzz NAME | --stmt CODE ... | --resume RUN  [flags]"
    )
    add_work_flags(parser)
    add_choice_flags(parser)
    add_plan_flags(parser)
    add_execution_flags(parser)
    add_run_flags(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it."""
    resume = _resume_of(arguments)
    with contextlib.ExitStack() as stack:
        store = None
        if resume or not (arguments.no_store or arguments.dry_run):
            store = stack.enter_context(Store.open(arguments.store))
        earlier = store.run(arguments.resume or arguments.rerun_failed) if store and resume else None
        request = request_from(arguments, earlier)
        options = request.options(plan_from(arguments, earlier.plan if earlier else None))
        suite = requested_suite(request)
        if arguments.dry_run:
            from opbench.cli.dry_run import dry_run

            done = store.done_keys(earlier.run_id) if store and earlier else {}
            return dry_run(suite, options, done, resume or "missing", json=arguments.json)
        return _measure(arguments, suite, request, options, store, earlier, resume)


def _resume_of(arguments: argparse.Namespace) -> Resume | None:
    if arguments.resume and arguments.rerun_failed:
        raise UsageError("--resume and --rerun-failed exclude each other: resume first")
    resume: Resume | None = "missing" if arguments.resume else "not_ok" if arguments.rerun_failed else None
    if resume and arguments.no_store:
        raise UsageError("--no-store has nothing to go on from: leave it out")
    if resume and arguments.name:
        raise UsageError("--name is for new runs; this one has its name already")
    return resume


def _measure(
    arguments: argparse.Namespace,
    suite: Suite,
    request: Request,
    options: Options,
    store: Store | None,
    earlier: Run | None,
    resume: Resume | None,
) -> int:
    suites = request.suites or (suite.name,)
    the_run = earlier or new_run(
        options.plan, suites, name=arguments.name or "", request=msgspec.to_builtins(request)
    )
    if earlier is not None and earlier.plan != options.plan:
        say(f"opbench: the plan differs from that of the rows that run {earlier.run_id} has")
    started = time.monotonic()
    screen = Screen()
    printer = RowPrinter(screen, json=arguments.json, names=lambda: _names(suite, options))
    with contextlib.ExitStack() as stack:
        stop = stack.enter_context(contextlib.closing(StopSignal()))
        inputs = (*request.suites, *request.operators)
        output = stack.enter_context(RecordFile(arguments.output, the_run, inputs))
        interrupts = stack.enter_context(Interrupts(stop))
        progress = stack.enter_context(progress_for(arguments.quiet))
        if isinstance(progress, Bar):
            stack.enter_context(screen.use(progress.console))
        rows = execute(suite, options, run=the_run, store=store, resume=resume, listener=progress, stop=stop)
        # Closing it ends the workers, whatever happens here.
        stack.callback(rows.close)
        wrong: OpbenchError | None = None
        try:
            for row in rows:
                if not printer.summary.total and not arguments.json:
                    # Where it is measured is known once a worker has answered.
                    known = store.run(the_run.run_id) if store is not None else the_run
                    screen.lines(heading(known, screen.width or TEXT_WIDTH))
                printer.add(row)
                output.add(row)
        except BrokenPipeError:
            rows.close()
            say(f"opbench: nobody reads the output any more, so the run ends here{_go_on(store, the_run)}")
            raise
        except OpbenchError as error:
            # A suite is read while it runs: what is wrong in its middle is found when it is reached.
            wrong = error
        rows.close()
        if store is not None:
            the_run = store.run(the_run.run_id)
        output.about(the_run)
    if wrong is not None and not printer.summary.total:
        raise wrong
    printer.finish()
    printer.say(
        printer.summary.closing(
            elapsed_s=time.monotonic() - started,
            run=the_run,
            kept_in=_place(store),
            interrupted=bool(interrupts.received or wrong),
        )
    )
    if wrong is not None:
        raise wrong
    return interrupts.exit_code or _exit_code(printer, store, the_run)


def _names(suite: Suite, options: Options) -> Iterator[tuple[str, str]]:
    """Names and inputs of the first rows that there may be."""
    keep = compile_filter(options.filter) if options.filter else None
    cases = select(suite, keep=keep, shuffle=options.shuffle, shard=options.shard)
    longest = max(options.environments, key=len)
    for case in islice(cases, NAMES_AHEAD):
        yield describe_row(case, longest, options.repeat - 1)


def _go_on(store: Store | None, run: Run) -> str:
    return f"; go on with opbench run --resume {run.run_id}" if store is not None else ""


def _exit_code(printer: RowPrinter, store: Store | None, run: Run) -> int:
    """1 when the run, with what earlier calls have left, holds cases that were not measured."""
    counts = store.counts(run.run_id) if store is not None else printer.summary.statuses
    return 1 if sum(counts.values()) > counts.get("ok", 0) + counts.get("skipped", 0) else 0


def _place(store: Store | None) -> str:
    if store is None:
        return ""
    return str(store.path) if store.path else store.url
