"""Filters and orders of rows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import ArgumentError
from opbench.reports.compare import Compare
from opbench.reports.compare.selection import natural
from opbench.results.timing import Measurement

from .timings import measurements, timed


def named(compare: Compare) -> list[str]:
    return [record["row"] for record in compare.to_records()]


def sizes() -> Compare:
    times = {"n = 9": 3e-6, "n = 10": 1e-6, "n = 100": 2e-6}
    return Compare(
        [timed(time, label="add", sub_label=name, description="eager") for name, time in times.items()]
    )


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, ["n = 10", "n = 100", "n = 9"]),
        ({"descending": True}, ["n = 9", "n = 100", "n = 10"]),
        ({"by": "name"}, ["n = 9", "n = 10", "n = 100"]),
        ({"by": "name", "descending": True}, ["n = 100", "n = 10", "n = 9"]),
    ],
)
def test_rows_are_sorted(settings: dict[str, Any], expected: list[str]) -> None:
    compare = sizes()
    assert named(compare) == ["n = 9", "n = 10", "n = 100"]
    compare.sort(**settings)
    assert named(compare) == expected
    lines = str(compare).splitlines()[3:6]
    assert [line.split("|")[0].strip() for line in lines] == expected


def test_rows_are_sorted_by_ratio_and_keep_theirs() -> None:
    times = {
        ("a", "x"): 1.0,
        ("a", "y"): 3.0,
        ("b", "x"): 4.0,
        ("b", "y"): 2.0,
        ("c", "x"): 5.0,
        ("d", "y"): 1.0,
    }
    results = [timed([time], sub_label=row, description=column) for (row, column), time in times.items()]
    compare = Compare(results)
    compare.show_ratios(column="x")
    compare.sort("ratio")
    # Rows without a ratio are last, in the order in which they came.
    expected = {"b": 0.5, "a": 3.0, "c": None, "d": None}
    assert list(dict.fromkeys(named(compare))) == list(expected)
    shown = {record["row"]: record["ratio"] for record in compare.to_records() if record["column"] == "y"}
    assert shown == {name: ratio for name, ratio in expected.items() if name != "c"}
    lines = str(compare).splitlines()[3:7]
    assert [line.split("|")[-1].strip() for line in lines] == ["0.500x", "3.00x", "", ""]
    compare.sort("ratio", descending=True)
    assert list(dict.fromkeys(named(compare))) == ["a", "b", "c", "d"]


def test_sorting_stays_within_threads_and_environment() -> None:
    results = [
        timed(time, sub_label=name, num_threads=threads, env=env)
        for threads, env, name, time in (
            *((1, "a", "p", 3e-6), (1, "a", "q", 2e-6), (1, "b", "p", 1e-6)),
            *((2, "a", "p", 2e-6), (2, "a", "q", 1e-6)),
        )
    ]
    compare = Compare(results)
    compare.sort()
    found = [(record["num_threads"], record["env"], record["row"]) for record in compare.to_records()]
    assert found == [(1, "a", "q"), (1, "a", "p"), (1, "b", "p"), (2, "a", "q"), (2, "a", "p")]


@given(measurements(), st.sampled_from(["time", "name"]), st.booleans())
def test_sorting_changes_nothing_but_the_order(results: list[Measurement], by: Any, descending: bool) -> None:
    def lines(compare: Compare) -> list[str]:
        return sorted(re.sub(r"^  \(\w*\)|\s", "", line) for line in str(compare).splitlines())

    compare, same = Compare(results), Compare(results)
    compare.sort(by, descending=descending)
    if len({one.env for one in results}) == 1:
        assert lines(compare) == lines(same)
    key = str
    assert sorted(map(key, compare.to_records())) == sorted(map(key, same.to_records()))


@given(st.lists(st.text("ab 0123456789²", max_size=6), max_size=6))
def test_numbers_in_names_are_sorted_by_size_and_no_name_is_refused(names: list[str]) -> None:
    ordered = sorted(names, key=natural)
    assert sorted(ordered) == sorted(names)
    numbers = [name for name in ordered if name.isascii() and name.isdigit()]
    assert numbers == sorted(numbers, key=int)


def test_filters_by_text_function_and_both() -> None:
    def mixed() -> Compare:
        return Compare(
            [
                timed(1e-6, label="mm", sub_label="(16, 16)", description="eager"),
                timed(2e-6, label="mm", sub_label="(128, 128)", description="Compiled"),
                timed(3e-6, label="add", sub_label="(16, 16)"),
            ]
        )

    for settings, medians in (
        ({}, [1, 2, 3]),
        ({"keep": "COMPILED"}, [2]),
        ({"keep": "16"}, [1, 3]),
        ({"label": "m"}, [1, 2]),
        ({"sub_label": "16", "label": "add"}, [3]),
        ({"description": "compiled"}, [2]),
        ({"keep": lambda one: one.median > 1.5e-6}, [2, 3]),
        ({"keep": lambda one: one.median > 1.5e-6, "label": "mm"}, [2]),
        ({"keep": "no such thing"}, []),
    ):
        compare = mixed()
        compare.filter(**settings)
        found = [round(record["median_s"] * 1e6) for record in compare.to_records()]
        assert found == medians, settings
    compare = mixed()
    compare.filter("mm")
    compare.filter("eager")
    assert len(compare.to_records()) == 1
    compare.extend_results([timed(5e-6, label="mm", description="eager 2"), timed(5e-6, label="other")])
    assert len(compare.to_records()) == 2
    compare.filter("no such thing")
    assert str(compare) == "No measurement passes the filter.\n"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda one: one.sort("nmae"),
            "by must be one of time, name, ratio, not 'nmae'; did you mean 'name'?",
        ),
        (lambda one: one.sort(3), "by must be one of time, name, ratio, not 3"),
        (lambda one: one.sort("ratio"), "by is 'ratio', but there are no ratios: call show_ratios first"),
        (lambda one: one.filter(3), "keep must be a function or a text, not int"),
        (lambda one: one.filter(label=3), "label must be a text, not int"),
        (lambda one: one.filter("a", description=["b"]), "description must be a text, not list"),
    ],
)
def test_a_wrong_argument_is_named(call: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        call(sizes())
