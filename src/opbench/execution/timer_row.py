"""A Timer's statement measured as a case: in this process, or in a worker."""

from __future__ import annotations

import ast
import time
from collections.abc import Callable
from typing import Any, get_args

import msgspec

from opbench.cases.builders import snippet
from opbench.cases.errors import ArgumentError, OpbenchError
from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.cases.plan import Plan, check_plan, preset
from opbench.execution.host_time import clock_for
from opbench.execution.interpret import Reply
from opbench.execution.options import Isolation
from opbench.execution.statement import Language, Statement, advising
from opbench.execution.station import now
from opbench.execution.thread_pools import set_torch_threads
from opbench.results.records import Row

_PRIVATE = ("__builtins__", "__name__", "torch")


def row_in_place(
    statement: Statement, timer: Callable[[], float], plan: Plan | str, device_name: str | None
) -> Row:
    """The row of a statement measured here. What the statement raises is raised."""
    from opbench.worker.devices import device_for
    from opbench.worker.measure import probe
    from opbench.worker.probes.cautions import oversubscribed

    chosen = _plan(plan)
    task = statement.task
    case = _case(statement, "", device_name)
    device = device_for(device_name or "cpu")
    clock = None if device_name else clock_for(timer, task.num_threads)
    reply: dict[str, Any] = {"status": "ok", "metrics": [], "warnings": oversubscribed(task.num_threads)}
    started_at, started = now(), time.monotonic()
    prepared = statement.prepared()
    prepared.renews = False
    prepared.num_threads = task.num_threads
    try:
        with set_torch_threads(task.num_threads), advising():
            probe(prepared, prepared, msgspec.to_builtins(chosen), device, reply, clock)
    finally:
        prepared.close()
    found = msgspec.convert(reply, Reply)
    return Row(
        run_id="",
        case_id=case_id(case),
        case=case,
        status="ok",
        metrics=found.metrics,
        warnings=found.warnings,
        started_at=started_at,
        duration_s=time.monotonic() - started,
    )


def row_of_worker(
    statement: Statement, plan: Plan | str, isolation: Isolation, device_name: str | None
) -> Row:
    """The row of a statement measured in a worker; an error where it could not be."""
    from opbench.execution.api import run

    if isolation not in get_args(Isolation):
        raise ArgumentError(f"isolation must be one of {', '.join(get_args(Isolation))}, not {isolation!r}")
    if statement.function is not None:
        raise ArgumentError(f"isolation={isolation!r} needs a stmt as text: a callable stays in its process")
    chosen = _plan(plan)
    case = _case(statement, _prelude(statement, isolation), device_name)
    (row,) = run([case], chosen, isolation=isolation, oversubscribe=True)
    if row.status != "ok":
        raise OpbenchError(f"the statement was not measured ({row.status.replace('_', ' ')}): {row.reason}")
    return row


def _plan(plan: Plan | str) -> Plan:
    if isinstance(plan, str):
        return preset(plan)
    if not isinstance(plan, Plan):
        raise ArgumentError(f"plan must be a Plan or the name of one, not a {type(plan).__name__}")
    return check_plan(plan)


def _case(statement: Statement, prelude: str, device_name: str | None) -> Case:
    task = statement.task
    python = statement.language is Language.PYTHON
    return snippet(
        task.stmt,
        setup="" if task.setup == "pass" else task.setup,
        global_setup=prelude if python else task.global_setup,
        language=task.language,
        num_threads=task.num_threads,
        device=device_name or "cpu",
        label=task.label or "",
        sub_label=task.sub_label or "",
        description=task.description or "",
    )


def _prelude(statement: Statement, isolation: str) -> str:
    """Code that gives a worker the globals of a statement."""
    lines = []
    for name, value in statement.namespace.items():
        if name in _PRIVATE:
            continue
        text = repr(value)
        try:
            same = ast.literal_eval(text) == value and name.isidentifier()
        except Exception:  # what is no literal may fail in any way, in its comparison too
            same = False
        if not same:
            raise ArgumentError(
                f"globals[{name!r}] is a {type(value).__name__}, which isolation={isolation!r} cannot take "
                "to another process: make it in setup, or keep to numbers, texts, lists and their kind"
            )
        lines.append(f"{name} = {text}")
    return "\n".join(lines)
