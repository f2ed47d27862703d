"""How a Timer divides its time into blocks, and what it warns of: on a machine that the test turns itself."""

from __future__ import annotations

from itertools import cycle
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.cases.errors import ArgumentError
from opbench.execution import in_place
from opbench.execution.in_place import split
from opbench.execution.timer import Timer
from opbench.results.timing import Measurement

from ..worker.clock.fakes import MS, US, Machine


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> Machine:
    made = Machine(resolution=1)
    monkeypatch.setattr(in_place, "clock_for", lambda timer, threads: made.clock())
    monkeypatch.setattr(in_place, "resolution", lambda clock: clock.timer)
    return made


def working(machine: Machine, duration: int) -> Timer:
    return Timer(lambda: machine.work(duration))


def codes(measurement: Measurement) -> set[str]:
    return {caution.code for caution in measurement.cautions}


@pytest.mark.parametrize(
    ("duration", "budget_s"), [(900, 0.05), (4 * US, 0.2), (900 * US, 0.05), (2 * MS, 0.2), (7 * MS, 10)]
)
def test_twenty_samples_whenever_there_is_time(machine: Machine, duration: int, budget_s: float) -> None:
    found = working(machine, duration).blocked_autorange(min_run_time=budget_s)
    if 20 * duration <= budget_s * 1e9:
        assert len(found.times) >= 20
    assert found.median == pytest.approx(duration / 1e9)
    assert sum(found.raw_times) >= budget_s
    assert sum(found.raw_times) < 1.2 * budget_s + duration / 1e9
    assert not found.cautions


