"""What a run is asked to do, beside its suite and its plan."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from opbench.cases.model import Case
from opbench.cases.plan import Plan
from opbench.results.records import Measurement, Status

Isolation: TypeAlias = Literal["fork", "none", "spawn"]


@dataclass(frozen=True)
class Options:
    """How to execute a suite. `filter`, `shuffle` and `shard` choose and order its cases."""

    plan: Plan = field(default_factory=Plan)
    isolation: Isolation = "fork"
    # Name -> interpreter, virtual environment folder, or shell command that activates one.
    environments: Mapping[str, str] = field(default_factory=lambda: {"this": ""})
    # Files or modules that register operators, and dotted prefixes that names may resolve under.
    operators: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    filter: str = ""
    shuffle: int | None = None
    shard: tuple[int, int] | None = None  # (i, n), i counts from 1
    repeat: int = 1
    # Cases measured at the same time, each on cores of its own. One is the quietest.
    jobs: int = 1
    oversubscribe: bool = False
    retries: Mapping[Status, int] = field(default_factory=dict)
    fail_fast: bool = False


@dataclass(frozen=True)
class Progress:
    """How far a run is. `eta_s` is None while there is nothing to base it on."""

    done: int
    expected: int | None
    not_ok: int
    elapsed_s: float
    eta_s: float | None


class Listener(Protocol):
    """Hears about a run while it happens. All calls come from one thread."""

    def case_started(self, case: Case, progress: Progress) -> None:
        """A case goes to a worker."""

    def row_finished(self, row: Measurement, progress: Progress) -> None:
        """A row is complete and stored."""

    def notice(self, message: str) -> None:
        """Something worth telling that belongs to no row."""
