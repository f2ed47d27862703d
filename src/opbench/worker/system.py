"""What the operating system lends to a worker: lifelines, reaping, limits. Linux in full, others in part."""

from __future__ import annotations

import contextlib
import ctypes
import fcntl
import os
import resource
import signal
from collections.abc import Iterator, Sequence
from typing import Any

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
# Of the memory that is free, so that a runaway case fails before the machine starts to swap or kill.
DEFAULT_CAP_SHARE = 0.8

try:
    _libc: Any = ctypes.CDLL(None, use_errno=True)
except OSError:  # a platform without a C library to load
    _libc = None


def _prctl(option: int, argument: int) -> None:
    prctl = getattr(_libc, "prctl", None)
    if prctl is not None:
        prctl(option, argument, 0, 0, 0)


def flush_c_streams() -> None:
    """Write out what C code has printed so far; `os._exit` does not."""
    if _libc is not None:
        _libc.fflush(None)


def adopt_orphans() -> None:
    """Become the parent of every descendant whose own parent dies, so that none escapes."""
    _prctl(PR_SET_CHILD_SUBREAPER, 1)


def die_with_parent(parent_pid: int) -> None:
    """Be killed when the parent dies, also if it has died already."""
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:
        os._exit(1)


def die_with_client(lifeline_fd: int) -> None:
    """Until `outlive_client`, the kernel ends this process' group when the client's end of the pipe closes.

    A signal, because neither the import of a large framework nor a case measured in place leaves a moment
    to poll.
    """
    fcntl.fcntl(lifeline_fd, fcntl.F_SETOWN, -os.getpgrp())
    flags = fcntl.fcntl(lifeline_fd, fcntl.F_GETFL)
    signal.signal(signal.SIGIO, signal.SIG_DFL)
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, flags | os.O_NONBLOCK | os.O_ASYNC)
    with contextlib.suppress(BlockingIOError):
        if os.read(lifeline_fd, 1) == b"":
            os._exit(0)


def outlive_client(lifeline_fd: int) -> None:
    """From here on the worker itself watches for the end of the client, and cleans up."""
    flags = fcntl.fcntl(lifeline_fd, fcntl.F_GETFL)
    fcntl.fcntl(lifeline_fd, fcntl.F_SETFL, flags & ~os.O_ASYNC)


def thread_count() -> int:
    """Threads alive in this process, those of native libraries included."""
    try:
        with os.scandir("/proc/self/task") as entries:
            return sum(1 for _ in entries)
    except OSError:
        import threading

        return threading.active_count()


def children() -> list[int]:
    """Pids of the children of this process."""
    try:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            return [int(pid) for pid in file.read().split()]
    except OSError:
        return list(_children_by_scan(os.getpid()))


def _children_by_scan(parent_pid: int) -> Iterator[int]:
    try:
        with os.scandir("/proc") as scan:
            entries = [entry.name for entry in scan if entry.name.isdigit()]
    except OSError:
        return
    for entry in entries:
        with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{entry}/stat") as file:
            # The command name may hold anything; what follows its last bracket is numbers.
            if int(file.read().rpartition(")")[2].split()[1]) == parent_pid:
                yield int(entry)


def kill_group(group_pid: int) -> None:
    """Kill every process of the group."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group_pid, signal.SIGKILL)


def reap_all() -> int:
    """Kill and reap all descendants. Returns how many there were."""
    count = 0
    # Each round hands the children of the killed ones over to this process; a fork bomb is outrun
    # because its members are killed faster than they can be adopted.
    for _ in range(1000):
        pids = children()
        if not pids:
            break
        for pid in pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        for pid in pids:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(pid, 0)
                count += 1
    return count


def pin(cpus: Sequence[int]) -> None:
    """Run only on these CPUs, where the platform can."""
    if cpus and hasattr(os, "sched_setaffinity"):
        with contextlib.suppress(OSError):
            os.sched_setaffinity(0, cpus)


def oom_kills() -> int:
    """How many processes the kernel has killed for want of memory so far."""
    try:
        with open("/proc/vmstat") as file:
            for line in file:
                if line.startswith("oom_kill "):
                    return int(line.split()[1])
    except OSError:
        pass
    return 0


def _field_bytes(path: str, field: str) -> int | None:
    try:
        with open(path) as file:
            for line in file:
                if line.startswith(field):
                    return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


@contextlib.contextmanager
def address_space_cap(cap_bytes: int | None) -> Iterator[None]:
    """Let the process add at most so many bytes of address space meanwhile; None: a share of what is free."""
    if cap_bytes is None:
        free_bytes = _field_bytes("/proc/meminfo", "MemAvailable:")
        cap_bytes = None if free_bytes is None else int(free_bytes * DEFAULT_CAP_SHARE)
    used_bytes = _field_bytes("/proc/self/status", "VmSize:")
    if cap_bytes is None or used_bytes is None:
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    wanted = used_bytes + cap_bytes
    if hard != resource.RLIM_INFINITY:
        wanted = min(wanted, hard)
    if soft != resource.RLIM_INFINITY:
        wanted = min(wanted, soft)
    resource.setrlimit(resource.RLIMIT_AS, (wanted, hard))
    try:
        yield
    finally:
        # Only the soft limit was lowered, so there is memory again to report with.
        resource.setrlimit(resource.RLIMIT_AS, (soft, hard))
