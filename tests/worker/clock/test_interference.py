"""What else ran on our processors: marked, taken again, counted from the rest, and said."""

from __future__ import annotations

import os
import sys
import time
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.worker.probes import interference
from opbench.worker.probes.interference import (
    STARVED,
    STOLEN,
    SWITCHED,
    Usage,
    UsageReader,
    flag_bits,
    lost_ns,
    steal_ns,
)

from .fakes import MS, US, Machine, Measured, call_of


def counters(cpu: float, involuntary: int = 0, waited: float | None = 0) -> Usage:
    return Usage(round(cpu), involuntary, None if waited is None else round(waited))


NOTHING = counters(0)
UNCOUNTED = counters(0, waited=None)


@pytest.mark.parametrize(
    ("before", "after", "flag"),
    [
        (NOTHING, counters(MS), 0),
        (NOTHING, counters(MS, involuntary=3), 0),  # put aside for no time worth speaking of
        (NOTHING, counters(MS, involuntary=1, waited=0.004 * MS), 0),
        (NOTHING, counters(MS, involuntary=1, waited=0.006 * MS), SWITCHED),
        (NOTHING, counters(MS, involuntary=1, waited=0.2 * MS), SWITCHED | STARVED),
        (NOTHING, counters(MS, waited=0.006 * MS), STARVED),  # woken up, and not given a processor
        (NOTHING, counters(0.1 * MS), 0),  # asleep of its own will
        (UNCOUNTED, counters(MS, waited=None), 0),
        (UNCOUNTED, counters(0.1 * MS, waited=None), 0),
        (UNCOUNTED, counters(0.96 * MS, involuntary=1, waited=None), SWITCHED),
        (UNCOUNTED, counters(0.5 * MS, involuntary=1, waited=None), SWITCHED | STARVED),
        (UNCOUNTED, counters(4 * MS, involuntary=1, waited=None), 0),  # four threads that all ran
    ],
)
def test_a_sample_of_a_millisecond_is_marked(before: Usage, after: Usage, flag: int) -> None:
    assert flag_bits(MS, before, after) == flag


@given(
    st.floats(0, 1e10),
    st.integers(-(10**9), 10**9),
    st.integers(0, 9),
    st.none() | st.integers(-(10**9), 10**9),
)
def test_what_was_lost_is_never_less_than_nothing(
    wall: float, cpu: int, switched: int, waited: int | None
) -> None:
    # Counters go back when a thread has ended.
    assert lost_ns(wall, Usage(0, 0, 0), Usage(cpu, switched, waited)) >= 0


def preempted(machine: Machine, pattern: list[int], duration: int = 2 * MS, after: int = 5) -> Any:
    """A call that another program holds up as the pattern says, once it is warm (after five calls)."""
    calm = iter([0] * after)
    turns = cycle(pattern)

    def call() -> None:
        machine.work(duration)
        away = next(calm, None)
        away = next(turns) if away is None else away
        if away:
            machine.preempt(away)

    return call_of(call)


def test_disturbed_samples_are_marked_and_taken_again() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [0, 0, 0, 4 * MS]), machine)
    flags = measured.time["flags"]
    assert measured.ns == 2 * MS
    assert flags.count(0) == 20
    assert [round(sample * 1e3) for sample, flag in zip(measured.samples, flags, strict=True) if flag] == [
        6
    ] * (len(flags) - 20)
    assert measured.provenance["clean_samples"] == 20
    assert measured.provenance["estimate_from"] == "clean samples"
    assert measured.provenance["stopped"] == "precision"


def test_taking_again_stays_within_the_budget() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [8 * MS, 8 * MS, 8 * MS, 0]), machine, budget_s=0.2)
    assert measured.provenance["stopped"] == "budget"
    assert machine.time < 0.3e9
    # Six clean ones are enough to say where their median is, with 95 % confidence.
    assert 6 <= measured.provenance["clean_samples"] < 20
    assert measured.ns == 2 * MS
    assert measured.provenance["unmet"].endswith("of at least 20 samples")
    assert "the time is from the other" in measured.warnings["interference"]


def test_with_hardly_any_clean_sample_all_count_and_the_row_says_so() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [8 * MS] * 9 + [0]), machine, budget_s=0.2)
    assert 0 < measured.provenance["clean_samples"] < 6
    assert measured.ns == 10 * MS
    assert measured.provenance["estimate_from"] == "all samples"
    assert "from all of them" in measured.warnings["interference"]


