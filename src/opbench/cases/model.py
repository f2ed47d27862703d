"""Case and Suite: what is measured, as immutable data."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.values import AnyValue, Dict, List, Tensor, Tuple, settle

Direction: TypeAlias = Literal["forward", "backward", "forward_backward"]
Language: TypeAlias = Literal["python", "cpp"]


class Arguments(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a callable is called with."""

    args: tuple[AnyValue, ...] = ()
    kwargs: dict[str, AnyValue] = {}


class Build(Arguments, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """What a module is built with, and the dtype that its parameters and buffers are converted to then."""

    dtype: str = ""


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One thing to measure: an operator call (`op`, `args`, `kwargs`) or a snippet (`stmt`).

    An operator that is built first (a module class) has `build`.
    Everything up to `seed` changes what is executed and is part of the case id; the rest is labels.
    """

    op: str = ""
    build: Build | None = None
    args: tuple[AnyValue, ...] = ()
    kwargs: dict[str, AnyValue] = {}

    stmt: str = ""
    setup: str = ""
    global_setup: str = ""
    language: Language = "python"

    direction: Direction = "forward"
    runtime: str = "eager"
    device: str = "cpu"
    num_threads: int = 1
    seed: int = 0

    label: str = ""
    sub_label: str = ""
    description: str = ""
    tags: tuple[str, ...] = ()
    # How often the call occurs in what it was taken from (a trace, a capture).
    weight: float = 1.0

    def __post_init__(self) -> None:
        settle(self)

    @property
    def is_snippet(self) -> bool:
        """True for code, false for an operator call."""
        return bool(self.stmt)

    @property
    def name(self) -> str:
        """What to call this case in a table: its label, else its operator, else its statement."""
        return self.label or self.op or self.stmt


def tensors_of(case: Case) -> Iterator[Tensor]:
    """Every tensor that a case is built or called with, nested ones too."""
    build = (*case.build.args, *case.build.kwargs.values()) if case.build else ()
    pending: list[AnyValue] = [*reversed((*build, *case.args, *case.kwargs.values()))]
    while pending:
        item = pending.pop()
        if isinstance(item, Tensor):
            yield item
        elif isinstance(item, (List, Tuple)):
            pending.extend(reversed(item.value))
        elif isinstance(item, Dict):
            pending.extend(reversed(item.value.values()))


LABEL_FIELDS = frozenset({"label", "sub_label", "description", "tags", "weight"})
WORK_FIELDS = ("op", "build", "args", "kwargs", "stmt", "setup", "global_setup", "language")


@dataclass(frozen=True)
class Suite:
    """A named stream of cases. `open` starts the stream afresh each time, so nothing is kept in memory.

    `count` is the number of cases where it is known without producing them.
    """

    name: str
    open: Callable[[], Iterable[Case]]
    count: int | None = None
    # Folder that `file` fills are relative to.
    folder: str = field(default="", compare=False)

    def __iter__(self) -> Iterator[Case]:
        return iter(self.open())


def suite_of(name: str, cases: Iterable[Case]) -> Suite:
    """Make a suite from cases that are in memory already."""
    kept = tuple(cases)
    if not kept:
        raise UsageError(f"suite {name!r} has no cases")
    return Suite(name, lambda: kept, len(kept))
