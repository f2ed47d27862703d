"""A Timer's Measurement: torch's statistics and representation, and what torch does not have."""

from __future__ import annotations

import copy
import dataclasses
import math
import pickle
import re
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest
import scipy.stats
from hypothesis import assume, given
from hypothesis import strategies as st
from torch.utils import benchmark

from opbench.cases.errors import ArgumentError
from opbench.results.records import Caution
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement

WORDS = st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=8)
CODE = st.sampled_from(["pass", "x + 1", "with a:\n    b", ""])
TASKS = st.builds(
    TaskSpec,
    stmt=CODE,
    setup=CODE,
    label=st.none() | WORDS,
    sub_label=st.none() | WORDS,
    description=st.none() | WORDS,
    env=st.none() | WORDS,
    num_threads=st.integers(1, 64),
)
TIMES = st.integers(-9, 1).flatmap(
    lambda power: st.lists(st.floats(10.0**power, 3 * 10.0**power), min_size=1, max_size=60)
)
MEASUREMENTS = st.builds(
    lambda calls, times, task: Measurement(calls, [time * calls for time in times], task),
    st.integers(1, 10**6),
    TIMES,
    TASKS,
)


def body(measurement: Any) -> list[str]:
    """What stands below the line that names class and address."""
    return [line.rstrip() for line in repr(measurement).splitlines()[1:]]


def of(*times: float, **more: Any) -> Measurement:
    return Measurement(1, list(times), TaskSpec("f()", "pass"), **more)


@given(MEASUREMENTS)
def test_statistics_are_those_of_torch(measurement: Measurement) -> None:
    theirs = measurement.to_torch()
    assert measurement.times == theirs.times
    assert measurement.median == theirs.median
    assert measurement.iqr == theirs.iqr
    assert measurement.mean == pytest.approx(theirs.mean, rel=1e-14)
    assert measurement.has_warnings == theirs.has_warnings
    assert measurement.title == theirs.title
    assert measurement.as_row_name == theirs.as_row_name
    for threshold in (0.01, 0.1, 0.5):
        assert measurement.meets_confidence(threshold) == theirs.meets_confidence(threshold)
    for name in ("stmt", "setup", "global_setup", "label", "sub_label", "description", "num_threads"):
        assert getattr(measurement, name) == getattr(theirs, name)


