"""Programs that measure or build: whether they are here, and whether they work."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

from opbench.results.findings import Finding
from opbench.results.hardware import read

COMPILERS = ("c++", "g++", "clang++")
TIMEOUT_S = 20.0
# Up to this level, a process may count its own instructions without privileges.
_PARANOID_FOR_OWN = 2


class Ended(NamedTuple):
    """How a program ended."""

    code: int
    output: str


# Runs a command; None when it cannot be started or does not end.
Runner: TypeAlias = Callable[[Sequence[str]], "Ended | None"]
Finder: TypeAlias = Callable[[str], "str | None"]


def run_tool(command: Sequence[str]) -> Ended | None:
    """Run a program with both streams taken together."""
    try:
        ended = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=TIMEOUT_S,
            # Numbers and messages in the form that is looked for.
            env={**os.environ, "LC_ALL": "C"},
            check=False,
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return Ended(ended.returncode, ended.stdout.decode(errors="replace"))


def compiler(
    environ: Mapping[str, str] = os.environ, find: Finder = shutil.which, run: Runner = run_tool
) -> Finding:
    """A C++ compiler: torch.compile needs one on the CPU."""
    named = environ.get("CXX", "")
    for name in (named,) if named else COMPILERS:
        path = find(name)
        ended = run([path, "--version"]) if path else None
        if path and ended is not None and ended.code == 0:
            return Finding(
                topic="compiler", state="fine", text=_first_line(ended.output), facts={"path": path}
            )
    what = f"$CXX names {named!r}, which does not run" if named else "there is no C++ compiler on PATH"
    return Finding(
        topic="compiler",
        state="missing",
        text=f"{what}; torch.compile needs one on the CPU",
        advice="install g++ or clang++ (Debian, Ubuntu: apt install g++), or let CXX name one",
    )


def valgrind(find: Finder = shutil.which, run: Runner = run_tool) -> Finding:
    """Valgrind, which counts instructions without noise."""
    path = find("valgrind")
    ended = run([path, "--version"]) if path else None
    if path and ended is not None and ended.code == 0:
        return Finding(topic="valgrind", state="fine", text=_first_line(ended.output), facts={"path": path})
    return Finding(
        topic="valgrind",
        state="missing",
        text="valgrind does not run" if path else "valgrind is not on PATH",
        advice="it is only needed to count instructions (Debian, Ubuntu: apt install valgrind)",
    )


def counters(root: Path = Path("/"), find: Finder = shutil.which, run: Runner = run_tool) -> Finding:
    """Hardware counters through perf; many virtual machines have none."""
    text = read(root / "proc/sys/kernel/perf_event_paranoid")
    level = int(text) if text.lstrip("-").isdecimal() else None
    facts: dict[str, Any] = {} if level is None else {"perf_event_paranoid": level}
    path = find("perf")
    if path is None:
        return Finding(
            topic="perf",
            state="missing",
            text="perf is not on PATH",
            advice="it is only needed to look at hardware counters "
            "(Debian: apt install linux-perf; Ubuntu: apt install linux-tools-generic)",
            facts=facts,
        )
    facts["path"] = path
    ended = run([path, "stat", "-x,", "-e", "instructions:u", "true"])
    found = _counted(ended.output) if ended is not None and ended.code == 0 else None
    if found is not None:
        return Finding(topic="perf", state="fine", text="hardware counters can be read", facts=facts)
    if level is not None and level > _PARANOID_FOR_OWN:
        return Finding(
            topic="perf",
            state="missing",
            text=f"hardware counters are forbidden here (kernel.perf_event_paranoid is {level})",
            advice="if this machine is yours: sysctl kernel.perf_event_paranoid=2",
            facts=facts,
        )
    if ended is not None and "not supported" in ended.output:
        text, advice = (
            "this machine has no hardware counters (most virtual machines have none)",
            "valgrind counts instructions without them",
        )
    else:
        said = _first_line(ended.output) if ended is not None else ""
        text = f"perf does not work here{f': {said}' if said else ''}"
        advice = "install the perf of the kernel that runs, and see whether this container may use it"
    return Finding(topic="perf", state="missing", text=text, advice=advice, facts=facts)


def _counted(output: str) -> int | None:
    """Instructions from a line such as `123456,,instructions:u,...`."""
    for line in output.splitlines():
        fields = line.split(",")
        if len(fields) > 2 and fields[2].startswith("instructions") and fields[0].isdecimal():
            return int(fields[0])
    return None


def _first_line(output: str) -> str:
    return next((line.strip() for line in output.splitlines() if line.strip()), "")[:200]
