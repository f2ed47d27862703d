from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.execution.tasks import make_tasks

CASES = [Case(op="torch.add", seed=seed) for seed in range(5)]
IDS = [case_id(case) for case in CASES]


def keys(tasks: object) -> list[tuple[str, str, int]]:
    return [(task.environment, task.case_id, task.repeat) for task in tasks]  # type: ignore[attr-defined]


def test_environments_alternate_within_a_case() -> None:
    assert keys(make_tasks(CASES[:2], ["a", "b"], 2)) == [
        ("a", IDS[0], 0), ("b", IDS[0], 0), ("a", IDS[0], 1), ("b", IDS[0], 1),
        ("a", IDS[1], 0), ("b", IDS[1], 0), ("a", IDS[1], 1), ("b", IDS[1], 1),
    ]  # fmt: skip


@given(st.sets(st.integers(0, 19)))
def test_resume_does_exactly_the_rest(done_at: set[int]) -> None:
    everything = keys(make_tasks(CASES, ["a", "b"], 2))
    done = {key: ("ok", 0) for index, key in enumerate(everything) if index in done_at}
    rest = keys(make_tasks(CASES, ["a", "b"], 2, done))
    assert sorted(rest + list(done)) == sorted(everything)


def test_failed_ones_are_measured_again_as_a_new_attempt() -> None:
    done = {("a", IDS[0], 0): ("ok", 0), ("a", IDS[1], 0): ("timeout", 0), ("a", IDS[2], 0): ("failed", 1)}
    tasks = list(make_tasks(CASES, ["a"], 1, done, "not_ok"))
    assert [(task.case_id, task.attempt) for task in tasks] == [(IDS[1], 1), (IDS[2], 2)]


def test_equal_cases_are_an_error_not_an_overwrite() -> None:
    twice = [Case(op="torch.add", label="one"), Case(op="torch.add", label="two")]
    with pytest.raises(UsageError, match="two cases have the id"):
        list(make_tasks(twice, ["a"], 1))
