"""A machine whose time passes only when a test says so: its clock, its counters, a device with a queue."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import msgspec

from opbench.cases.plan import Plan
from opbench.worker.errors import Unsupported
from opbench.worker.probes import clock as probe
from opbench.worker.probes.interference import Usage
from opbench.worker.probes.sampler import Clock
from opbench.worker.probes.timer import Timer
from opbench.worker.runtimes.prepared import Body, Pool, Prepared, body_of

US = 1_000
MS = 1_000_000
S = 1_000_000_000


def plan(**knobs: Any) -> dict[str, Any]:
    """The default plan with other knobs, as a worker gets it."""
    return msgspec.to_builtins(Plan(**knobs))


class Machine:
    """A clock that a call of known duration, an iteration of the loop and other programs advance."""

    def __init__(self, *, resolution: int = 20, per_iteration: int = 0) -> None:
        self.time = 0
        self.cpu = 0
        self.involuntary = 0
        self.waited: int | None = 0
        self.stolen = 0
        self.searches = 0
        self.closed = False
        self.resolution = resolution
        self.per_iteration = per_iteration

    def work(self, duration: int) -> None:
        """Our thread computes."""
        self.time += duration
        self.cpu += duration

    def sleep(self, duration: int) -> None:
        """Our thread is idle of its own will."""
        self.time += duration

    def preempt(self, duration: int) -> None:
        """Another program has the processor."""
        self.time += duration
        self.involuntary += 1
        if self.waited is not None:
            self.waited += duration

    def steal(self, duration: int) -> None:
        """The hypervisor has the processor, and our thread's own counters do not know."""
        self.time += duration
        self.stolen += duration

    def now(self) -> int:
        return self.time // self.resolution * self.resolution

    def iterations(self, count: int) -> Iterator[None]:
        """What the loop runs over, each turn of which costs something."""
        for _ in repeat(None, count):
            self.work(self.per_iteration)
            yield

    def clock(self) -> Clock:
        def find_threads() -> None:
            self.searches += 1

        def close() -> None:
            self.closed = True

        return Clock(
            now=self.now,
            usage=lambda: Usage(self.cpu, self.involuntary, self.waited),
            steal=lambda: self.stolen,
            timer=Timer(self.resolution, 5.0),
            times=self.iterations,
            find_threads=find_threads,
            close=close,
        )


class FakeCpu:
    """Calls are done when they return."""

    name, kind, asynchronous = "cpu", "cpu", False

    def __init__(self, machine: Machine, flush_takes: int = 0) -> None:
        self.machine = machine
        self.flushes: list[int] = []
        self._flush_takes = flush_takes

    def synchronize(self) -> None:
        pass

    def event_pair(self) -> None:
        return None

    def flush_cache(self) -> None:
        self.flushes.append(self.machine.time)
        self.machine.work(self._flush_takes)

    def capture_stream(self) -> contextlib.AbstractContextManager[None]:
        raise Unsupported("no graphs here")


class FakeAccelerator:
    """Calls are put into a queue and done in order; the host waits only when it synchronises."""

    name, kind, asynchronous = "fake", "fake", True

    def __init__(self, machine: Machine, *, launch: int = 0, flush: int = 0, events: bool = True) -> None:
        self.machine = machine
        self.busy_until = 0
        self.worked = 0
        self.synchronisations = 0
        self.flushes = 0
        self.captured = 0
        self._launch = launch
        self._flush = flush
        self._events = events

    def enqueue(self, duration: int) -> None:
        """Ask for work that takes so long on the device."""
        self.machine.work(self._launch)
        self.worked += duration
        self.busy_until = max(self.busy_until, self.machine.time) + duration

    def synchronize(self) -> None:
        self.synchronisations += 1
        self.machine.sleep(max(0, self.busy_until - self.machine.time))

    def event_pair(self) -> Any:
        if not self._events:
            return None
        stamps: dict[str, int] = {}

        def record(which: str) -> Callable[[], None]:
            return lambda: stamps.__setitem__(which, max(self.busy_until, self.machine.time))

        return record("start"), record("end"), lambda: (stamps["end"] - stamps["start"]) / 1e9

    def flush_cache(self) -> None:
        self.flushes += 1
        self.enqueue(self._flush)

    @contextlib.contextmanager
    def capture_stream(self) -> Iterator[None]:
        yield

    def capture(self, call: Callable[[], Any]) -> tuple[Callable[[], None], Any]:
        """Replaying costs one launch, and the device the same work."""
        before = self.worked
        result = call()
        took = self.worked - before
        self.captured += 1
        return lambda: self.enqueue(took), result


def call_of(function: Callable[[], Any], **more: Any) -> Prepared:
    """A case whose call is this function."""
    return Prepared(body=body_of("f()", {"f": function}), once=function, function=function, **more)


def call_on_operands(function: Callable[[Any], Any], pool: Pool) -> Prepared:
    """A case whose call writes to its operand, from a pool."""
    body: Body = body_of("f(a0)", {"f": function, "a0": None}, ("a0",))
    return Prepared(body=body, once=lambda: function(pool.first()), function=function, pool=pool)


class Measured:
    """What the probe says, by tag and by code."""

    def __init__(self, prepared: Prepared, machine: Machine, device: Any = None, **knobs: Any) -> None:
        metrics, warnings = probe.measure(
            prepared, plan(**knobs), device or FakeCpu(machine), machine.clock()
        )
        self.metrics = {metric["tag"]: metric for metric in metrics}
        self.warnings = {warning["code"]: warning["message"] for warning in warnings}
        self.time = self.metrics["time"]
        self.provenance = self.time["provenance"]
        self.samples = self.time["samples"]

    @property
    def ns(self) -> float:
        """The time of a call."""
        return float(self.time["value"]) * 1e9
