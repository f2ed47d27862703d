"""Operators of the user's own: register a function or an `nn.Module` class under a name.

    @opbench.operator("my.scale", flops=lambda x: x.numel())
    def scale(x):
        return x * 2

This module imports no framework, so a file that registers operators is cheap to load.
"""

from __future__ import annotations

import inspect
import math
import random
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, TypeVar

Kind: TypeAlias = Literal["function", "module", "custom"]
# A number, or a function of the actual arguments that gives one.
Amount: TypeAlias = Callable[..., float] | float
# Called with the arguments of the case; gives new ones (see `operator`).
Hook: TypeAlias = Callable[..., Any]
Registered = TypeVar("Registered", bound=Callable[..., Any])

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)*")
# Names that mean something already. Were they to be had, a file could change what `torch.mm` measures.
TAKEN = frozenset({"torch", "aten", "F", "nn", "Tensor"})


@dataclass(frozen=True)
class Operator:
    """Something that can be called and measured. Of kind "module", `function` is a class to build first.

    `mutates` are the positions and keywords that every call writes in place; `parameters` are the names
    of the leading positional parameters where they are known.
    """

    name: str
    kind: Kind
    function: Callable[..., Any]
    mutates: tuple[int | str, ...] = ()
    parameters: tuple[str, ...] = ()
    setup: Hook | None = None
    fill: Hook | None = None
    bytes: Amount | None = None
    flops: Amount | None = None
    category: str = ""
    tags: tuple[str, ...] = ()


_operators: dict[str, Operator] = {}
_problems: list[str] = []


def operator(
    name: str,
    *,
    setup: Hook | None = None,
    fill: Hook | None = None,
    bytes: Amount | None = None,
    flops: Amount | None = None,
    category: str = "",
    tags: Sequence[str] = (),
    mutates: Sequence[int | str] | int | str = (),
) -> Callable[[Registered], Registered]:
    """Register the decorated function (or `torch.nn.Module` class) as the operator `name`.

    name: dotted identifiers, such as "my.scale"; anything but `torch...`. Each name can be had once.
    fill: `fill(*args, **kwargs)` makes the numbers of the inputs what the operator needs. It is called once
        with the arguments that the case describes, already on their device, and changes them in place
        (returns None) or returns others. It runs before `requires_grad` matters: torch records nothing.
    setup: `setup(*args, **kwargs)` is called once, after `fill` and before anything is measured, with the
        same choice of what to return. It is the place for work that is not to be timed (packing, sorting).
        Both may return a tuple or list (the new positional arguments), a dict (the new keyword arguments),
        or None or one of the arguments (all as they are). Random numbers they draw from `random` or
        torch's default generator follow the case's seed.
    bytes, flops: what one call moves and computes: a number, or a function of the arguments of the call.
    category, tags: how to find and group it.
    mutates: positions and keywords of the arguments that it writes in place, so that each call can be given
        fresh ones.
    """
    _check_name(name)
    for what, hook in (("setup", setup), ("fill", fill)):
        if hook is not None and not callable(hook):
            raise TypeError(f"{what} of operator {name!r} must be a function, not {hook!r}")
    for what, count in (("bytes", bytes), ("flops", flops)):
        if count is not None and not callable(count):
            _number(count, f"{what} of operator {name!r}")
    labels = (tags,) if isinstance(tags, str) else tuple(tags)
    for what, text in (("category", category), *(("a tag", tag) for tag in labels)):
        if not isinstance(text, str):
            raise TypeError(f"{what} of operator {name!r} must be text, not {text!r}")
    written = (mutates,) if isinstance(mutates, (int, str)) else tuple(mutates)
    for argument in written:
        if isinstance(argument, bool) or not isinstance(argument, (int, str)) or argument in range(-99, 0):
            raise TypeError(f"mutates of operator {name!r} holds positions and keywords, not {argument!r}")

    def register(function: Registered) -> Registered:
        if name in _operators:
            first = place_of(_operators[name].function)
            raise ValueError(f"operator {name!r} is registered already, by {first}")
        if not callable(function) or (isinstance(function, type) and not is_module_class(function)):
            raise TypeError(f"operator {name!r} must be a function or an nn.Module class, not {function!r}")
        _operators[name] = Operator(
            name=name,
            kind="module" if isinstance(function, type) else "custom",
            function=function,
            mutates=written,
            parameters=parameters_by_signature(function),
            setup=setup,
            fill=fill,
            bytes=bytes,
            flops=flops,
            category=category,
            tags=labels,
        )
        return function

    return register


