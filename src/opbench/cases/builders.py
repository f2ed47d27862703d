"""Cases from Python: `call("torch.mm", tensor(64, 64), tensor(64, 64))`, checked like documents."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from opbench.cases.arguments import parse_argument
from opbench.cases.check import check_case
from opbench.cases.check_fields import INVALID
from opbench.cases.check_values import value
from opbench.cases.collect import Place, Problems
from opbench.cases.errors import UsageError
from opbench.cases.model import Case
from opbench.cases.values import AnyValue, Tensor

__all__ = ["call", "parse_argument", "snippet", "tensor"]

# Objects of torch that stand for themselves, by the name of their class: torch itself is not imported here.
_TORCH_OBJECTS = {"dtype": "dtype", "layout": "layout", "memory_format": "memory_format", "device": "device"}


def tensor(*shape: int | Sequence[int], dtype: Any = "float32", fill: Any = None, **fields: Any) -> Tensor:
    """A tensor to be built: `tensor(64, 64)`, `tensor(100, dtype="int64", fill="permutation")`.

    Further fields are those of the value: strides, memory_format, requires_grad, layout, ...
    """
    sizes = shape[0] if len(shape) == 1 and isinstance(shape[0], Sequence) else shape
    document = {"type": "tensor", "shape": list(sizes), "dtype": str(dtype)}
    if fill is not None:
        document["fill"] = fill
    problems = Problems()
    checked = value(_plain(document | fields), "", problems)
    problems.raise_any()
    made: Tensor = checked
    return made


def call(
    op: str,
    *args: Any,
    kwargs: Mapping[str, Any] | None = None,
    build: Sequence[Any] | Mapping[str, Any] | None = None,
    folder: str | None = None,
    **fields: Any,
) -> Case:
    """The call of an operator. Arguments are values, or what Python has for them: numbers, text, lists, None.

    `build` are the arguments of the constructor of a module class: a list, or an object of args and kwargs.
    Further fields are those of a case: direction, runtime, device, num_threads, seed, label, tags, ...
    """
    document: dict[str, Any] = {
        "op": op,
        "args": [as_document(item, ("args", i)) for i, item in enumerate(args)],
    }
    if kwargs:
        document["kwargs"] = _documents(kwargs, "kwargs")
    if isinstance(build, Mapping):
        parts = {name: build[name] for name in build}
        if isinstance(parts.get("args"), (list, tuple)):
            parts["args"] = [as_document(item, "build.args") for item in parts["args"]]
        if isinstance(parts.get("kwargs"), Mapping):
            parts["kwargs"] = _documents(parts["kwargs"], "build.kwargs")
        document["build"] = parts
    elif build is not None:
        document["build"] = [as_document(item, "build.args") for item in build]
    return check_case(document | _plain(fields), folder=folder)


def snippet(
    stmt: str, *, setup: str = "", global_setup: str = "", language: str = "python", **fields: Any
) -> Case:
    """A piece of code. It is trusted: who writes it here has code running already."""
    document = {"stmt": stmt, "setup": setup, "global_setup": global_setup, "language": language}
    return check_case(document | _plain(fields), allow_snippets=True)


def checked_value(document: Any, place: Place = "") -> AnyValue:
    """The value that plain JSON data describes; DocumentError with all that is wrong."""
    problems = Problems()
    checked = value(document, place, problems)
    problems.raise_any()
    assert checked is not INVALID
    made: AnyValue = checked
    return made


def as_document(item: Any, place: Place = "argument") -> Any:
    """The JSON data of an argument given as a Value or as a Python object."""
    if isinstance(item, msgspec.Struct):
        return _plain(item)
    if item is None or type(item) in (bool, int, float, str):
        return item
    if type(item) is list:
        return [as_document(part, (place, index)) for index, part in enumerate(item)]
    if type(item) is tuple:
        return {"type": "tuple", "value": [as_document(part, (place, i)) for i, part in enumerate(item)]}
    if isinstance(item, dict):
        # A document of a value stays what it is.
        if isinstance(item.get("type"), str):
            return _plain(item)
        return {"type": "dict", "value": _documents(item, place)}
    if type(item) is complex:
        return {"type": "complex", "real": item.real, "imag": item.imag}
    if item is ...:
        return {"type": "ellipsis"}
    if isinstance(item, slice):
        return {"type": "slice", "start": item.start, "stop": item.stop, "step": item.step}
    kind = type(item)
    if kind.__module__ == "torch" and kind.__name__ in _TORCH_OBJECTS:
        return {"type": _TORCH_OBJECTS[kind.__name__], "value": str(item)}
    hint = "; describe it with tensor(*shape, dtype=...)" if kind.__name__ in ("Tensor", "ndarray") else ""
    from opbench.cases.collect import path_text

    raise UsageError(f"{path_text(place)}: a case cannot hold a {kind.__module__}.{kind.__qualname__}{hint}")


def _documents(items: Mapping[Any, Any], place: Place) -> dict[Any, Any]:
    return {name: as_document(item, (place, str(name))) for name, item in items.items()}


def _plain(document: Any) -> Any:
    """The same with lists for tuples and objects for structs, as JSON would have it."""
    if isinstance(document, msgspec.Struct):
        return _plain(msgspec.to_builtins(document))
    if isinstance(document, dict):
        return {name: _plain(item) for name, item in document.items()}
    if isinstance(document, (list, tuple)):
        return [_plain(item) for item in document]
    return document
