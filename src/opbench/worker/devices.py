"""Processors that cases run on: their clock, their synchronisation, their memory counters."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Protocol, TypeAlias

from opbench.worker.errors import Unsupported

# Record the start, record the end, seconds between the two (after a synchronisation).
EventPair: TypeAlias = tuple[Callable[[], Any], Callable[[], Any], Callable[[], float]]

# Where the sizes of caches cannot be read: of a GPU's last level, and of a CPU's levels.
USUAL_CACHE_BYTES = 64 << 20
USUAL_CACHES_BYTES = (32 << 10, 1 << 20, 32 << 20)
# Copies of operands that do not fit into a GPU's cache anyway may take this much of its memory.
MOST_COPIES_BYTES = 1 << 30
# Before a capture, libraries choose their kernels and allocate their scratch space in the first few calls.
CALLS_BEFORE_CAPTURE = 3
# Beyond this, writing takes longer than anyone waits; a cache that large is shared by many cores anyway.
MOST_CACHE_BYTES = 1 << 30


class Device(Protocol):
    """What a probe may ask of a processor. `asynchronous`: calls return before their work is done."""

    name: str
    kind: str
    asynchronous: bool

    def seed(self, number: int) -> None:
        """Let the framework's own random numbers, on the host and here, start from this number."""

    def synchronize(self) -> None:
        """Wait until everything asked for is done."""

    def event_pair(self) -> EventPair | None:
        """Two fresh events on the device's own clock; None where it has none."""

    def flush_cache(self) -> None:
        """Overwrite the last-level cache, so that the next call finds nothing of its operands there."""

    def pool_bytes(self, entry_bytes: int) -> int:
        """How much memory fresh operands may take, to stay in the cache that one entry would be in."""

    def capture_stream(self) -> contextlib.AbstractContextManager[None]:
        """Everything inside goes to one stream that can be captured; `Unsupported` where there is none."""

    def capture(self, call: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """Record a call as a graph, inside `capture_stream`: its replay, and what the call returned."""

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

    def seed(self, number: int) -> None:
        """Seed the CPU's generator."""
        _seed_host(number)

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

    def pool_bytes(self, entry_bytes: int) -> int:
        """Half of the smallest cache, from the second level on, that one entry leaves half empty."""
        sizes = [size for size in cache_bytes()[1:] if entry_bytes <= size // 2]
        return sizes[0] // 2 if sizes else entry_bytes

    def capture_stream(self) -> contextlib.AbstractContextManager[None]:
        """There are no graphs on a CPU."""
        raise Unsupported("cuda_graph needs a CUDA device; measure cases on the CPU without it")

    def capture(self, call: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """There are no graphs on a CPU."""
        raise Unsupported("cuda_graph needs a CUDA device; measure cases on the CPU without it")

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

    def seed(self, number: int) -> None:
        """Seed the CPU's generator and the device's."""
        _seed_host(number)
        if hasattr(self._module, "manual_seed"):
            self._module.manual_seed(number)

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

            size_bytes = 2 * self._cache_bytes()
            self._scratch = torch.empty(size_bytes // 8, dtype=torch.int64, device=self._device)
        self._scratch.zero_()

    def _cache_bytes(self) -> int:
        read = getattr(self._module, "get_device_properties", None)
        size_bytes = int(getattr(read(self._device), "L2_cache_size", 0)) if read else 0
        return min(size_bytes or USUAL_CACHE_BYTES, MOST_CACHE_BYTES)

    def pool_bytes(self, entry_bytes: int) -> int:
        """Half of the L2 cache; where an entry is larger, no call finds its own there: more may be made."""
        half = self._cache_bytes() // 2
        return half if entry_bytes <= half else MOST_COPIES_BYTES

    @contextlib.contextmanager
    def capture_stream(self) -> Iterator[None]:
        """A stream of its own: the default one cannot be captured."""
        if not (hasattr(self._module, "CUDAGraph") and hasattr(self._module, "graph")):
            raise Unsupported(f"cuda_graph needs a CUDA device, not {self.name}")
        stream = self._module.Stream(self._device)
        stream.wait_stream(self._module.current_stream(self._device))
        with self._module.stream(stream):
            yield
        self._module.current_stream(self._device).wait_stream(stream)

    def capture(self, call: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """Record a call on the current stream, after a few calls for warming up."""
        for _ in range(CALLS_BEFORE_CAPTURE):
            call()
        self.synchronize()
        graph = self._module.CUDAGraph()
        with self._module.graph(graph, stream=self._module.current_stream(self._device)):
            result = call()
        return graph.replay, result

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


def _seed_host(number: int) -> None:
    import torch

    # Not `torch.manual_seed`: for each kind of device that is not there, it formats and keeps a stack trace.
    torch.default_generator.manual_seed(number)


@lru_cache(maxsize=1)
def cache_bytes(folder: str = "/sys/devices/system/cpu/cpu0/cache") -> tuple[int, ...]:
    """Sizes of the first core's data caches by level, or usual ones where the system does not tell."""
    units = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
    sizes: dict[int, int] = {}
    for index in Path(folder).glob("index*"):
        try:
            if (index / "type").read_text().strip() == "Instruction":
                continue
            text = (index / "size").read_text().strip()
            size = int(text[:-1]) * units[text[-1]] if text[-1:] in units else int(text)
            sizes[int((index / "level").read_text())] = size
        except (OSError, ValueError):
            continue
    return tuple(sizes[level] for level in sorted(sizes)) or USUAL_CACHES_BYTES


def last_level_cache_bytes() -> int:
    """Size of the largest data cache of the first core."""
    return cache_bytes()[-1]


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
