"""The framework under test: what it says of itself, and what to import before the first fork."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import select
import signal
from typing import Any

from opbench.worker import system

# Drivers of accelerators take a second or so to start; one that hangs must not keep the CPU from its work.
DRIVERS_START_S = 20.0


def describe(name: str) -> dict[str, Any]:
    """Version, build and settings of the framework, as plain data."""
    module = importlib.import_module(name)
    facts: dict[str, Any] = {"name": name, "version": str(getattr(module, "__version__", ""))}
    if name == "torch":
        facts.update(_describe_torch(module))
    return facts


def _describe_torch(torch: Any) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "git": str(torch.version.git_version),
        "debug": bool(torch.version.debug),
        "cuda": torch.version.cuda,
        "hip": torch.version.hip,
        "num_threads": torch.get_num_threads(),
        "num_interop_threads": torch.get_num_interop_threads(),
    }
    with contextlib.suppress(Exception):
        facts["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
    has_drivers = any(getattr(torch.version, name, None) for name in ("cuda", "hip", "xpu"))
    facts.update(_told_by_a_child(torch) if has_drivers else _told_by_drivers(torch))
    return facts


def _told_by_drivers(torch: Any) -> dict[str, Any]:
    """What torch says only once it has started the drivers of accelerators."""
    facts: dict[str, Any] = {"build": torch.__config__.show()}
    kinds = [kind for kind in ("cuda", "xpu") if hasattr(torch, kind) and getattr(torch, kind).is_available()]
    facts["accelerators"] = [
        _accelerator(getattr(torch, kind), kind, index)
        for kind in kinds
        for index in range(getattr(torch, kind).device_count())
    ]
    return facts


def _accelerator(module: Any, kind: str, index: int) -> dict[str, Any]:
    properties = module.get_device_properties(index)
    facts: dict[str, Any] = {"device": f"{kind}:{index}", "name": str(properties.name)}
    for ours, theirs in (
        ("memory_bytes", "total_memory"),
        ("multiprocessors", "multi_processor_count"),
        ("cache_bytes", "L2_cache_size"),
    ):
        value = getattr(properties, theirs, None)
        if isinstance(value, int):
            facts[ours] = value
    if hasattr(properties, "major") and hasattr(properties, "minor"):
        facts["capability"] = f"{properties.major}.{properties.minor}"
    return facts


def _told_by_a_child(torch: Any) -> dict[str, Any]:
    """The same, asked in a child: a process that has started a driver cannot hand it on to its forks."""
    reader, writer = os.pipe()
    parent_pid = os.getpid()
    pid = os.fork()
    if pid == 0:
        try:
            system.die_with_parent(parent_pid)
            os.close(reader)
            os.write(writer, json.dumps(_told_by_drivers(torch)).encode())
        finally:
            os._exit(0)
    os.close(writer)
    raw = b""
    try:
        while select.select([reader], [], [], DRIVERS_START_S)[0]:
            part = os.read(reader, 1 << 16)
            if not part:
                break
            raw += part
    finally:
        os.close(reader)
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    try:
        return dict(json.loads(raw))
    except ValueError:
        return {"build": "", "accelerators": []}


def set_threads(name: str, num_threads: int) -> None:
    """Size the pools that no environment variable reaches."""
    if name == "torch":
        torch = importlib.import_module(name)
        torch.set_num_interop_threads(num_threads)


def preload(name: str) -> None:
    """Import now what every child would otherwise import for itself."""
    if name == "torch":
        for module in ("torch.utils.flop_counter", "torch.autograd.profiler"):
            with contextlib.suppress(ImportError):
                importlib.import_module(module)
    for module in (
        "opbench.worker.measure",
        "opbench.worker.probes.clock",
        "opbench.worker.probes.memory",
        "opbench.worker.probes.flops",
    ):
        importlib.import_module(module)
