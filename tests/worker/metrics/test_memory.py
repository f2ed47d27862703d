"""Memory of one call: what must come out exactly, and what torch's profiler counts too."""

from __future__ import annotations

import mmap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.builders import call, snippet, tensor
from opbench.cases.model import Case
from opbench.worker.devices import Cpu
from opbench.worker.probes import memory
from opbench.worker.probes.memory import Allocations, ResidentMark, counted_by, running

from .makers import name_of, of_function, prepared, probed, sweep, values

KIB = 1024


def allocations(function: Callable[[], Any]) -> tuple[int, int, int]:
    found = values("memory", of_function(function))
    return found["memory.peak"], found["memory.total"], found["memory.allocations"]


@pytest.mark.parametrize("size_bytes", [1, 63, 64, 4096, 1_000_003, 256 << 20])
def test_an_empty_tensor_takes_its_bytes(size_bytes: int) -> None:
    assert allocations(lambda: torch.empty(size_bytes, dtype=torch.uint8)) == (size_bytes, size_bytes, 1)


def test_what_takes_nothing() -> None:
    ones = torch.ones(64, 64)
    out = torch.empty(64, 64)
    assert allocations(lambda: None) == (0, 0, 0)
    assert allocations(lambda: torch.empty(0)) == (0, 0, 0)
    assert allocations(lambda: ones.view(-1)) == (0, 0, 0)
    assert allocations(lambda: ones.t()[3:, ::2]) == (0, 0, 0)
    assert allocations(lambda: ones.expand(9, 64, 64)) == (0, 0, 0)
    assert allocations(lambda: ones.mul_(ones)) == (0, 0, 0)
    assert allocations(lambda: torch.add(ones, ones, out=out)) == (0, 0, 0)


def test_inputs_and_what_was_there_before_do_not_count() -> None:
    kept = [torch.ones(1 << 20) for _ in range(4)]
    assert allocations(lambda: kept[0] + kept[1]) == (4 << 20, 4 << 20, 1)


def test_what_is_kept_adds_up_and_what_is_freed_does_not() -> None:
    assert allocations(lambda: [torch.empty(KIB, dtype=torch.uint8) for _ in range(5)]) == (
        5 * KIB,
        5 * KIB,
        5,
    )

    def one_at_a_time() -> None:
        for _ in range(5):
            torch.empty(KIB, dtype=torch.uint8)

    assert allocations(one_at_a_time) == (KIB, 5 * KIB, 5)

    def chained() -> torch.Tensor:
        first = torch.empty(2 * KIB, dtype=torch.uint8)
        second = torch.empty(3 * KIB, dtype=torch.uint8)
        del first
        third = torch.empty(KIB, dtype=torch.uint8)
        return second + third[0]

    # 2 and 3 together, or 3, 1 and the result of 3.
    assert allocations(chained) == (7 * KIB, 9 * KIB, 4)


def test_freeing_what_was_there_before_changes_nothing() -> None:
    before = [torch.empty(8 * KIB, dtype=torch.uint8)]

    def replace() -> torch.Tensor:
        before.clear()
        return torch.empty(KIB, dtype=torch.uint8)

    # Not less than nothing: the allocator does not tell how large a block from before was.
    assert allocations(replace) == (KIB, KIB, 1)


def test_a_number_in_python_becomes_a_small_tensor() -> None:
    ones = torch.ones(64)
    # The number as int64, and the number as the result has it.
    assert allocations(lambda: ones + 1) == (64 * 4 + 8 + 4, 64 * 4 + 8 + 4, 3)


def test_operators_with_temporaries() -> None:
    expected = 48 * 48 * 4
    assert values("memory", call("torch.mm", tensor(48, 48), tensor(48, 48)))["memory.peak"] == expected
    # A gradient for each operand.
    backward = values("memory", call("torch.mm", tensor(48, 48), tensor(48, 48), direction="backward"))
    assert backward["memory.peak"] == backward["memory.total"] == 2 * expected
    # An operand that has to be copied to be multiplied, and is gone when the product is there.
    strided = call("torch.mm", tensor(48, 48, strides=[98, 2]), tensor(48, 48))
    copied = values("memory", strided)
    assert copied["memory.total"] == 2 * expected
    assert copied["memory.allocations"] == 2


def test_calls_in_place_take_nothing_and_leave_their_operand_as_it_was() -> None:
    made = prepared(call("torch.Tensor.exp_", tensor(100)))
    before = made.arguments[0][0].clone()
    assert values("memory", made)["memory.total"] == 0
    assert torch.equal(made.arguments[0][0], before)


def test_the_set_up_of_a_snippet_does_not_count() -> None:
    case = snippet("y = x + x", setup="import torch; x = torch.ones(1 << 20)")
    found = values("memory", case)
    assert found["memory.peak"] == found["memory.total"] == 4 << 20


def test_what_a_call_raises_is_raised_and_the_profiler_is_off_again() -> None:
    def broken() -> None:
        torch.empty(10)
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        memory.measure(of_function(broken), {}, Cpu())
    assert allocations(lambda: torch.empty(KIB, dtype=torch.uint8)) == (KIB, KIB, 1)


