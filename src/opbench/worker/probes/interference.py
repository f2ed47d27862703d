"""Evidence that something else ran on our processors while a sample was taken.

A spread that looks clean proves nothing: two busy neighbours can slow every sample alike. So the system is
asked: how long did our threads wait for a processor (`schedstat`), how often were they put aside, how much
processor time did they get, and how much did the hypervisor take.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Sequence
from typing import NamedTuple

# Bits of a sample's flag.
SWITCHED = 1
STARVED = 2
STOLEN = 4

# Waiting shorter than this share of a sample is below what any median notices.
MATERIAL_SHARE = 0.005
# Beyond this share, processor time is "much below" wall time.
MUCH_SHARE = 0.1
# /proc/stat counts in ticks of 10 ms: reading it more often tells nothing.
STEAL_WINDOW_NS = 50_000_000
STAT_FILE = "/proc/stat"


class Usage(NamedTuple):
    """Counters of the measured threads. `waited_ns`: ready to run, but not running; None if unknown."""

    cpu_ns: int
    involuntary: int
    waited_ns: int | None


class UsageReader:
    """Reads the counters of this thread, or of the whole process when more threads work."""

    def __init__(self, threads: int) -> None:
        self._alone = threads == 1
        # Not every system counts for each thread.
        thread_time_ns = getattr(time, "thread_time_ns", time.process_time_ns)
        self._cpu = thread_time_ns if self._alone else time.process_time_ns
        self._schedstat: list[int] = []
        self.find_threads()
        try:
            import resource
        except ImportError:  # Windows
            self._getrusage = None
        else:
            self._getrusage = resource.getrusage
            whole = resource.RUSAGE_SELF
            self._who = getattr(resource, "RUSAGE_THREAD", whole) if self._alone else whole

    def find_threads(self) -> None:
        """Look for the threads to count. Frameworks start theirs with the first call that needs them."""
        if self._alone and self._schedstat:
            return
        self.close()
        for path in self._paths():
            try:
                self._schedstat.append(os.open(path, os.O_RDONLY | os.O_CLOEXEC))
            except OSError:  # a thread that ended meanwhile, or no such file here
                continue

    def _paths(self) -> list[str]:
        if self._alone or not sys.platform.startswith("linux"):
            return ["/proc/thread-self/schedstat"]
        try:
            with os.scandir("/proc/self/task") as threads:
                return [f"{thread.path}/schedstat" for thread in threads]
        except OSError:
            return []

    def read(self) -> Usage:
        """The counters now."""
        switches = 0
        if self._getrusage is not None:
            switches = self._getrusage(self._who).ru_nivcsw
        return Usage(self._cpu(), switches, self._waited())

    def _waited(self) -> int | None:
        # The sum over threads: any thread that waits holds up the call it takes part in.
        total = None
        for descriptor in self._schedstat:
            try:
                ran, waited, _ = os.pread(descriptor, 80, 0).split()
            except (OSError, ValueError):
                continue
            # A kernel that does not account leaves both at zero.
            if ran != b"0":
                total = (total or 0) + int(waited)
        return total

    def close(self) -> None:
        """Give the descriptors back."""
        while self._schedstat:
            os.close(self._schedstat.pop())


def steal_ns(cpus: Sequence[int] | None = None) -> int:
    """Time that the hypervisor took from our processors since boot; zero where nobody counts it."""
    try:
        mine = cpus if cpus is not None else os.sched_getaffinity(0)
        names = {f"cpu{number}".encode() for number in mine}
        tick_ns = 1_000_000_000 // os.sysconf("SC_CLK_TCK")
        with open(STAT_FILE, "rb") as lines:
            fields = [line.split() for line in lines if line.startswith(b"cpu")]
        return sum(int(field[8]) for field in fields if field[0] in names and len(field) > 8) * tick_ns
    except (OSError, AttributeError, ValueError):
        return 0


def lost_ns(wall_ns: float, before: Usage, after: Usage) -> float:
    """How long a sample waited for a processor.

    Exact where the system accounts for it. Else the time without processor, if a thread was put aside at
    all: an operation that sleeps goes aside by itself.
    """
    if before.waited_ns is not None and after.waited_ns is not None:
        # Less only where a thread has ended meanwhile.
        return float(max(0, after.waited_ns - before.waited_ns))
    if after.involuntary > before.involuntary:
        return max(0.0, wall_ns - (after.cpu_ns - before.cpu_ns))
    return 0.0


def flag_bits(wall_ns: float, before: Usage, after: Usage) -> int:
    """Bits for what disturbed a sample; zero when nothing material did."""
    lost = lost_ns(wall_ns, before, after)
    if not lost > MATERIAL_SHARE * wall_ns:
        return 0
    found = SWITCHED if after.involuntary > before.involuntary else STARVED
    return found | STARVED if lost > MUCH_SHARE * wall_ns else found
