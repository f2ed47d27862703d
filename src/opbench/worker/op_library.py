"""Operators of torch's dispatcher: `torch.ops.aten.add`, `torch.ops.aten.add.Tensor`, other libraries."""

from __future__ import annotations

import functools
import importlib
import re
from typing import Any

# What the interpreter of TorchScript, the profiler and remote calls use among themselves.
REFUSED_LIBRARIES: dict[str, str] = {
    "prim": "it belongs to the interpreter of TorchScript",
    "profiler": "it belongs to the profiler",
    "debugprims": "it reads files",
    "higher_order": "it takes a Python function, which a case cannot carry",
}
REFUSED: dict[str, str] = {
    "aten.save": "it reads or writes files",
    "aten.from_file": "it reads or writes files",
}
# A library that reads or writes files says so in the names of its text arguments.
FILE_ARGUMENT = re.compile(r"(^|_)(file|filename|filepath|path|uri|url|dir|directory|folder)(_|$)")


def find(library: str, name: str, overload: str = "") -> Any:
    """The packet, or one overload of it; None if there is none."""
    torch = importlib.import_module("torch")
    operators = importlib.import_module("torch._ops")
    packet = _attribute(
        _attribute(torch.ops, library, operators._OpNamespace), name, operators.OpOverloadPacket
    )
    if packet is None or not overload:
        return packet
    return _attribute(packet, overload, operators.OpOverload)


def refusal(library: str, name: str, found: Any) -> str:
    """Why an operator of a library may not be measured; empty when it may."""
    reason = REFUSED_LIBRARIES.get(library) or REFUSED.get(f"{library}.{name}", "")
    if reason:
        return reason
    for schema in schemas_of(found):
        for argument in schema.arguments:
            if "str" in str(argument.type) and FILE_ARGUMENT.search(argument.name):
                return f"its argument {argument.name!r} names a file"
    return ""


def overloads_of(packet: Any) -> list[str]:
    """The names of a packet's overloads; the unnamed one is `default`."""
    return [str(name) for name in packet.overloads()]


def schemas_of(found: Any) -> list[Any]:
    """The schemas of an overload (one) or a packet (all that concern tensors, where any does)."""
    schema = getattr(found, "_schema", None)
    if schema is not None:
        return [schema]
    qualified = getattr(found, "_qualified_op_name", "")
    schemas = schemas_named(qualified) if qualified else []
    # `aten::add` is also what TorchScript calls the sum of two strings.
    return [schema for schema in schemas if "Tensor" in str(schema)] or schemas


def schemas_named(qualified: str) -> list[Any]:
    """All schemas of `library::name`."""
    torch = importlib.import_module("torch")
    return list(torch._C._jit_get_schemas_for_operator(qualified))


@functools.cache
def libraries() -> dict[str, list[str]]:
    """Library -> the full names of its overloads, sorted. Refused ones are left out."""
    torch = importlib.import_module("torch")
    names: dict[str, list[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        library, _, name = schema.name.partition("::")
        if library in REFUSED_LIBRARIES or f"{library}.{name}" in REFUSED:
            continue
        names.setdefault(library, []).append(
            f"torch.ops.{library}.{name}.{schema.overload_name or 'default'}"
        )
    return {library: sorted(set(names[library])) for library in sorted(names)}


def _attribute(holder: Any, name: str, kind: type) -> Any:
    """An attribute that exists and is of this kind: these holders make up attributes as they are asked."""
    try:
        found = getattr(holder, name)
    except (AttributeError, RuntimeError):
        return None
    return found if isinstance(found, kind) else None
