"""Budgets: always kept, never by rejection, and with nearly the distribution that rejection would have."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer, ParameterAlias
from opbench.sources.fuzzing.budgets import root_below

from . import exact

COUNT = 20_000
# Beyond what chance alone puts between so many samples and the distribution they are from.
SPACES: dict[
    str, tuple[dict[str, exact.Probabilities], list[FuzzedTensor], Callable[..., bool], float, float]
] = {
    "a product between two ends": (
        {"a": exact.loguniform(4, 40), "b": exact.loguniform(4, 40)},
        [FuzzedTensor("x", ("a", "b"), min_elements=60, max_elements=200)],
        lambda a, b: 60 <= a * b <= 200,
        0.02,
        0.02,
    ),
    "a product that is known": (
        {"a": exact.loguniform(1, 24), "b": exact.loguniform(1, 24)},
        [FuzzedTensor("x", ("a", "b"), min_elements=24, max_elements=24)],
        lambda a, b: a * b == 24,
        0.02,
        0.02,
    ),
    "three that are far too large": (
        {name: exact.uniform(1, 12) for name in "abc"},
        [FuzzedTensor("x", ("a", "b", "c"), max_elements=40)],
        lambda a, b, c: a * b * c <= 40,
        0.03,
        0.02,
    ),
    "dimensions that are not strict": (
        {"d": {1: 0.3, 2: 0.4, 3: 0.3}, **{name: exact.loguniform(2, 12) for name in "abc"}},
        [FuzzedTensor("x", ("a", "b", "c"), dim_parameter="d", min_elements=8, max_elements=60)],
        lambda d, a, b, c: 8 <= math.prod((a, b, c)[:d]) <= 60,
        0.03,
        0.02,
    ),
    "steps, and two tensors that share a size": (
        {
            "a": exact.loguniform(2, 12),
            "b": exact.loguniform(2, 12),
            "s": {1: 0.5, 2: 0.3, 8: 0.2},
            "t": {1: 0.5, 4: 0.5},
        },
        [
            FuzzedTensor("x", ("a", "b"), ("s", 1), min_elements=16, max_allocation_bytes=4 * 80),
            FuzzedTensor("y", ("b", "b"), ("t", "t"), max_allocation_bytes=4 * 400),
        ],
        lambda a, b, s, t: a * b >= 16 and a * b * s <= 80 and b * b * t * t <= 400,
        0.04,
        0.04,
    ),
}


def parameters_of(space: dict[str, exact.Probabilities]) -> list[FuzzedParameter]:
    made = []
    for name, choices in space.items():
        ends = (min(choices), max(choices))
        if choices == exact.loguniform(max(ends[0], 1), ends[1]):
            made.append(FuzzedParameter(name, *ends, "loguniform"))
        elif choices == exact.uniform(*ends):
            made.append(FuzzedParameter(name, *ends, "uniform"))
        else:
            made.append(FuzzedParameter(name, distribution=dict(choices)))
    return made


@pytest.mark.parametrize("name", SPACES)
def test_samples_are_distributed_as_rejection_would_leave_them(name: str) -> None:
    space, tensors, is_within, most, most_of_one = SPACES[name]
    expected = exact.conditional(space, lambda values: is_within(**values))
    fuzzer = Fuzzer(parameters_of(space), tensors, seed=1)
    seen = [tuple(item.params.values()) for item in fuzzer.described(COUNT)]
    assert set(seen) <= set(expected)
    assert fuzzer.rejection_rate == 0
    chance = sum(math.sqrt(2 * share / math.pi / COUNT) for share in expected.values()) / 2
    assert exact.distance(exact.shares(seen), expected) < chance + most
    for index in range(len(space)):
        one = exact.shares(values[index] for values in seen)
        assert exact.distance(one, exact.marginal(expected, index)) < most_of_one + 0.01


def test_strict_parameters_have_exactly_the_distribution_that_they_state() -> None:
    fuzzer = Fuzzer(
        [
            FuzzedParameter("dim", distribution={1: 0.3, 2: 0.4, 3: 0.3}, strict=True),
            *(FuzzedParameter(f"k{index}", 16, 2**24, "loguniform") for index in range(3)),
        ],
        [FuzzedTensor("x", ("k0", "k1", "k2"), dim_parameter="dim", min_elements=4096, max_elements=2**25)],
        seed=0,
    )
    dims = [item.params["dim"] for item in fuzzer.described(COUNT)]
    observed = [dims.count(dim) for dim in (1, 2, 3)]
    assert stats.chisquare(observed, [0.3 * COUNT, 0.4 * COUNT, 0.3 * COUNT]).pvalue > 1e-3


def test_the_usual_space_is_as_rejection_leaves_it() -> None:
    """Sizes as in torch's fuzzers, against rejection done by NumPy."""
    import numpy

    fuzzer = Fuzzer(
        [FuzzedParameter(f"k{index}", 16, 2**24, "loguniform") for index in range(3)],
        [FuzzedTensor("x", ("k0", "k1", "k2"), min_elements=4096, max_elements=2**25)],
        seed=0,
    )
    ours = [tuple(item.params.values()) for item in fuzzer.described(5000)]
    logs = numpy.random.default_rng(0).uniform(4, 24, (200_000, 3))
    kept = logs[(logs.sum(axis=1) >= 12) & (logs.sum(axis=1) <= 25)]
    for index in range(3):
        found = stats.ks_2samp([math.log2(values[index] + 0.5) for values in ours], kept[:, index])
        assert found.statistic < 0.03
    sums = [math.log2(math.prod(values)) for values in ours]
    assert stats.ks_2samp(sums, kept.sum(axis=1)).statistic < 0.03


