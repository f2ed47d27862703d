"""Which arguments of a call are written in place, so that each call can be given fresh ones."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping, Sequence
from typing import Any

from opbench.worker import op_library
from opbench.worker.registry import Operator
from opbench.worker.runtimes.outputs import tensors_in

IN_PLACE_SPECIAL = re.compile(
    r"__(i(add|and|div|floordiv|lshift|mod|mul|or|pow|rshift|sub|truediv|xor)|setitem)__"
)


def mutates_by_name(name: str) -> tuple[int, ...]:
    """What torch's naming says: `add_`, `__iadd__` and `__setitem__` write their first argument."""
    base = name.rpartition(".")[2]
    in_place = base.endswith("_") and not base.endswith("__")
    return (0,) if in_place or IN_PLACE_SPECIAL.fullmatch(base) else ()


def written_arguments(schema: Any) -> tuple[int | str, ...]:
    """Positions and keywords that a schema marks as written."""
    return tuple(
        argument.name if argument.kwarg_only else position
        for position, argument in enumerate(schema.arguments)
        if argument.alias_info is not None and argument.alias_info.is_write
    )


def mutates_by_schema(schemas: Sequence[Any]) -> tuple[int | str, ...]:
    """What every one of these overloads writes. Overloads that only differ by `out=` do not count."""
    written = [set(written_arguments(schema)) for schema in schemas]
    if len(written) > 1:
        written = [arguments for arguments in written if not any(isinstance(key, str) for key in arguments)]
    shared = set.intersection(*written) if written else set()
    return tuple(sorted(shared, key=lambda key: (isinstance(key, str), str(key).zfill(4))))


def parameters_by_schema(schemas: Sequence[Any]) -> tuple[str, ...]:
    """Names of the leading positional parameters that all overloads share."""
    lists = [[a.name for a in schema.arguments if not a.kwarg_only] for schema in schemas]
    shared: list[str] = []
    for names in zip(*lists, strict=False):
        if len(set(names)) > 1:
            break
        shared.append(names[0])
    return tuple(shared)


def mutated(
    operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any], built: object = None
) -> tuple[int | str, ...]:
    """The positions and keywords that one call writes. `built` is the module, for kind "module".

    Running statistics (`batch_norm`) and gradients are written too, but no call reads other numbers for
    it that would change its time; they are left alone.
    """
    if operator.kind == "module":
        in_place = getattr(built, "inplace", False) is True
        return _present([*operator.mutates, *([0] if in_place else [])], operator, args, kwargs)
    written: list[int | str] = list(operator.mutates)
    if operator.kind == "function":
        written += [
            name for name in kwargs if kwargs[name] is not None and name in _output_keywords(operator)
        ]
        if _argument(operator, "inplace", args, kwargs) is True:
            written.append(0)
        # Rows that are looked up are scaled down to this norm, in the table itself.
        if _argument(operator, "max_norm", args, kwargs) is not None and "weight" in operator.parameters:
            written.append(operator.parameters.index("weight"))
    return _present(written, operator, args, kwargs)


def versions(args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[int | str, list[int]]:
    """How often each argument has been written to, as torch counts it for each tensor in it."""
    places: dict[int | str, Any] = dict(enumerate(args))
    places.update(kwargs)
    counts: dict[int | str, list[int]] = {}
    for place, value in places.items():
        counts[place] = []
        for _, tensor in tensors_in(value):
            # Inference tensors have no count.
            with contextlib.suppress(RuntimeError):
                counts[place].append(tensor._version)
    return counts


def _argument(operator: Operator, name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    if name in kwargs:
        return kwargs[name]
    position = operator.parameters.index(name) if name in operator.parameters else len(args)
    return args[position] if position < len(args) else None


def _output_keywords(operator: Operator) -> set[str]:
    schemas = op_library.schemas_of(operator.function)
    return {"out"} | {key for schema in schemas for key in written_arguments(schema) if isinstance(key, str)}


def _present(
    written: Sequence[int | str], operator: Operator, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[int | str, ...]:
    """Each written argument once, by the way the call passes it; those it does not pass are left out."""
    kept: dict[int | str, None] = {}
    for key in written:
        if isinstance(key, str):
            position = operator.parameters.index(key) if key in operator.parameters else len(args)
            if key in kwargs or position < len(args):
                kept[key if key in kwargs else position] = None
        elif key < len(args):
            kept[key] = None
        else:
            # torch's Python bindings call the first argument `input` where its schemas say `self`.
            names = [*operator.parameters[key : key + 1], *(["input", "self"] if key == 0 else [])]
            kept.update((name, None) for name in names[:] if name in kwargs)
    return tuple(kept)
