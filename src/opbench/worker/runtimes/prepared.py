"""What a runtime hands to the probes: the source of one call with its objects, and its operands."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from types import CodeType
from typing import Any, Protocol


class Native(Protocol):
    """A loop in machine code, which reads the clock itself."""

    @property
    def empty(self) -> Native:
        """The same loop around nothing."""

    def loop(self) -> Generator[int, Iterable[Any], None]:
        """Run the set-up; then answer operands with how long so many calls took, in ns."""


@dataclass(frozen=True)
class Body:
    """One call, and the objects that its names stand for: `source`, or the `statements` of a snippet.

    `fresh` are the names that the loop binds anew for each call, from the pool. A snippet has `setup`
    statements too, which run once in front of the loop, and `globals`. What is compiled already is `native`,
    and nothing else.
    """

    source: str = ""
    statements: tuple[ast.stmt, ...] = ()
    names: Mapping[str, Any] = field(default_factory=dict)
    fresh: tuple[str, ...] = ()
    setup: tuple[ast.stmt, ...] = ()
    globals: dict[str, Any] | None = None
    filename: str = "<opbench loop>"
    native: Native | None = None
    # Loops around it that were compiled already, by what they are like.
    codes: dict[Any, CodeType] = field(default_factory=dict, repr=False, compare=False)


class Pool(Protocol):
    """Fresh operands for a call that writes to its own, one entry for each call of a block."""

    # How many entries there may be.
    room: int

    def fresh(self, count: int) -> Sequence[Any]:
        """So many entries with their original values, to be written to."""

    def first(self) -> Any:
        """The first entry as it is, to be written to."""

    def blank(self, count: int) -> Sequence[Any]:
        """So many entries that nobody will write to, whatever is in them."""

    def keep_one(self) -> None:
        """Have room for one entry only."""

    def restore(self) -> None:
        """Give what was written to its original value back."""


@dataclass
class Prepared:
    """A case ready to be called.

    `inputs` are the distinct tensors that a call reads, parameters included. `first_call_s` is set where
    preparing needed a call already, so that the very first one can be reported. `provenance` is what to say
    with the time.
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
    provenance: dict[str, Any] = field(default_factory=dict)
    on_close: Callable[[], None] | None = None
    # Whether the set-up of a snippet runs in front of every block, not once.
    renews: bool = False
    # What is called, as it was resolved, and the same case in eager mode. None: this one is eager.
    operator: Any = None
    reference: Callable[[], Prepared] | None = None

    def call(self) -> Any:
        """Make one call, on restored operands; give what it returns (gradients, for a backward one)."""
        self.restore()
        return self.once()

    def first_call(self, device: Any) -> float:
        """Make the very first call, and say how many seconds it took; operands are as before afterwards."""
        device.synchronize()
        start = perf_counter()
        self.once()
        device.synchronize()
        taken = perf_counter() - start
        self.restore()
        return taken

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


def body_of(source: str, names: Mapping[str, Any], fresh: Iterable[str] = ()) -> Body:
    """Body from source that opbench wrote itself."""
    fresh = tuple(fresh)
    bound = {name: value for name, value in names.items() if name not in fresh}
    return Body(source, names=bound, fresh=fresh)
