"""Which CPUs a case gets: the cores this process may use, shared out."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from opbench.cases.errors import UsageError


@dataclass(frozen=True)
class Slot:
    """CPUs for one case at a time, in the order in which to use them."""

    cpus: tuple[int, ...]

    def cpus_for(self, num_threads: int) -> tuple[int, ...]:
        """As many CPUs as the case has threads (all of them, if it has more)."""
        return self.cpus[:num_threads]


def usable_cpus() -> tuple[int, ...]:
    """The CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return tuple(sorted(os.sched_getaffinity(0)))
    return tuple(range(os.cpu_count() or 1))


def physical_core(cpu: int) -> str:
    """A name that the hardware threads of one core share."""
    try:
        with open(f"/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list") as file:
            return file.read().strip()
    except OSError:
        return str(cpu)


def arrange(cpus: Iterable[int], core_of: Callable[[int], str] = physical_core) -> tuple[int, ...]:
    """CPUs in the order of use: one per physical core first, and the lowest numbers, where most
    operating systems handle interrupts, last."""
    first: list[int] = []
    second: list[int] = []
    seen: set[str] = set()
    for cpu in sorted(cpus, reverse=True):
        core = core_of(cpu)
        (second if core in seen else first).append(cpu)
        seen.add(core)
    return tuple(first + second)


def make_slots(
    jobs: int, cpus: Iterable[int], core_of: Callable[[int], str] = physical_core
) -> tuple[Slot, ...]:
    """Share the CPUs out to so many slots, evenly; no core serves two."""
    ordered = arrange(cpus, core_of)
    if jobs < 1:
        raise UsageError(f"jobs must be at least 1, not {jobs}")
    if jobs > len(ordered):
        raise UsageError(f"{jobs} jobs need {jobs} cores, and this process may use {len(ordered)}")
    cores: dict[str, list[int]] = {}
    for cpu in ordered:
        cores.setdefault(core_of(cpu), []).append(cpu)
    if jobs > len(cores):
        # More jobs than physical cores: hardware threads are shared out one by one.
        cores = {str(cpu): [cpu] for cpu in ordered}
    groups = list(cores.values())
    share = len(groups) // jobs
    slots = []
    for index in range(jobs):
        mine = [cpu for group in groups[index * share : (index + 1) * share] for cpu in group]
        slots.append(Slot(arrange(mine, core_of)))
    return tuple(slots)