def test_no_more_are_taken_again_than_the_plan_allows() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [2 * MS]), machine, retakes=2, budget_s=100)
    # 40 may be disturbed; the next one ends it, as all of them are equal.
    assert len(measured.samples) == 41
    assert measured.provenance["stopped"] == "precision"


def test_neighbours_that_slow_every_sample_alike_are_noticed() -> None:
    # Recorded on two busy processors: 4.4 us became 7,636 us, and the samples agreed within 1.5 %.
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [7_630 * US, 7_640 * US, 7_632 * US], duration=4_400), machine)
    spread = max(measured.samples) / min(measured.samples)
    assert spread < 1.015 or measured.provenance["calls_per_sample"] > 1
    assert "100% of the time" in measured.warnings["interference"]
    assert all(flag & STARVED and flag & SWITCHED for flag in measured.time["flags"])


def test_neighbours_are_noticed_without_accounting_of_waits() -> None:
    machine = Machine(resolution=1)
    machine.waited = None
    measured = Measured(preempted(machine, [2 * MS]), machine)
    assert all(flag == SWITCHED | STARVED for flag in measured.time["flags"])
    assert "interference" in measured.warnings


def test_processor_time_much_below_wall_time_is_said_where_nothing_else_is_counted() -> None:
    machine = Machine(resolution=1)
    machine.waited = None

    def call() -> None:
        machine.work(MS)
        machine.sleep(MS)

    measured = Measured(call_of(call), machine)
    assert "flags" not in measured.time
    assert "50% of the time" in measured.warnings["idle"]
    assert measured.metrics["time.cpu"]["value"] == 0.001


def test_a_call_that_computes_all_the_time_is_not_idle() -> None:
    machine = Machine(resolution=1)
    measured = Measured(call_of(lambda: machine.work(MS)), machine)
    assert measured.warnings == {}


def test_threads_that_compute_side_by_side_are_not_idle() -> None:
    machine = Machine(resolution=1)

    def call() -> None:
        machine.work(MS)
        machine.cpu += 3 * MS

    measured = Measured(call_of(call, num_threads=4), machine)
    assert measured.warnings == {}
    assert measured.metrics["time.cpu"]["value"] == 0.004


def test_a_lost_sample_in_a_hundred_is_no_reason_to_warn() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [100 * US] + [0] * 999), machine, min_samples=100)
    assert measured.warnings == {}
    assert sum(map(bool, measured.time["flags"])) == 1


def test_samples_asked_for_exactly_all_count() -> None:
    machine = Machine(resolution=1)
    measured = Measured(preempted(machine, [0, 2 * MS, 2 * MS]), machine, samples=30)
    assert len(measured.samples) == 30
    assert measured.ns == 4 * MS
    assert "as exactly so many were asked for" in measured.warnings["interference"]


def test_stolen_time_marks_the_samples_that_miss_some() -> None:
    machine = Machine(resolution=1)
    calls = iter(range(100_000))

    def call() -> None:
        machine.work(2 * MS)
        if next(calls) == 40:
            machine.steal(30 * MS)

    measured = Measured(call_of(call), machine, min_samples=100)
    assert measured.time["flags"].count(STOLEN) == 1
    place = measured.time["flags"].index(STOLEN)
    assert measured.samples[place] == 0.032
    assert measured.ns == 2 * MS


def test_stolen_time_that_no_sample_misses_marks_all_of_its_window() -> None:
    machine = Machine(resolution=1)
    calls = iter(range(100_000))

    def call() -> None:
        machine.work(5 * MS)
        if next(calls) == 40:
            # Counted by the hypervisor, and counted to us as well.
            machine.stolen += 10 * MS

    measured = Measured(call_of(call), machine, min_samples=100)
    marked = [place for place, flag in enumerate(measured.time["flags"]) if flag]
    # Windows of 50 ms hold ten samples of 5 ms.
    assert len(marked) == 10
    assert marked == list(range(marked[0], marked[0] + 10))


