"""Execute a suite: rows come out one by one, each stored before the next case starts."""

from __future__ import annotations

import concurrent.futures
import itertools
import queue
import secrets
import time
from collections.abc import Generator, Iterable, Iterator
from datetime import datetime, timezone
from typing import Any

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.filter import compile_filter
from opbench.cases.model import Case, Suite, suite_of
from opbench.cases.plan import Plan, check_plan, preset
from opbench.cases.select import select
from opbench.execution.environments import EnvironmentSpec, parse_environment
from opbench.execution.interrupt import InterruptedRunError, StopSignal
from opbench.execution.options import Listener, Options
from opbench.execution.progress import Pace
from opbench.execution.registered_tags import Tags, tagged, tags_in, with_registered_tags
from opbench.execution.slots import make_slots, usable_cpus
from opbench.execution.station import Station, WorkerFactory, now
from opbench.execution.tasks import Done, Resume, Task, make_tasks
from opbench.execution.worker import Worker
from opbench.results.fingerprint import environment_record
from opbench.results.machine import find_calibration
from opbench.results.records import Environment, Measurement, Run
from opbench.results.roofline import derive
from opbench.results.store import Store


def new_run(
    plan: Plan, suites: Iterable[str], *, name: str = "", request: dict[str, Any] | None = None
) -> Run:
    """A run that is about to start, with an id that sorts by time."""
    from opbench import __version__

    stamp = datetime.now(timezone.utc).strftime("%Y%m%d-%H%M%S")
    return Run(
        run_id=f"{stamp}-{secrets.token_hex(3)}",
        name=name,
        started_at=now(),
        opbench_version=__version__,
        plan=plan,
        suites=tuple(suites),
        request=request or {},
    )


def run(cases: Suite | Iterable[Case], plan: Plan | str = "default", **options: Any) -> Iterator[Measurement]:
    """Measure cases and yield a Measurement for each, as they finish.

    `plan` is a Plan or the name of a preset; further keywords are those of `Options`. Nothing is stored.
    """
    suite = cases if isinstance(cases, Suite) else suite_of("cases", cases)
    chosen = Options(plan=preset(plan) if isinstance(plan, str) else plan, **options)
    yield from execute(with_registered_tags(suite, chosen), chosen)


def execute(
    suite: Suite,
    options: Options,
    *,
    run: Run | None = None,
    store: Store | None = None,
    resume: Resume | None = None,
    listener: Listener | None = None,
    stop: StopSignal | None = None,
    make_worker: WorkerFactory | None = None,
) -> Generator[Measurement, None, None]:
    """Measure the cases of a suite and yield their rows; with a store, each is stored first.

    With `resume`, `run` is one that the store has: its missing (or its not ok) cases are measured. A run
    that is stopped ends early, without an error; closing the generator ends all workers.
    """
    check_plan(options.plan)
    run = run or new_run(options.plan, [suite.name])
    done: Done = store.done_keys(run.run_id) if store is not None and resume else {}
    execution = _Execution(suite, options, run, store, done, resume or "missing", listener, stop, make_worker)
    # Only now: what was wrong with the options leaves no empty run.
    if store is not None and not resume:
        store.add_run(run)
    return execution.rows()


