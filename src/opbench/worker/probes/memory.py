"""How much memory one call allocates, and what the process holds at most: a pass after the timing.

The CPU allocator reports every block that it hands out and takes back to the profiler; the running sum
of these is what the call holds above what there was before it. An accelerator's caching allocator keeps
such counters itself. Buffers that a kernel takes from the C library directly (scratch space of BLAS, of
sorting) are seen by neither, only by the resident-set size; nor is what threads take on the CPU that the
call itself starts; and a block that was there before does not count less when the call frees it.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from opbench.worker.probes import caution, make_ready, metric

# Writing this there makes the kernel forget the process' resident high-water mark.
RESET_FILE, RESET_WORD = "/proc/self/clear_refs", "5"
STATUS_FILE = "/proc/self/status"


class Allocations(NamedTuple):
    """What one call did with memory: the highest running sum, the sum and the number of blocks taken."""

    peak_bytes: int
    total_bytes: int
    number: int


def measure(
    prepared: Any, plan: Mapping[str, Any], device: Any
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Memory metrics of one call; the operands are as before afterwards."""
    make_ready(prepared)
    resident = ResidentMark()
    try:
        counted = traced(prepared.once) if device.kind == "cpu" else counted_by(device, prepared.once)
    finally:
        rss_bytes, rss_provenance = resident.read()
        prepared.restore()
    metrics: list[dict[str, Any]] = []
    warnings: list[dict[str, str]] = []
    if counted is None:
        text = f"the allocator of {device.name} keeps no counters, so only resident memory is known"
        warnings.append(caution("memory_unknown", text))
    else:
        allocations, method = counted
        provenance = {"method": method, "baseline": "just before the call; inputs not included"}
        metrics += [
            metric("memory.peak", allocations.peak_bytes, "B", "bytes", provenance=provenance),
            metric("memory.total", allocations.total_bytes, "B", "bytes", provenance=provenance),
            metric("memory.allocations", allocations.number, "count", "count", provenance=provenance),
        ]
    if rss_bytes is not None:
        metrics.append(metric("memory.rss_peak", rss_bytes, "B", "bytes", provenance=rss_provenance))
    return metrics, warnings


def running(changes_bytes: Iterable[int]) -> Allocations:
    """Sum up blocks taken (positive) and given back (negative), in the order of time."""
    held = peak = total = count = 0
    for change in changes_bytes:
        held += change
        peak = max(peak, held)
        if change > 0:
            total += change
            count += 1
    return Allocations(peak, total, count)


def traced(call: Callable[[], Any]) -> tuple[Allocations, str]:
    """What the CPU allocator did during the call. The result is held to the end: it belongs to the peak."""
    from torch._C import _autograd

    if hasattr(_autograd, "_enable_profiler_legacy"):
        return running(_legacy_events(call, _autograd)), "torch legacy profiler, allocator events"
    return running(_kineto_events(call)), "torch profiler, allocator events"


def _legacy_events(call: Callable[[], Any], autograd: Any) -> list[int]:
    # The oldest profiler of torch costs 1 ms where the newer one starts kineto, which takes tens of
    # milliseconds in a fresh process and writes lines to stderr.
    from torch.autograd.profiler import ProfilerConfig, ProfilerState
    from torch.profiler import _ExperimentalConfig

    config = ProfilerConfig(ProfilerState.CPU, False, True, False, False, False, _ExperimentalConfig())
    autograd._enable_profiler_legacy(config)
    result = None
    try:
        result = call()
    finally:
        threads = autograd._disable_profiler_legacy()
    del result
    return _in_order(threads)


def _in_order(threads: list[list[Any]]) -> list[int]:
    allocations: list[tuple[float, int]] = []
    start = next((event for events in threads for event in events if event.name() == "__start_profile"), None)
    for events in threads:
        for event in events:
            if event.kind() == "memory_alloc":
                elapsed_us = start.cpu_elapsed_us(event) if start is not None else 0.0
                allocations.append((elapsed_us, event.cpu_memory_usage()))
    if len(threads) > 1:
        allocations.sort(key=lambda allocation: allocation[0])
    return [size_bytes for _, size_bytes in allocations if size_bytes]


def _kineto_events(call: Callable[[], Any]) -> list[int]:
    from torch.autograd.profiler import profile

    with profile(use_kineto=False, profile_memory=True) as recorded:
        result = call()
    del result
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    events.sort(key=lambda event: event.start_ns())
    return [event.nbytes() for event in events if event.nbytes()]


def counted_by(device: Any, call: Callable[[], Any]) -> tuple[Allocations, str] | None:
    """What the caching allocator of an accelerator counted during the call; None if it counts nothing."""
    device.synchronize()
    device.memory_reset()
    before = device.memory_stats()
    result = call()
    device.synchronize()
    after = device.memory_stats()
    del result
    current, peak = "allocated_bytes.all.current", "allocated_bytes.all.peak"
    total, count = "allocated_bytes.all.allocated", "allocation.all.allocated"
    if not all(name in before and name in after for name in (current, peak, total, count)):
        return None
    allocations = Allocations(
        after[peak] - before[current], after[total] - before[total], after[count] - before[count]
    )
    return allocations, "caching allocator of the device"


class ResidentMark:
    """High-water mark of the process' resident memory, from its making on where the system can."""

    def __init__(self, reset_file: str = RESET_FILE, status_file: str = STATUS_FILE) -> None:
        self._status_file = status_file
        self._baseline_bytes = _status_bytes(status_file, "VmRSS:")
        try:
            with open(reset_file, "w") as file:
                file.write(RESET_WORD)
            self._reset = True
        except OSError:
            self._reset = False

    def read(self) -> tuple[int | None, dict[str, Any]]:
        """The mark in bytes, and how it was got."""
        mark_bytes = _status_bytes(self._status_file, "VmHWM:") if self._reset else None
        if mark_bytes is not None:
            provenance: dict[str, Any] = {"method": "VmHWM, reset before the call", "span": "one call"}
        else:
            mark_bytes = _maxrss_bytes()
            provenance = {"method": "ru_maxrss", "span": "life of the process"}
        if self._baseline_bytes is not None:
            provenance["baseline_bytes"] = self._baseline_bytes
        return mark_bytes, provenance


def _status_bytes(path: str, field: str) -> int | None:
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _maxrss_bytes() -> int | None:
    try:
        import resource
    except ImportError:  # not a Unix
        return None
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return used if sys.platform == "darwin" else used * 1024
