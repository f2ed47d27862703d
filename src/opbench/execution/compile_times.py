"""Compile time and steady-state time of `torch.compile`, by backend and mode."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opbench.cases.errors import ArgumentError
from opbench.cases.suggest import nearest
from opbench.execution.compile_measure import Backend, Effort, eager, record
from opbench.execution.compile_record import CompileRecord
from opbench.execution.compile_step import Step
from opbench.execution.compile_table import table

__all__ = ["CompileRecord", "bench_all", "benchmark_compile", "compile_times", "table"]

# The only one of torch's backends that has modes.
_WITH_MODES = "inductor"
_DEFAULT_MODE = "default"
_MIN_RUN_TIME_S = 0.2


def compile_times(
    model: Callable[..., Any],
    *inputs: Any,
    backends: Sequence[str | Callable[..., Any]] | None = None,
    modes: Sequence[str] | None = None,
    optimizer: Any = None,
    loss_fn: Callable[[Any], Any] | None = None,
    num_iters: int = 5,
    min_run_time: float = _MIN_RUN_TIME_S,
    num_threads: int | None = None,
    warm: bool = True,
) -> list[CompileRecord]:
    """What compiling `model(*inputs)` costs and gains with each backend, in each mode of `inductor`.

    None stands for all backends and modes that torch lists. With an `optimizer`, a call is a step of
    training: forward, `loss_fn(output)` or the output's sum, backward, step. Every row starts with nothing
    compiled or cached; steady calls and calls of the model as it is take turns, at least `num_iters` of each
    and for `min_run_time` seconds. What compiled functions the process had will be compiled anew.
    """
    step = _step(model, inputs, optimizer, loss_fn)
    effort = _effort(num_iters, min_run_time, num_threads, warm)
    chosen = list(_backends(backends, modes))
    _rehearse(step)
    return [record(step, backend, effort) for backend in chosen]


def benchmark_compile(
    model: Callable[..., Any],
    sample_input: Any,
    num_iters: int = 5,
    backend: str | Callable[..., Any] | None = None,
    mode: str | None = _DEFAULT_MODE,
    optimizer: Any = None,
    loss_fn: Callable[[Any], Any] | None = None,
) -> tuple[float | None, float | None]:
    """Milliseconds that compiling takes, and that a steady call takes (the median).

    Without a backend nothing is compiled, and the first is None. Where compiling fails, both are, and a
    RuntimeWarning says why. The first compilation of a process pays for starting the compiler;
    `compile_times` tells the two apart.
    """
    step = _step(model, (sample_input,), optimizer, loss_fn)
    effort = _effort(num_iters, _MIN_RUN_TIME_S, None, warm=False, start_up=False)
    chosen = None if backend is None else _backend(backend, mode)
    _rehearse(step)
    if chosen is None:
        return None, eager(step, effort).median * 1e3
    found = record(step, chosen, effort)
    if found.steady is None or found.compile_s is None:
        text = (
            f"backend {found.backend!r} was not measured ({found.status.replace('_', ' ')}): {found.reason}"
        )
        warnings.warn(text, RuntimeWarning, stacklevel=2)
        return None, None
    return found.compile_s * 1e3, found.steady.median * 1e3


def bench_all(
    model: Callable[..., Any],
    sample_input: Any,
    num_iters: int = 5,
    optimizer: Any = None,
    loss_fn: Callable[[Any], Any] | None = None,
) -> str:
    """A table, as Markdown, of all backends and modes that torch lists, the model as it is first.

    A backend that is not to be had is a row with the reason.
    """
    step = _step(model, (sample_input,), optimizer, loss_fn)
    effort = _effort(num_iters, _MIN_RUN_TIME_S, None, warm=False)
    chosen = list(_backends(None, None))
    _rehearse(step)
    as_it_is = eager(step, effort)
    return table([record(step, backend, effort) for backend in chosen], as_it_is)


def _rehearse(step: Step) -> None:
    """Call the model as it is: what is wrong with it, its author wants to know as it is raised."""
    with step.undone():
        if step.training:
            loss = step.loss(step.model)
            if getattr(loss, "numel", int)() != 1:
                raise ArgumentError(f"loss_fn must give a tensor with a single number, not {_kind(loss)}")
        step.once(step.model)


def _step(model: Any, inputs: tuple[Any, ...], optimizer: Any, loss_fn: Any) -> Step:
    import torch

    if not callable(model):
        raise ArgumentError(f"model must be a module or a function, not {_kind(model)}")
    if hasattr(model, "_orig_mod") or hasattr(model, "_torchdynamo_orig_callable"):
        raise ArgumentError("model is compiled already: give what torch.compile was given")
    if optimizer is not None and not isinstance(optimizer, torch.optim.Optimizer):
        raise ArgumentError(f"optimizer must be a torch.optim.Optimizer, not {_kind(optimizer)}")
    if loss_fn is not None and not callable(loss_fn):
        raise ArgumentError(f"loss_fn must be a function of the output, not {_kind(loss_fn)}")
    if loss_fn is not None and optimizer is None:
        raise ArgumentError("loss_fn is for training, which needs an optimizer too")
    return Step(model, inputs, optimizer, loss_fn)


def _effort(num_iters: Any, min_run_time: Any, num_threads: Any, warm: bool, start_up: bool = True) -> Effort:
    import torch

    if isinstance(num_iters, bool) or not isinstance(num_iters, int) or num_iters < 1:
        raise ArgumentError(f"num_iters must be a whole number of calls from 1 on, not {num_iters!r}")
    if isinstance(min_run_time, bool) or not isinstance(min_run_time, (int, float)):
        raise ArgumentError(f"min_run_time must be a number of seconds, not {min_run_time!r}")
    if not 0 < min_run_time < float("inf"):
        raise ArgumentError(f"min_run_time must be above 0 s, not {min_run_time!r}")
    if num_threads is None:
        num_threads = torch.get_num_threads()
    elif isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
        raise ArgumentError(f"num_threads must be None or a whole number from 1 on, not {num_threads!r}")
    return Effort(num_iters, min_run_time, num_threads, bool(warm), start_up)


def _backends(given: Any, modes: Any) -> Iterator[Backend]:
    import torch._dynamo

    if isinstance(given, str) or not isinstance(given, Sequence | None):
        raise ArgumentError(f"backends must be None or a list of names and functions, not {given!r}")
    if isinstance(modes, str) or not isinstance(modes, Sequence | None):
        raise ArgumentError(f"modes must be None or a list of names, not {modes!r}")
    every = _modes()
    wanted = every if modes is None else [_checked(mode, every, "modes") for mode in modes]
    for backend in torch._dynamo.list_backends() if given is None else given:
        if backend == _WITH_MODES:
            yield from (Backend(backend, mode) for mode in wanted)
        else:
            yield _backend(backend, None, "backends")


def _backend(backend: Any, mode: Any, argument: str = "backend") -> Backend:
    import torch._dynamo

    if not isinstance(backend, str):
        if not callable(backend):
            raise ArgumentError(f"{argument} must be the name of one or a function, not {_kind(backend)}")
        return Backend(backend, None if mode == _DEFAULT_MODE else mode)
    usual, every = torch._dynamo.list_backends(), torch._dynamo.list_backends(exclude_tags=None)
    _checked(backend, every, argument, shown=usual)
    if mode is not None:
        _checked(mode, _modes(), "mode")
    if backend == _WITH_MODES:
        return Backend(backend, mode or _DEFAULT_MODE)
    if mode not in (None, _DEFAULT_MODE):
        raise ArgumentError(f"mode must be left out with backend={backend!r}: only {_WITH_MODES} has modes")
    return Backend(backend)


def _modes() -> list[str]:
    import torch._inductor

    return list(torch._inductor.list_mode_options())


def _checked(name: Any, known: Sequence[str], argument: str, shown: Sequence[str] = ()) -> str:
    if name in known:
        return str(name)
    near = nearest(name, known) if isinstance(name, str) else ""
    hint = f"; did you mean {near}?" if near else ""
    raise ArgumentError(f"{argument} must be among {', '.join(shown or known)}, not {name!r}{hint}")


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"