class _Execution:
    """One execution in progress."""

    def __init__(
        self,
        suite: Suite,
        options: Options,
        run: Run,
        store: Store | None,
        done: Done,
        resume: Resume,
        listener: Listener | None,
        stop: StopSignal | None,
        make_worker: WorkerFactory | None,
    ) -> None:
        self._suite = suite
        self._options = options
        self._run = run
        self._store = store
        self._done = done
        self._resume = resume
        self._listener = listener
        self._stop = stop
        self._make_worker = make_worker or self._start_worker
        self._environments = {
            name: parse_environment(name, spec) for name, spec in options.environments.items()
        }
        self._records: dict[str, Environment] = {record.name: record for record in run.environments}
        self._calibrations: dict[str, Any] = {}
        self._calibration_problem = ""
        self._keep = compile_filter(options.filter) if options.filter else None
        self._tags: Tags = {}
        self._pace = Pace(time.monotonic)
        self._gave_up = False
        self._stations = self._make_stations()

    def rows(self) -> Generator[Measurement, None, None]:
        """Measure everything there is to measure."""
        stations = self._stations
        tasks = self._tasks()
        finished = False
        try:
            first = next(tasks, None)
            if first is None:
                self._notice("nothing to do")
            else:
                # The framework is imported while the cases are counted.
                stations[0].warm_up(first)
                self._pace.start(self._count())
                ordered = itertools.chain((first,), tasks)
                serial = len(stations) == 1
                yield from self._serial(stations[0], ordered) if serial else self._parallel(stations, ordered)
            finished = not (self._stop and self._stop.finishing) and not self._gave_up
        except InterruptedRunError:
            return
        finally:
            for station in stations:
                station.close(at_once=not finished)
            if self._store is not None:
                self._store.update_run(self._record(finished))

    def _serial(self, station: Station, tasks: Iterator[Task]) -> Iterator[Measurement]:
        for task in tasks:
            if self._stopping():
                return
            self._started(task)
            yield self._finish(station.measure(task))

    def _parallel(self, stations: list[Station], tasks: Iterator[Task]) -> Iterator[Measurement]:
        free: queue.SimpleQueue[Station] = queue.SimpleQueue()
        for station in stations:
            free.put(station)

        def measure(task: Task) -> Measurement:
            station = free.get()
            try:
                return station.measure(task)
            finally:
                free.put(station)

        with concurrent.futures.ThreadPoolExecutor(len(stations)) as pool:
            pending: set[concurrent.futures.Future[Measurement]] = set()
            exhausted = False
            while pending or not exhausted:
                while not exhausted and len(pending) < len(stations):
                    task = None if self._stopping() else next(tasks, None)
                    if task is None:
                        exhausted = True
                    else:
                        self._started(task)
                        pending.add(pool.submit(measure, task))
                if not pending:
                    return
                ready, pending = concurrent.futures.wait(
                    pending, return_when=concurrent.futures.FIRST_COMPLETED
                )
                for future in ready:
                    yield self._finish(future.result())

    def _finish(self, row: Measurement) -> Measurement:
        row = msgspec.structs.replace(row, case=tagged(row.case, self._tags))
        row = derive(row, self._calibrations.get(row.environment))
        if self._store is not None:
            self._store.add(row)
        self._pace.finished(row)
        if self._options.fail_fast and row.status != "ok":
            self._gave_up = True
        if self._listener is not None:
            self._listener.row_finished(row, self._pace.progress())
        return row

    def _started(self, task: Task) -> None:
        if self._listener is not None:
            self._listener.case_started(task.case, self._pace.progress())

    def _stopping(self) -> bool:
        return self._gave_up or (self._stop is not None and self._stop.finishing)

    def _notice(self, message: str) -> None:
        if self._listener is not None:
            self._listener.notice(message)

    def _cases(self) -> Iterator[Case]:
        return select(self._suite, keep=self._keep, shuffle=self._options.shuffle, shard=self._options.shard)

    def _tasks(self) -> Iterator[Task]:
        return make_tasks(self._cases(), self._environments, self._options.repeat, self._done, self._resume)

    def _count(self) -> int:
        plain = self._keep is None and self._options.shard is None and not self._done
        if plain and self._suite.count is not None:
            return self._suite.count * len(self._environments) * self._options.repeat
        return sum(1 for _ in self._tasks())

    def _make_stations(self) -> list[Station]:
        if self._options.repeat < 1:
            raise UsageError(f"repeat must be at least 1, not {self._options.repeat}")
        return [
            Station(
                slot,
                self._environments,
                self._options,
                self._make_worker,
                run_id=self._run.run_id,
                folder=self._suite.folder,
                greet=self._greet,
            )
            for slot in make_slots(self._options.jobs, usable_cpus())
        ]

    def _start_worker(self, environment: EnvironmentSpec, num_threads: int) -> Worker:
        return Worker(
            environment,
            num_threads=num_threads,
            isolation=self._options.isolation,
            operators=self._options.operators,
            allow=self._options.allow,
            stop=self._stop,
        )

    def _greet(self, name: str, hello: dict[str, Any]) -> None:
        for problem in hello.get("problems", ()):
            self._notice(str(problem))
        self._tags = {**self._tags, **tags_in(hello)}
        record = environment_record(name, hello)
        known = self._records.get(name)
        if known is not None and known.fingerprint != record.fingerprint:
            self._notice(f"environment {name!r} has changed since this run was started")
        self._records[name] = record
        lookup = find_calibration(hello)
        self._calibrations[name] = lookup.calibration
        if lookup.unusable and self._calibration_problem != lookup.reason:
            self._calibration_problem = lookup.reason
            self._notice(f"no shares of the roofline: {lookup.reason}")
        if self._store is not None:
            self._store.update_run(self._record(False))

    def _record(self, finished: bool) -> Run:
        return msgspec.structs.replace(
            self._run,
            finished_at=now() if finished else self._run.finished_at,
            expected=self._pace.expected,
            environments=tuple(self._records.values()),
        )
