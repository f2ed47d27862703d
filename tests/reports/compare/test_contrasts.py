"""Ratios and verdicts: against which baseline, how certain, and never surer than the samples allow."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.random import default_rng

from opbench.cases.errors import ArgumentError
from opbench.reports.compare import Compare
from opbench.results.timing import Measurement

from .timings import measurements, timed


def ratios(compare: Compare) -> dict[tuple[str, str], float | None]:
    return {(record["row"], record["column"]): record["ratio"] for record in compare.to_records()}


def grid_of_four() -> list[Measurement]:
    times = {("a", "x"): 1.0, ("a", "y"): 2.0, ("b", "x"): 4.0, ("b", "y"): 1.0}
    return [timed([time], sub_label=row, description=column) for (row, column), time in times.items()]


@pytest.mark.parametrize(
    ("wanted", "expected", "text"),
    [
        ({}, [1, 2, 1, 0.25], "the first column"),
        ({"to": "best"}, [1, 2, 4, 1], "the best of all columns"),
        ({"to": "first", "across": "rows"}, [1, 1, 4, 0.5], "the first row"),
        ({"to": "best", "across": "rows"}, [1, 2, 4, 1], "the best of all rows"),
        ({"column": "y"}, [0.5, 1, 4, 1], "column 'y'"),
        ({"row": "b"}, [0.25, 2, 1, 1], "row 'b'"),
    ],
)
def test_ratios_are_to_the_baseline_asked_for(
    wanted: dict[str, Any], expected: list[float], text: str
) -> None:
    compare = Compare(grid_of_four())
    compare.show_ratios(**wanted)
    assert list(ratios(compare).values()) == expected
    assert f"Ratios are times divided by those of {text}: below 1 is faster.\n" in str(compare)


def test_the_column_that_is_the_baseline_has_no_ratios_beside_it() -> None:
    compare = Compare(grid_of_four())
    compare.show_ratios(column="x")
    assert str(compare).splitlines()[1].split("|") == ["         ", "   x   ", "   y   ", "  ratio "]
    assert "a  |  1.0  |  2.0  |   2.00x\n" in str(compare)
    assert "b  |  4.0  |  1.0  |  0.250x\n" in str(compare)


def test_environments_are_compared_row_by_row() -> None:
    results = [
        timed([time], sub_label=row, env=env)
        for row, env, time in (("a", "main", 1.0), ("a", "mine", 3.0), ("b", "mine", 1.0), ("a", None, 2.0))
    ]
    compare = Compare(results)
    compare.show_ratios(env="main")
    assert [record["ratio"] for record in compare.to_records()] == [2.0, 1.0, 3.0, None]
    compare.show_ratios(env="unspecified")
    assert [record["ratio"] for record in compare.to_records()] == [1.0, 0.5, 1.5, None]


def test_threads_are_not_mixed_and_gaps_have_no_ratio() -> None:
    results = [
        timed([1.0], sub_label="a"),
        timed([2.0], sub_label="b"),
        timed([4.0], sub_label="b", num_threads=2),
    ]
    compare = Compare(results)
    compare.show_ratios(row="a")
    assert [record["ratio"] for record in compare.to_records()] == [1.0, 2.0, None]
    several = Compare([timed([1.0], description="x"), timed([3.0], stmt="g()", description="y")])
    several.show_ratios()
    assert ratios(several) == {("f(x)", "x"): 1.0, ("g()", "y"): None}


def test_with_one_column_rows_are_compared() -> None:
    compare = Compare([timed([1.0], sub_label="a"), timed([2.0], sub_label="b")])
    compare.show_ratios()
    assert list(ratios(compare).values()) == [1.0, 2.0]


def test_nothing_divided_by_nothing_is_no_number() -> None:
    compare = Compare([timed([0.0], stmt="pass"), timed([0.0], stmt="()"), timed([1e-9], stmt="x")])
    compare.show_significance()
    assert list(ratios(compare).values()) == [None, None, None]
    assert "infx undecided" in str(compare)


def verdicts(compare: Compare) -> list[str | None]:
    return [record["verdict"] for record in compare.to_records()]


def test_verdicts_say_what_is_more_than_noise() -> None:
    results = [
        timed(time, sub_label=name)
        for name, time in (("base", 1e-6), ("fast", 0.9e-6), ("slow", 1.1e-6), ("near", 1.004e-6))
    ]
    tight = [1e-6 * (1 + step * 1e-5) for step in range(-20, 21)]
    results += [timed(tight, sub_label="alike"), timed([1e-6, 1.1e-6], sub_label="few")]
    compare = Compare(results)
    compare.show_significance(drift=0)
    assert verdicts(compare) == [None, "faster", "slower", "undecided", "same", "undecided"]
    reasons = [record["verdict_reason"] for record in compare.to_records()]
    assert reasons[1] == "the whole interval of the ratio is below 1"
    assert reasons[-1] == "too few samples: such confidence needs 9 on both sides"
    assert "0.900x faster" in str(compare)
    assert "for all 5 comparisons together" in str(compare)
    compare.show_significance(same_within=0.05, drift=0)
    assert verdicts(compare) == [None, "faster", "slower", "same", "same", "undecided"]


def test_a_difference_smaller_than_what_matters_is_none() -> None:
    base = [1e-6 * (1 + step * 1e-5) for step in range(-20, 21)]
    results = [timed(base), timed([time * 1.005 for time in base], stmt="g")]
    compare = Compare(results)
    compare.show_significance(drift=0)
    assert verdicts(compare) == [None, "same"]
    compare.show_significance(same_within=0.001, drift=0)
    assert verdicts(compare) == [None, "slower"]
    compare.show_significance(same_within=0, drift=0)
    assert verdicts(compare) == [None, "slower"]


def test_one_measurement_of_each_is_not_believed_to_the_last_percent() -> None:
    def verdict(ratio: float, **settings: float) -> str | None:
        compare = Compare([timed(1e-6), timed(ratio * 1e-6, stmt="g")])
        compare.show_significance(**settings)
        return verdicts(compare)[1]

    assert [verdict(ratio) for ratio in (0.9, 0.97, 1.0, 1.03, 1.1)] == [
        *("faster", "undecided", "undecided", "undecided", "slower"),
    ]
    assert verdict(0.97, drift=0) == "faster"
    assert verdict(1.0, same_within=0.1) == "same"
    assert verdict(1.1, drift=0.2) == "undecided"


def replicated(random: np.random.Generator, median_s: float, drift: float, count: int, **task: Any) -> Any:
    """Measurements of one thing, each steady by itself, that drift apart."""
    return [timed(median_s * float(random.lognormal(0, drift)), **task) for _ in range(count)]


def test_with_replicates_measurements_are_what_is_compared() -> None:
    random = default_rng(11)
    wrong = found = believed = 0
    for _ in range(100):
        first = replicated(random, 1e-6, 0.02, 10)
        compare = Compare(first + replicated(random, 1e-6, 0.02, 10, stmt="g"))
        compare.show_significance(same_within=0)
        wrong += verdicts(compare)[1] != "undecided"
        compare.show_significance(same_within=0.1)
        believed += verdicts(compare)[1] == "same"
        compare = Compare(first + replicated(random, 1.06e-6, 0.02, 10, stmt="g"))
        compare.show_significance()
        found += verdicts(compare)[1] == "slower"
        assert "replicates" not in str(compare)
    assert wrong <= 10
    assert found >= 60
    assert believed >= 90


def test_too_few_replicates_are_no_replicates() -> None:
    random = default_rng(12)
    results = replicated(random, 1e-6, 0.0, 6) + replicated(random, 1.03e-6, 0.0, 6, stmt="g")
    compare = Compare(results)
    compare.show_significance()
    assert verdicts(compare)[1] == "undecided"
    assert "Too few replicates to see how far measurements drift: 5% were allowed" in str(compare)
    compare.extend_results(replicated(random, 1e-6, 0.0, 1) + replicated(random, 1.03e-6, 0.0, 1, stmt="g"))
    assert verdicts(compare)[1] == "slower"
    assert "replicates" not in str(compare)


@pytest.mark.parametrize("to", ["first", "best"])
@pytest.mark.parametrize("columns", [2, 6])
def test_alike_times_are_seldom_told_apart(to: str, columns: int) -> None:
    """All verdicts of a table together are wrong in one of twenty tables at most, also against the best."""
    random = default_rng(20240501)
    wrong = 0
    for _ in range(200):
        times = random.lognormal(-13, 0.1, (columns, 25))
        compare = Compare([timed(row, description=str(place)) for place, row in enumerate(times.tolist())])
        compare.show_ratios(to)
        compare.show_significance(same_within=0.001, drift=0)
        wrong += any(verdict in ("faster", "slower", "same") for verdict in verdicts(compare))
    # 10 are expected at most; 20 of them would be three standard deviations more.
    assert wrong <= 20


def test_different_times_are_told_apart() -> None:
    random = default_rng(7)
    found = 0
    for _ in range(50):
        first, second = random.lognormal(-13, 0.02, (2, 40))
        compare = Compare([timed(first.tolist()), timed((second * 1.05).tolist(), stmt="g")])
        compare.show_significance(drift=0)
        found += verdicts(compare)[1] == "slower"
    assert found >= 48


def test_intervals_of_ratios_cover_the_truth() -> None:
    random = default_rng(3)
    covered = 0
    for _ in range(200):
        first, second = random.gamma(2, 1e-6, (2, 30))
        compare = Compare([timed(first.tolist()), timed((second * 1.3).tolist(), stmt="g")])
        compare.show_significance(0.9, drift=0)
        record = compare.to_records()[1]
        covered += record["ratio_low"] <= 1.3 <= record["ratio_high"]
    assert covered >= 0.9 * 200


@given(measurements(), st.sampled_from(["first", "best"]), st.sampled_from(["columns", "rows", "envs"]))
def test_ratios_are_quotients_of_what_is_shown(results: list[Measurement], to: Any, across: Any) -> None:
    compare = Compare(results)
    compare.show_ratios(to, across=across)
    compare.show_significance()
    medians = [record["median_s"] for record in compare.to_records()]
    for record in compare.to_records():
        if record["ratio"] is not None:
            assert np.isclose([record["median_s"] / record["ratio"]], medians, rtol=1e-9).any()
            assert to == "first" or record["ratio"] >= 1
        if record["ratio_low"] is not None:
            assert record["ratio_low"] <= record["ratio"] <= record["ratio_high"]
    assert str(compare)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda one: one.show_ratios("eager"), "to must be 'first' or 'best', not 'eager'"),
        (lambda one: one.show_ratios(column="a", row="b"), "show_ratios takes column, row or env"),
        (lambda one: one.show_ratios("best", column="a"), "show_ratios takes column, row or env"),
        (lambda one: one.show_ratios(across="diagonal"), "across must be one of columns, rows, envs"),
        (
            lambda one: one.show_ratios(column="eagr"),
            "column 'eagr' is none of those compared; did you mean 'eager'",
        ),
        (lambda one: one.show_ratios(row="q"), "row 'q' is none of those compared: there are 'f(x)'"),
        (
            lambda one: one.show_ratios(env="main"),
            "env 'main' is none of those compared: there are 'unspecified'",
        ),
        (lambda one: one.show_significance(95), "confidence must be above 0 and below 1, not 95"),
        (lambda one: one.show_significance("high"), "confidence must be a number, not str"),
        (lambda one: one.show_significance(True), "confidence must be"),
        (lambda one: one.show_significance(same_within=2), "same_within must be a share"),
        (lambda one: one.show_significance(same_within=float("nan")), "same_within must be a share"),
        (lambda one: one.show_significance(drift=-1), "drift must be a share from 0 on and below 1, not -1"),
        (lambda one: one.show_significance(drift=None), "drift must be a number, not NoneType"),
    ],
)
def test_a_wrong_argument_is_named(call: Any, message: str) -> None:
    compare = Compare([timed(1e-6, description="eager")])
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call(compare)
