"""What a run would do: every case, the memory it needs, and how long all of it takes."""

from __future__ import annotations

from dataclasses import asdict
from itertools import chain, islice

from opbench.cases.estimate import estimate
from opbench.cases.filter import compile_filter
from opbench.cases.identity import case_document
from opbench.cases.model import Suite
from opbench.cases.select import select
from opbench.cli.listing import CaseLines
from opbench.cli.live import NAMES_AHEAD
from opbench.cli.screen import Screen, say
from opbench.execution.options import Options
from opbench.execution.tasks import Done, Resume, make_tasks
from opbench.reports.format import elapsed, size
from opbench.reports.rows import case_line

_COLUMNS = ("input size", "at most")


def dry_run(suite: Suite, options: Options, done: Done, resume: Resume, *, json: bool) -> int:
    """Print what would be measured, in the order in which it would be, and what it would take."""
    keep = compile_filter(options.filter) if options.filter else None
    cases = select(suite, keep=keep, shuffle=options.shuffle, shard=options.shard)
    several = len(options.environments) > 1
    columns = ("environment", *_COLUMNS) if several else _COLUMNS
    screen = Screen()
    tasks = make_tasks(cases, options.environments, options.repeat, done, resume)
    ahead = list(islice(tasks, NAMES_AHEAD))
    lines = CaseLines(screen.width, (task.case for task in ahead), columns)
    count, total_s, most_bytes = 0, 0.0, 0
    for task in chain(ahead, tasks):
        expected = estimate(task.case, options.plan)
        total_s += expected.duration_s
        most_bytes = max(most_bytes, expected.input_bytes)
        if json:
            document = {**case_document(task.case), "environment": task.environment, "repeat": task.repeat}
            screen.text(case_line(task.case_id, document | {"estimate": asdict(expected)}))
        else:
            if not count:
                screen.line(lines.header())
            costs = (size(expected.input_bytes), elapsed(expected.duration_s))
            screen.line(lines.line(task.case, (task.environment[:11], *costs) if several else costs))
        count += 1
    say(f"opbench: {_sentence(count, total_s / options.jobs, most_bytes)}")
    return 0


def _sentence(count: int, total_s: float, most_bytes: int) -> str:
    if not count:
        return "nothing to do"
    cases = f"{count:,} case{'' if count == 1 else 's'}"
    return f"{cases} in about {elapsed(total_s)}, the largest of about {size(most_bytes)}; nothing was run"