WHOLE = st.integers(0, 30)


@st.composite
def spaces(draw: st.DrawFn) -> tuple[list[FuzzedParameter], list[FuzzedTensor]]:
    names = ["a", "b", "c", "d"]
    parameters = []
    for name in names:
        low = draw(st.integers(1, 20))
        kind = draw(st.sampled_from(["loguniform", "uniform", "choices"]))
        if kind == "choices":
            choices = draw(st.lists(st.integers(1, 50), min_size=1, max_size=4, unique=True))
            parameters.append(FuzzedParameter(name, distribution=dict.fromkeys(choices, 1 / len(choices))))
        else:
            parameters.append(FuzzedParameter(name, low, low + draw(st.integers(0, 60)), kind))
    parameters.append(FuzzedParameter("dim", 0, 4, "uniform", strict=draw(st.booleans())))
    parameters.append(
        FuzzedParameter(
            "e",
            distribution={ParameterAlias("a"): 0.5, 1: 0.25, ParameterAlias("b"): 0.25},
            strict=draw(st.booleans()),
        )
    )
    entry = st.sampled_from([*names, "e", 1, 3])
    tensors = []
    for index in range(draw(st.integers(1, 2))):
        least = draw(st.none() | st.integers(0, 300))
        tensors.append(
            FuzzedTensor(
                f"x{index}",
                draw(st.lists(entry, min_size=1, max_size=4)),
                draw(st.lists(st.sampled_from(["c", "d", 1, 2]), max_size=3)),
                min_elements=least,
                max_elements=draw(st.none() | st.integers(least or 0, (least or 0) + 4000)),
                max_allocation_bytes=draw(st.none() | st.integers(100, 100_000)),
                dim_parameter=draw(st.none() | st.just("dim")),
            )
        )
    return parameters, tensors


