"""The clock of a Timer: the host's, read when accelerators are done."""

from __future__ import annotations

import sys
import timeit
from collections.abc import Callable, Generator, Iterable
from functools import lru_cache
from time import perf_counter_ns
from typing import Any

from opbench.worker.probes.interference import UsageReader, steal_ns
from opbench.worker.probes.sampler import Clock
from opbench.worker.probes.timer import Timer as Resolution
from opbench.worker.probes.timer import host_timer, measured
from opbench.worker.runtimes.prepared import Native

# A clock of somebody's own, or one that waits for a device, may be slow to read.
FEW_READINGS = 12


def timer() -> float:
    """Seconds on the host's clock, once all that was asked of an accelerator is done."""
    synchronize = synchroniser()
    if synchronize is not None:
        synchronize()
    return timeit.default_timer()


def synchroniser() -> Callable[[], None] | None:
    """What waits for the accelerator that torch uses here; None where it uses none."""
    torch = sys.modules.get("torch")
    return None if torch is None else _synchroniser(torch)


@lru_cache(maxsize=1)
def _synchroniser(torch: Any) -> Callable[[], None] | None:
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        found = accelerator.current_accelerator() if accelerator.is_available() else None
        module = torch.get_device_module(found) if found is not None else None
    else:  # before torch 2.6
        module = torch.cuda if torch.cuda.is_available() else None
    if module is None:
        return None
    started = getattr(module, "is_initialized", lambda: True)

    def synchronize() -> None:
        # To wait for a device that nobody has used would start it.
        if started():
            module.synchronize()

    return synchronize


def waiting(native: Native) -> Native:
    """A loop in machine code that ends when the accelerator is done, where one is used."""
    wait = synchroniser()
    return native if wait is None else _Waiting(native, wait)


class _Waiting:
    def __init__(self, native: Native, wait: Callable[[], None]) -> None:
        self._native = native
        self._wait = wait

    @property
    def empty(self) -> Native:
        return _Waiting(self._native.empty, self._wait)

    def loop(self) -> Generator[int, Iterable[Any], None]:
        loop = self._native.loop()
        elapsed_ns = next(loop)
        try:
            while True:
                operands = yield elapsed_ns
                start = perf_counter_ns()
                loop.send(operands)
                self._wait()
                elapsed_ns = perf_counter_ns() - start
        finally:
            loop.close()


def clock_for(source: Callable[[], float], threads: int) -> Clock:
    """The clocks and counters for blocks that are timed by `source`, in seconds."""
    reader = UsageReader(threads)
    synchronize = synchroniser() if source is timer else None
    now: Callable[[], int] = perf_counter_ns
    if synchronize is not None:
        wait = synchronize

        def now() -> int:
            wait()
            return perf_counter_ns()

    elif source is not timer and source is not timeit.default_timer:

        def now() -> int:
            return round(source() * 1e9)

    plain = now is perf_counter_ns
    return Clock(
        now,
        reader.read,
        steal_ns,
        host_timer() if plain else Resolution(1, 0.0),
        find_threads=reader.find_threads,
        close=reader.close,
    )


def resolution(clock: Clock) -> Resolution:
    """What the clock resolves and costs; asked when the first call has started what it waits for."""
    return clock.timer if clock.now is perf_counter_ns else measured(clock.now, FEW_READINGS)
