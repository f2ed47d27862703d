"""Modes, cache flushes, asynchronous devices: what is inside of a time and what is not."""

from __future__ import annotations

from typing import Any

import pytest

from opbench.worker.probes.sampler import MOST_EVENTS, Sampler

from .fakes import MS, US, FakeAccelerator, FakeCpu, Machine, Measured, call_of, plan

MODES = ("continuous", "discrete", "continuous_events")


@pytest.mark.parametrize("mode", MODES)
def test_every_mode_finds_the_time_of_a_call(mode: str) -> None:
    machine = Machine(resolution=1, per_iteration=30)
    measured = Measured(call_of(lambda: machine.work(3 * US)), machine, mode=mode)
    assert measured.ns == pytest.approx(3 * US)
    assert measured.provenance["mode"] == mode
    assert measured.provenance["timer"] == "host clock"


def test_continuous_times_many_calls_as_one_sample() -> None:
    machine = Machine(resolution=1)
    measured = Measured(call_of(lambda: machine.work(3 * US)), machine)
    assert measured.provenance["calls_per_sample"] == 334


def test_discrete_times_each_call_by_itself() -> None:
    machine = Machine(resolution=1)
    made: list[int] = []
    prepared = call_of(lambda: (made.append(1), machine.work(3 * US)))
    measured = Measured(prepared, machine, mode="discrete", samples=7)
    assert measured.provenance["calls_per_sample"] == 1
    assert len(made) == measured.provenance["warmup_calls"] + 7


def test_single_calls_are_told_apart_in_a_block() -> None:
    machine = Machine(resolution=1)
    turn = iter(range(10_000))
    prepared = call_of(lambda: machine.work((next(turn) % 4 + 1) * 10 * US), first_call_s=0.0)
    measured = Measured(
        prepared, machine, mode="continuous_events", samples=8, warmup_calls=1, calls_per_sample=None
    )
    found = [round(sample * 1e5) for sample in measured.samples]
    start = found[0]
    assert found == [(start - 1 + place) % 4 + 1 for place in range(8)]


@pytest.mark.parametrize("mode", ["discrete", "continuous_events"])
def test_single_calls_too_short_for_the_clock_are_pointed_out(mode: str) -> None:
    machine = Machine(resolution=20)
    measured = Measured(call_of(lambda: machine.work(500)), machine, mode=mode)
    assert "mode 'continuous' times many calls at once" in measured.warnings["short_block"]


def test_a_block_is_long_enough_for_a_coarse_clock() -> None:
    # Windows' clock of old: 15.6 ms.
    machine = Machine(resolution=15_600_000)
    measured = Measured(call_of(lambda: machine.work(10 * US)), machine, budget_s=60.0, baseline=False)
    assert "short_block" not in measured.warnings
    assert measured.provenance["calls_per_sample"] >= 156_000
    assert measured.ns == pytest.approx(10 * US, rel=0.01)


def test_too_few_calls_asked_for_are_pointed_out() -> None:
    machine = Machine(resolution=100)
    measured = Measured(call_of(lambda: machine.work(500)), machine, calls_per_sample=3)
    assert "more calls per sample" in measured.warnings["short_block"]


@pytest.mark.parametrize("mode", ["discrete", "continuous_events"])
def test_the_cache_is_flushed_before_each_call_and_outside_of_its_time(mode: str) -> None:
    machine = Machine(resolution=1)
    device = FakeCpu(machine, flush_takes=5 * MS)
    starts: list[int] = []
    prepared = call_of(lambda: (starts.append(machine.time), machine.work(200 * US)))
    measured = Measured(prepared, machine, device, mode=mode, flush_cache=True, samples=20, baseline=False)
    assert measured.ns == 200 * US
    assert len(device.flushes) == 20
    assert measured.provenance["flush_cache"] is True
    # Each of the last twenty calls began when a flush had just ended.
    assert starts[-20:] == [flush + 5 * MS for flush in device.flushes]


@pytest.mark.parametrize("mode", MODES)
def test_without_being_asked_nothing_is_flushed(mode: str) -> None:
    machine = Machine()
    device = FakeCpu(machine)
    measured = Measured(call_of(lambda: machine.work(MS)), machine, device, mode=mode, samples=3)
    assert device.flushes == []
    assert "flush_cache" not in measured.provenance