@settings(max_examples=150)
@given(spaces(), st.integers(0, 10))
def test_whatever_the_space_every_item_is_within_or_there_is_a_clear_error(
    space: tuple[list[FuzzedParameter], list[FuzzedTensor]], seed: int
) -> None:
    parameters, tensors = space
    try:
        fuzzer = Fuzzer(parameters, tensors, seed=seed)
        items = list(fuzzer.described(5))
    except ArgumentError as error:
        message = str(error)
    else:
        message = ""
    if message:
        assert "tensor 'x" in message
        assert any(limit in message for limit in ("min_elements", "max_elements", "max_allocation_bytes"))
        return
    assert fuzzer.rejection_rate == 0
    for item in items:
        for tensor in tensors:
            drawn: Any = item.drawn[tensor.name]
            numel = math.prod(drawn.size)
            assert tensor.min_elements is None or numel >= tensor.min_elements
            assert tensor.max_elements is None or numel <= tensor.max_elements
            if tensor.max_allocation_bytes is not None:
                assert math.prod(drawn.allocation) * 4 <= tensor.max_allocation_bytes
        for number in range(3):
            near = fuzzer.neighbour(item, number)
            assert near is not None
            for tensor in tensors:
                numel = math.prod(near.drawn[tensor.name].size)
                assert (tensor.min_elements or 0) <= numel
                assert tensor.max_elements is None or numel <= tensor.max_elements


def test_gaps_between_choices_are_searched() -> None:
    """Only 7 * 11 = 77 fits; each other first choice is a dead end."""
    choices = dict.fromkeys([2, 3, 5, 7, 11, 13, 17, 19], 1 / 8)
    fuzzer = Fuzzer(
        [FuzzedParameter(name, distribution=choices) for name in "ab"],
        [FuzzedTensor("x", ("a", "b"), min_elements=77, max_elements=77)],
        seed=0,
    )
    found = {tuple(sorted(item.params.values())) for item in fuzzer.described(50)}
    assert found == {(7, 11)}


def test_a_needle_is_found_by_search() -> None:
    """One pair in a million fits: no first pass is likely to meet it."""
    fuzzer = Fuzzer(
        [FuzzedParameter("a", 900, 1100, "uniform"), FuzzedParameter("b", 900, 1100, "uniform")],
        [FuzzedTensor("x", ("a", "b"), min_elements=997 * 1009, max_elements=997 * 1009)],
        seed=0,
    )
    found = {tuple(item.params.values()) for item in fuzzer.described(8)}
    assert found == {(997, 1009), (1009, 997)}


def test_a_search_that_finds_nothing_ends() -> None:
    """No product of these is a prime."""
    fuzzer = Fuzzer(
        [FuzzedParameter(name, 2, 10**6, "uniform") for name in "ab"],
        [FuzzedTensor("x", ("a", "b"), min_elements=1_000_003, max_elements=1_000_003)],
        seed=0,
    )
    with pytest.raises(
        ArgumentError, match="tensor 'x': min_elements=1000003 and max_elements=1000003: no values"
    ):
        fuzzer.describe(0)


def test_sizes_that_count_twice_and_sizes_of_zero() -> None:
    squares = Fuzzer(
        [FuzzedParameter("n", 1, 1000, "loguniform")],
        [FuzzedTensor("x", ("n", "n", "n"), min_elements=1000, max_elements=30**3)],
        seed=0,
    )
    assert {10, 30} <= {item.params["n"] for item in squares.described(2000)} <= set(range(10, 31))
    empty = Fuzzer(
        [FuzzedParameter("n", 0, 5, "uniform")], [FuzzedTensor("x", ("n", 7), max_elements=20)], seed=0
    )
    assert {item.params["n"] for item in empty.described(200)} == {0, 1, 2}


@given(st.integers(0, 2**80), st.integers(2, 6))
def test_roots_are_exact(number: int, exponent: int) -> None:
    root = root_below(number, exponent)
    assert root**exponent <= number < (root + 1) ** exponent


