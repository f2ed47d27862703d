"""Measure what this machine reaches at best, and keep it for shares of the roofline."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import msgspec

from opbench.cases.errors import OpbenchError, UsageError
from opbench.execution.doctor import accelerators, start_worker
from opbench.execution.environments import parse_environment
from opbench.execution.slots import arrange, usable_cpus
from opbench.execution.station import AnyWorker, WorkerFactory, now
from opbench.execution.worker import Outcome, WorkerError
from opbench.results.machine import (
    Bandwidth,
    Calibration,
    Peak,
    calibration_facts,
    load_calibration,
    machine_fingerprint,
    merged,
    save_calibration,
)

# Allocating, and a product that is slower than it should be, take their time beside the measuring.
GRACE_S, TIMES_BUDGET = 120.0, 20.0


class _Bandwidth(msgspec.Struct):
    bytes_per_s: float
    spread: float
    working_set_bytes: int
    cache_bytes: int


class _Peak(msgspec.Struct):
    dtype: str
    flops_per_s: float
    spread: float
    size: int


class _Reply(msgspec.Struct):
    status: str
    reason: str = ""
    bandwidth: _Bandwidth | None = None
    peaks: tuple[_Peak, ...] = ()
    problems: tuple[str, ...] = ()


def calibrate(
    environment: str = "",
    *,
    num_threads: Sequence[int] = (),
    dtypes: Sequence[str] = (),
    budget_s: float = 1.0,
    folder: Path | None = None,
    listener: Callable[[str], object] | None = None,
    make_worker: WorkerFactory | None = None,
) -> tuple[Calibration, Path]:
    """Measure bandwidth and peaks of the CPU for each number of threads, and of each accelerator; keep them.

    What was calibrated before for other numbers of threads stays. `listener` hears what is being done.
    """
    cpus = arrange(usable_cpus())
    too_many = [threads for threads in num_threads if not 1 <= threads <= len(cpus)]
    if too_many:
        raise UsageError(f"{too_many[0]} threads cannot be calibrated: this process may use {len(cpus)} CPUs")
    spec, make, tell = parse_environment("this", environment), make_worker or start_worker, listener or str
    parts: list[Calibration] = []
    devices: list[str] = []
    for position, threads in enumerate(num_threads or thread_counts(len(cpus))):
        with closing(make(spec, threads)) as worker:
            hello = _started(worker)
            if position == 0:
                devices = [item["device"] for item in accelerators(worker)[0]]
            asked = {"num_threads": threads, "dtypes": list(dtypes), "budget_s": budget_s}
            for device in ["cpu", *(devices if position == 0 else ())]:
                tell(f"{device}, {threads} thread{'s' if threads > 1 else ''}" if device == "cpu" else device)
                request = {"calibrate": {**asked, "device": device}, "cpus": cpus[:threads]}
                outcome = worker.measure(request, GRACE_S + TIMES_BUDGET * budget_s)
                parts.append(_part(hello, device, threads, outcome))
    calibration = parts[0]
    for part in parts[1:]:
        calibration = msgspec.structs.replace(
            merged(calibration, part), problems=calibration.problems + part.problems
        )
    if not (calibration.bandwidths or calibration.peaks):
        raise OpbenchError(f"nothing could be calibrated: {'; '.join(calibration.problems)}")
    calibration = merged(load_calibration(hello, folder), calibration)
    try:
        return calibration, save_calibration(calibration, folder)
    except (OSError, RuntimeError) as error:
        raise OpbenchError(f"the calibration cannot be kept: {error}") from None


def thread_counts(cpus: int) -> tuple[int, ...]:
    """1, 2, 4, ... and all: the numbers of threads that cases usually have."""
    powers = [1 << power for power in range(cpus.bit_length())]
    return tuple(sorted({*powers, cpus}))


def _started(worker: AnyWorker) -> dict[str, Any]:
    try:
        return worker.start()
    except WorkerError as error:
        raise OpbenchError(f"nothing can be calibrated, because no worker can be started: {error}") from None


def _part(hello: dict[str, Any], device: str, threads: int, outcome: Outcome) -> Calibration:
    found = Calibration(
        fingerprint=machine_fingerprint(hello), facts=calibration_facts(hello), taken_at=now()
    )
    where = f"{device} with {threads} threads" if device == "cpu" else device
    try:
        reply = msgspec.json.decode(outcome.reply, type=_Reply)
        if reply.status != "ok":
            return msgspec.structs.replace(found, problems=(f"{where}: {reply.reason}",))
        at = {"device": device, "num_threads": threads}
        entries = [] if reply.bandwidth is None else [{**at, **msgspec.structs.asdict(reply.bandwidth)}]
        # Through the decoder once more: what is not a limit (zero, infinite) is not kept.
        return msgspec.structs.replace(
            found,
            bandwidths=msgspec.convert(entries, tuple[Bandwidth, ...]),
            peaks=msgspec.convert(
                [{**at, **msgspec.structs.asdict(peak)} for peak in reply.peaks], tuple[Peak, ...]
            ),
            problems=tuple(f"{where}: {problem}" for problem in reply.problems),
        )
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        ending = outcome.exit
        how = (
            "took too long" if ending.timed_out else f"ended with signal {ending.signal}, code {ending.code}"
        )
        reason = how if not outcome.reply else f"gave back something that is no calibration: {error}"
        return msgspec.structs.replace(found, problems=(f"{where}: {reason}",))
