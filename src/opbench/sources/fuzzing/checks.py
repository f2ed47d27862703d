"""Checks of arguments that several parts of a fuzzer take."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

from opbench.cases.dtypes import DTYPES, canonical_dtype
from opbench.cases.errors import ArgumentError
from opbench.cases.names import canonical_device, device_suggestion
from opbench.cases.suggest import nearest
from opbench.sources.fuzzing.distributions import is_real, is_whole

# A whole number, or the name of the parameter that has it.
Entry: TypeAlias = int | str
LARGEST_SEED = 2**64 - 1


def checked_name(name: Any) -> str:
    """The name of a tensor."""
    if not isinstance(name, str) or not name:
        raise ArgumentError(f"name must be a text that is not empty, not {name!r}")
    return name


def entries(owner: str, argument: str, given: Any, least: int) -> tuple[Entry, ...]:
    """Sizes or steps: whole numbers and names of parameters."""
    if isinstance(given, str) or not isinstance(given, Sequence):
        raise ArgumentError(
            f"{owner}: {argument} must be a tuple of whole numbers and names of parameters, not {given!r}"
        )
    return tuple(_entry(owner, f"{argument}[{index}]", item, least) for index, item in enumerate(given))


def _entry(owner: str, argument: str, given: Any, least: int) -> Entry:
    if isinstance(given, str):
        return given
    if not is_whole(given) or given < least:
        raise ArgumentError(
            f"{owner}: {argument} must be a whole number of at least {least} or the name of a parameter,"
            f" not {given!r}"
        )
    return operator.index(given)


def probability(owner: str, argument: str, given: Any) -> float:
    """A number from 0 to 1."""
    if not is_real(given) or not 0 <= given <= 1:
        raise ArgumentError(f"{owner}: {argument} must be a probability from 0 to 1, not {given!r}")
    return float(given)


def optional_count(owner: str, argument: str, given: Any) -> int | None:
    """A whole number of at least 0, or None."""
    if given is None:
        return None
    # 2e9 bytes are meant as the whole number that they are.
    if not is_real(given) or given < 0 or int(given) != given:
        raise ArgumentError(
            f"{owner}: {argument} must be a whole number of at least 0 or None, not {given!r}"
        )
    return int(given)


def optional_name(owner: str, argument: str, given: Any) -> str | None:
    """The name of a parameter, or None."""
    if given is not None and (not isinstance(given, str) or not given):
        raise ArgumentError(f"{owner}: {argument} must be the name of a parameter or None, not {given!r}")
    return given


def dtype_name(owner: str, given: Any) -> str:
    """The canonical name of a dtype, given as a name or as torch's object."""
    text = str(given)
    found = canonical_dtype(text)
    if found is None:
        near = nearest(text.removeprefix("torch."), DTYPES)
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"{owner}: no dtype is called {text!r}{hint}")
    return found


def device_name(owner: str, given: Any, cuda: Any) -> str:
    """The canonical name of a device; `cuda` is torch's way to say "cuda"."""
    if given is None:
        return "cuda" if cuda else "cpu"
    if cuda:
        raise ArgumentError(f"{owner}: cuda and device exclude each other, and device is {str(given)!r}")
    found = canonical_device(str(given))
    if found is None:
        near = device_suggestion(str(given))
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"{owner}: no device is called {str(given)!r}{hint}")
    return found


def count_of_items(argument: str, given: Any) -> int:
    """How many items, or which one."""
    if not is_whole(given) or not 0 <= given < 2**63:
        raise ArgumentError(f"{argument} must be a whole number of at least 0, not {given!r}")
    return operator.index(given)


def checked_seed(given: Any) -> int:
    """A seed that a person gave."""
    if not is_whole(given) or not 0 <= given <= LARGEST_SEED:
        raise ArgumentError(f"seed must be a whole number from 0 to 2**64 - 1 or None, not {given!r}")
    return operator.index(given)


def unknown(owner: str, argument: str, name: str, known: Iterable[str]) -> ArgumentError:
    """The error for the name of a parameter that does not exist."""
    names = list(known)
    near = nearest(name, names)
    hint = f"; did you mean {near!r}?" if near else f" (there are {', '.join(names) or 'none'})"
    return ArgumentError(
        f"{owner}: {argument} names a parameter {name!r} that the fuzzer does not have{hint}"
    )
