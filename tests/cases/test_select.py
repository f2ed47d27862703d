"""Which cases, in which order: the same on every machine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.check import check_case
from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import Case, suite_of
from opbench.cases.select import select

from .documents import tensor

CASES = tuple(check_case({"op": "my.op", "seed": seed, "args": [tensor(seed)]}) for seed in range(30))


def seeds(cases: Iterable[Case]) -> list[int]:
    return [case.seed for case in cases]


@given(st.integers(0, 30), st.integers(1, 40))
def test_shards_hold_each_case_once_and_differ_by_one(length: int, count: int) -> None:
    shards = [list(select(CASES[:length], shard=(index, count))) for index in range(1, count + 1)]
    assert sorted(seeds(case for shard in shards for case in shard)) == list(range(length))
    assert max(map(len, shards)) - min(map(len, shards)) <= 1


@given(st.integers(0, 2**64), st.integers(1, 5))
def test_a_shuffle_keeps_every_case_of_a_shard(seed: int, count: int) -> None:
    for index in range(1, count + 1):
        plain = list(select(CASES, shard=(index, count)))
        shuffled = list(select(CASES, shard=(index, count), shuffle=seed))
        assert sorted(map(case_id, plain)) == sorted(map(case_id, shuffled))


@given(st.integers(), st.permutations(CASES))
def test_the_order_of_a_shuffle_depends_on_seed_and_cases_alone(seed: int, cases: list[Case]) -> None:
    assert seeds(select(cases, shuffle=seed)) == seeds(select(CASES, shuffle=seed))


def test_the_order_of_a_shuffle_is_the_same_in_every_version() -> None:
    assert seeds(select(CASES[:8], shuffle=1)) == [7, 4, 6, 2, 0, 5, 3, 1]


def test_another_seed_gives_another_order() -> None:
    assert len({tuple(seeds(select(CASES, shuffle=seed))) for seed in range(20)}) == 20


def test_what_is_filtered_is_filtered_before_it_is_sharded() -> None:
    halves = [list(select(CASES, keep=lambda case: case.seed >= 10, shard=(index, 2))) for index in (1, 2)]
    assert seeds(halves[0]) == list(range(10, 30, 2))
    assert seeds(halves[1]) == list(range(11, 30, 2))


@pytest.mark.parametrize("shard", [(0, 3), (4, 3), (-1, 3), (1, 0), (1, -1)])
def test_a_shard_that_is_none_is_refused(shard: tuple[int, int]) -> None:
    with pytest.raises(UsageError, match="there is no shard"):
        select(CASES, shard=shard)


def test_a_shuffled_case_is_the_case_it_was() -> None:
    odd = [
        check_case({"op": "my.op", "args": [tensor(1, dtype="uint64", fill=2**64 - 1)]}),
        check_case({"op": "my.op", "args": [tensor(1, fill={"kind": "constant", "value": -(2**64) + 1})]}),
        check_case(
            {
                "op": "my.op",
                "args": [tensor(1, dtype="uint64", fill={"kind": "integers", "low": 0, "high": 2**64})],
            }
        ),
        check_case(
            {"op": "my.op", "args": [-0.0, 2**64 - 1, {"type": "float", "value": "nan"}], "weight": 3}
        ),
    ]
    assert sorted(map(case_id, select(odd, shuffle=3))) == sorted(map(case_id, odd))


def test_nothing_is_read_before_it_is_needed() -> None:
    taken: list[int] = []

    def cases() -> Iterator[Case]:
        for case in CASES:
            taken.append(case.seed)
            yield case

    chosen = select(cases(), keep=lambda case: True, shard=(2, 3))
    assert not taken
    assert next(chosen).seed == 1
    assert taken == [0, 1]


def test_a_suite_needs_cases() -> None:
    with pytest.raises(UsageError, match="has no cases"):
        suite_of("empty", [])