def registered() -> dict[str, Operator]:
    """All registered operators by name."""
    return dict(_operators)


def problems() -> list[str]:
    """What went wrong while operators of installed packages were looked for."""
    return list(_problems)


def add_problem(message: str) -> None:
    """Remember that some operators may be missing, and why."""
    if message not in _problems:
        _problems.append(message)


@contextmanager
def all_or_nothing() -> Iterator[None]:
    """Forget what was registered inside when it raises: half a file of operators is no file."""
    before = dict(_operators)
    try:
        yield
    except BaseException:
        _operators.clear()
        _operators.update(before)
        raise


def is_module_class(function: object) -> bool:
    """True for a class derived from torch.nn.Module, told without importing torch."""
    bases = getattr(function, "__mro__", ()) if isinstance(function, type) else ()
    return any(base.__module__ == "torch.nn.modules.module" and base.__name__ == "Module" for base in bases)


def parameters_by_signature(function: Callable[..., Any]) -> tuple[str, ...]:
    """Names of the positional parameters of a call: of a Python function, or of a module class once built."""
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    is_class = isinstance(function, type)
    called = getattr(function, "forward", function) if is_class else function
    with suppress(TypeError, ValueError):
        parameters = inspect.signature(called).parameters.values()
        return tuple(parameter.name for parameter in parameters if parameter.kind in positional)[is_class:]
    return ()


def place_of(function: Any) -> str:
    """Where a function or class is from, for a person: its file and line where there is one."""
    code = getattr(inspect.unwrap(function) if callable(function) else function, "__code__", None)
    if code is not None:
        return f"{code.co_filename}, line {code.co_firstlineno}"
    holder = function if hasattr(function, "__qualname__") else type(function)
    return f"{holder.__module__}.{holder.__qualname__}"


def hooked_arguments(
    operator: Operator, args: Sequence[Any], kwargs: dict[str, Any], seed: int = 0
) -> tuple[list[Any], dict[str, Any]]:
    """The arguments after the operator's `fill` and `setup`, which are run here, in this order."""
    positional, keywords = list(args), dict(kwargs)
    for what, hook in (("fill", operator.fill), ("setup", operator.setup)):
        if hook is None:
            continue
        random.seed(seed)
        torch = sys.modules.get("torch")
        if torch is None:
            given = hook(*positional, **keywords)
        else:
            torch.manual_seed(seed)
            with torch.no_grad():
                given = hook(*positional, **keywords)
        # Methods that work in place return what they changed: `fill=lambda x: x.uniform_()`.
        if given is None or any(given is value for value in (*positional, *keywords.values())):
            continue
        if isinstance(given, (tuple, list)):
            positional = list(given)
        elif isinstance(given, dict):
            keywords = dict(given)
        else:
            raise TypeError(
                f"{what} of operator {operator.name!r} must return a tuple (positional arguments), a dict"
                f" (keyword arguments) or None (as they are), not {type(given).__name__}"
            )
    return positional, keywords


def amount(count: Amount | None, args: Sequence[Any], kwargs: dict[str, Any]) -> float | None:
    """What `bytes` or `flops` says about a call with these arguments."""
    if count is None:
        return None
    return _number(count(*args, **kwargs) if callable(count) else count, "the count of bytes or flops")


def _number(value: Any, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise TypeError(f"{what} must be a number or a function, not {value!r}")
    if not (math.isfinite(value) and value >= 0):
        raise ValueError(f"{what} must be finite and not negative, not {value}")
    return value


def _check_name(name: str) -> None:
    if not isinstance(name, str):
        raise TypeError(f"@operator needs a name: @operator('my.name'), not {name!r}")
    if not NAME.fullmatch(name) or len(name) > 200:
        raise ValueError(f"the name of an operator is dotted identifiers such as 'my.scale', not {name!r}")
    if name.partition(".")[0] in TAKEN:
        raise ValueError(
            f"operator {name!r}: names under {name.partition('.')[0]!r} belong to torch; choose another"
        )