def test_what_the_host_does_for_a_call_is_unknown_when_flushes_are_in_between() -> None:
    machine = Machine(resolution=1)
    prepared = call_of(lambda: machine.work(MS))
    flushed = Measured(prepared, machine, mode="continuous_events", flush_cache=True)
    assert "time.cpu" not in flushed.metrics
    assert "time.cpu" in Measured(prepared, machine, mode="discrete", flush_cache=True).metrics


# Asynchronous devices


def on(device: FakeAccelerator, duration: int) -> Any:
    return call_of(lambda: device.enqueue(duration))


@pytest.mark.parametrize("events", [True, False])
@pytest.mark.parametrize("mode", ["continuous", "discrete"])
def test_the_time_of_the_device_is_measured_not_that_of_asking_it(mode: str, events: bool) -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, launch=5 * US, events=events)
    measured = Measured(on(device, 4 * MS), machine, device, mode=mode)
    # The first launch is not hidden behind earlier work.
    assert measured.ns == pytest.approx(4 * MS, abs=5 * US)
    host = measured.metrics["time.host"]
    assert host["value"] == pytest.approx(5e-6)
    expected = "device events" if mode == "continuous" and events else "synchronised host clock"
    assert measured.provenance["timer"] == expected
    assert "idle" not in measured.warnings


def test_device_events_around_single_calls_leave_launching_out() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, launch=5 * US)
    measured = Measured(on(device, 40 * US), machine, device, mode="continuous_events", max_samples=500)
    assert measured.ns == 40 * US
    assert measured.provenance["timer"] == "device events"
    assert measured.provenance["calls_per_sample"] == 1


def test_calls_that_launch_slower_than_they_run_take_what_launching_takes_back_to_back() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, launch=10 * US)
    back_to_back = Measured(on(device, 2 * US), machine, device)
    assert back_to_back.ns == pytest.approx(10 * US, rel=0.02)
    assert back_to_back.metrics["time.host"]["value"] == pytest.approx(10e-6)


def test_a_device_is_idle_before_a_sample_starts() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine)
    # Someone else's work is still in the queue.
    device.enqueue(50 * MS)
    sampler = Sampler(on(device, MS), plan(), device, machine.clock())
    assert sampler.sample(1).times_ns == (MS,)


def test_a_flush_on_the_device_is_outside_of_the_events() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, launch=2 * US, flush=300 * US)
    measured = Measured(
        on(device, 40 * US), machine, device, mode="continuous_events", flush_cache=True, samples=30
    )
    assert measured.ns == 40 * US
    assert device.flushes >= 30


def test_a_device_without_events_marks_single_calls_by_the_host_clock() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine, events=False)
    sampler = Sampler(on(device, MS), plan(mode="discrete"), device, machine.clock())
    assert sampler.timer_name == "synchronised host clock"


def test_only_so_many_events_are_in_flight() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine)
    sampler = Sampler(on(device, US), plan(mode="continuous_events"), device, machine.clock())
    assert sampler.most_calls == MOST_EVENTS
    assert len(sampler.sample(MOST_EVENTS).times_ns) == MOST_EVENTS
    # The same events serve again.
    assert len(sampler.sample(MOST_EVENTS).times_ns) == MOST_EVENTS


def test_warm_up_waits_for_the_device() -> None:
    machine = Machine(resolution=1)
    device = FakeAccelerator(machine)
    sampler = Sampler(on(device, 7 * MS), plan(mode="continuous_events"), device, machine.clock())
    assert sampler.warm(3) == 21 * MS


def test_python_collects_no_garbage_inside_a_sample_unless_asked_to() -> None:
    import gc

    machine = Machine()
    seen: list[bool] = []
    prepared = call_of(lambda: (seen.append(gc.isenabled()), machine.work(MS)))
    gc.enable()
    for wanted in (False, True):
        seen.clear()
        Measured(prepared, machine, samples=5, garbage_collection=wanted)
        assert seen[-5:] == [wanted] * 5
        assert gc.isenabled()
