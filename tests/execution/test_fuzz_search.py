"""The search for differences, on made-up spaces and times: exact, and over at once."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.model import Case
from opbench.execution.fuzz_pairs import FuzzedSpace, PairMeasure, Side
from opbench.execution.fuzz_search import Difference, Effort, Estimate, Outcome, search
from opbench.execution.options import Options
from opbench.sources.fuzzing import FuzzedOperator

from .fakes import OK, Workshop


@dataclass
class Numbers:
    """Candidates are whole numbers below a limit: a random one each, and neighbours one to five apart."""

    limit: int = 1000
    seed: int = 0
    refused: Callable[[int], bool] = lambda candidate: False

    def sample(self, number: int) -> int:
        return random.Random(f"{self.seed}/{number}").randrange(self.limit)

    def neighbour(self, parent: int, number: int) -> int | None:
        step = random.Random(f"{self.seed}/{parent}/{number}").choice([-5, -3, -2, -1, 1, 2, 3, 5])
        near = parent + step
        return None if self.refused(near) or not 0 <= near < self.limit else near

    def key(self, candidate: int) -> str:
        return f"{candidate:06}"


@dataclass
class Clock:
    """Times of both sides by a function of the ratio; remembers what it was asked for."""

    ratio: Callable[[int], float]
    noise: Callable[[int, int], float] = lambda candidate, turn: 1.0
    fails: Callable[[int], bool] = lambda candidate: False
    spread: float = 0.01
    batches: list[list[int]] = field(default_factory=list)

    def __call__(self, candidates: Sequence[int]) -> list[Difference | None]:
        self.batches.append(list(candidates))
        return [None if self.fails(candidate) else self._difference(candidate) for candidate in candidates]

    def _difference(self, candidate: int) -> Difference:
        ratio = self.ratio(candidate) * self.noise(candidate, len(self.batches))
        return Difference(self._estimate(1e-6), self._estimate(ratio * 1e-6))

    def _estimate(self, time_s: float) -> Estimate:
        return Estimate(time_s, time_s * (1 - self.spread), time_s * (1 + self.spread))

    @property
    def asked(self) -> list[int]:
        return [candidate for batch in self.batches for candidate in batch]


def hill(candidate: int) -> float:
    """Twice as long at 700, and less with every step away from it."""
    return 1.0 + math.exp(-(((candidate - 700) / 40) ** 2))


def test_a_search_climbs_to_where_the_difference_is_largest() -> None:
    clock = Clock(hill)
    outcome = search(Numbers(), clock, Effort(samples=40, generations=6, parents=4, children=6, top=3))
    assert all(abs(found.candidate - 700) <= 3 for found in outcome.found)
    random_only = search(Numbers(), Clock(hill), Effort(samples=40, generations=0, top=3))
    assert outcome.found[0].fresh.ratio > random_only.found[0].fresh.ratio


@given(st.integers(0, 10_000))
def test_the_same_times_find_the_same_things(seed: int) -> None:
    def outcome() -> Outcome[int]:
        clock = Clock(hill, noise=lambda candidate, turn: 1 + (candidate * 37 + turn) % 7 / 50)
        return search(Numbers(seed=seed), clock, Effort(samples=20, generations=2, top=5))

    assert outcome() == outcome()


def test_slower_and_faster_count_alike() -> None:
    ratios = {candidate: 4.0 if candidate % 2 else 0.25 for candidate in range(10)}
    outcome = search(Numbers(10), Clock(ratios.__getitem__), Effort(samples=10, generations=0, top=10))
    assert {found.fresh.ratio for found in outcome.found} == {4.0, 0.25}
    assert [found.candidate for found in outcome.found] == list(range(10))


def test_nothing_is_measured_twice_but_those_that_lead() -> None:
    clock = Clock(hill)
    effort = Effort(samples=50, generations=3, parents=3, children=4, top=5)
    confirm = Clock(hill)
    outcome = search(Numbers(), clock, effort, confirm=confirm)
    times = {candidate: clock.asked.count(candidate) for candidate in clock.asked}
    assert max(times.values()) == 2
    assert len(times) == outcome.measured
    assert sum(count - 1 for count in times.values()) <= 2 * (3 * 3 + 5)
    assert sorted(confirm.asked) == sorted(found.candidate for found in outcome.found)


def test_what_is_reported_is_measured_afresh() -> None:
    """All are equal in truth, and what the search saw of the largest was its noise."""
    clock = Clock(lambda candidate: 1.0, noise=lambda candidate, turn: 1 + (candidate % 10) / 5)
    confirm = Clock(lambda candidate: 1.0)
    outcome = search(Numbers(), clock, Effort(samples=40, generations=1, top=5), confirm=confirm)
    assert len(outcome.found) == 5
    for found in outcome.found:
        assert found.searched.ratio > 2
        assert found.fresh.ratio == 1.0
        assert not found.fresh.is_apart


def test_one_bad_moment_does_not_lead() -> None:
    """Candidate noise of the first turn is gone in the second: what stays is the true difference."""
    clock = Clock(
        lambda candidate: 2.0 if candidate == 123 else 1.0,
        noise=lambda candidate, turn: 50.0 if turn == 1 and candidate % 4 == 0 else 1.0,
    )
    outcome = search(Numbers(200), clock, Effort(samples=200, generations=0, top=40))
    assert outcome.found[0].candidate == 123
    assert outcome.found[0].fresh.ratio == 2.0


def test_what_cannot_be_measured_is_counted_and_left_out() -> None:
    clock = Clock(hill, fails=lambda candidate: candidate % 2 == 0)
    outcome = search(Numbers(50), clock, Effort(samples=50, generations=0, top=50))
    assert {found.candidate for found in outcome.found} == set(range(1, 50, 2))
    assert (outcome.measured, outcome.not_measured) == (25, 25)


def test_a_small_space_is_searched_whole_and_no_longer() -> None:
    clock = Clock(hill)
    outcome = search(Numbers(5), clock, Effort(samples=100, generations=3, top=10))
    assert sorted({*clock.asked}) == [0, 1, 2, 3, 4]
    assert len(outcome.found) == 5


def test_neighbours_that_are_refused_are_not_measured() -> None:
    clock = Clock(hill)
    space = Numbers(refused=lambda candidate: candidate % 2 == 1)
    search(space, clock, Effort(samples=10, generations=2, top=1))
    first = set(clock.batches[0])
    assert all(candidate % 2 == 0 or candidate in first for candidate in clock.asked)


def test_a_search_that_is_stopped_reports_nothing_that_was_not_measured_afresh() -> None:
    clock = Clock(hill)
    outcome = search(Numbers(), clock, Effort(samples=10), stopped=lambda: True)
    assert outcome.found == ()
    assert len(clock.batches) == 1
    assert outcome.measured == 10


@pytest.mark.parametrize(
    ("first", "second", "certain"),
    [
        ((1.0, 1.1), (2.2, 3.0), math.log(2)),
        ((2.2, 3.0), (1.0, 1.1), -math.log(2)),
        ((1.0, 2.0), (1.5, 3.0), 0.0),
    ],
)
def test_what_is_certain_of_a_difference(
    first: tuple[float, float], second: tuple[float, float], certain: float
) -> None:
    one, other = (Estimate(sum(ends) / 2, *ends) for ends in (first, second))
    difference = Difference(one, other)
    assert math.isclose(difference.certain, certain, abs_tol=1e-12)
    assert difference.is_apart == bool(certain)
    assert difference.range == (second[0] / first[1], second[1] / first[0])


def unchanged(case: Case) -> Case:
    return case


def pairs(workshop: Workshop, environments: dict[str, str], sides: tuple[Side, Side]) -> PairMeasure:
    space = FuzzedSpace(FuzzedOperator("torch.mm", seed=0))
    return PairMeasure(space, sides, Options(environments=environments), make_worker=workshop)


def asked(workshop: Workshop) -> list[tuple[str, str, int]]:
    """(environment, operator, threads) of all requests of workers, worker by worker."""
    return [
        (name, request["case"]["op"], request["case"].get("num_threads", 1))
        for name, _, worker in workshop.made
        for request in worker.requests
    ]


def test_both_environments_measure_every_input() -> None:
    workshop = Workshop()
    sides = Side("a", unchanged, "a"), Side("b", unchanged, "b")
    measure = pairs(workshop, {"a": "", "b": ""}, sides)
    candidates = list(FuzzedOperator("torch.mm", seed=0).fuzzer.described(4))
    found = measure(candidates)
    assert [difference and difference.ratio for difference in found] == [1.0] * 4
    # Whichever goes first has the better or the worse place: each does for half of the inputs.
    assert asked(workshop) == [(name, "torch.mm", 1) for name in "abba" for _ in range(2)]
    assert measure([]) == []
    workshop.made.clear()
    assert measure(candidates[:1]) == found[:1]
    assert asked(workshop) == [("a", "torch.mm", 1), ("b", "torch.mm", 1)]


def test_two_operators_take_the_same_inputs_and_go_first_in_turn() -> None:
    import msgspec

    def slow(request: dict[str, object]) -> dict[str, object]:
        case = request["case"]
        assert isinstance(case, dict)
        if case["op"] == "torch.mm":
            return OK
        metric = {**OK["metrics"][0], "value": 3e-6}
        return {**OK, "metrics": [metric]}

    workshop = Workshop(slow)
    other = Side("other", lambda case: msgspec.structs.replace(case, op="torch.matmul"), "this")
    measure = pairs(workshop, {"this": ""}, (Side("mm", unchanged, "this"), other))
    found = measure(list(FuzzedOperator("torch.mm", seed=0).fuzzer.described(3)))
    assert [difference and round(difference.ratio, 9) for difference in found] == [3.0] * 3
    ops = [op for _, op, _ in asked(workshop)]
    assert ops == ["torch.mm", "torch.matmul", "torch.matmul", "torch.mm", "torch.mm", "torch.matmul"]
    shapes = [request["case"]["args"] for _, _, worker in workshop.made for request in worker.requests]
    assert shapes[0] == shapes[1]
    assert shapes[2] == shapes[3]


def test_an_input_that_fails_on_one_side_is_no_difference() -> None:
    def failing(request: dict[str, object]) -> dict[str, object]:
        return {"status": "failed", "reason": "no luck"}

    measure = pairs(
        Workshop(failing), {"a": "", "b": ""}, (Side("a", unchanged, "a"), Side("b", unchanged, "b"))
    )
    assert measure(list(FuzzedOperator("torch.mm", seed=0).fuzzer.described(2))) == [None, None]
    assert measure.problems == ["a: failed: no luck"] * 2