@pytest.mark.parametrize(("budget_s", "block"), [(0.01, MS // 2), (0.02, MS), (0.2, 5 * MS), (2, 10 * MS)])
def test_blocks_are_as_long_as_forty_of_them_allow(machine: Machine, budget_s: float, block: int) -> None:
    found = working(machine, 10 * US).blocked_autorange(min_run_time=budget_s)
    assert found.number_per_run * 10 * US == pytest.approx(block, rel=0.03)


def test_blocks_are_short_where_long_ones_are_disturbed(machine: Machine) -> None:
    # Another program has the processor for 4 ms after each 3 ms of ours.
    mine = 0

    def call() -> None:
        nonlocal mine
        machine.work(100 * US)
        mine += 1
        if mine % 30 == 0:
            machine.preempt(4 * MS)

    found = Timer(call).blocked_autorange()
    assert found.number_per_run == 10
    assert found.median == 100e-6
    assert len(found.times) >= 20
    assert "interference" in codes(found)


def test_a_call_longer_than_the_budget_is_one_sample(machine: Machine) -> None:
    found = working(machine, 900 * MS).blocked_autorange(min_run_time=0.2)
    assert found.times == [0.9]
    assert codes(found) == {"few_samples", "not_warm"}


def test_the_callback_hears_every_block(machine: Machine) -> None:
    heard: list[tuple[int, float]] = []
    found = working(machine, 10 * US).blocked_autorange(lambda *block: heard.append(block), 0.1)
    assert [seconds for _, seconds in heard] == found.raw_times
    assert {number for number, _ in heard} == {found.number_per_run}


def test_adaptive_stops_when_samples_agree(machine: Machine) -> None:
    found = working(machine, 10 * US).adaptive_autorange()
    assert len(found.times) >= 4
    assert sum(found.raw_times) < 0.05


def test_adaptive_goes_on_while_they_do_not(machine: Machine) -> None:
    durations = cycle([2 * MS, 6 * MS])
    found = Timer(lambda: machine.work(next(durations))).adaptive_autorange(max_run_time=0.5)
    assert 0.5 <= sum(found.raw_times) < 0.6
    assert found.has_warnings


@pytest.mark.parametrize("number", [1, 7, 20, 1000, 100_003])
def test_timeit_makes_exactly_so_many_calls_after_warming_up(machine: Machine, number: int) -> None:
    calls = 0

    def call() -> None:
        nonlocal calls
        calls += 1
        machine.work(5 * US)

    found = Timer(call).timeit(number)
    measured = found.number_per_run * len(found.times)
    assert calls == measured + number % len(found.times) + 2 + max(number // 100, 2)
    assert measured <= number
    assert found.median == pytest.approx(5e-6)
    assert len(found.times) > 1 or number < 20


@given(st.integers(1, 10**9), st.floats(1e-3, 1e9), st.floats(0, 1e7))
def test_calls_are_split_into_equal_blocks(number: int, per_call_ns: float, shortest_ns: float) -> None:
    blocks = split(number, per_call_ns, shortest_ns)
    assert 1 <= blocks <= min(number, in_place.MOST_SAMPLES_OF_TIMEIT)
    # All but a few calls are measured.
    assert number % blocks < blocks
    if blocks > in_place.FEW_SAMPLES:
        assert number // blocks * per_call_ns >= shortest_ns * 0.5
    elif blocks > 1:
        assert number // blocks * per_call_ns >= shortest_ns / in_place.COARSE * 0.5


def test_a_short_timeit_has_more_than_one_sample() -> None:
    # Four microseconds in all, on a clock that resolves 30 ns.
    assert split(1000, 4.0, 3000.0) == 5
    assert split(1000, 40.0, 3000.0) > 5
    assert split(10, 4.0, 3000.0) == 1


def test_an_empty_loop_is_subtracted_when_asked_for(machine: Machine) -> None:
    machine.per_iteration = 4
    timer = working(machine, 500)
    assert timer.blocked_autorange(min_run_time=0.03).median == pytest.approx(504e-9)
    subtracted = timer.blocked_autorange(min_run_time=0.03, baseline=True)
    assert subtracted.median == pytest.approx(500e-9)
    assert subtracted.baseline_s == pytest.approx(4e-9)
    assert "Empty loop of 4.00 ns per run subtracted" in repr(subtracted)
    assert timer.timeit(10_000, baseline=True).median == pytest.approx(500e-9)
    assert timer.adaptive_autorange(baseline=True).median == pytest.approx(500e-9)


def disturbed(machine: Machine, pattern: list[int], duration: int = 2 * MS) -> Timer:
    turns = cycle(pattern)

    def call() -> None:
        machine.work(duration)
        away = next(turns)
        if away:
            machine.preempt(away)

    return Timer(call)


def test_disturbed_blocks_are_left_out_and_taken_again(machine: Machine) -> None:
    found = disturbed(machine, [0, 0, 0, 4 * MS]).blocked_autorange(min_run_time=0.1)
    assert found.times == [2e-3] * len(found.times)
    assert len(found.times) >= 20
    assert set(found.disturbed_times) == {6e-3}


def test_taking_again_has_an_end(machine: Machine) -> None:
    found = disturbed(machine, [8 * MS, 8 * MS, 8 * MS, 0]).blocked_autorange(min_run_time=0.1)
    assert sum(found.raw_times) + sum(found.disturbed_times) < 0.25
    assert "interference" in codes(found)


def test_neighbours_that_slow_every_block_alike_are_told_of(machine: Machine) -> None:
    # Recorded on two busy processors: 4.4 us became 7,636 us, with an interquartile range of 1.5 %.
    found = disturbed(machine, [7_630 * US, 7_640 * US, 7_632 * US], 4_400).blocked_autorange()
    assert found.iqr < 0.015 * found.median
    assert found.has_warnings
    assert codes(found) >= {"interference"}
    assert "disturbed by other work" in repr(found)
    assert "measure again" in repr(found)


def test_a_call_that_sleeps_is_told_of(machine: Machine) -> None:
    found = Timer(lambda: machine.sleep(MS)).blocked_autorange()
    assert codes(found) == {"idle"}


def test_more_threads_than_processors_are_told_of(machine: Machine) -> None:
    found = Timer(lambda: machine.work(MS), num_threads=4096).blocked_autorange()
    assert codes(found) == {"oversubscribed"}


@settings(max_examples=30, deadline=None)
@given(st.integers(US, 10**8), st.floats(1e-3, 0.2))
def test_no_speed_and_budget_fails(duration: int, budget_s: float) -> None:
    machine = Machine(resolution=30)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(in_place, "clock_for", lambda timer, threads: machine.clock())
        patch.setattr(in_place, "resolution", lambda clock: clock.timer)
        found = working(machine, duration).blocked_autorange(min_run_time=budget_s)
    assert found.median == pytest.approx(duration / 1e9, rel=0.02)
    if 21 * duration + 21 * 3000 <= budget_s * 1e9:
        assert len(found.times) >= 20


BAD: list[tuple[str, dict[str, Any], str]] = [
    ("timeit", {"number": 0}, "number must be a whole number of calls from 1 on, not 0"),
    ("timeit", {"number": 1.5}, "number must be a whole number"),
    ("timeit", {"number": True}, "number must be a whole number"),
    ("blocked_autorange", {"min_run_time": 0}, "min_run_time must be a number above 0, not 0"),
    ("blocked_autorange", {"min_run_time": "1"}, "min_run_time must be a number above 0, not '1'"),
    ("blocked_autorange", {"min_run_time": float("inf")}, "min_run_time must be a number above 0"),
    ("blocked_autorange", {"callback": 3}, "callback must be a function or None, not a int"),
    ("adaptive_autorange", {"threshold": -1}, "threshold must be a number above 0"),
    ("adaptive_autorange", {"max_run_time": 0}, "max_run_time must be a number above 0"),
    ("adaptive_autorange", {"min_run_time": 2, "max_run_time": 1}, r"max_run_time \(1 s\) must not be below"),
    ("measure", {"plan": "quik"}, "did you mean quick"),
    ("measure", {"plan": 3}, "plan must be a Plan or the name of one, not a int"),
    ("measure", {"isolation": "frk"}, "isolation must be one of fork, none, spawn, not 'frk'"),
    ("collect_callgrind", {"number": 0}, "number must be a whole number"),
    ("collect_callgrind", {"repeats": 0}, "repeats must be None or a whole number"),
]


@pytest.mark.parametrize(("method", "arguments", "says"), BAD)
def test_a_wrong_argument_of_a_method_is_named(method: str, arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(Exception, match=says) as raised:
        getattr(Timer(), method)(**arguments)
    assert isinstance(raised.value, ArgumentError) or method == "measure"


def test_adaptive_does_not_wait_for_clean_blocks_for_ever(machine: Machine) -> None:
    found = disturbed(machine, [8 * MS], 2 * MS).adaptive_autorange(max_run_time=5.0)
    assert sum(found.raw_times) < 0.1
    assert "interference" in codes(found)


def test_threads_are_looked_for_before_anything_counts(machine: Machine) -> None:
    for measure in (Timer.blocked_autorange, Timer.adaptive_autorange, lambda timer: timer.timeit(10)):
        machine.searches = 0
        measure(working(machine, MS))
        assert machine.searches == 1
    assert machine.closed
