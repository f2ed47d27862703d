"""The cases of a suite as pieces of work: in which environment, which repetition, which attempt."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeAlias

from opbench.cases.errors import UsageError
from opbench.cases.identity import case_document, case_id, work_id
from opbench.cases.model import Case
from opbench.results.records import Status

# (environment, case id, repeat), and of its last attempt: (status, number)
Key: TypeAlias = tuple[str, str, int]
Done: TypeAlias = Mapping[Key, tuple[Status, int]]
# Which of the cases that have a row already are measured again.
Resume: TypeAlias = Literal["missing", "not_ok"]


@dataclass(frozen=True)
class Task:
    """One case in one environment, for the nth time."""

    case: Case
    case_id: str
    environment: str
    repeat: int = 0
    attempt: int = 0

    @cached_property
    def document(self) -> dict[str, Any]:
        """The case as plain data."""
        return case_document(self.case)

    @property
    def work_id(self) -> str:
        """The id that inputs are drawn from."""
        return work_id(self.case)


def make_tasks(
    cases: Iterable[Case],
    environments: Collection[str],
    repeats: int,
    done: Done | None = None,
    resume: Resume = "missing",
) -> Iterator[Task]:
    """Each case in each environment, `repeats` times over, less what is done.

    Environments alternate case by case, so that a drift of the machine meets them alike. With resume
    "missing" every case without a row is left to do; with "not_ok" those whose last attempt was not ok.
    """
    done = done or {}
    # Eight bytes an id: a suite of 100,000 cases needs no more than a few megabytes.
    seen: set[int] = set()
    for case in cases:
        identity = case_id(case)
        number = int(identity, 16)
        if number in seen:
            raise UsageError(
                f"two cases have the id {identity} ({case.name}): they would execute the same thing. "
                "Use --repeat to measure a case more than once"
            )
        seen.add(number)
        for repeat in range(repeats):
            for environment in environments:
                last = done.get((environment, identity, repeat))
                if last is None:
                    if resume == "missing":
                        yield Task(case, identity, environment, repeat)
                elif resume == "not_ok" and last[0] != "ok":
                    yield Task(case, identity, environment, repeat, last[1] + 1)
