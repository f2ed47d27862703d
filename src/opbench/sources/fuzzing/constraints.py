"""Constraints of a user: functions of the parameters that say whether an item is wanted."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any, TypeAlias

from opbench.cases.errors import ArgumentError

Check: TypeAlias = Callable[[Mapping[str, Any]], Any]

_POSITIONAL = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def checked_constraints(given: Iterable[Any] | None, names: Collection[str]) -> tuple[Check, ...]:
    """Functions of the dictionary of all parameters, made of what a user gave."""
    if given is None:
        return ()
    if callable(given) or not isinstance(given, Iterable):
        raise ArgumentError(f"constraints must be a list of functions, not {given!r}")
    return tuple(_check(function, index, names) for index, function in enumerate(given))


def _check(function: Any, index: int, names: Collection[str]) -> Check:
    if not callable(function):
        raise ArgumentError(f"constraints[{index}] must be a function, not {function!r}")
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # Some functions in C tell nothing of themselves.
        return _as_dictionary(function)
    by_keyword = [
        item
        for item in parameters
        if item.kind in (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
    ]
    wanted = [item.name for item in by_keyword if item.name in names]
    required = [item.name for item in parameters if _is_required(item)]
    takes_any = any(item.kind is inspect.Parameter.VAR_KEYWORD for item in parameters)
    if (wanted or takes_any) and all(name in wanted for name in required):
        return _as_keywords(function, None if takes_any else tuple(wanted))
    positional = [item for item in parameters if item.kind in _POSITIONAL]
    takes_one = positional or any(item.kind is inspect.Parameter.VAR_POSITIONAL for item in parameters)
    if takes_one and required in ([], [positional[0].name] if positional else []):
        return _as_dictionary(function)
    strangers = ", ".join(name for name in required if name not in names) or "nothing"
    raise ArgumentError(
        f"constraints[{index}] must take one dictionary of parameters, or parameters by name; it takes"
        f" {strangers}, and there are {', '.join(names)}"
    )


def _is_required(item: inspect.Parameter) -> bool:
    star = item.kind in (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return item.default is inspect.Parameter.empty and not star


def _as_dictionary(function: Callable[..., Any]) -> Check:
    return lambda params: function(dict(params))


def _as_keywords(function: Callable[..., Any], names: tuple[str, ...] | None) -> Check:
    if names is None:
        return lambda params: function(**params)
    return lambda params: function(**{name: params[name] for name in names})
