"""Parameters: distributions that are what they say, and one clear error for each wrong argument."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import FuzzedParameter, Fuzzer, ParameterAlias
from opbench.sources.fuzzing.distributions import (
    LoguniformWhole,
    UniformWhole,
    WholeChoices,
)

from . import exact

COUNT = 20_000
# So seldom does a right distribution fail here: seeds are fixed, so it either never does or always.
LEAST_P = 1e-3


def drawn(parameter: FuzzedParameter, seed: int = 0) -> list[Any]:
    fuzzer = Fuzzer([parameter], [], seed=seed)
    return [item.params[parameter.name] for item in fuzzer.described(COUNT)]


def chi_square(values: list[Any], expected: dict[Any, float]) -> float:
    """The p-value of the values, rare ones taken together."""
    counts = Counter(values)
    assert set(counts) <= set(expected)
    observed, wanted, rest, rest_wanted = [], [], 0, 0.0
    for value, probability in expected.items():
        if probability * len(values) >= 10:
            observed.append(counts[value])
            wanted.append(probability * len(values))
        else:
            rest += counts[value]
            rest_wanted += probability * len(values)
    if rest_wanted:
        observed.append(rest)
        wanted.append(rest_wanted)
    return float(stats.chisquare(observed, numpy.array(wanted) * sum(observed) / sum(wanted)).pvalue)


@pytest.mark.parametrize(("least", "greatest"), [(1, 2), (1, 16), (5, 100), (16, 4096), (7, 7)])
def test_loguniform_whole_numbers_are(least: int, greatest: int) -> None:
    values = drawn(FuzzedParameter("n", least, greatest, "loguniform"))
    expected = exact.loguniform(least, greatest)
    if greatest > least:
        assert chi_square(values, expected) > LEAST_P
    assert min(values) == least
    assert max(values) == greatest or greatest > 1000


def test_loguniform_is_uniform_in_the_logarithm() -> None:
    values = drawn(FuzzedParameter("n", 16, 16 * 1024**2, "loguniform"))
    logs = [math.log(value + 0.5) for value in values]
    low, high = math.log(16), math.log(16 * 1024**2 + 1)
    assert stats.kstest(logs, stats.uniform(low, high - low).cdf).pvalue > LEAST_P
    assert all(type(value) is int for value in values)


def test_a_decade_is_as_likely_as_any_other() -> None:
    values = drawn(FuzzedParameter("n", 1, 99, "loguniform"))
    assert abs(sum(value < 10 for value in values) / COUNT - 0.5) < 0.015


def test_uniform_whole_numbers_have_both_ends() -> None:
    values = drawn(FuzzedParameter("n", -3, 4, "uniform"))
    assert chi_square(values, exact.uniform(-3, 4)) > LEAST_P


@pytest.mark.parametrize("distribution", ["uniform", "loguniform"])
def test_real_numbers_are_continuous(distribution: str) -> None:
    values = drawn(FuzzedParameter("n", 0.25, 4.5, distribution))
    seen = stats.uniform(0.25, 4.25) if distribution == "uniform" else stats.loguniform(0.25, 4.5)
    assert stats.kstest(values, seen.cdf).pvalue > LEAST_P
    assert len(set(values)) == COUNT


def test_one_real_bound_makes_uniform_numbers_real_as_in_torch() -> None:
    assert all(type(value) is float for value in drawn(FuzzedParameter("n", 0, 1.0, "uniform"))[:5])
    assert all(type(value) is int for value in drawn(FuzzedParameter("n", 1e3, 1e6, "loguniform"))[:5])


def test_choices_have_their_probabilities_whatever_they_are() -> None:
    expected = {"a": 0.5, None: 0.2, (1, 2): 0.2, 2.5: 0.1, "never": 0.0}
    values = drawn(FuzzedParameter("n", distribution=expected))
    assert "never" not in values
    assert chi_square(values, {choice: share for choice, share in expected.items() if share}) > LEAST_P


def test_whole_choices_and_truth_values_keep_their_types() -> None:
    assert {type(value) for value in drawn(FuzzedParameter("n", distribution={True: 0.5, False: 0.5}))} == {
        bool
    }
    numbers = drawn(FuzzedParameter("n", distribution={numpy.int64(3): 0.25, 1: 0.75}))
    assert chi_square(numbers, {1: 0.75, 3: 0.25}) > LEAST_P


def test_two_parameters_are_independent() -> None:
    fuzzer = Fuzzer([FuzzedParameter(name, 0, 3, "uniform") for name in "ab"], [], seed=5)
    pairs = Counter((item.params["a"], item.params["b"]) for item in fuzzer.described(COUNT))
    assert stats.chisquare(list(pairs.values())).pvalue > LEAST_P
    assert len(pairs) == 16


def test_aliases_follow_chains() -> None:
    fuzzer = Fuzzer(
        [
            FuzzedParameter("z", distribution={ParameterAlias("y"): 1.0}),
            FuzzedParameter("y", distribution={ParameterAlias("x"): 0.5, 1: 0.5}),
            FuzzedParameter("x", 2, 100, "uniform"),
        ],
        [],
        seed=0,
    )
    for item in fuzzer.described(200):
        assert item.params["z"] == item.params["y"]
        assert item.params["y"] in (1, item.params["x"])
        assert list(item.params) == ["z", "y", "x"]


ORDERED: list[Callable[[], Any]] = [
    lambda: UniformWhole(3, 40),
    lambda: LoguniformWhole(3, 40),
    lambda: WholeChoices({3: 0.2, 8: 0.5, 30: 0.3}),
]


@pytest.mark.parametrize("make", ORDERED)
@given(st.integers(0, 2**64 - 1), st.integers(0, 60), st.integers(0, 60))
def test_a_window_holds_what_is_drawn_in_it(make: Callable[[], Any], word: int, low: int, high: int) -> None:
    distribution = make()
    value = distribution.draw_within(word, low, high)
    if value is None:
        assert distribution.mass(low, high) == 0
    else:
        assert low <= value <= high
        assert 0 < distribution.mass(low, high) <= 1 + 1e-12
        assert distribution.draw_within(word, 0, 10**9) == distribution.draw(word)


@pytest.mark.parametrize("make", ORDERED)
def test_a_window_has_the_distribution_of_what_lies_in_it(make: Callable[[], Any]) -> None:
    distribution = make()
    words = [(2 * index + 1) << 49 for index in range(1 << 14)]
    whole = exact.shares(distribution.draw(word) for word in words)
    inside = {value: share for value, share in whole.items() if 5 <= value <= 30}
    total = sum(inside.values())
    seen = exact.shares(distribution.draw_within(word, 5, 30) for word in words)
    assert exact.distance(seen, {value: share / total for value, share in inside.items()}) < 2e-3
    assert math.isclose(distribution.mass(5, 30), total, abs_tol=2e-4)


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: FuzzedParameter("", 1, 2, "uniform"), "name must be"),
    (lambda: FuzzedParameter(3, 1, 2, "uniform"), "name must be"),  # type: ignore[arg-type]
    (lambda: FuzzedParameter("n", 1, 2), "distribution must be"),
    (lambda: FuzzedParameter("n", 1, 2, "loguniorm"), "did you mean 'loguniform'"),
    (lambda: FuzzedParameter("n", None, 2, "uniform"), "minval must be a number"),
    (lambda: FuzzedParameter("n", 1, "2", "uniform"), "maxval must be a number"),  # type: ignore[arg-type]
    (lambda: FuzzedParameter("n", 1, math.inf, "uniform"), "maxval must be a number"),
    (lambda: FuzzedParameter("n", 1, True, "uniform"), "maxval must be a number"),
    (lambda: FuzzedParameter("n", 3, 2, "uniform"), "minval .3. must not be above maxval .2."),
    (lambda: FuzzedParameter("n", 0, 2, "loguniform"), "minval must be above 0"),
    (lambda: FuzzedParameter("n", 1, 2**70, "uniform"), "maxval must be within 64 bits"),
    (lambda: FuzzedParameter("n", distribution={}), "distribution has no choices"),
    (lambda: FuzzedParameter("n", distribution={1: 0.5, 2: 0.4}), "must sum to one, not to 0.9"),
    (
        lambda: FuzzedParameter("n", distribution={1: 1.5, 2: -0.5}),
        "probability of 2 .* at least 0, not -0.5",
    ),
    (lambda: FuzzedParameter("n", distribution={0.5: ParameterAlias("x")}), "probability of 0.5"),  # type: ignore[dict-item]
    (lambda: FuzzedParameter("n", 1, distribution={1: 1.0}), "minval must be left out"),
    (lambda: FuzzedParameter("n", None, 4, {1: 1.0}), "maxval must be left out"),
    (lambda: ParameterAlias(3), "alias_to must be"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_argument_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message) as caught:
        make()
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)
