"""From what came back of a worker to a row, whatever came back."""

from __future__ import annotations

import signal
from typing import Any

import msgspec

from opbench.cases.plan import Plan
from opbench.execution.tasks import Task
from opbench.execution.worker import Exit, Outcome
from opbench.results.records import Caution, Measurement, Metric, Output, Status


class Reply(msgspec.Struct, frozen=True):
    """What a worker says of one case."""

    status: Status
    reason: str = ""
    metrics: tuple[Metric, ...] = ()
    warnings: tuple[Caution, ...] = ()
    drawn: dict[str, float | int] = {}


_DECODER = msgspec.json.Decoder(Reply)


def interpret(
    task: Task, outcome: Outcome, plan: Plan, *, run_id: str, started_at: str, duration_s: float
) -> Measurement:
    """The row of a task, from its outcome."""
    reply = _reply(outcome, plan)
    return Measurement(
        run_id=run_id,
        case_id=task.case_id,
        case=task.case,
        status=reply.status,
        reason=reply.reason,
        environment=task.environment,
        repeat=task.repeat,
        attempt=task.attempt,
        metrics=reply.metrics,
        warnings=reply.warnings + _cautions(outcome.exit),
        output=Output(outcome.stdout, outcome.stderr, outcome.dropped_bytes),
        drawn=reply.drawn,
        started_at=started_at,
        duration_s=duration_s,
    )


def refusal(
    task: Task, reason: str, *, run_id: str, started_at: str, status: Status = "unsupported"
) -> Measurement:
    """The row of a task that no worker was given."""
    return Measurement(
        run_id=run_id,
        case_id=task.case_id,
        case=task.case,
        status=status,
        reason=reason,
        environment=task.environment,
        repeat=task.repeat,
        attempt=task.attempt,
        started_at=started_at,
    )


def _reply(outcome: Outcome, plan: Plan) -> Reply:
    ending = outcome.exit
    if ending.timed_out:
        return Reply("timeout", f"took longer than {plan.timeout_s:g} s (set-up included) and was stopped")
    if outcome.reply:
        try:
            return _DECODER.decode(outcome.reply)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            return Reply("crashed", f"gave back something that is not a result: {error}")
    if ending.out_of_memory:
        return Reply("out_of_memory", "killed by the kernel because memory ran out")
    return Reply("crashed", _death(ending))


def _death(ending: Exit) -> str:
    worker = " and took its worker with it" if ending.lost else ""
    if ending.signal:
        try:
            name = signal.Signals(ending.signal).name
        except ValueError:
            name = f"signal {ending.signal}"
        meaning = signal.strsignal(ending.signal)
        return f"killed by {name}{f' ({meaning})' if meaning else ''}{worker}"
    return f"the process ended with exit code {ending.code} before it gave a result{worker}"


def _cautions(ending: Exit) -> tuple[Caution, ...]:
    cautions: list[Caution] = []
    if ending.strays:
        cautions.append(
            Caution("left_processes", f"left {ending.strays} process(es) behind, which were killed")
        )
    if ending.server_threads > 1:
        cautions.append(
            Caution(
                "forked_with_threads",
                f"the worker had {ending.server_threads} threads when it forked; if this case hangs "
                "or crashes, run it with --isolation spawn",
            )
        )
    return tuple(cautions)


def describe_request(task: Task, plan: Plan, cpus: tuple[int, ...], folder: str) -> dict[str, Any]:
    """The request for a task, as the worker takes it."""
    return {
        "case": task.document,
        "case_id": task.case_id,
        "work_id": task.work_id,
        "plan": msgspec.to_builtins(plan),
        "cpus": cpus,
        "folder": folder,
    }
