"""The framework under test: what it says of itself, and what to import before the first fork."""

from __future__ import annotations

import contextlib
import importlib
from typing import Any


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
        "build": torch.__config__.show(),
        "num_threads": torch.get_num_threads(),
        "num_interop_threads": torch.get_num_interop_threads(),
    }
    with contextlib.suppress(Exception):
        facts["cpu_capability"] = torch.backends.cpu.get_cpu_capability()
    return facts


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
