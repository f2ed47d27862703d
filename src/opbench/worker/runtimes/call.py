"""One call of an operator: what is called, with what, and which of its arguments it writes to."""

from __future__ import annotations

import keyword
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from opbench.worker.runtimes.operands import Copies, Operands, written_places
from opbench.worker.runtimes.outputs import distinct, tensors_in

# An argument, by position or keyword.
Place: TypeAlias = "int | str"


@dataclass(frozen=True)
class Call:
    """A function (or module) and its arguments.

    `written` are the places whose values must be fresh for each call. `names` are the leading positional
    parameters, where they are known. `open` are the places where nobody said whether a gradient is wanted.
    """

    function: Any
    args: Sequence[Any] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    written: tuple[Place, ...] = ()
    names: tuple[str, ...] = ()
    open: frozenset[Place] = frozenset()

    def __call__(self) -> Any:
        """Make the call."""
        return self.function(*self.args, **self.kwargs)

    def at(self, place: Place) -> Any:
        """The argument at a place."""
        return self.args[place] if isinstance(place, int) else self.kwargs[place]

    def has(self, place: Place) -> bool:
        """Whether there is an argument at a place."""
        return place < len(self.args) if isinstance(place, int) else place in self.kwargs

    def place_of(self, parameter: str) -> Place | None:
        """Where the call passes a parameter, if it does."""
        if parameter in self.kwargs:
            return parameter
        position = self.names.index(parameter) if parameter in self.names else -1
        # torch's own names for the first argument do not agree with each other.
        if position < 0 and parameter in ("self", "input"):
            position = 0
        return position if 0 <= position < len(self.args) else None

    def originals(self) -> list[Any]:
        """The values that are written to."""
        return [self.at(place) for place in self.written]

    def pool(self, room_bytes: Callable[[int], int]) -> Operands | None:
        """Fresh copies of the values that are written to; None where none is."""
        return Operands(self.originals(), room_bytes) if self.written else None

    def with_entry(self, entry: Any) -> Call:
        """The same call on one entry of its pool."""
        return self.with_written(entry if len(self.written) > 1 else (entry,))

    def with_written(self, values: Sequence[Any]) -> Call:
        """The same call with other values where it writes."""
        args, kwargs = list(self.args), dict(self.kwargs)
        for place, value in zip(self.written, values, strict=True):
            if isinstance(place, int):
                args[place] = value
            else:
                kwargs[place] = value
        return replace(self, args=args, kwargs=kwargs)

    def on_copies(self) -> Call:
        """The same call, writing to copies."""
        copies = Copies()
        return self.with_written([copies.of(value) for value in self.originals()])

    def tensors(self) -> tuple[Any, ...]:
        """The distinct tensors among the arguments, then the parameters and buffers of a module."""
        given = [tensor for _, tensor in tensors_in([*self.args, *self.kwargs.values()])]
        return distinct([*given, *_state(self.function)])

    def source(self) -> tuple[str, dict[str, Any]]:
        """Source of `f(a0, a1, name=k0)` and what its names stand for; as a person would write it.

        A keyword that cannot be written (`from`) goes in as `**{...}`.
        """
        names: dict[str, Any] = {"f": self.function}
        parts: list[str] = []
        for position, value in enumerate(self.args):
            names[f"a{position}"] = value
            parts.append(f"a{position}")
        for position, (name, value) in enumerate(self.kwargs.items()):
            names[f"k{position}"] = value
            plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name)
            writable = plain and name != "__debug__"
            parts.append(f"{name}=k{position}" if writable else f"**{{{name!r}: k{position}}}")
        return f"f({', '.join(parts)})", names

    def name_of(self, place: Place) -> str:
        """The name that the source has for an argument."""
        return f"a{place}" if isinstance(place, int) else f"k{list(self.kwargs).index(place)}"

    def written_names(self) -> tuple[str, ...]:
        """The names that the source has for what is written to."""
        return tuple(self.name_of(place) for place in self.written)


def call_of(
    function: Any,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    written: Sequence[Place] = (),
    names: Sequence[str] = (),
    open_places: frozenset[Place] = frozenset(),
) -> Call:
    """A call that is known to write to some of its arguments."""
    places = written_places(args, kwargs, written)
    return Call(function, args, kwargs, places, tuple(names), open_places)


def _state(function: Any) -> list[Any]:
    """The parameters and buffers of a module; nothing for a function."""
    if not hasattr(function, "parameters") or not hasattr(function, "buffers"):
        return []
    return [*function.parameters(), *function.buffers()]