IMPOSSIBLE: list[tuple[Callable[[], Fuzzer], str]] = [
    (
        lambda: Fuzzer([FuzzedParameter("n", 1, 9, "uniform")], [FuzzedTensor("x", ("n",), min_elements=10)]),
        "tensor 'x': min_elements=10 cannot be kept: the most possible is 9",
    ),
    (
        lambda: Fuzzer(
            [FuzzedParameter("n", 8, 9, "uniform")], [FuzzedTensor("x", ("n", 2), max_elements=15)]
        ),
        "tensor 'x': max_elements=15 cannot be kept: the least possible is 16",
    ),
    (
        lambda: Fuzzer(
            [FuzzedParameter("n", 8, 9, "uniform")], [FuzzedTensor("x", ("n",), max_allocation_bytes=31)]
        ),
        "tensor 'x': max_allocation_bytes=31 cannot be kept: the least possible is 32",
    ),
    (
        lambda: Fuzzer(
            [
                FuzzedParameter("d", distribution={1: 0.5, 2: 0.5}, strict=True),
                FuzzedParameter("n", 1, 9, "uniform"),
            ],
            [FuzzedTensor("x", ("n", "n"), dim_parameter="d", min_elements=10)],
        ),
        r"min_elements=10 .* \(with d = 1\)",
    ),
]


@pytest.mark.parametrize(("make", "message"), IMPOSSIBLE)
def test_an_impossible_budget_is_told_of_at_once(make: Callable[[], Fuzzer], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()


def test_budgets_that_exclude_each_other_are_both_named() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("n", 1, 100, "uniform")],
        [FuzzedTensor("x", ("n",), max_elements=5), FuzzedTensor("y", ("n", 2), min_elements=50)],
        seed=0,
    )
    with pytest.raises(ArgumentError, match="tensor 'x': max_elements=5; tensor 'y': min_elements=50"):
        fuzzer.describe(0)


def test_a_strict_size_that_does_not_fit_is_told_of() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("n", 1, 100, "uniform", strict=True)],
        [FuzzedTensor("x", ("n",), max_elements=5)],
        seed=0,
    )
    with pytest.raises(
        ArgumentError, match="tensor 'x': max_elements=5: no values of the parameters were found"
    ):
        list(fuzzer.described(100))


def test_a_dimension_that_is_not_strict_leaves_what_fits() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("d", 0, 3, "uniform"), FuzzedParameter("n", 2, 9, "uniform")],
        [FuzzedTensor("x", ("n", "n", "n"), dim_parameter="d", min_elements=10, max_elements=90)],
        seed=0,
    )
    assert {item.params["d"] for item in fuzzer.described(300)} == {2, 3}


def test_a_parameter_beside_dimensions_that_are_not_strict_changes_nothing() -> None:
    def drawn(*more: FuzzedParameter) -> list[Any]:
        fuzzer = Fuzzer(
            [
                *more,
                FuzzedParameter("d", distribution={1: 0.3, 2: 0.4, 3: 0.3}),
                *(FuzzedParameter(name, 2, 12, "loguniform") for name in "abc"),
            ],
            [FuzzedTensor("x", ("a", "b", "c"), dim_parameter="d", min_elements=8, max_elements=60)],
            seed=0,
        )
        return [item.drawn for item in fuzzer.described(200)]

    assert drawn() == drawn(FuzzedParameter("before", 1, 9, "uniform"))


def test_more_structures_than_can_be_listed() -> None:
    """Fourteen sizes that are each one of two others, or one: far more ways than anyone lists."""
    names = [f"k{index}" for index in range(14)]
    fuzzer = Fuzzer(
        [
            FuzzedParameter("a", 2, 9, "uniform"),
            FuzzedParameter("b", 2, 9, "uniform"),
            *(
                FuzzedParameter(
                    name, distribution={ParameterAlias("a"): 0.3, ParameterAlias("b"): 0.3, 1: 0.4}
                )
                for name in names
            ),
        ],
        [FuzzedTensor("x", names, min_elements=64, max_elements=2**20)],
        seed=0,
    )
    for item in fuzzer.described(50):
        assert 64 <= math.prod(item.drawn["x"].size) <= 2**20
    assert fuzzer.rejection_rate == 0
