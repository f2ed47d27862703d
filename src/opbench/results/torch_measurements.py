"""Measurements of `torch.utils.benchmark`: converted both ways, and read from pickles on request."""

from __future__ import annotations

import copyreg
import io
import pickle
from dataclasses import fields
from pathlib import Path
from typing import Any

from opbench.cases.errors import ArgumentError
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement

_TORCH_FIELDS = tuple(item.name for item in fields(TaskSpec) if item.name != "language")
_HOMES = ("torch.utils.benchmark.utils.common", "torch.utils.benchmark", "utils.common")


class _Foreign:
    """Stands in for a class of torch while a pickle is read: it has attributes, and does nothing."""


class _ForeignMeasurement(_Foreign):
    pass


class _ForeignTask(_Foreign):
    pass


# All that a pickle may name. None of it can be made to do anything.
_ALLOWED: dict[tuple[str, str], Any] = {
    **{(home, "Measurement"): _ForeignMeasurement for home in _HOMES},
    **{(home, "TaskSpec"): _ForeignTask for home in _HOMES},
    # How the oldest protocols make an object of one of these classes; they use the names of Python 2.
    **{(home, "_reconstructor"): vars(copyreg)["_reconstructor"] for home in ("copyreg", "copy_reg")},
    **{
        (home, kind.__name__): kind
        for kind in (set, frozenset, complex, bytearray, object)
        for home in ("builtins", "__builtin__")
    },
}


class _Unpickler(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        found = _ALLOWED.get((module, name))
        if found is None:
            raise pickle.UnpicklingError(f"it names {module}.{name}, which is no part of a measurement")
        return found


def read_torch_pickle(source: str | Path | bytes) -> list[Measurement]:
    """The measurements in a pickle that somebody made of torch's, from a file or from bytes.

    Only torch's Measurement and TaskSpec and plain data are built, and nothing of it runs. It may still have
    been made to take much memory, so read no file this way that somebody may want to harm you with.
    """
    data = source if isinstance(source, bytes) else Path(source).read_bytes()
    try:
        content = _Unpickler(io.BytesIO(data)).load()
    except Exception as error:  # broken pickles raise whatever their bytes lead to
        raise ArgumentError(f"source is no pickle of measurements: {error}") from None
    found = list(_measurements(content))
    if not found:
        raise ArgumentError("source is a pickle without any torch Measurement in it")
    return found


def _measurements(content: Any) -> Any:
    if isinstance(content, _ForeignMeasurement):
        yield from_torch(content)
    elif isinstance(content, dict):
        for item in content.values():
            yield from _measurements(item)
    elif isinstance(content, list | tuple):
        for item in content:
            yield from _measurements(item)


def from_torch(measurement: Any) -> Measurement:
    """The measurement that torch's own Timer gave."""
    state = getattr(measurement, "__dict__", {})
    task = getattr(state.get("task_spec"), "__dict__", None)
    if task is None or not {"number_per_run", "raw_times"} <= set(state):
        raise ArgumentError(f"measurement must be a torch Measurement, not {type(measurement).__name__}")
    known = {name: task[name] for name in _TORCH_FIELDS if name in task}
    for name, value in known.items():
        if not isinstance(value, int if name == "num_threads" else str | None):
            raise ArgumentError(f"measurement.task_spec.{name} must not be {type(value).__name__}")
    metadata = state.get("metadata")
    if metadata is not None and not isinstance(metadata, dict):
        raise ArgumentError(f"measurement.metadata must be a dict or None, not {type(metadata).__name__}")
    try:
        spec = TaskSpec(**known)
    except TypeError:
        raise ArgumentError("measurement.task_spec has no stmt or no setup") from None
    return Measurement(state["number_per_run"], state["raw_times"], spec, metadata)


def to_torch(measurement: Measurement) -> Any:
    """The same as a `torch.utils.benchmark.Measurement`."""
    from torch.utils import benchmark

    task = measurement.task_spec
    return benchmark.Measurement(
        number_per_run=measurement.number_per_run,
        raw_times=list(measurement.raw_times),
        task_spec=benchmark.TaskSpec(**{name: getattr(task, name) for name in _TORCH_FIELDS}),
        metadata=measurement.metadata,
    )
