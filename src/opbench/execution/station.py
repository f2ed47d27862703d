"""A slot at work: its workers, kept warm, and what is done when one of them fails."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from datetime import datetime, timezone
from typing import Any, Protocol

import msgspec

from opbench.cases.errors import UsageError
from opbench.execution.environments import EnvironmentSpec
from opbench.execution.interpret import describe_request, interpret, refusal
from opbench.execution.options import Options
from opbench.execution.slots import Slot
from opbench.execution.tasks import Task
from opbench.execution.worker import Outcome, WorkerError
from opbench.results.records import Caution, Measurement

# A worker that has imported a framework holds some 200 MB.
WARM_WORKERS = 4


class AnyWorker(Protocol):
    """What a station needs of a worker; tests have one without a process."""

    @property
    def alive(self) -> bool:
        """Can it take a request?"""

    def launch(self) -> None:
        """Begin to start."""

    def start(self) -> dict[str, Any]:
        """Be ready, and say hello."""

    def measure(self, request: dict[str, Any], timeout_s: float) -> Outcome:
        """Do one request."""

    def close(self) -> None:
        """End, in order."""

    def kill(self) -> None:
        """End, now."""


# (environment, threads) -> a worker that is not started yet
WorkerFactory = Callable[[EnvironmentSpec, int], AnyWorker]
# (environment name, hello) of each worker that has come up
Greeting = Callable[[str, dict[str, Any]], None]


def now() -> str:
    """The time of day in UTC, ISO 8601."""
    return datetime.now(timezone.utc).isoformat(timespec="milliseconds")


class Station:
    """Measures tasks one at a time on the CPUs of its slot."""

    def __init__(
        self,
        slot: Slot,
        environments: Mapping[str, EnvironmentSpec],
        options: Options,
        make_worker: WorkerFactory,
        *,
        run_id: str,
        folder: str = "",
        greet: Greeting = lambda _name, _hello: None,
    ) -> None:
        self._slot = slot
        self._environments = environments
        self._options = options
        self._make_worker = make_worker
        self._run_id = run_id
        self._folder = folder
        self._greet = greet
        self._greeted: set[str] = set()
        self._workers: OrderedDict[tuple[str, int], AnyWorker] = OrderedDict()
        self._starting: dict[tuple[str, int], AnyWorker] = {}

    def warm_up(self, task: Task) -> None:
        """Begin to start the worker that this task will need, and do not wait for it."""
        key = (task.environment, task.case.num_threads)
        if self._refusal(task) is None and key not in self._starting:
            worker = self._make_worker(self._environments[task.environment], task.case.num_threads)
            try:
                worker.launch()
            except WorkerError as error:
                raise UsageError(f"environment {task.environment!r}: {error}") from None
            self._starting[key] = worker

    def measure(self, task: Task) -> Measurement:
        """The row of a task; tried again where the options say so."""
        refused = self._refusal(task)
        if refused is not None:
            return refusal(task, refused, run_id=self._run_id, started_at=now())
        row = self._attempt(task)
        failures: list[str] = []
        while failures.count(row.status) < self._options.retries.get(row.status, 0):
            failures.append(row.status)
            row = self._attempt(task)
        cautions = row.warnings
        if failures:
            text = f"measured again after: {', '.join(failures)}"
            cautions += (Caution("retried", text),)
        if task.case.num_threads > len(self._slot.cpus):
            text = f"{task.case.num_threads} threads shared {len(self._slot.cpus)} CPUs"
            cautions += (Caution("oversubscribed", text),)
        return row if cautions is row.warnings else msgspec.structs.replace(row, warnings=cautions)

    def _refusal(self, task: Task) -> str | None:
        wanted, there = task.case.num_threads, len(self._slot.cpus)
        if wanted > there and not self._options.oversubscribe:
            return (
                f"the case wants {wanted} threads and its slot has {there} CPU{'s' if there > 1 else ''}; "
                "lower num_threads, or allow it with --oversubscribe"
            )
        return None

    def _attempt(self, task: Task) -> Measurement:
        started_at, started = now(), time.monotonic()
        try:
            worker = self._worker(task)
        except WorkerError as error:
            if task.environment not in self._greeted:
                # It has never worked: that is a wrong request, not a failed case.
                raise UsageError(f"environment {task.environment!r}: {error}") from None
            return refusal(task, str(error), run_id=self._run_id, started_at=started_at, status="crashed")
        cpus = self._slot.cpus_for(task.case.num_threads) if task.case.device == "cpu" else self._slot.cpus
        request = describe_request(task, self._options.plan, cpus, self._folder)
        outcome = worker.measure(request, self._options.plan.timeout_s)
        row = interpret(
            task,
            outcome,
            self._options.plan,
            run_id=self._run_id,
            started_at=started_at,
            duration_s=time.monotonic() - started,
        )
        if self._options.isolation == "spawn":
            self._workers.pop((task.environment, task.case.num_threads)).close()
        return row

    def _worker(self, task: Task) -> AnyWorker:
        key = (task.environment, task.case.num_threads)
        worker = self._workers.get(key)
        if worker is not None and worker.alive:
            self._workers.move_to_end(key)
            return worker
        worker = self._starting.pop(key, None) or self._make_worker(self._environments[key[0]], key[1])
        hello = worker.start()
        if task.environment not in self._greeted:
            self._greeted.add(task.environment)
            self._greet(task.environment, hello)
        self._workers[key] = worker
        self._workers.move_to_end(key)
        while len(self._workers) > WARM_WORKERS:
            self._workers.popitem(last=False)[1].close()
        return worker

    def close(self, *, at_once: bool = False) -> None:
        """End all workers."""
        for worker in (*self._workers.values(), *self._starting.values()):
            if at_once:
                worker.kill()
            else:
                worker.close()
        self._workers.clear()
        self._starting.clear()