@given(MEASUREMENTS)
def test_significant_figures_are_those_of_torch(measurement: Measurement) -> None:
    ours, theirs = measurement.significant_figures, measurement.to_torch().significant_figures
    if ours != theirs:
        # torch computes in single precision: it may fall on the other side of a power of ten.
        count = len(measurement.times)
        middle = sorted(measurement.times)[count // 4 : math.ceil(3 * count / 4)]
        reach = max(1.645 * float(np.std(middle)) / math.sqrt(len(middle)), 25e-9)
        digits = math.log10(measurement.median / reach)
        assert abs(digits - round(digits)) < 1e-3


@given(MEASUREMENTS)
def test_it_reads_as_torchs_does(measurement: Measurement) -> None:
    # Below a nanosecond torch's unit is the second.
    assume(measurement.median >= 1e-9)
    theirs = body(measurement.to_torch())
    if len(measurement.times) == 1:
        theirs = [line.replace(" runs ,", " runs,") for line in theirs]
    assert body(measurement) == theirs
    assert re.match(r"<opbench[\w.]*\.Measurement object at 0x[0-9a-f]+>$", repr(measurement).splitlines()[0])


@given(st.lists(MEASUREMENTS, max_size=8), st.data())
def test_replicates_are_merged_as_torch_merges_them(found: list[Measurement], data: st.DataObject) -> None:
    again = [
        Measurement(one.number_per_run, data.draw(TIMES), one.task_spec, {"kept": False}) for one in found
    ]
    ours = Measurement.merge([*found, *again])
    theirs = benchmark.Measurement.merge([one.to_torch() for one in [*found, *again]])
    assert [one.times for one in ours] == [one.times for one in theirs]
    assert [one.number_per_run for one in ours] == [1] * len(ours)
    assert [one.metadata for one in ours] == [None] * len(ours)


def test_merging_keeps_what_there_is_to_know() -> None:
    task, busy = TaskSpec("f()", "pass"), Caution("interference", "Something else ran")
    first = Measurement(2, [2.0], task, source="opbench", disturbed_times=[6.0], cautions=(busy,))
    second = Measurement(4, [8.0], task, source="opbench", cautions=(busy,))
    (merged,) = Measurement.merge([first, second])
    assert merged.times == [1.0, 2.0]
    assert merged.disturbed_times == [3.0]
    assert merged.cautions == (busy,)
    assert merged.source == "opbench"
    assert Measurement.merge([first, Measurement(1, [1.0], task)])[0].source == ""


@given(MEASUREMENTS, st.floats(0, 1))
def test_statistics_that_torch_lacks_are_those_of_numpy_and_scipy(one: Measurement, share: float) -> None:
    times = np.array(one.times)
    assert one.min == times.min()
    assert one.max == times.max()
    assert one.quantile(share) == pytest.approx(float(np.quantile(times, share)), rel=1e-12)
    assert one.mad == pytest.approx(float(scipy.stats.median_abs_deviation(times)), rel=1e-9, abs=1e-24)
    if len(times) > 1:
        assert one.std == pytest.approx(float(times.std(ddof=1)), rel=1e-9, abs=1e-18)
    else:
        assert math.isnan(one.std)


@given(MEASUREMENTS, st.sampled_from([0.5, 0.9, 0.95, 0.99]))
def test_the_interval_has_the_confidence_that_it_says(one: Measurement, confidence: float) -> None:
    interval = one.interval(confidence)
    times = sorted(one.times)
    if len(times) == 1:
        assert interval is None
        return
    assert interval is not None
    assert interval.low <= one.median <= interval.high
    # The narrowest pair of order statistics that is confident enough, else the extremes.
    count = len(times)
    actual = [1 - 2 * scipy.stats.binom.cdf(rank, count, 0.5) for rank in range(count // 2)]
    enough = [rank for rank, level in enumerate(actual) if level >= confidence]
    rank = max(enough, default=0)
    assert (interval.low, interval.high) == (times[rank], times[-1 - rank])
    assert interval.confidence == pytest.approx(actual[rank])


def test_what_is_not_known_of_the_empty_loop_widens_the_interval() -> None:
    times = [float(time) for time in range(10, 31)]
    plain = of(*times).interval()
    unsure = of(*times, baseline_uncertainty_s=12.0).interval()
    assert plain is not None
    assert unsure is not None
    assert (plain.low, plain.high) == (15, 25)
    assert (unsure.low, unsure.high) == (20 - 13, 20 + 13)
    assert unsure.confidence == plain.confidence


def test_the_spread_of_what_takes_no_time_is_no_warning() -> None:
    nothing = Caution("indistinguishable", "the call cannot be told apart from an empty loop")
    assert of(0.0, 0.0, 1e-12, 1e-11, cautions=(nothing,)).warnings == (nothing.message,)


@given(MEASUREMENTS, st.none() | st.dictionaries(WORDS, st.integers() | WORDS | st.none() | st.booleans()))
def test_json_and_torch_bring_it_back(one: Measurement, metadata: dict[Any, Any] | None) -> None:
    one.metadata = metadata
    one.disturbed_times, one.source = [0.5], "opbench"
    one.baseline_s, one.baseline_uncertainty_s = 1e-9, 1e-10
    one.cautions = (Caution("idle", "It sleeps"),)
    assert Measurement.from_json(one.to_json()) == one
    assert "\n" not in one.to_json()
    back = Measurement.from_torch(one.to_torch())
    assert (back.number_per_run, back.raw_times, back.task_spec, back.metadata) == (
        one.number_per_run,
        one.raw_times,
        one.task_spec,
        metadata,
    )


@pytest.mark.parametrize("metadata", [{1: 2}, {"a": (1, 2)}, {"a": object()}, {"a": math.nan}])
def test_metadata_that_json_would_change_is_refused(metadata: dict[Any, Any]) -> None:
    with pytest.raises(ArgumentError, match="metadata"):
        of(1.0, metadata=metadata).to_json()


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("{", "text is not JSON"),
        ("[]", "text must be a JSON object"),
        ("{}", "kind 'opbench.timing', not None"),
        ('{"kind": "opbench.timing", "version": 9}', "version 9"),
        ('{"kind": "opbench.timing", "version": 1}', "text is no measurement: .*task_spec"),
        (of(1.0).to_json().replace("[1.0]", "[]"), "raw_times must have at least one time"),
        (of(1.0).to_json().replace("[1.0]", "[-1.0]"), r"raw_times\[0\] must be a number of seconds"),
        (of(1.0).to_json().replace("1.0", "1e999"), "text"),
        (of(1.0).to_json().replace('"stmt"', '"stmp"'), "text is no measurement"),
    ],
)
def test_a_text_that_is_no_measurement_says_why(text: str, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        Measurement.from_json(text)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((0, [1.0], TaskSpec("f", "")), "number_per_run must be at least 1"),
        ((1.5, [1.0], TaskSpec("f", "")), "number_per_run must be a whole number"),
        ((1, [], TaskSpec("f", "")), "raw_times must have at least one time"),
        ((1, "12", TaskSpec("f", "")), "raw_times must be a list of seconds"),
        ((1, [1.0, math.nan], TaskSpec("f", "")), r"raw_times\[1\]"),
        ((1, ["a"], TaskSpec("f", "")), r"raw_times\[0\]"),
        ((1, [1.0], "f"), "task_spec must be a TaskSpec, not str"),
    ],
)
def test_a_wrong_argument_is_named(arguments: Any, says: str) -> None:
    with pytest.raises(ArgumentError, match=says):
        Measurement(*arguments)


