"""Takes samples: blocks of calls, timed the way the plan and the device ask for."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import repeat
from time import perf_counter_ns
from typing import Any, NamedTuple

from opbench.worker.probes.interference import Usage, UsageReader, flag_bits, lost_ns, steal_ns
from opbench.worker.probes.loop import Loop, compiled, empty, maker
from opbench.worker.probes.timer import Timer, host_timer
from opbench.worker.runtimes.prepared import Body, Prepared

# Events of single calls in flight at once. More only fill the device's queue.
MOST_EVENTS = 256


@dataclass(frozen=True)
class Clock:
    """Where times and counters come from; the tests give one that they turn themselves."""

    now: Callable[[], int]
    usage: Callable[[], Usage]
    steal: Callable[[], int]
    timer: Timer
    # Makes the iterable that a block of n calls runs over, where no operands are fresh.
    times: Callable[[int], Iterable[Any]] = lambda count: repeat(None, count)
    # Called when the case has been called, so that all its threads are there.
    find_threads: Callable[[], None] = lambda: None
    close: Callable[[], None] = lambda: None


def host_clock(threads: int) -> Clock:
    """The clocks and counters of this process."""
    reader = UsageReader(threads)
    return Clock(
        perf_counter_ns,
        reader.read,
        steal_ns,
        host_timer(),
        find_threads=reader.find_threads,
        close=reader.close,
    )


class Block(NamedTuple):
    """One timed block. `times_ns` has one entry for all its calls, or one for each where they are marked."""

    calls: int
    times_ns: tuple[float, ...]
    host_ns: float
    cpu_ns: float
    waited_ns: float
    flags: int


class Sampler:
    """Times blocks of calls and, in the same way, blocks of nothing."""

    def __init__(self, prepared: Prepared, plan: Mapping[str, Any], device: Any, clock: Clock) -> None:
        self.clock = clock
        self.marked = plan["mode"] == "continuous_events"
        self._prepared = prepared
        self._device = device
        self._collect = plan["garbage_collection"]
        self._flush = plan["flush_cache"]
        self._stamps: list[Any] = []
        self._events = self.marked and device.asynchronous
        self._spare: list[tuple[Any, Any, Any]] = []
        self._pair = device.event_pair() if device.asynchronous and plan["mode"] == "continuous" else None
        self._renew = self._maker(prepared.body)
        self._real = self._renew()
        self._plain = compiled(prepared.body, clock.now) if self.marked else self._real
        self._empty = self._maker(empty(prepared.body))()

    @property
    def most_calls(self) -> int | None:
        """The longest block that the operands, or the events in flight, allow."""
        limits = [self._prepared.pool.room] if self._prepared.pool is not None else []
        limits += [MOST_EVENTS] if self.marked else []
        return min(limits) if limits else None

    @property
    def timer_name(self) -> str:
        """What the times are read from."""
        if self._events or self._pair is not None:
            return "device events"
        return "synchronised host clock" if self._device.asynchronous else "host clock"

    def _maker(self, body: Body) -> Callable[[], Loop]:
        if not self.marked:
            return maker(body, self.clock.now)
        between = self._device.flush_cache if self._flush else None
        if self._events:
            return maker(body, self.clock.now, marks="device", mark=self._mark, between=between)
        return maker(body, self.clock.now, marks="clock", mark=self._stamps.append, between=between)

    def _set_up_again(self) -> None:
        self._real.close()
        self._real = self._renew()
        if not self.marked:
            self._plain = self._real

    def _mark(self) -> None:
        self._stamps.pop()()

    def warm(self, calls: int) -> float:
        """Run a block for warming up; give its time in ns."""
        if self._prepared.renews:
            self._set_up_again()
        self._device.synchronize()
        operands = self._operands(calls)
        start = self.clock.now()
        elapsed = self._plain.send(operands)
        if not self._device.asynchronous:
            return float(elapsed)
        self._device.synchronize()
        return float(self.clock.now() - start)

    def sample(self, calls: int) -> Block:
        """Time a block of calls."""
        if self._prepared.renews:
            self._set_up_again()
        return self._block(self._real, calls)

    def baseline(self, calls: int) -> Block:
        """Time a block of nothing, in the same way."""
        return self._block(self._empty, calls)

    def _operands(self, calls: int, written: bool = True) -> Iterable[Any]:
        pool = self._prepared.pool
        if pool is None:
            return self.clock.times(calls)
        return pool.fresh(calls) if written else pool.blank(calls)

    def _block(self, loop: Loop, calls: int) -> Block:
        operands = self._operands(calls, written=loop is self._real)
        pairs = self._prepare_stamps(calls)
        if self._flush and not self.marked:
            self._device.flush_cache()
        self._device.synchronize()
        collecting = gc.isenabled() and not self._collect
        if collecting:
            gc.disable()
        try:
            before = self.clock.usage()
            if self._pair is not None:
                self._pair[0]()
            start = self.clock.now()
            host = loop.send(operands)
            if self._pair is not None:
                self._pair[1]()
            if self._device.asynchronous:
                self._device.synchronize()
            end = self.clock.now()
            after = self.clock.usage()
        finally:
            if collecting:
                gc.enable()
        whole = float(end - start) if self._device.asynchronous else float(host)
        if self._pair is not None:
            times: tuple[float, ...] = (self._pair[2]() * 1e9,)
        elif self.marked:
            times = self._read_stamps(pairs)
        else:
            times = (whole,)
        return Block(
            calls,
            times,
            float(host),
            float(after.cpu_ns - before.cpu_ns),
            lost_ns(whole, before, after),
            flag_bits(whole, before, after),
        )

    def _prepare_stamps(self, calls: int) -> list[tuple[Any, Any, Any]]:
        self._stamps.clear()
        if not self._events:
            return []
        while len(self._spare) < calls:
            self._spare.append(self._device.event_pair())
        pairs = self._spare[:calls]
        # Taken from the end.
        for start, end, _ in reversed(pairs):
            self._stamps += (end, start)
        return pairs

    def _read_stamps(self, pairs: list[tuple[Any, Any, Any]]) -> tuple[float, ...]:
        if self._events:
            return tuple(elapsed_s() * 1e9 for _, _, elapsed_s in pairs)
        stamps = self._stamps
        return tuple(float(end - start) for start, end in zip(stamps[::2], stamps[1::2], strict=True))

    def close(self) -> None:
        """Drop the loops and what they hold."""
        for loop in (self._plain, self._real, self._empty):
            loop.close()
