"""Processors that cases run on: their clock, their synchronisation, their memory counters."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from opbench.worker.errors import Unsupported

# Record the start, record the end, seconds between the two (after a synchronisation).
EventPair: TypeAlias = tuple[Callable[[], Any], Callable[[], Any], Callable[[], float]]

# What to overwrite where the size of the last-level cache cannot be read.
USUAL_CACHE_BYTES = 64 << 20
# Beyond this, writing takes longer than anyone waits; a cache that large is shared by many cores anyway.
MOST_CACHE_BYTES = 1 << 30


class Device(Protocol):
    """What a probe may ask of a processor. `asynchronous`: calls return before their work is done."""

    name: str
    kind: str
    asynchronous: bool

    def synchronize(self) -> None:
        """Wait until everything asked for is done."""

    def event_pair(self) -> EventPair | None:
        """Two fresh events on the device's own clock; None where it has none."""

    def flush_cache(self) -> None:
        """Overwrite the last-level cache, so that the next call finds nothing of its operands there."""

    def memory_reset(self) -> None:
        """Start a new high-water mark."""

    def memory_stats(self) -> dict[str, int]:
        """The allocator's counters, by name; empty where it has none."""

    def empty_cache(self) -> None:
        """Give memory that the allocator keeps back to the system."""


class Cpu:
    """The processor that Python runs on: calls are done when they return."""

    kind = "cpu"
    asynchronous = False

    def __init__(self, name: str = "cpu") -> None:
        self.name = name
        self._scratch: Any = None

    def synchronize(self) -> None:
        """Nothing to wait for."""

    def event_pair(self) -> EventPair | None:
        """None: the host's clock is the device's."""
        return None

    def flush_cache(self) -> None:
        """Write to twice the size of the last-level cache."""
        if self._scratch is None:
            import torch

            size_bytes = min(2 * last_level_cache_bytes(), MOST_CACHE_BYTES)
            self._scratch = torch.empty(size_bytes // 8, dtype=torch.int64)
        self._scratch.fill_(0)

    def memory_reset(self) -> None:
        """The CPU allocator keeps no marks."""

    def memory_stats(self) -> dict[str, int]:
        """Empty: the CPU allocator keeps no counters."""
        return {}

    def empty_cache(self) -> None:
        """The CPU allocator keeps nothing back."""


class Accelerator:
    """A device that torch has a module for: CUDA and ROCm, XPU, MPS and whatever registers itself."""

    asynchronous = True

    def __init__(self, name: str, module: Any) -> None:
        import torch

        device = torch.device(name)
        self.name = name
        self.kind = device.type
        self._module = module
        self._device = device
        self._scratch: Any = None
        if device.index is not None and hasattr(module, "set_device"):
            module.set_device(device.index)

    def synchronize(self) -> None:
        """Wait until every stream of the device is done."""
        self._module.synchronize()

    def event_pair(self) -> EventPair | None:
        """Two timing events on the current stream."""
        if not hasattr(self._module, "Event"):
            return None
        start = self._module.Event(enable_timing=True)
        end = self._module.Event(enable_timing=True)
        return start.record, end.record, lambda: float(start.elapsed_time(end)) / 1e3

    def flush_cache(self) -> None:
        """Write to twice the size of the L2 cache, on the current stream."""
        if self._scratch is None:
            import torch

            size_bytes = 2 * (self._property("L2_cache_size") or USUAL_CACHE_BYTES)
            self._scratch = torch.empty(size_bytes // 8, dtype=torch.int64, device=self._device)
        self._scratch.zero_()

    def _property(self, name: str) -> int:
        read = getattr(self._module, "get_device_properties", None)
        return int(getattr(read(self._device), name, 0)) if read else 0

    def memory_reset(self) -> None:
        """Reset the peak counters of the caching allocator."""
        if hasattr(self._module, "reset_peak_memory_stats"):
            self._module.reset_peak_memory_stats()

    def memory_stats(self) -> dict[str, int]:
        """Counters of the caching allocator."""
        read = getattr(self._module, "memory_stats", None)
        return dict(read()) if read else {}

    def empty_cache(self) -> None:
        """Empty the caching allocator."""
        if hasattr(self._module, "empty_cache"):
            self._module.empty_cache()


def last_level_cache_bytes(folder: str = "/sys/devices/system/cpu/cpu0/cache") -> int:
    """Size of the largest cache of the first core, or a usual size where the system does not tell."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes = [0]
    for file in Path(folder).glob("index*/size"):
        try:
            text = file.read_text().strip()
            sizes.append(int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text))
        except (OSError, ValueError):
            continue
    return max(sizes) or USUAL_CACHE_BYTES


def device_for(name: str) -> Device:
    """The device of this name (`cpu`, `cuda`, `cuda:1`, `xpu` ...), or `Unsupported` if it is not there."""
    kind, _, index = name.partition(":")
    if kind == "cpu":
        return Cpu(name)
    import torch

    try:
        torch.device(name)
    except (RuntimeError, ValueError) as error:
        raise Unsupported(f"torch {torch.__version__} knows no device {name!r}") from error
    try:
        module = torch.get_device_module(kind)
    except (RuntimeError, AttributeError, AssertionError) as error:
        raise Unsupported(f"torch {torch.__version__} has no support for device {name!r} built in") from error
    if not (hasattr(module, "is_available") and module.is_available()):
        raise Unsupported(f"device {name!r}: no {kind} device is available here (torch {torch.__version__})")
    count = module.device_count() if hasattr(module, "device_count") else 1
    if index and int(index) >= count:
        raise Unsupported(f"device {name!r}: there are only {count} {kind} devices, counted from 0")
    return Accelerator(name, module)
