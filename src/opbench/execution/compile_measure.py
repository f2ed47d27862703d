"""Compiles a model with one backend, and measures what that costs and gives."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from opbench.execution import compile_state
from opbench.execution.compile_record import CompileRecord
from opbench.execution.compile_step import Step, compared
from opbench.execution.host_time import timer as now
from opbench.execution.thread_pools import set_torch_threads
from opbench.execution.timer import Timer
from opbench.results.records import Status
from opbench.results.timing import Measurement

# After so many calls without compiling, none is expected any more.
QUIET_CALLS = 2
MOST_CALLS_TO_SETTLE = 12
# Model and compiled model take so many turns; what they have in common says something with 94 % confidence.
TURNS = 5
# Starting a compiler that takes less than this needs no words.
NOTED_START_UP_S = 0.5
_SEEDS = (0, 1)
_OF_SHORT_TURNS = ("few_samples", "not_warm")

# Backends that have compiled something in this process, by device.
_started: set[tuple[str, str]] = set()


@dataclass(frozen=True)
class Backend:
    """What compiles: a name that torch knows or a function, and a mode where there are modes."""

    compiler: str | Callable[..., Any]
    mode: str | None = None

    @property
    def name(self) -> str:
        """What to call it."""
        if isinstance(self.compiler, str):
            return self.compiler
        return str(getattr(self.compiler, "__name__", type(self.compiler).__name__))

    @property
    def words(self) -> str:
        """Name and mode."""
        return self.name if self.mode is None else f"{self.name}, {self.mode}"

    def compiled(self, model: Callable[..., Any]) -> Callable[..., Any]:
        """The model, to be compiled when it is called."""
        import torch

        function: Callable[..., Any] = torch.compile(model, backend=self.compiler, mode=self.mode)
        return function


@dataclass(frozen=True)
class Effort:
    """How much to measure."""

    num_iters: int
    min_run_time: float
    num_threads: int
    warm: bool = True
    # Whether to start the compiler before, with something small, so that the model does not pay for it.
    start_up: bool = True


def record(step: Step, backend: Backend, effort: Effort) -> CompileRecord:
    """The row of one backend. Whatever goes wrong in compiling is its reason."""
    start_up_s = _start_up(backend, step, effort) if effort.start_up else None
    with compile_state.heard() as said, compile_state.strict(), step.undone() as restore:
        try:
            with set_torch_threads(effort.num_threads), compile_state.fresh():
                found = _measured(step, backend, effort, restore)
        except Exception as error:
            status, reason = _failure(error)
            found = {"status": status, "reason": reason}
    notes = (*found.pop("notes", ()), *said)
    if start_up_s is not None and start_up_s >= NOTED_START_UP_S:
        notes = (f"starting the compiler took {start_up_s:.1f} s once, which is not counted", *notes)
    return CompileRecord(
        backend.name, backend.mode, training=step.training, start_up_s=start_up_s, notes=notes, **found
    )


def eager(step: Step, effort: Effort) -> Measurement:
    """The model as it is, by itself."""
    with step.undone(), set_torch_threads(effort.num_threads):
        taken = min(_call(step, step.model) for _ in range(QUIET_CALLS))
        enough_s = max(effort.min_run_time, effort.num_iters * taken)
        return _timer(step, step.model, "eager", effort).blocked_autorange(min_run_time=enough_s)


def _measured(step: Step, backend: Backend, effort: Effort, restore: Callable[[], None]) -> dict[str, Any]:
    compiled = backend.compiled(step.model)
    before = compile_state.count()
    first_s = _call(step, compiled)
    after = compile_state.count()
    breaks = compile_state.graph_breaks()
    if after.graphs == before.graphs:
        return {
            "status": "failed",
            "reason": "nothing was compiled: torch found no graph in it, or is told not to",
        }
    compiling, quiet = _settle(step, compiled)
    compiling = [first_s, *compiling]
    accounted = compile_state.count().accounted_s - before.accounted_s
    notes = []
    if len(quiet) < QUIET_CALLS:
        notes.append(f"it still compiles after {MOST_CALLS_TO_SETTLE} calls: no call is a steady one")
    frames = compile_state.count().frames
    as_it_is, steady, ratios = _in_turns(
        step, compiled, backend.words, effort, min((*quiet, first_s)), restore
    )
    if compile_state.count().frames != frames:
        notes.append("it compiled again while steady calls were measured")
    again = compile_state.recompilations()
    restore()
    expected, others = (_outcome(step, step.model, seed, restore) for seed in _SEEDS)
    agreement = compared(_outcome(step, compiled, _SEEDS[0], restore), expected, others)
    if agreement.note:
        notes.append(agreement.note)
    warm_s = None
    if effort.warm:
        compile_state.reset()
        warm_s = max(0.0, _call(step, backend.compiled(step.model)) - steady.median)
    return {
        "status": "ok",
        "first_call_s": first_s,
        "compile_s": max(0.0, math.fsum(compiling) - len(compiling) * steady.median),
        "warm_compile_s": warm_s,
        "accounted_s": accounted or None,
        "graphs": after.graphs - before.graphs,
        "graph_breaks": breaks,
        "recompilations": again,
        "steady": steady,
        "eager": as_it_is,
        "ratios": ratios,
        "max_abs_difference": agreement.max_abs_difference,
        "agrees": agreement.agrees,
        "notes": notes,
    }


def _call(step: Step, model: Callable[..., Any]) -> float:
    """How many seconds one call takes."""
    started = now()
    step.once(model)
    return now() - started


def _settle(step: Step, compiled: Callable[..., Any]) -> tuple[list[float], list[float]]:
    """Call until nothing is compiled any more: seconds of the calls that did, and of those after them."""
    compiling: list[float] = []
    quiet: list[float] = []
    for _ in range(MOST_CALLS_TO_SETTLE):
        before = compile_state.count()
        taken = _call(step, compiled)
        if compile_state.count() == before:
            quiet.append(taken)
        else:
            compiling += [*quiet, taken]
            quiet = []
        if len(quiet) == QUIET_CALLS:
            break
    return compiling, quiet


def _in_turns(
    step: Step,
    compiled: Callable[..., Any],
    words: str,
    effort: Effort,
    per_call_s: float,
    restore: Callable[[], None],
) -> tuple[Measurement, Measurement, tuple[float, ...]]:
    """The model as it is and the compiled one in turns, so that what changes on the machine changes both.

    The ratio of their medians comes with them, for each turn.
    """
    turn_s = max(effort.min_run_time, effort.num_iters * per_call_s) / TURNS
    pair = [_timer(step, step.model, "eager", effort), _timer(step, compiled, words, effort)]
    found: tuple[list[Measurement], list[Measurement]] = ([], [])
    for turn in range(TURNS):
        for place in (0, 1) if turn % 2 == 0 else (1, 0):
            # Training changes numbers, and some numbers take longer than others.
            restore()
            found[place].append(pair[place].blocked_autorange(min_run_time=turn_s))
    ratios = tuple(before.median / after.median for before, after in zip(*found, strict=True))
    as_it_is, steady = map(_together, found)
    return as_it_is, steady, ratios


def _together(turns: list[Measurement]) -> Measurement:
    """All turns as one, with one warning of each kind; that a turn is short is none."""
    merged = Measurement.merge(turns)[0]
    kinds = {caution.code: caution for caution in merged.cautions if caution.code not in _OF_SHORT_TURNS}
    return replace(merged, cautions=tuple(kinds.values()))


def _timer(step: Step, model: Callable[..., Any], description: str, effort: Effort) -> Timer:
    function, args = step.call(model)
    label = "a step of training" if step.training else "a call of the model"
    return Timer(function, args=args, num_threads=effort.num_threads, label=label, description=description)


def _outcome(step: Step, model: Callable[..., Any], seed: int, restore: Callable[[], None]) -> list[Any]:
    restore()
    found = step.outcome(model, seed)
    restore()
    return found


def _start_up(backend: Backend, step: Step, effort: Effort) -> float | None:
    """Have a named backend compile something small; how long it took, None where it had started before.

    Dynamo starts as well, also for a backend that is a function.
    """
    import torch

    device = step.device
    names = ["eager"] if not isinstance(backend.compiler, str) else ["eager", backend.compiler]
    taken = None
    for name in names:
        if (name, device.type) in _started:
            continue
        _started.add((name, device.type))
        started = now()
        with (
            compile_state.heard(),
            compile_state.strict(),
            set_torch_threads(effort.num_threads),
            compile_state.fresh(),
            torch.inference_mode(False),
            torch.enable_grad(),
            # The model itself will tell of what goes wrong.
            contextlib.suppress(Exception),
        ):
            matrix = torch.ones(8, 8, device=device, requires_grad=True)
            Backend(name).compiled(_small)(matrix).sum().backward()
        taken = (taken or 0.0) + now() - started
    return taken


def _small(matrix: Any) -> Any:
    return (matrix @ matrix).relu().softmax(-1)


def _failure(error: Exception) -> tuple[Status, str]:
    """The status and the reason of a row, in one line."""
    import torch

    inner = getattr(error, "inner_exception", None) or error
    name = type(inner).__name__
    text = compile_state.first_line(str(inner)).removeprefix(f"{name}: ")
    status: Status = "failed"
    if isinstance(inner, torch.OutOfMemoryError if hasattr(torch, "OutOfMemoryError") else MemoryError):
        status = "out_of_memory"
    elif isinstance(inner, ImportError) or name == "InvalidCxxCompiler":
        status = "unsupported"
    return status, f"{name}: {text}" if text else name
