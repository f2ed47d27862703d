"""Operators of torch's dispatcher: `torch.ops.aten.add`, `torch.ops.aten.add.Tensor`, other libraries."""

from __future__ import annotations

import functools
import importlib
import re
from collections.abc import Iterable
from typing import Any

_COMMUNICATES = "it communicates with other processes, and a case runs in one"
# What the interpreter of TorchScript, the profiler and remote calls use among themselves.
REFUSED_LIBRARIES: dict[str, str] = {
    "prim": "it belongs to the interpreter of TorchScript",
    "profiler": "it belongs to the profiler",
    "debug_mode_ops": "it belongs to a debugger",
    "debugprims": "it reads files",
    "export": "it reads attributes of Python objects",
    "higher_order": "it takes a Python function, which a case cannot carry",
    "c10d": _COMMUNICATES,
    "_c10d_functional": _COMMUNICATES,
    "_c10d_functional_autograd": _COMMUNICATES,
    "_dtensor": _COMMUNICATES,
    "symm_mem": _COMMUNICATES,
}
REFUSED: dict[str, str] = {
    "aten.save": "it reads or writes files",
    "aten.from_file": "it reads or writes files",
}
# A library that reads or writes files says so in the names of its text arguments.
FILE_ARGUMENT = re.compile(r"(^|_)(file|filename|filepath|path|uri|url|dir|directory|folder)(_|$)")
# Objects of other kinds than values have: a packed weight, a stream, the answer of another process.
OBJECT_TYPE = re.compile(
    r"__torch__[\w.]*?(?P<script>\w+)\b(?!\.)|\b(?:Stream|Storage|RRef|Future|Await|AnyEnumType|AnyClassType)\b"
)
TENSOR = re.compile(r"\bTensor\b")


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


def refusal(library: str, name: str, schemas: Iterable[Any]) -> str:
    """Why an operator of a library with these schemas may not be measured; empty when it may."""
    reason = REFUSED_LIBRARIES.get(library) or REFUSED.get(f"{library}.{name}", "")
    if reason:
        return reason
    reasons = [_refuse_schema(schema) for schema in schemas]
    dangerous = next((reason for reason in reasons if reason.endswith(_NAMES_A_FILE)), "")
    # One overload that can be called will do; one that names a file will not do for any.
    return dangerous or (reasons[0] if reasons and all(reasons) else "")


_NAMES_A_FILE = "names a file"


def _refuse_schema(schema: Any) -> str:
    text = str(schema)
    for argument in schema.arguments if "str" in text else ():
        if "str" in str(argument.type) and FILE_ARGUMENT.search(argument.name):
            return f"its argument {argument.name!r} {_NAMES_A_FILE}"
    if not TENSOR.search(text):
        return "it neither takes nor gives a tensor"
    for argument in schema.arguments if OBJECT_TYPE.search(text) else ():
        kind = str(argument.type)
        found = OBJECT_TYPE.search(kind)
        if found and not kind.startswith("Optional") and not argument.has_default_value():
            return (
                f"its argument {argument.name!r} is an object ({found['script'] or found[0]}) that a case"
                " cannot carry; register a function that makes one in its setup with @opbench.operator"
            )
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
    names: dict[str, set[str]] = {}
    for schema in torch._C._jit_get_all_schemas():
        library, _, name = schema.name.partition("::")
        if not refusal(library, name, [schema]):
            overload = schema.overload_name or "default"
            names.setdefault(library, set()).add(f"torch.ops.{library}.{name}.{overload}")
    return {library: sorted(names[library]) for library in sorted(names)}


def _attribute(holder: Any, name: str, kind: type) -> Any:
    """An attribute that exists and is of this kind: these holders make up attributes as they are asked."""
    try:
        found = getattr(holder, name)
    except (AttributeError, RuntimeError):
        return None
    return found if isinstance(found, kind) else None
