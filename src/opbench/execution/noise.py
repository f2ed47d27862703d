"""How quiet this machine is: a short fixed loop, timed again and again on one CPU."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator, Sequence
from itertools import repeat
from pathlib import Path
from statistics import quantiles
from time import perf_counter_ns
from typing import NamedTuple, Protocol

from opbench.results.hardware import read
from opbench.worker.probes.interference import Usage, UsageReader

# As long as a sample of the default plan, and enough of them to see what happens a few times in a second.
BLOCK_NS = 1_000_000
BLOCKS = 500


class Noise(NamedTuple):
    """What the blocks showed. Shares are of the median block, or of the whole time.

    `usual_share`: half of the blocks are within this. `tail_share`: how much longer one in twenty takes.
    """

    blocks: int
    block_ns: float
    usual_share: float
    tail_share: float
    waited_share: float | None
    switches: int
    steal_share: float | None


class Reader(Protocol):
    """Tells what the system counted so far."""

    def read(self) -> Usage:
        """The counters now."""


def measured_noise(
    cpus: Sequence[int] = (),
    *,
    blocks: int = BLOCKS,
    clock: Callable[[], int] = perf_counter_ns,
    spin: Callable[[int], object] | None = None,
    usage: Reader | None = None,
    steal: Callable[[], tuple[int, int] | None] | None = None,
) -> Noise:
    """Time the loop on these CPUs."""
    spin, usage, steal = spin or _spin, usage or UsageReader(1), steal or stolen_ticks
    with _pinned(cpus):
        count = _calls(clock, spin)
        times: list[int] = []
        usage_before, steal_before, start = usage.read(), steal(), clock()
        for _ in range(blocks):
            began = clock()
            spin(count)
            times.append(clock() - began)
        whole_ns = clock() - start
        usage_after, steal_after = usage.read(), steal()
    low, middle, high = quantiles(times, n=4, method="inclusive")
    tail = quantiles(times, n=20, method="inclusive")[-1]
    waited = None
    if usage_before.waited_ns is not None and usage_after.waited_ns is not None:
        waited = (usage_after.waited_ns - usage_before.waited_ns) / whole_ns
    return Noise(
        blocks=blocks,
        block_ns=middle,
        usual_share=max(high - middle, middle - low) / middle,
        tail_share=tail / middle - 1.0,
        waited_share=waited,
        switches=usage_after.involuntary - usage_before.involuntary,
        steal_share=_share(steal_before, steal_after),
    )


def stolen_ticks(root: Path = Path("/")) -> tuple[int, int] | None:
    """Ticks that the host took from this machine's CPUs so far, and all ticks; None where nobody counts."""
    fields = read(root / "proc/stat").partition("\n")[0].split()
    if fields[:1] != ["cpu"] or len(fields) < 9 or not all(field.isdecimal() for field in fields[1:9]):
        return None
    # What guests use (the fields after these) is in "user" already.
    ticks = [int(field) for field in fields[1:9]]
    return ticks[7], sum(ticks)


def _share(before: tuple[int, int] | None, after: tuple[int, int] | None) -> float | None:
    if before is None or after is None or after[1] <= before[1]:
        return None
    return (after[0] - before[0]) / (after[1] - before[1])


def _calls(clock: Callable[[], int], spin: Callable[[int], object]) -> int:
    count = 1024
    while True:
        start = clock()
        spin(count)
        elapsed_ns = clock() - start
        if elapsed_ns >= BLOCK_NS / 2:
            return max(1, round(count * BLOCK_NS / elapsed_ns))
        count *= 2


def _spin(count: int) -> None:
    for _ in repeat(None, count):
        pass


@contextlib.contextmanager
def _pinned(cpus: Sequence[int]) -> Iterator[None]:
    if not cpus or not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, cpus)
    except OSError:  # taken away since we asked
        yield
        return
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
