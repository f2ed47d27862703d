"""What all benchmarks share: a table, a goal with its measured value, and times from child processes."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from statistics import median, quantiles


def title(text: str) -> None:
    """What is measured, and on what."""
    model = platform.processor() or platform.machine()
    for line in _lines("/proc/cpuinfo"):
        if line.startswith("model name"):
            model = line.partition(":")[2].strip()
            break
    print(text)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"  Python {platform.python_version()}, {len(os.sched_getaffinity(0))} CPUs of {model}{load}\n")


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows in columns; the first flush left, numbers flush right."""
    widths = [max(len(row[column]) for row in (header, *rows)) for column in range(len(header))]
    for row in (header, *rows):
        cells = [
            row[0].ljust(widths[0]),
            *(cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)),
        ]
        print("  " + "  ".join(cells).rstrip())
    print()


def goal(text: str, measured: str, met: bool) -> None:
    """A goal and what came of it. Nothing depends on it: machines differ, and so does their load."""
    print(f"  goal: {text}: measured {measured}: {'met' if met else 'NOT met'}", flush=True)


def took_s(command: Sequence[str]) -> float:
    """How long a command takes from start to end."""
    start = time.perf_counter()
    subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
    return time.perf_counter() - start


def python(*arguments: str) -> list[str]:
    """This interpreter with arguments."""
    return [sys.executable, *arguments]


def middle(values: Sequence[float]) -> float:
    """The median."""
    return median(values)


def spread(values: Sequence[float]) -> tuple[float, float]:
    """The first and the third quartile."""
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = quantiles(values, n=4, method="inclusive")
    return low, high


def resident_bytes(field: str = "VmRSS") -> int:
    """Resident memory of this process; `VmHWM` for the most it ever was."""
    for line in _lines("/proc/self/status"):
        if line.startswith(f"{field}:"):
            return int(line.split()[1]) * 1024
    return 0


def _lines(path: str) -> list[str]:
    try:
        return Path(path).read_text().splitlines()
    except OSError:
        return []
