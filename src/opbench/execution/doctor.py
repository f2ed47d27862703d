"""What this machine can measure, how noisy it is, what is missing and how to get it."""

from __future__ import annotations

import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import sqlalchemy
from sqlalchemy.exc import SQLAlchemyError

from opbench.cases.errors import OpbenchError
from opbench.execution.environments import EnvironmentSpec, parse_environment
from opbench.execution.machine import clock_finding, machine_findings, noise_finding
from opbench.execution.noise import Noise, measured_noise
from opbench.execution.slots import arrange, usable_cpus
from opbench.execution.station import AnyWorker, WorkerFactory
from opbench.execution.tools import compiler, counters, valgrind
from opbench.execution.worker import Worker, WorkerError
from opbench.results.findings import Finding
from opbench.results.locations import Location, locate
from opbench.results.machine import Bandwidth, Peak, calibration_file, find_calibration, machine_fingerprint

LEAST_TORCH = (2, 4)
ACCELERATORS_TIMEOUT_S = 120.0
LEAST_DISK_BYTES = 100 << 20
# A best that the median stays this far below was a lucky moment, or the median a busy one.
MUCH_SPREAD = 0.25
SQLITE_MAGIC = b"SQLite format 3\0"

Measure: TypeAlias = Callable[[tuple[int, ...]], Noise]


def examine(
    environment: str = "",
    store: str | None = None,
    *,
    make_worker: WorkerFactory | None = None,
    noise: Measure = measured_noise,
) -> Iterator[Finding]:
    """Look at everything, one thing at a time; `environment` is where cases would be measured.

    Nothing is imported into this process, written or changed; the framework and accelerators are asked
    in a worker.
    """
    from opbench import __version__

    spec = parse_environment("this", environment)
    python = sys.version.split()[0]
    yield Finding(
        topic="opbench",
        state="fine",
        text=f"{__version__}, Python {python}",
        facts={"version": __version__, "python": python, "executable": sys.executable},
    )
    yield from machine_findings()
    yield clock_finding()
    cpus = arrange(usable_cpus())[:1]
    yield noise_finding(noise(cpus), cpus[0] if cpus else None)
    yield from framework_findings(spec, make_worker or start_worker)
    yield compiler()
    yield valgrind()
    yield counters()
    yield store_finding(store)


def start_worker(environment: EnvironmentSpec, num_threads: int) -> AnyWorker:
    """A worker that is not running yet."""
    return Worker(environment, num_threads=num_threads)


def framework_findings(spec: EnvironmentSpec, make_worker: WorkerFactory) -> Iterator[Finding]:
    """The framework, the accelerators it can use, and whether its limits here were measured."""
    with closing(make_worker(spec, 1)) as worker:
        try:
            hello = worker.start()
        except WorkerError as error:
            yield Finding(
                topic="torch",
                state="broken",
                text=f"no worker can be started with it: {error}",
                advice=f"{spec.command[0]} -m pip install torch, or name an environment that has it: "
                "opbench doctor --env PATH, opbench run --env NAME=PATH",
            )
            return
        yield framework_finding(hello)
        yield accelerators_finding(worker)
        yield calibration_finding(hello)


def framework_finding(hello: Mapping[str, Any]) -> Finding:
    """Version and build of the framework."""
    framework, python = hello.get("framework") or {}, hello.get("python") or {}
    version = str(framework.get("version", ""))
    names = ("version", "git", "cuda", "hip", "cpu_capability", "debug")
    facts = {name: framework[name] for name in names if framework.get(name) is not None}
    facts["python"] = {name: python[name] for name in ("version", "executable") if name in python}
    parts = [version, str(framework.get("cpu_capability") or ""), f"Python {python.get('version', '')}"]
    text = ", ".join(part for part in parts if part)
    numbers = re.match(r"(\d+)\.(\d+)", version)
    if numbers is not None and (int(numbers[1]), int(numbers[2])) < LEAST_TORCH:
        least = ".".join(map(str, LEAST_TORCH))
        advice = f"install torch {least} or later"
        return Finding(
            topic="torch", state="broken", text=f"{text}: opbench needs {least}", advice=advice, facts=facts
        )
    alive = (hello.get("threads") or {}).get("alive", 1)
    if framework.get("debug"):
        text, advice = f"{text}: a debug build, whose times say little", "install a release build"
        return Finding(topic="torch", state="caution", text=text, advice=advice, facts=facts)
    if alive > 1:
        return Finding(
            topic="torch",
            state="caution",
            text=f"{text}; its import starts {alive - 1} threads, and what has threads cannot fork safely",
            advice="where cases hang or crash: opbench run --isolation spawn",
            facts=facts,
        )
    return Finding(topic="torch", state="fine", text=text, facts=facts)


