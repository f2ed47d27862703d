"""When sampling ends, and what is said about it."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.worker.probes.stopping import Progress, reason_to_stop, unmet

from .fakes import MS, Machine, Measured, S, call_of, plan


def progress(
    taken: int, disturbed: int = 0, elapsed: float = 0.0, half_width: float | None = 1.0
) -> Progress:
    return Progress(taken, disturbed, elapsed, half_width)


@pytest.mark.parametrize(
    ("at", "reason"),
    [
        (progress(0, elapsed=99), ""),  # one sample is taken, however little time there is
        (progress(1), ""),
        (progress(19, half_width=0.0), ""),
        (progress(20, half_width=0.004), "precision"),
        (progress(20, half_width=0.006), ""),
        (progress(20, half_width=None), ""),
        (progress(1000), "max_samples"),
        (progress(1000, half_width=0.001), "precision"),
        (progress(3, elapsed=1.0), "budget"),
        (progress(500, elapsed=1.0), "budget"),
        (progress(30, disturbed=11, half_width=0.001), ""),  # 19 clean ones are too few
        (progress(31, disturbed=11, half_width=0.001), "precision"),
        (progress(41, disturbed=41, half_width=0.001), "precision"),  # no more than 40 are taken again
        (progress(1040, disturbed=40), "max_samples"),
        (progress(1039, disturbed=40), ""),
    ],
)
def test_the_default_plan_stops(at: Progress, reason: str) -> None:
    assert reason_to_stop(plan(), at) == reason


@given(
    st.integers(1, 2000),
    st.integers(0, 2000),
    st.floats(0, 1e3),
    st.none() | st.floats(0, 10),
    st.integers(1, 2000),
)
def test_exactly_so_many_samples_are_taken_when_asked_for(
    taken: int, disturbed: int, elapsed: float, half_width: float | None, asked: int
) -> None:
    at = progress(taken, min(taken, disturbed), elapsed, half_width)
    assert reason_to_stop(plan(samples=asked), at) == ("samples" if taken >= asked else "")
    assert unmet(plan(samples=asked), at) == ""


@pytest.mark.parametrize(
    ("at", "text"),
    [
        (progress(7, elapsed=1), "7 of at least 20 samples"),
        (progress(30, disturbed=15), "15 of at least 20 samples"),
        (progress(30, half_width=0.0123), "half width 1.23% of the median, not 0.50%"),
        (progress(30, half_width=None), "the interval of the median is not known"),
        (progress(30, half_width=0.001), ""),
    ],
)
def test_the_condition_that_was_not_met_is_said(at: Progress, text: str) -> None:
    assert unmet(plan(), at) == text


def constant(machine: Machine, duration: int) -> Any:
    return call_of(lambda: machine.work(duration))


def test_steady_times_end_with_the_fewest_samples() -> None:
    machine = Machine(resolution=1)
    measured = Measured(constant(machine, 2 * MS), machine)
    assert measured.provenance["stopped"] == "precision"
    assert "unmet" not in measured.provenance
    assert len(measured.samples) == 20
    assert measured.time["interval"]["low"] == measured.time["interval"]["high"] == 0.002


def test_the_confidence_is_the_one_that_twenty_samples_really_give() -> None:
    machine = Machine(resolution=1)
    measured = Measured(constant(machine, 2 * MS), machine)
    assert measured.time["interval"]["confidence"] == pytest.approx(0.958611, abs=1e-6)


def test_noise_takes_samples_until_the_interval_is_narrow_enough() -> None:
    machine = Machine(resolution=1)
    durations = cycle([1_000_000, 1_020_000, 980_000, 1_060_000, 950_000, 1_003_000, 997_000])
    measured = Measured(call_of(lambda: machine.work(next(durations))), machine, calls_per_sample=1)
    assert measured.provenance["stopped"] == "precision"
    assert 20 < len(measured.samples) < 200
    interval = measured.time["interval"]
    reach = max(interval["high"] * 1e9 - measured.ns, measured.ns - interval["low"] * 1e9)
    assert reach / measured.ns <= 0.005


def test_the_budget_ends_a_noisy_case_and_what_was_missed_is_said() -> None:
    machine = Machine(resolution=1)
    durations = cycle([5 * MS, 15 * MS])
    measured = Measured(call_of(lambda: machine.work(next(durations))), machine, budget_s=1.0)
    assert measured.provenance["stopped"] == "budget"
    assert measured.provenance["unmet"].startswith("half width")
    assert 99 <= len(measured.samples) <= 101


def test_max_samples_end_a_noisy_case_within_the_budget() -> None:
    machine = Machine(resolution=1)
    durations = cycle([1 * MS, 2 * MS])
    measured = Measured(
        call_of(lambda: machine.work(next(durations))), machine, max_samples=50, calls_per_sample=1
    )
    assert measured.provenance["stopped"] == "max_samples"
    assert len(measured.samples) == 50


@pytest.mark.parametrize("duration", [10, 1_000, MS, 40 * MS])
@pytest.mark.parametrize("mode", ["continuous", "discrete", "continuous_events"])
def test_there_are_at_least_twenty_samples_whenever_the_budget_allows(duration: int, mode: str) -> None:
    machine = Machine(resolution=1)
    measured = Measured(constant(machine, duration), machine, mode=mode)
    assert len(measured.samples) >= 20
    assert "few_samples" not in measured.warnings


def test_a_case_longer_than_the_budget_is_sampled_once_and_says_so() -> None:
    machine = Machine(resolution=1)
    measured = Measured(constant(machine, 5 * S), machine)
    assert len(measured.samples) == 1
    assert measured.provenance["stopped"] == "budget"
    assert measured.provenance["unmet"] == "1 of at least 20 samples"
    assert "interval" not in measured.time
    assert "only 1 sample:" in measured.warnings["few_samples"]
    assert "1 s" in measured.warnings["few_samples"]


def test_with_few_samples_the_interval_has_the_confidence_it_has() -> None:
    machine = Machine(resolution=1)
    measured = Measured(constant(machine, 300 * MS), machine)
    assert len(measured.samples) == 4
    assert measured.time["interval"]["confidence"] == 1 - 2 / 16


@pytest.mark.parametrize("mode", ["continuous", "discrete", "continuous_events"])
def test_so_many_samples_as_asked_for_in_every_mode(mode: str) -> None:
    machine = Machine(resolution=1)
    durations = cycle([1 * MS, 9 * MS])
    measured = Measured(call_of(lambda: machine.work(next(durations))), machine, samples=37, mode=mode)
    assert len(measured.samples) == 37
    assert measured.provenance["stopped"] == "samples"


def test_a_time_that_changes_on_the_way_is_called_unstable() -> None:
    machine = Machine(resolution=1)
    calls = iter(range(10_000))
    prepared = call_of(lambda: machine.work(1 * MS if next(calls) < 60 else 2 * MS))
    measured = Measured(prepared, machine, samples=100)
    assert "+100%" in measured.warnings["unstable"]


def test_noise_alone_is_not_called_unstable() -> None:
    machine = Machine(resolution=1)
    durations = cycle([MS, 2 * MS, 3 * MS])
    measured = Measured(
        call_of(lambda: machine.work(next(durations))), machine, samples=90, calls_per_sample=1
    )
    assert "unstable" not in measured.warnings


def test_all_samples_are_kept_in_the_order_they_were_taken() -> None:
    machine = Machine(resolution=1)
    # The call made while preparing is the first of the eleven.
    durations = iter([MS] * 10 + [(turn % 7 + 1) * MS for turn in range(30)])
    prepared = call_of(lambda: machine.work(next(durations)), first_call_s=0.0)
    measured = Measured(prepared, machine, warmup_calls=11, calls_per_sample=1, samples=30)
    assert [round(sample * 1e3) for sample in measured.samples] == [turn % 7 + 1 for turn in range(30)]


def test_counters_are_given_back_even_when_the_call_fails() -> None:
    machine = Machine()

    def call() -> None:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError, match="no"):
        Measured(call_of(call), machine)
    assert machine.closed
