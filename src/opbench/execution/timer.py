"""Timer: times a statement or a call in this process, with the methods of `torch.utils.benchmark.Timer`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NoReturn

from opbench.cases.errors import ArgumentError, OpbenchError
from opbench.cases.plan import Plan
from opbench.execution.host_time import timer as host_timer
from opbench.execution.in_place import Session, Span, session
from opbench.execution.options import Isolation
from opbench.execution.replaced_clock import ReplacedClock, ReplacedSession
from opbench.execution.statement import Language, compiled, statement
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement
from opbench.worker.runtimes.prepared import Prepared

Callback = Callable[[int, float], Any]


class Timer:
    """Times `stmt`: Python or C++ as text, or something to call with `args` and `kwargs`.

    The set-up runs in front of every block of calls and is not timed. A statement sees `globals`, `torch`,
    and what the set-up defines. `timeit`, `blocked_autorange` and `adaptive_autorange` mean what they mean
    in `torch.utils.benchmark`; `measure` follows a plan, as `opbench run` does.
    """

    # A class of somebody's own, made with (stmt, setup, timer, globals), whose `timeit(number)` takes the
    # place of the clock. Everything else is as in torch then, block sizes and rounding too.
    _timer_cls: ClassVar[Callable[..., ReplacedClock] | None] = None

    def __init__(
        self,
        stmt: str | Callable[..., Any] = "pass",
        setup: str = "pass",
        global_setup: str = "",
        timer: Callable[[], float] = host_timer,
        globals: Mapping[str, Any] | None = None,
        label: str | None = None,
        sub_label: str | None = None,
        description: str | None = None,
        env: str | None = None,
        num_threads: int = 1,
        language: Language | str = Language.PYTHON,
        *,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> None:
        if not callable(timer):
            raise ArgumentError(f"timer must be a function that gives seconds, not a {type(timer).__name__}")
        labels = {"label": label, "sub_label": sub_label, "description": description, "env": env}
        self._statement = statement(
            stmt, setup, global_setup, globals, labels, num_threads, language, args, kwargs
        )
        self._timer = timer
        self._clock = self._replaced_clock()
        self._prepared: Prepared | RuntimeError | None = None
        if self._clock is None and self._statement.language is Language.PYTHON:
            self._prepared = self._statement.prepared()

    @staticmethod
    def compile_all(timers: Iterable[Timer]) -> None:
        """Compile the C++ statements of many Timers together, which takes less time than one by one.

        What is wrong with a statement is said when its Timer is used.
        """
        waiting = [timer for timer in timers if timer._prepared is None and timer._clock is None]
        found = compiled([timer._statement for timer in waiting]) if waiting else []
        for timer, prepared in zip(waiting, found, strict=True):
            timer._prepared = prepared

    @property
    def task_spec(self) -> TaskSpec:
        """What is timed, without its globals."""
        return self._statement.task

    def timeit(self, number: int = 1_000_000, *, baseline: bool = False) -> Measurement:
        """Make `number` calls, in as many blocks of equal size as the clock allows.

        With `baseline`, what an empty loop costs is subtracted.
        """
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ArgumentError(f"number must be a whole number of calls from 1 on, not {number!r}")
        if self._clock is not None:
            return ReplacedSession(self._clock, self.task_spec).calls(number)
        with self._session(baseline) as measuring:
            return measuring.calls(number)

    def blocked_autorange(
        self, callback: Callback | None = None, min_run_time: float = 0.2, *, baseline: bool = False
    ) -> Measurement:
        """Time blocks of calls until they have lasted `min_run_time` seconds together.

        Blocks are long enough for the clock not to matter, and short enough for 20 of them if there is time.
        `callback` is told the number of calls and the seconds of each.
        """
        self._check_seconds("min_run_time", min_run_time)
        self._check_callback(callback)
        if self._clock is not None:
            return ReplacedSession(self._clock, self.task_spec).for_seconds(min_run_time, callback)
        with self._session(baseline) as measuring:
            return measuring.for_seconds(Span(min_run_time, min_run_time), callback)

    def adaptive_autorange(
        self,
        threshold: float = 0.1,
        *,
        min_run_time: float = 0.01,
        max_run_time: float = 10.0,
        callback: Callback | None = None,
        baseline: bool = False,
    ) -> Measurement:
        """Time blocks until their interquartile range is below `threshold` times the median.

        For `min_run_time` seconds at least, and `max_run_time` at most.
        """
        self._check_seconds("threshold", threshold)
        self._check_seconds("min_run_time", min_run_time)
        self._check_seconds("max_run_time", max_run_time)
        self._check_callback(callback)
        if max_run_time < min_run_time:
            raise ArgumentError(
                f"max_run_time ({max_run_time:g} s) must not be below min_run_time ({min_run_time:g} s)"
            )
        if self._clock is not None:
            replaced = ReplacedSession(self._clock, self.task_spec)
            return replaced.until_narrow(threshold, min_run_time, max_run_time, callback)
        with self._session(baseline) as measuring:
            return measuring.until_narrow(threshold, Span(min_run_time, max_run_time), callback)

    def measure(
        self, plan: Plan | str = "default", *, isolation: Isolation = "none", device: str | None = None
    ) -> Measurement:
        """Measure by a plan (a Plan, or the name of a preset), as `opbench run` does.

        An empty loop is subtracted, the set-up runs once, and `row` has all metrics: memory, operations,
        first call. With `isolation` "fork" or "spawn" it happens in a worker; what the statement sees then
        must be made by its set-up, or be plain data in `globals`.
        """
        from opbench.execution.timer_row import row_in_place, row_of_worker

        if self._clock is not None:
            raise OpbenchError("a Timer whose clock was replaced follows no plan: use blocked_autorange")
        if isolation == "none":
            row = row_in_place(self._statement, self._timer, plan, device)
        else:
            row = row_of_worker(self._statement, plan, isolation, device)
        return Measurement.from_row(row, self.task_spec)

    def collect_callgrind(
        self,
        number: int = 100,
        *,
        repeats: int | None = None,
        collect_baseline: bool = True,
        retain_out_file: bool = False,
    ) -> NoReturn:
        """Count instructions. Not there yet: it raises an error that says so."""
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise ArgumentError(f"number must be a whole number of calls from 1 on, not {number!r}")
        if repeats is not None and (not isinstance(repeats, int) or repeats < 1):
            raise ArgumentError(f"repeats must be None or a whole number from 1 on, not {repeats!r}")
        raise OpbenchError(
            "collect_callgrind needs the engine that counts instructions, which this version of opbench does "
            "not have yet; torch.utils.benchmark.Timer has one that takes about a minute for each statement"
        )

    def _session(self, baseline: bool) -> AbstractContextManager[Session]:
        self.compile_all([self])
        if not isinstance(self._prepared, Prepared):
            assert self._prepared is not None
            raise self._prepared
        return session(self._prepared, self.task_spec, self._timer, baseline=baseline)

    def _replaced_clock(self) -> ReplacedClock | None:
        made = type(self)._timer_cls
        if made is None:
            return None
        task = self.task_spec
        if self._statement.language is Language.CPP or self._statement.function is not None:
            raise ArgumentError("stmt must be Python as text where _timer_cls was replaced")
        return made(
            stmt=task.stmt, setup=task.setup, timer=self._timer, globals=dict(self._statement.namespace)
        )

    @staticmethod
    def _check_seconds(name: str, value: Any) -> None:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < float("inf"):
            raise ArgumentError(f"{name} must be a number above 0, not {value!r}")

    @staticmethod
    def _check_callback(callback: Any) -> None:
        if callback is not None and not callable(callback):
            raise ArgumentError(f"callback must be a function or None, not a {type(callback).__name__}")
