"""The compiler's global state: made fresh for a measurement, counted, and put back."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

# Whichever a version of torch has, for the two directions.
_ACCOUNTS = (
    ("_compile.compile_inner", "_compile.<locals>.compile_inner"),
    ("backward._backward_impl", "compile_fx.<locals>.bw_compiler"),
)
_CACHE_VARIABLES = {"TORCHINDUCTOR_CACHE_DIR": "", "TRITON_CACHE_DIR": "triton"}
# What inductor writes to the terminal while it tunes, where a version has it.
_QUIET = {"autotune_num_choices_displayed": 0, "max_autotune_report_choices_stats": False}
_SHOWN_NOTE = 300


class Count(NamedTuple):
    """What torch has compiled so far in this process."""

    graphs: int
    frames: int
    accounted_s: float


def count() -> Count:
    """Read torch's own counters."""
    from torch._dynamo import convert_frame
    from torch._dynamo.utils import compilation_time_metrics, counters

    accounted = 0.0
    for names in _ACCOUNTS:
        name = next((name for name in names if name in compilation_time_metrics), None)
        accounted += sum(compilation_time_metrics[name]) if name else 0.0
    frames = sum(convert_frame.FRAME_COMPILE_COUNTER.values())
    return Count(counters["stats"].get("unique_graphs", 0), frames, accounted)


def recompilations() -> int:
    """How many times something was compiled that had been compiled since the last reset."""
    from torch._dynamo import convert_frame

    return sum(times - 1 for times in convert_frame.FRAME_COMPILE_COUNTER.values())


def graph_breaks() -> tuple[str, ...]:
    """Why graphs ended before their function did, since the last reset."""
    from torch._dynamo.utils import graph_break_reasons

    return tuple(_break(reason) for reason in graph_break_reasons if reason.graph_break)


def _break(reason: Any) -> str:
    text = first_line(reason.reason)
    if not reason.user_stack:
        return text
    frame = reason.user_stack[-1]
    return f"{Path(frame.filename).name}:{frame.lineno}: {text}"


def reset() -> None:
    """Forget all that was compiled in this process, and what inductor remembers of it."""
    import torch._dynamo
    from torch._inductor import utils

    torch._dynamo.reset()
    clear = getattr(utils, "clear_caches", None) or utils.clear_inductor_caches
    clear()


@contextlib.contextmanager
def fresh() -> Iterator[None]:
    """Nothing compiled and nothing cached, in memory or on disk; what is cached inside is lost after."""
    before = {name: os.environ.get(name) for name in _CACHE_VARIABLES}
    with tempfile.TemporaryDirectory(prefix="opbench-compile-", ignore_cleanup_errors=True) as folder:
        reset()
        try:
            for name, inside in _CACHE_VARIABLES.items():
                os.environ[name] = str(Path(folder, inside))
            yield
        finally:
            for name, value in before.items():
                if value is None:
                    os.environ.pop(name, None)
                else:
                    os.environ[name] = value
            # Nothing may refer to files that are gone.
            reset()


@contextlib.contextmanager
def strict() -> Iterator[None]:
    """A compilation that fails says so, instead of going on without; and no tables on the terminal."""
    import torch._dynamo.config
    import torch._inductor.config

    inductor = torch._inductor.config
    quiet = {name: value for name, value in _QUIET.items() if hasattr(inductor, name)}
    with torch._dynamo.config.patch(suppress_errors=False), inductor.patch(quiet):
        yield


@contextlib.contextmanager
def heard() -> Iterator[list[str]]:
    """Collect what torch would warn of on stderr, each once."""
    found: list[str] = []
    ear = _Ear(found)
    handlers = {
        id(handler): handler
        for name, logger in logging.Logger.manager.loggerDict.items()
        if name.partition(".")[0] == "torch" and isinstance(logger, logging.Logger)
        for handler in logger.handlers
    }
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("default")
        for handler in handlers.values():
            handler.addFilter(ear)
        try:
            yield found
        finally:
            for handler in handlers.values():
                handler.removeFilter(ear)
            found += [first_line(str(warning.message)) for warning in caught]
            found[:] = dict.fromkeys(found)


class _Ear(logging.Filter):
    """Takes warnings from a handler; what people asked to see (TORCH_LOGS) stays with it."""

    def __init__(self, found: list[str]) -> None:
        super().__init__()
        self._found = found

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether the handler is to have it."""
        if record.levelno < logging.WARNING:
            return True
        self._found.append(first_line(record.getMessage()))
        return False


def first_line(text: str) -> str:
    """The first line that says something, not too long."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _SHOWN_NOTE else f"{line[:_SHOWN_NOTE]}…"
