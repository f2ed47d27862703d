"""From the name of an operator to something that can be called. No evaluation, no open attribute lookup."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import sys
from collections.abc import Sequence
from types import FunctionType

from opbench.worker import mutation, op_library, refused_names, torch_names
from opbench.worker.allowed import is_allowed, resolve_allowed
from opbench.worker.errors import Unsupported
from opbench.worker.mutation import mutated
from opbench.worker.near_names import did_you_mean, same_elsewhere
from opbench.worker.registry import NAME, Operator, parameters_by_signature, problems, registered

__all__ = ["Operator", "mutated", "operator_names", "resolve"]

OPS = "torch.ops."
LONGEST_NAME = 300


def resolve(name: str, allow: Sequence[str] = ()) -> Operator:
    """The operator of this canonical name, or Unsupported with what is wrong and which names are near.

    `allow` holds dotted prefixes (packages, modules) that names may be imported from. Prefixes in torch
    allow nothing: what is refused there is refused for every suite.
    """
    if not isinstance(name, str) or len(name) > LONGEST_NAME or not NAME.fullmatch(name):
        shown = name if isinstance(name, str) and len(name) <= LONGEST_NAME else f"{str(name)[:60]}..."
        raise Unsupported(
            f"{shown!r} is not the name of an operator: names are dotted identifiers like torch.mm"
        )
    own = registered().get(name)
    if own is not None:
        return own
    if name.startswith("torch."):
        found = _resolve_torch(name)
        if found is not None:
            return found
    elif is_allowed(name, allow):
        return resolve_allowed(name, allow)
    raise Unsupported(_unknown(name))


def operator_names() -> dict[str, list[str]]:
    """Namespace (of torch, of an operator library, or "registered") -> full names of its operators."""
    names = dict(_torch_names())
    names["registered"] = sorted(registered())
    return names


@functools.cache
def _torch_names() -> dict[str, list[str]]:
    if importlib.util.find_spec("torch") is None:
        return {}
    names = {
        namespace: torch_names.names_of(namespace)
        for namespace in torch_names.NAMESPACES
        if namespace not in torch_names.ASIDE
    }
    names.update((f"{OPS}{library}", found) for library, found in op_library.libraries().items())
    return names


def _resolve_torch(name: str) -> Operator | None:
    """An operator of torch's own; None when there is no such name."""
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise Unsupported(f"{name}: torch cannot be imported in this environment ({error})") from None
    if name.startswith(OPS):
        return _resolve_op(name)
    namespace, base = torch_names.namespace_of(name)
    if not namespace:
        return None
    found = torch_names.find(namespace, base)
    if found is None:
        return None
    reason = torch_names.refusal(namespace, base, found)
    if reason:
        raise Unsupported(
            f"{name} exists but is not an operator: {reason}{same_elsewhere(name, operator_names())}"
        )
    function = torch_names.callable_of(namespace, base, found)
    if isinstance(function, type):
        return Operator(name, "module", function, parameters=parameters_by_signature(function))
    schemas = op_library.schemas_of(found)
    prefix = torch_names.NAMESPACES[namespace]
    # A Python function may order its arguments in another way than the dispatcher's operator of its name.
    in_python = isinstance(function, FunctionType)
    if not schemas and prefix is not None and not in_python:
        schemas = op_library.schemas_named(f"aten::{prefix}{base}")
    parameters = parameters_by_signature(function) if in_python else mutation.parameters_by_schema(schemas)
    return Operator(
        name,
        "function",
        function,
        mutates=mutation.mutates_by_schema(schemas) or mutation.mutates_by_name(name),
        parameters=parameters,
    )


def _resolve_op(name: str) -> Operator | None:
    library, _, rest = name[len(OPS) :].partition(".")
    base, _, overload = rest.partition(".")
    found = op_library.find(library, base) if base and "." not in overload else None
    if found is None:
        return None
    if overload:
        packet, found = found, op_library.find(library, base, overload)
        if found is None:
            overloads = op_library.overloads_of(packet)
            near = difflib.get_close_matches(overload, overloads, n=1)
            raise Unsupported(
                f"torch.ops.{library}.{base} has no overload {overload!r}; it has {', '.join(overloads)}"
                + (f"; did you mean torch.ops.{library}.{base}.{near[0]}?" if near else "")
            )
    schemas = op_library.schemas_of(found)
    reason = op_library.refusal(library, base, schemas)
    if reason:
        raise Unsupported(f"{name} exists but is not an operator: {reason}")
    return Operator(
        name,
        "function",
        found,
        mutates=mutation.mutates_by_schema(schemas),
        parameters=mutation.parameters_by_schema(schemas),
    )


def _unknown(name: str) -> str:
    known = operator_names()
    text = f"no operator is called {name!r}"
    if name.startswith("torch.") and not name.startswith(OPS):
        part = refused_names.part_without_operators(name, torch_names.NAMESPACES)
        if part:
            return f"{text}: {part}{same_elsewhere(name, known)}"
    if name.startswith(OPS):
        library = name[len(OPS) :].partition(".")[0]
        if library in op_library.REFUSED_LIBRARIES:
            return f"{text}: torch.ops.{library} holds no operators: {op_library.REFUSED_LIBRARIES[library]}"
        if not name[len(OPS) :].partition(".")[2] and f"{OPS}{library}" in known:
            text += f": it is a library of operators, which are called {OPS}{library}.NAME"
        elif f"{OPS}{library}" not in known:
            loaded = ", ".join(key[len(OPS) :] for key in known if key.startswith(OPS))
            text += f": no operator library {library!r} is loaded (there are {loaded})"
    near = did_you_mean(name, known)
    if name.startswith("torch.") and not near and text.endswith("'"):
        text += f" in torch {sys.modules['torch'].__version__}"
    text += near
    if not name.startswith("torch."):
        text += "; a name of your own is registered with @opbench.operator or allowed by its prefix (--allow)"
    return "; ".join([text, *problems()])