def test_stolen_time_at_the_end_is_not_missed() -> None:
    machine = Machine(resolution=1)
    calls = iter(range(100_000))

    def call() -> None:
        machine.work(MS)
        if next(calls) == 14:
            machine.steal(MS)

    measured = Measured(call_of(call), machine, samples=5, warmup_calls=10, calls_per_sample=1)
    assert measured.time["flags"] == [0, 0, 0, 0, STOLEN]


def test_threads_are_looked_for_once_the_case_has_started_them() -> None:
    machine = Machine()
    seen: list[int] = []
    Measured(call_of(lambda: (seen.append(machine.searches), machine.work(MS))), machine, samples=5)
    assert seen[0] == 0
    assert seen[-5:] == [1] * 5


# The counters of the machine that the tests run on.


def test_this_thread_uses_processor_time_and_sleep_does_not() -> None:
    reader = UsageReader(1)
    before = reader.read()
    time.sleep(0.05)
    slept = reader.read()
    until = time.thread_time_ns() + 20 * MS
    while time.thread_time_ns() < until:
        pass
    worked = reader.read()
    reader.close()
    assert worked.cpu_ns - slept.cpu_ns >= 20 * MS
    assert slept.cpu_ns - before.cpu_ns < 20 * MS
    assert worked.involuntary >= slept.involuntary >= before.involuntary


@pytest.mark.skipif(not Path("/proc/thread-self/schedstat").exists(), reason="nobody accounts for waits here")
def test_waits_are_those_that_the_kernel_tells() -> None:
    reader = UsageReader(1)
    first = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    found = reader.read().waited_ns
    last = int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    reader.close()
    assert found is not None
    assert first <= found <= last


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are not listed here")
def test_waits_of_threads_that_started_later_are_counted_too() -> None:
    import threading

    reader = UsageReader(2)
    paths = reader._paths()
    leave = threading.Event()
    thread = threading.Thread(target=leave.wait)
    thread.start()
    assert len(reader._paths()) == len(paths) + 1
    reader.find_threads()
    leave.set()
    thread.join()
    # One of the files is of a thread that has ended; the others still tell.
    reader.read()
    reader.close()


def test_descriptors_are_given_back() -> None:
    reader = UsageReader(2)
    for _ in range(3):
        reader.find_threads()
    reader.close()
    assert reader._schedstat == []


def test_a_system_without_these_files_has_no_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(*_: object, **__: object) -> int:
        raise FileNotFoundError

    monkeypatch.setattr(os, "open", missing)
    monkeypatch.setattr(os, "scandir", missing)
    for threads in (1, 4):
        reader = UsageReader(threads)
        assert reader.read().waited_ns is None
        reader.close()


def test_another_operating_system_counts_what_it_can(monkeypatch: pytest.MonkeyPatch) -> None:
    resource = pytest.importorskip("resource")
    monkeypatch.setattr(sys, "platform", "darwin")
    monkeypatch.delattr(resource, "RUSAGE_THREAD", raising=False)
    monkeypatch.delattr(time, "thread_time_ns", raising=False)
    reader = UsageReader(1)
    found = reader.read()
    assert found.cpu_ns > 0
    assert found.involuntary >= 0
    reader.close()


def test_a_system_without_resource_usage_has_no_switches(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "resource", None)
    reader = UsageReader(1)
    assert reader.read().involuntary == 0
    reader.close()


def test_steal_is_read_for_our_processors_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stolen = {"cpu ": 99, "cpu0": 3, "cpu1": 50, "cpu10": 7}
    text = "".join(f"{name} 1 1 1 1 1 1 1 {ticks} 0 0\n" for name, ticks in stolen.items())
    stat = tmp_path / "stat"
    stat.write_text(text + "intr 5 5 5\n")
    monkeypatch.setattr(interference, "STAT_FILE", str(stat))
    tick = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
    assert steal_ns([0]) == 3 * tick
    assert steal_ns([0, 10]) == 10 * tick
    assert steal_ns([]) == 0


@pytest.mark.parametrize("text", [None, "", "cpu0 1 2 3\n", "cpu0 1 1 1 1 1 1 1 many\n", "\0\xff"])
def test_steal_is_zero_where_it_cannot_be_read(
    text: str | None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stat = tmp_path / "stat"
    if text is not None:
        stat.write_text(text)
    monkeypatch.setattr(interference, "STAT_FILE", str(stat))
    assert steal_ns([0]) == 0


def test_steal_is_zero_where_there_is_no_affinity(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert steal_ns() == 0
