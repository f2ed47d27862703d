"""Warming up until times stop falling, and finding how many calls make a sample."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opbench.worker.probes.calibrate import WarmUp, sized, target_ns, warm_up
from opbench.worker.probes.timer import measured

from .fakes import MS, US, Machine, Measured, call_of, plan


def warmed(machine: Machine, duration: int, target: float = MS, **knobs: object) -> WarmUp:
    """Warm up a call that always takes the same."""

    def block(calls: int) -> float:
        machine.work(calls * duration)
        return calls * duration

    return warm_up(block, machine.now, plan(**knobs), target=target)


def test_a_sample_lasts_as_long_as_the_plan_says() -> None:
    assert target_ns(plan(), resolution_ns=30) == MS
    assert target_ns(plan(block_s=0.02), resolution_ns=30) == 20 * MS


def test_a_sample_lasts_a_hundred_times_what_a_coarse_clock_resolves() -> None:
    assert target_ns(plan(), resolution_ns=15_600_000) == 1_560 * MS


def test_the_clock_is_read_to_find_what_it_resolves_and_costs() -> None:
    machine = Machine(resolution=100)

    def reading() -> int:
        machine.work(30)
        return machine.now()

    timer = measured(reading)
    assert timer.resolution_ns == 100
    assert abs(timer.cost_ns - 30) < 0.3


def test_a_clock_that_does_not_move_is_no_division_by_zero() -> None:
    assert measured(lambda: 5) == (1, 0.0)


def test_calls_per_sample_are_the_fewest_that_last_as_long_as_the_target() -> None:
    assert warmed(Machine(resolution=1), 3 * US).calls_per_sample == 334
    assert warmed(Machine(resolution=1), 2 * MS).calls_per_sample == 1


@given(st.floats(1e3, 1e9), st.floats(1e-3, 1e10))
def test_no_fewer_calls_would_do(target: float, per_call: float) -> None:
    calls = sized(target, per_call, most=1 << 62)
    assert calls * per_call >= target * (1 - 1e-9)
    assert calls == 1 or (calls - 1) * per_call < target * (1 + 1e-9)


def test_a_call_faster_than_the_clock_sees_still_has_a_size() -> None:
    # Nothing is ever seen to pass: the block grows to its limit of one call a nanosecond, and ends.
    machine = Machine()
    found = warm_up(lambda calls: 0.0, machine.now, plan(), target=1000)
    assert found.calls_per_sample == 1000


def test_warm_up_ends_when_blocks_stop_getting_faster() -> None:
    found = warmed(Machine(resolution=1), MS)
    # One call finds the size, three blocks of one call each are not faster.
    assert found == WarmUp(calls_per_sample=1, calls=4, elapsed_s=0.004, stable=True)


def test_warm_up_goes_on_while_times_fall() -> None:
    machine = Machine(resolution=1)
    durations = iter([10 * MS, 8 * MS, 6 * MS, 4 * MS, *[2 * MS] * 100])

    def block(calls: int) -> float:
        assert calls == 1
        duration = next(durations)
        machine.work(duration)
        return duration

    found = warm_up(block, machine.now, plan(), target=MS)
    assert found.stable
    assert found.calls == 8  # the five that were faster each, and three that were not


def test_a_drop_of_less_than_one_per_cent_is_no_fall() -> None:
    machine = Machine(resolution=1)
    durations = iter(round(10 * MS * 0.995**turn) for turn in range(100))

    def block(calls: int) -> float:
        duration = next(durations)
        machine.work(duration)
        return duration

    assert warm_up(block, machine.now, plan(), target=MS).calls <= 8


def test_the_size_follows_calls_that_become_faster() -> None:
    machine = Machine(resolution=1)
    made = 0

    def block(calls: int) -> float:
        nonlocal made
        before, made = machine.time, made + calls
        machine.work(calls * (100 * US if made <= 50 else 10 * US))
        return machine.time - before

    assert warm_up(block, machine.now, plan(), target=MS).calls_per_sample == 100


def test_warm_up_without_end_is_cut_and_says_so() -> None:
    machine = Machine(resolution=1)
    speed = [2000.0 * MS]

    def block(calls: int) -> float:
        speed[0] *= 0.9
        machine.work(round(calls * speed[0]))
        return calls * speed[0]

    found = warm_up(block, machine.now, plan(warmup_s=5), target=MS)
    assert not found.stable
    assert 4 < found.elapsed_s < 7


def test_a_call_far_longer_than_the_warm_up_is_made_once() -> None:
    found = warmed(Machine(resolution=1), 30_000 * MS, warmup_s=0.5)
    assert found.calls == 1
    assert not found.stable


def test_exactly_so_many_calls_are_made_when_asked_for() -> None:
    found = warmed(Machine(resolution=1), MS, warmup_calls=17, calls_per_sample=5)
    assert found == WarmUp(calls_per_sample=5, calls=17, elapsed_s=0.017, stable=True)


def test_asked_for_no_warm_up_there_is_none() -> None:
    calls = []
    machine = Machine()
    prepared = call_of(lambda: (calls.append(1), machine.work(MS)))
    measured = Measured(prepared, machine, warmup_calls=0, calls_per_sample=1, samples=3, baseline=False)
    assert len(calls) == 3
    assert "time.first_call" not in measured.metrics
    assert "not_warm" not in measured.warnings


def test_the_first_call_is_a_metric_of_its_own_and_in_no_sample() -> None:
    machine = Machine(resolution=1)
    durations = iter([700 * MS])
    measured = Measured(call_of(lambda: machine.work(next(durations, 10 * MS))), machine)
    assert measured.metrics["time.first_call"]["value"] == 0.7
    assert measured.ns == 10 * MS
    assert max(measured.samples) == 0.01


def test_a_first_call_longer_than_the_warm_up_leaves_time_to_warm_up() -> None:
    machine = Machine(resolution=1)
    durations = iter([3000 * MS, *[20 * MS] * 3])
    measured = Measured(call_of(lambda: machine.work(next(durations, 10 * MS))), machine, warmup_s=0.5)
    assert "not_warm" not in measured.warnings
    assert measured.ns == 10 * MS
    assert measured.provenance["warmup_s"] > 3


def test_a_first_call_made_while_preparing_is_reported_and_not_repeated() -> None:
    machine = Machine(resolution=1)
    measured = Measured(call_of(lambda: machine.work(10 * MS), first_call_s=0.25), machine)
    assert measured.metrics["time.first_call"]["value"] == 0.25


def test_what_is_not_warm_is_said() -> None:
    machine = Machine(resolution=1)
    speed = [1000.0 * MS]

    def call() -> None:
        speed[0] *= 0.97
        machine.work(round(speed[0]))

    measured = Measured(call_of(call), machine, warmup_s=0.1)
    assert "warmup_s = 0.1" in measured.warnings["not_warm"]
