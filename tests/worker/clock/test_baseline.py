"""What an empty loop costs is subtracted, and what is not known of it is in the interval."""

from __future__ import annotations

from itertools import cycle
from math import hypot

import pytest

from opbench.worker.probes.sampler import Block
from opbench.worker.probes.samples import Samples

from .fakes import MS, US, Machine, Measured, call_of, plan


def block(time: float, calls: int = 1) -> Block:
    return Block(calls, (time,), time, time, 0.0, 0)


@pytest.mark.parametrize("per_iteration", [0, 5, 40, 300])
def test_the_loop_costs_nothing_in_the_result(per_iteration: int) -> None:
    machine = Machine(resolution=1, per_iteration=per_iteration)
    measured = Measured(call_of(lambda: machine.work(2 * US)), machine)
    assert measured.ns == pytest.approx(2 * US, rel=1e-9)
    assert measured.provenance["baseline_s"] == pytest.approx(per_iteration / 1e9)


def test_without_a_baseline_the_loop_is_in_the_result() -> None:
    machine = Machine(resolution=1, per_iteration=40)
    measured = Measured(call_of(lambda: machine.work(2 * US)), machine, baseline=False)
    assert measured.ns == pytest.approx(2 * US + 40)
    assert measured.provenance["baseline_samples"] == 0


def test_nothing_is_timed_between_the_samples_not_once_before() -> None:
    machine = Machine(resolution=1, per_iteration=10)
    measured = Measured(call_of(lambda: machine.work(MS)), machine, samples=100)
    # One after each of the first ten samples, then one after every fifth.
    assert measured.provenance["baseline_samples"] == 20


def test_a_call_that_costs_nothing_is_not_told_from_the_empty_loop() -> None:
    machine = Machine(resolution=1, per_iteration=10)
    measured = Measured(call_of(lambda: None), machine, max_samples=30)
    assert measured.ns == 0
    assert min(measured.samples) == 0
    assert "indistinguishable" in measured.warnings


def test_a_call_well_above_the_loop_is_told_from_it() -> None:
    machine = Machine(resolution=1, per_iteration=10)
    assert "indistinguishable" not in Measured(call_of(lambda: machine.work(10)), machine).warnings


def test_a_time_is_never_below_zero() -> None:
    # An empty loop that costs more than the one around the call: a fast call in a slow moment.
    machine = Machine(resolution=1)
    costs = cycle([0, 50])
    machine.iterations = lambda count: (machine.work(next(costs) * count), range(count))[1]  # type: ignore[method-assign]
    measured = Measured(call_of(lambda: machine.work(1)), machine, samples=50)
    assert measured.ns >= 0
    assert min(measured.samples) >= 0


def test_the_interval_is_wider_by_what_is_not_known_of_the_empty_loop() -> None:
    samples = Samples(plan())
    for time in range(1000, 1101):
        samples.add(block(float(time)))
    alone = samples.interval()
    for time in range(380, 421):
        samples.add_baseline(block(float(time)))
    unsure = samples.base_uncertainty()
    both = samples.interval()
    assert alone is not None
    assert both is not None
    assert samples.base() == 400
    assert 0 < unsure < 20
    assert both.low == pytest.approx(1050 - hypot(1050 - alone.low, unsure))
    assert both.high == pytest.approx(1050 + hypot(alone.high - 1050, unsure))


def test_too_few_baselines_for_an_interval_are_as_uncertain_as_they_spread() -> None:
    samples = Samples(plan())
    for time in (100.0, 102.0, 104.0, 106.0, 108.0):
        samples.add_baseline(block(time))
    assert samples.base() == 104
    assert samples.base_uncertainty() == 2.0


def test_precision_is_a_share_of_what_is_above_the_baseline() -> None:
    samples = Samples(plan(baseline=True))
    for time in range(1000, 1041):
        samples.add(block(float(time)))
    wide = samples.progress(0.0).half_width
    samples.add_baseline(block(920.0))
    narrow_base = samples.progress(0.0).half_width
    assert wide is not None
    assert narrow_base is not None
    assert narrow_base == pytest.approx(wide * 1020 / 100)


def test_precision_is_unknown_when_nothing_is_above_the_baseline() -> None:
    samples = Samples(plan())
    for _ in range(20):
        samples.add(block(100.0))
        samples.add_baseline(block(100.0))
    assert samples.progress(0.0).half_width is None