def test_what_it_is_asked_for_is_checked() -> None:
    with pytest.raises(ArgumentError, match="share must be from 0 to 1"):
        of(1.0).quantile(2)
    with pytest.raises(ArgumentError, match="confidence must be above 0"):
        of(1.0, 2.0).interval(1.0)
    with pytest.raises(AttributeError, match="no attribute 'medain'"):
        of(1.0).medain  # noqa: B018


def test_it_can_be_copied_and_sent_to_another_process() -> None:
    one = of(1.0, 2.0, 3.0, source="opbench")
    assert one.median == 2.0
    assert copy.deepcopy(one) == one
    assert pickle.loads(pickle.dumps(one)) == one
    assert dataclasses.replace(one, raw_times=[4.0]).median == 4.0


def test_an_environment_that_nobody_named_is_none() -> None:
    assert of(1.0).env is None


def test_a_measurement_of_opbench_shows_what_more_it_knows() -> None:
    busy = Caution("interference", "9 of 12 samples were disturbed")
    text = repr(
        of(*(1e-6 + 1e-9 * i for i in range(20)), source="opbench", disturbed_times=[2e-6], cautions=(busy,))
    )
    assert "  Median between 1.005 and 1.014 us (95.9% confidence)" in text
    assert "  1 disturbed measurement left out" in text
    assert "  WARNING: 9 of 12 samples were disturbed" in text
    assert re.search(r"^  1 \|[▁▂▃▄▅▆▇█ ]{24}\| 1.019 us", text, re.MULTILINE)


def test_times_that_are_all_equal_are_shown_as_such() -> None:
    assert "all 1 s" in repr(of(*[1.0] * 9, source="opbench"))


@given(MEASUREMENTS, st.sampled_from(["<script>alert(1)</script>", "a & b", '"x"']))
def test_html_shows_everything_and_runs_nothing(one: Measurement, hostile: str) -> None:
    task = TaskSpec(hostile, hostile, label=hostile, description=hostile, num_threads=2)
    page = Measurement(one.number_per_run, one.raw_times, task)._repr_html_()
    tree = ElementTree.fromstring(page)
    assert hostile in "".join(tree.itertext())
    assert not tree.findall(".//script")
    shown = "".join(tree.itertext())
    assert f"{len(one.raw_times)} of {one.number_per_run} runs" in shown


@given(st.lists(st.floats(0, 1), min_size=2, max_size=40))
def test_html_and_text_take_any_times(times: list[float]) -> None:
    one = of(*times, source="opbench")
    assert one._repr_html_().count("<rect") >= 1
    assert "Median" in repr(one)
