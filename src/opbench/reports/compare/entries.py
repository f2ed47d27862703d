"""What a table is made of: a task and its times, from a Timer, a run, a store or torch itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from opbench.cases.errors import ArgumentError
from opbench.reports.inputs import describe_inputs
from opbench.results.records import Caution, Row
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement

Result: TypeAlias = Measurement | Row


@dataclass(frozen=True)
class Entry:
    """One task with all its times, or with the reason why it has none."""

    task: TaskSpec
    times: Measurement | None
    # Of each replicate, in the order in which they came.
    medians: tuple[float, ...] = ()
    # Of a row of a run: what tells apart cases that are described in the same words.
    case_id: str = ""
    status: str = "ok"
    reason: str = ""


def checked(results: Any) -> list[Result]:
    """The results as a list, or an error that names the element which is none."""
    if isinstance(results, Result | str | bytes | dict) or not isinstance(results, Iterable):
        raise ArgumentError(f"results must be a list of measurements, not one {type(results).__name__}")
    return [_checked(item, place) for place, item in enumerate(results)]


def _checked(item: Any, place: int) -> Result:
    if isinstance(item, Result):
        return item
    kind = type(item)
    if kind.__name__ == "Measurement" and kind.__module__.startswith("torch.utils.benchmark"):
        return Measurement.from_torch(item)
    raise ArgumentError(
        f"results[{place}] must be a Measurement of a Timer, of a run or of a store, not {kind.__name__}"
    )


def merged(results: Sequence[Result]) -> list[Entry]:
    """One entry for each task, with the times of all its replicates."""
    rows = _last_attempts([item for item in results if isinstance(item, Row)])
    last = {id(row) for row in rows}
    tells_run = _repeats_a_case(rows)
    groups: dict[tuple[TaskSpec, str], list[Entry]] = {}
    for item in results:
        if isinstance(item, Measurement):
            entry = Entry(item.task_spec, item)
        elif id(item) in last:
            entry = _from_row(item, tells_run)
        else:
            continue
        groups.setdefault((entry.task, entry.case_id), []).append(entry)
    return [_merged(group) for group in groups.values()]


def _merged(group: list[Entry]) -> Entry:
    timed = [entry.times for entry in group if entry.times is not None]
    if not timed:
        return group[0]
    [times] = Measurement.merge(timed)
    failed = [entry for entry in group if entry.times is None]
    if failed:
        reason = f": {failed[0].reason}" if failed[0].reason else ""
        message = f"{len(failed)} of {len(group)} replicates {failed[0].status}{reason}"
        times = replace(times, cautions=(*times.cautions, Caution("failed_replicates", message)))
    medians = tuple(one.median for one in timed)
    return replace(group[0], times=times, medians=medians, status="ok", reason="")


def _last_attempts(rows: list[Row]) -> list[Row]:
    last: dict[tuple[str, str, str, int], Row] = {}
    for row in rows:
        key = (row.run_id, row.case_id, row.environment, row.repeat)
        if key not in last or row.attempt >= last[key].attempt:
            last[key] = row
    return list(last.values())


def _repeats_a_case(rows: list[Row]) -> bool:
    """Whether a case was measured in several runs: then these are what is compared, not replicates."""
    runs: dict[tuple[str, str], str] = {}
    return any(runs.setdefault((row.case_id, row.environment), row.run_id) != row.run_id for row in rows)


def _from_row(row: Row, tells_run: bool) -> Entry:
    case = row.case
    inputs = describe_inputs(case)
    # Environment and run stand in front of the rows where they are no part of the column.
    envs = (row.environment if case.description else "", row.run_id if tells_run else "")
    task = TaskSpec(
        stmt=case.stmt or f"{case.op} {inputs}".strip(),
        setup=case.setup or "pass",
        global_setup=case.global_setup,
        label=case.label or case.op or None,
        sub_label=" · ".join(part for part in (case.sub_label, inputs) if part) or None,
        description=case.description or _variant(row) or None,
        env=", ".join(env for env in envs if env) or None,
        num_threads=case.num_threads,
        language=case.language,
    )
    if row.status != "ok":
        return Entry(task, None, (), row.case_id, row.status.replace("_", " "), row.reason)
    try:
        return Entry(task, Measurement.from_row(row, task), (), row.case_id)
    except ArgumentError as error:
        return Entry(task, None, (), row.case_id, "not timed", str(error))


def _variant(row: Row) -> str:
    case = row.case
    parts = (
        "" if row.environment == "this" else row.environment,
        "" if case.is_snippet and case.direction == "forward" else case.direction.replace("_", " + "),
        "" if case.runtime == "eager" else case.runtime,
        "" if case.device == "cpu" else case.device,
        f"seed {case.seed}" if case.seed else "",
    )
    return ", ".join(part for part in parts if part)