def accelerators_finding(worker: AnyWorker) -> Finding:
    """What the framework can run on beside the CPU; asked in a child of the worker."""
    found, problems = accelerators(worker)
    facts = {"accelerators": found, "problems": problems}
    names = [f"{item['device']} {item.get('name', '')}".strip() for item in found]
    if problems:
        return Finding(
            topic="accelerators",
            state="caution",
            text=", ".join([*names, *problems]),
            advice="see whether the driver is loaded and fits the framework's build",
            facts=facts,
        )
    return Finding(topic="accelerators", state="fine", text=", ".join(names) or "none", facts=facts)


def accelerators(worker: AnyWorker) -> tuple[list[dict[str, Any]], list[str]]:
    """The accelerators that a worker's children can use, and what went wrong while they were looked for."""
    outcome = worker.measure({"accelerators": {}}, ACCELERATORS_TIMEOUT_S)
    try:
        reply = msgspec.json.decode(outcome.reply, type=_Accelerators)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        how = "did not answer in time" if outcome.exit.timed_out else "died of it"
        return [], [f"the process that asked for accelerators {how}"]
    return reply.accelerators, reply.problems


class _Accelerators(msgspec.Struct):
    accelerators: list[dict[str, Any]]
    problems: list[str]


def calibration_finding(hello: Mapping[str, Any]) -> Finding:
    """Whether the machine's limits are known, for shares of the roofline."""
    lookup = find_calibration(hello)
    if lookup.calibration is None:
        return Finding(
            topic="calibration",
            state="missing",
            text=f"{lookup.reason}; without it there are no shares of the roofline",
            advice="opbench doctor --calibrate",
        )
    calibration = lookup.calibration
    threads = sorted({entry.num_threads for entry in calibration.bandwidths if entry.device == "cpu"})
    devices = [entry.device for entry in calibration.bandwidths if entry.device != "cpu"]
    said = [f"{'/'.join(map(str, threads))} threads"] if threads else []
    facts = {
        "path": str(calibration_file(machine_fingerprint(hello))),
        "taken_at": calibration.taken_at,
        "num_threads": threads,
        "devices": devices,
    }
    text = f"taken {calibration.taken_at}, for {', '.join(said + devices)}"
    entries: tuple[Bandwidth | Peak, ...] = (*calibration.bandwidths, *calibration.peaks)
    worst = max((entry.spread for entry in entries), default=0.0)
    if worst > MUCH_SPREAD:
        return Finding(
            topic="calibration",
            state="caution",
            text=f"{text}; while it was taken, the machine was at times {worst:.0%} below its best",
            advice="opbench doctor --calibrate once more, while nothing else runs",
            facts=facts,
        )
    return Finding(topic="calibration", state="fine", text=text, facts=facts)


def store_finding(store: str | None = None) -> Finding:
    """Where results are kept, and whether they can be. Creates nothing."""
    try:
        location = locate(store)
        problem = _file_problem(location.path) if location.path else _database_problem(location)
    except OpbenchError as error:
        return Finding(topic="store", state="broken", text=str(error), advice="name another one with --store")
    facts: dict[str, Any] = {"store": str(location)}
    if problem:
        return Finding(
            topic="store",
            state="broken",
            text=f"{location}: {problem}",
            advice="name another one with --store or $OPBENCH_STORE, or keep nothing with --no-store",
            facts=facts,
        )
    if location.path is None:
        return Finding(topic="store", state="fine", text=f"{location} answers", facts=facts)
    there = location.path.exists()
    free_bytes = shutil.disk_usage(_nearest(location.path)).free
    text = f"{location}{'' if there else ', made by the first run'}"
    facts |= {"exists": there, "free_bytes": free_bytes}
    if free_bytes < LEAST_DISK_BYTES:
        text, advice = f"{text}; only {free_bytes >> 20} MiB are free there", "make room on that disk"
        return Finding(topic="store", state="caution", text=text, advice=advice, facts=facts)
    return Finding(topic="store", state="fine", text=text, facts=facts)


def _file_problem(path: Path) -> str:
    if path.is_dir():
        return "this is a folder, and the store must be a file"
    if path.exists():
        # The log beside the file is written to as well.
        if not (os.access(path, os.R_OK | os.W_OK) and os.access(path.parent, os.W_OK | os.X_OK)):
            return "the file and its folder must be readable and writable"
        with path.open("rb") as file:
            magic = file.read(len(SQLITE_MAGIC))
        return "" if magic in (b"", SQLITE_MAGIC) else "this file is not a store (not an SQLite database)"
    above = _nearest(path)
    if not above.is_dir():
        return f"{above} is no folder"
    return "" if os.access(above, os.W_OK | os.X_OK) else f"nothing may be written to {above}"


def _nearest(path: Path) -> Path:
    """What there is of the path above a file."""
    return next((folder for folder in path.parents if folder.exists()), Path("/"))


def _database_problem(location: Location) -> str:
    engine = sqlalchemy.create_engine(location.url, connect_args={"connect_timeout": 10})
    try:
        with engine.connect():
            return ""
    except SQLAlchemyError as error:
        said = str(getattr(error, "orig", None) or error)
        return location.without_secrets(" ".join(said.split()))
    finally:
        engine.dispose()