def profiled(subject: Any) -> Allocations:
    """What torch's own profiler, through kineto, has to say of the allocator."""
    subject.restore()
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU], profile_memory=True) as run:
        result = subject.once()
    del result
    events = [event for event in run.profiler.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return running(event.nbytes() for event in events)


@pytest.mark.filterwarnings("ignore:.*Profiler clears events:UserWarning")
@pytest.mark.parametrize("case", sweep(), ids=name_of)
def test_the_profiler_of_torch_counts_the_same(case: Case) -> None:
    made = prepared(case)
    made.once()  # what libraries allocate once and keep
    metrics, warnings = probed("memory", made)
    expected = profiled(made)
    assert metrics["memory.total"]["value"] == expected.total_bytes
    assert metrics["memory.allocations"]["value"] == expected.number
    assert metrics["memory.peak"]["value"] == expected.peak_bytes
    assert not warnings


@given(st.lists(st.integers(-1000, 1000)))
def test_the_running_sum(changes: list[int]) -> None:
    found = running(changes)
    sums = [sum(changes[:end]) for end in range(len(changes) + 1)]
    assert found.peak_bytes == max(sums)
    assert found.total_bytes == sum(change for change in changes if change > 0)
    assert found.number == sum(1 for change in changes if change > 0)
    assert 0 <= found.peak_bytes <= found.total_bytes


def test_without_the_oldest_profiler_the_newer_one_counts_the_same() -> None:
    made = prepared(call("torch.softmax", tensor(64, 64), 1, direction="forward_backward"))
    made.once()
    expected, _ = memory.traced(made.once)
    assert running(memory._kineto_events(made.once)) == expected


class FakeDevice:
    """A caching allocator that counts what it is told to."""

    name = kind = "fake"

    def __init__(self, **counters: int) -> None:
        self.calls: list[str] = []
        self.stats = {
            "allocated_bytes.all.current": 1000,
            "allocated_bytes.all.peak": 1000,
            "allocated_bytes.all.allocated": 5000,
            "allocation.all.allocated": 7,
        } | counters

    def synchronize(self) -> None:
        self.calls.append("synchronize")

    def memory_reset(self) -> None:
        self.calls.append("reset")
        self.stats["allocated_bytes.all.peak"] = self.stats["allocated_bytes.all.current"]

    def memory_stats(self) -> dict[str, int]:
        self.calls.append("stats")
        return dict(self.stats)


def test_an_accelerator_counts_itself_over_what_there_was_before() -> None:
    device = FakeDevice(**{"allocated_bytes.all.peak": 999_999})

    def kernel() -> None:
        device.calls.append("call")
        device.stats["allocated_bytes.all.peak"] = 1600
        device.stats["allocated_bytes.all.allocated"] += 700
        device.stats["allocation.all.allocated"] += 2

    counted = counted_by(device, kernel)
    assert counted is not None
    assert counted[0] == Allocations(600, 700, 2)
    # The peak is read when the device is done, not when the call returns.
    assert device.calls == ["synchronize", "reset", "stats", "call", "synchronize", "stats"]


def test_an_accelerator_that_counts_nothing_has_no_numbers_but_a_warning() -> None:
    device = FakeDevice()
    device.memory_stats = dict  # type: ignore[method-assign]
    metrics, warnings = memory.measure(of_function(lambda: None), {}, device)
    assert [item["tag"] for item in metrics] == ["memory.rss_peak"]
    assert [item["code"] for item in warnings] == ["memory_unknown"]


def test_the_resident_mark_covers_the_call(tmp_path: Path) -> None:
    status, reset = tmp_path / "status", tmp_path / "clear_refs"
    status.write_text("VmHWM:\t  300 kB\nVmRSS:\t  100 kB\n")
    mark = ResidentMark(str(reset), str(status))
    assert reset.read_text() == "5"
    found, provenance = mark.read()
    assert found == 300 * KIB
    assert provenance["baseline_bytes"] == 100 * KIB
    assert provenance["span"] == "one call"


def test_a_resident_mark_that_cannot_be_reset_says_so(tmp_path: Path) -> None:
    found, provenance = ResidentMark(str(tmp_path / "no" / "file"), str(tmp_path / "none")).read()
    assert found is not None
    assert found > 1 << 20
    assert provenance == {"method": "ru_maxrss", "span": "life of the process"}


def test_memory_that_torch_does_not_see_is_resident_all_the_same() -> None:
    held: list[Any] = []

    def outside() -> None:
        # Fresh pages: a heap may have as much left from before.
        held.append(mmap.mmap(-1, 64 << 20))
        held[0].write(b"x" * (64 << 20))

    metrics, _ = probed("memory", of_function(outside))
    assert metrics["memory.total"]["value"] == 0
    resident = metrics["memory.rss_peak"]
    assert resident["value"] - resident["provenance"]["baseline_bytes"] >= 60 << 20
