"""What a runtime hands to the probes: the source of one call with its objects, and its operands."""

from __future__ import annotations

import ast
import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol


@dataclass(frozen=True)
class Body:
    """Source of one call, and the objects that its names stand for.

    `fresh` are the names that the loop binds anew for each call, from the pool. A snippet has `setup`
    statements too, which run once in front of the loop, and `globals`.
    """

    statements: tuple[ast.stmt, ...]
    names: Mapping[str, Any] = field(default_factory=dict)
    fresh: tuple[str, ...] = ()
    setup: tuple[ast.stmt, ...] = ()
    globals: dict[str, Any] | None = None
    filename: str = "<opbench loop>"
    # Equal keys stand for equal source; None: not worth keeping compiled.
    key: str | None = None


class Pool(Protocol):
    """Fresh operands for a call that writes to its own: one entry for each call of a block."""

    entries: Sequence[Any]

    def restore(self) -> None:
        """Give every entry its original value back."""


@dataclass
class Prepared:
    """A case ready to be called.

    `inputs` are the distinct tensors that a call reads, parameters included. `first_call_s` is set where
    preparing needed a call already, so that the very first one can be reported.
    """

    body: Body
    once: Callable[[], Any]
    direction: str = "forward"
    num_threads: int = 1
    function: Any = None
    arguments: tuple[Sequence[Any], Mapping[str, Any]] = ((), {})
    inputs: tuple[Any, ...] = ()
    pool: Pool | None = None
    first_call_s: float | None = None
    on_close: Callable[[], None] | None = None

    def call(self) -> Any:
        """Make one call, on restored operands; give what it returns (gradients, for a backward one)."""
        self.restore()
        return self.once()

    def outputs(self) -> list[Any]:
        """The tensors that one call returns."""
        from opbench.worker.runtimes.outputs import tensors_in

        return [tensor for _, tensor in tensors_in(self.call())]

    def restore(self) -> None:
        """Undo what calls wrote to their operands."""
        if self.pool is not None:
            self.pool.restore()

    def close(self) -> None:
        """Drop what was built."""
        if self.on_close is not None:
            self.on_close()


def call_source(args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """Source of `f(a0, a1, name=k0)` and the operands by name; no unpacking, as a person would write it.

    A keyword that cannot be written (`from`) goes in as `**{...}`.
    """
    names: dict[str, Any] = {}
    parts: list[str] = []
    for position, value in enumerate(args):
        names[f"a{position}"] = value
        parts.append(f"a{position}")
    for position, (name, value) in enumerate(kwargs.items()):
        names[f"k{position}"] = value
        plain = name.isascii() and name.isidentifier() and not keyword.iskeyword(name) and name != "__debug__"
        parts.append(f"{name}=k{position}" if plain else f"**{{{name!r}: k{position}}}")
    return f"f({', '.join(parts)})", names


def call_name(place: int | str, kwargs: Mapping[str, Any]) -> str:
    """The name that `call_source` gives to an argument, by position or keyword."""
    return f"a{place}" if isinstance(place, int) else f"k{list(kwargs).index(place)}"


def body_of(source: str, names: Mapping[str, Any], fresh: Iterable[str] = ()) -> Body:
    """Body from source that opbench wrote itself."""
    fresh = tuple(fresh)
    bound = {name: value for name, value in names.items() if name not in fresh}
    return Body(tuple(ast.parse(source).body), bound, fresh, key=source)
