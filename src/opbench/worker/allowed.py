"""Names under prefixes that the user allowed: imported, then looked up, and never outside the prefix."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import inspect
import types
from collections.abc import Sequence
from typing import Any

from opbench.worker import mutation
from opbench.worker.errors import Unsupported
from opbench.worker.refused_names import kind_of
from opbench.worker.registry import Operator, is_module_class, parameters_by_signature

DEFINED = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


def is_allowed(name: str, allow: Sequence[str]) -> bool:
    """Whether one of the prefixes is the name or leads to it."""
    return any(name == prefix or name.startswith(f"{prefix}.") for prefix in allow)


def resolve_allowed(name: str, allow: Sequence[str]) -> Operator:
    """Import the longest module that begins the name and look the rest up in it.

    A module that is allowed does not lend its imports (`my.os.system`): modules on the way must be
    under an allowed prefix, functions and classes must be defined in a package that has one.
    """
    parts = name.split(".")
    if any(part.startswith("__") for part in parts):
        raise Unsupported(f"{name}: names with double underscores lead out of what is allowed")
    found, depth = _import_longest(name, parts)
    for part in parts[depth:]:
        holder, depth = found, depth + 1
        if not isinstance(holder, (types.ModuleType, type)):
            raise Unsupported(f"{name}: {'.'.join(parts[: depth - 1])} is neither a module nor a class")
        found = _attribute(name, holder, part, ".".join(parts[:depth]))
        _check_home(name, found, ".".join(parts[:depth]), allow)
    return _operator(name, found)


def _import_longest(name: str, parts: list[str]) -> tuple[types.ModuleType, int]:
    """The module and how many parts of the name it takes."""
    try:
        module = importlib.import_module(parts[0])
        for depth in range(1, len(parts)):
            path = ".".join(parts[: depth + 1])
            if not hasattr(module, "__path__") or not _is_submodule(path, module):
                return module, depth
            module = importlib.import_module(path)
    except ModuleNotFoundError as error:
        if error.name == parts[0]:
            raise Unsupported(f"{name}: there is no module {parts[0]!r} in this environment") from None
        raise Unsupported(f"{name} cannot be imported: {error}") from None
    except (Exception, SystemExit) as error:
        raise Unsupported(f"{name} cannot be imported: {type(error).__name__}: {error}") from None
    return module, len(parts)


def _is_submodule(path: str, package: types.ModuleType) -> bool:
    """A package may export a function under the name of the module it is in: then the function is meant."""
    exported = vars(package).get(path.rpartition(".")[2])
    if exported is not None and not isinstance(exported, types.ModuleType):
        return False
    return importlib.util.find_spec(path) is not None


def _attribute(name: str, holder: Any, part: str, path: str) -> Any:
    try:
        found = inspect.getattr_static(holder, part) if inspect.isclass(holder) else getattr(holder, part)
    except AttributeError:
        near = difflib.get_close_matches(part, dir(holder), n=1)
        hint = f"; did you mean {path.rpartition('.')[0]}.{near[0]}?" if near else ""
        raise Unsupported(f"no operator is called {name!r}: there is no {path}{hint}") from None
    return found.__func__ if isinstance(found, (staticmethod, classmethod)) else found


def _check_home(name: str, found: Any, path: str, allow: Sequence[str]) -> None:
    if isinstance(found, types.ModuleType):
        home: str | None = found.__name__
        fine = is_allowed(found.__name__, allow)
    else:
        home = getattr(found, "__module__", None) if isinstance(found, DEFINED) else None
        tops = {prefix.partition(".")[0] for prefix in allow}
        fine = not isinstance(home, str) or home.partition(".")[0] in tops
    if not fine:
        raise Unsupported(
            f"{name}: {path} is defined in {home}, which is not allowed (it would be with --allow {home})"
        )


def _operator(name: str, found: Any) -> Operator:
    if is_module_class(found):
        return Operator(name, "module", found, parameters=parameters_by_signature(found))
    if inspect.isclass(found) or not callable(found):
        reason = "it is a class, and not an nn.Module" if inspect.isclass(found) else kind_of(found)
        raise Unsupported(f"{name} exists but is not an operator: {reason}")
    parameters = parameters_by_signature(found)
    return Operator(name, "function", found, mutates=mutation.mutates_by_name(name), parameters=parameters)
