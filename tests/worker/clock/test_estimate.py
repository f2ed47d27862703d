"""Medians and their intervals beside SciPy's, and the metrics that are made of them."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binom, quantile_test

from opbench.worker.probes.estimate import fewest, median, median_interval, quantile, ranks, spread

NUMBERS = st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=60)


@given(NUMBERS)
def test_the_median_is_pythons(numbers: list[float]) -> None:
    assert median(sorted(numbers)) == pytest.approx(statistics.median(numbers))


@given(st.lists(st.floats(-1e9, 1e9), min_size=2, max_size=60))
def test_quartiles_are_pythons(numbers: list[float]) -> None:
    low, _, high = statistics.quantiles(numbers, n=4, method="inclusive")
    ordered = sorted(numbers)
    assert quantile(ordered, 0.25) == pytest.approx(low, abs=1e-6)
    assert spread(ordered) == pytest.approx(high - low, abs=1e-6)


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_ranks_have_the_confidence_of_the_binomial_distribution(confidence: float) -> None:
    for count in range(2, 400):
        rank, actual = ranks(count, confidence)
        assert actual == pytest.approx(1 - 2 * binom.cdf(rank - 1, count, 0.5), abs=1e-9)
        if actual >= confidence:
            # One further in would be too narrow.
            assert 1 - 2 * binom.cdf(rank, count, 0.5) < confidence + 1e-12 or rank + 1 > count - rank
        else:
            assert rank == 1


@given(st.lists(st.floats(-1e6, 1e6), min_size=6, max_size=80, unique=True), st.sampled_from([0.9, 0.95]))
def test_the_interval_is_scipys(numbers: list[float], confidence: float) -> None:
    ordered = sorted(numbers)
    span = median_interval(ordered, confidence)
    scipys = quantile_test(ordered, q=0, p=0.5).confidence_interval(confidence)
    assert span is not None
    assert span.low == pytest.approx(scipys.low)
    assert span.high == pytest.approx(scipys.high)


def test_a_thousand_numbers_do_not_underflow() -> None:
    rank, actual = ranks(100_000, 0.95)
    assert 49_600 < rank < 50_000
    assert 0.95 <= actual < 0.96


@pytest.mark.parametrize("confidence", [0.5, 0.9, 0.95, 0.99, 0.999])
def test_fewer_numbers_never_have_the_confidence(confidence: float) -> None:
    count = fewest(confidence)
    assert ranks(count, confidence)[1] >= confidence
    assert count == 2 or ranks(count - 1, confidence)[1] < confidence


def test_one_number_has_no_interval() -> None:
    assert median_interval([1.0], 0.95) is None
    assert median_interval([1.0, 2.0], 0.95) == (1.0, 2.0, 0.5)
