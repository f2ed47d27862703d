"""The machine and how it is set up, read from /proc and /sys. What cannot be read is left out."""

from __future__ import annotations

import os
import platform
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

ROOT = Path("/")
_CPUS = "sys/devices/system/cpu"
_CACHE_NAMES = {"Data": "d", "Instruction": "i"}
_IS_DECIMAL = re.compile(r"\d{1,9}(\.\d{1,9})?", re.ASCII).fullmatch
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30}


def machine_facts(root: Path = ROOT) -> dict[str, Any]:
    """What the machine is: processor, cores, caches, memory, accelerators."""
    processors = _processors(root)
    first = processors[0] if processors else {}
    features = first.get("flags") or first.get("Features") or ""
    packages = {entry["physical id"] for entry in processors if "physical id" in entry}
    # Cores are numbered anew in each package.
    cores = {(entry["physical id"], entry["core id"]) for entry in processors if "core id" in entry}
    memory = memory_bytes(root, "MemTotal")
    return _known(
        architecture=platform.machine(),
        product=" ".join(read(root / f"sys/class/dmi/id/{name}") for name in ("sys_vendor", "product_name")),
        cpu=_distinct(_cpu_name(entry) for entry in processors) or platform.processor(),
        cpu_family="/".join(first.get(name, "") for name in ("cpu family", "model", "stepping")).strip("/"),
        cpu_features=sorted(set(features.split())),
        cpus_logical=len(processors) or os.cpu_count(),
        cores_physical=len(cores),
        packages=len(packages),
        numa_nodes=sum(1 for _ in root.glob("sys/devices/system/node/node[0-9]*")),
        cache_bytes=_caches(root),
        max_mhz=_mhz(root, "cpuinfo_max_freq"),
        # What the kernel keeps for itself changes with each of its versions.
        memory_gib=round(memory / 2**30) if memory else None,
        accelerators=_accelerators(root),
    )


def settings_facts(root: Path = ROOT) -> dict[str, Any]:
    """How the machine is set up, where that changes how fast programs run."""
    quota, memory_limit = _limits(root)
    return _known(
        cpus_usable=len(usable_cpus()),
        cpu_quota=quota,
        memory_limit_bytes=memory_limit,
        governor=_every(root, "scaling_governor"),
        frequency_driver=_every(root, "scaling_driver"),
        limit_mhz=_mhz(root, "scaling_max_freq"),
        turbo=_turbo(root),
        smt={"1": True, "0": False}.get(read(root / _CPUS / "smt/active")),
        transparent_hugepages=_chosen(read(root / "sys/kernel/mm/transparent_hugepage/enabled")),
        address_randomization=read(root / "proc/sys/kernel/randomize_va_space"),
    )


def system_facts(root: Path = ROOT) -> dict[str, Any]:
    """The operating system, and what it runs in."""
    release = dict(line.split("=", 1) for line in read(root / "etc/os-release").splitlines() if "=" in line)
    return _known(
        os=release.get("PRETTY_NAME", "").strip('"') or platform.platform(terse=True),
        kernel=f"{platform.system()} {platform.release()}",
        libc=" ".join(platform.libc_ver()).strip(),
        host=platform.node(),
        container=_container(root),
    )


def moment_facts(root: Path = ROOT) -> dict[str, Any]:
    """What is another a moment later."""
    load = read(root / "proc/loadavg").split()
    return _known(
        load=[float(number) for number in load[:3] if _IS_DECIMAL(number)],
        # "2/345" is two runnable of 345; this process is one of them.
        runnable=_whole(load[3].split("/")[0]) if len(load) > 3 else None,
        memory_available_bytes=memory_bytes(root, "MemAvailable"),
        cpus=usable_cpus(),
    )


def usable_cpus() -> list[int]:
    """The CPUs that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return sorted(os.sched_getaffinity(0))
    return list(range(os.cpu_count() or 1))


def memory_bytes(root: Path, field: str) -> int | None:
    """A field of /proc/meminfo."""
    found = re.search(rf"^{field}:\s+([0-9]{{1,18}}) kB", read(root / "proc/meminfo"), re.MULTILINE)
    return int(found[1]) * 1024 if found else None


def read(path: Path) -> str:
    """The text of a small file without space around it; empty when it cannot be read."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


def _known(**facts: Any) -> dict[str, Any]:
    stripped = {name: value.strip() if isinstance(value, str) else value for name, value in facts.items()}
    return {
        name: value
        for name, value in stripped.items()
        if value not in (None, "", 0, [], {}) or value is False
    }


def _processors(root: Path) -> list[dict[str, str]]:
    blocks = read(root / "proc/cpuinfo").split("\n\n")
    entries = [
        {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in block.splitlines())}
        for block in blocks
    ]
    return [entry for entry in entries if "processor" in entry]


def _cpu_name(entry: dict[str, str]) -> str:
    if "CPU implementer" in entry:  # how ARM processors are told apart
        return f"implementer {entry['CPU implementer']} part {entry.get('CPU part', '')}"
    return entry.get("model name", "")


def _caches(root: Path) -> dict[str, int]:
    found = {}
    for index in sorted((root / _CPUS / "cpu0/cache").glob("index[0-9]*")):
        size = re.fullmatch(r"([0-9]{1,9})([KMG]?)", read(index / "size"))
        if size:
            kind = _CACHE_NAMES.get(read(index / "type"), "")
            found[f"L{read(index / 'level')}{kind}"] = int(size[1]) * _UNITS[size[2]]
    return found


def _accelerators(root: Path) -> list[str]:
    informations = sorted((root / "proc/driver/nvidia/gpus").glob("*/information"))
    models = [re.search(r"^Model:\s*(.+)$", read(path), re.MULTILINE) for path in informations]
    driver = re.search(r"Kernel Module.*?\s(\d+\.[\d.]+)\s", read(root / "proc/driver/nvidia/version"))
    suffix = f" (driver {driver[1]})" if driver else ""
    return [model[1].strip() + suffix for model in models if model]


def _every(root: Path, name: str) -> str:
    return _distinct(read(path) for path in (root / _CPUS / "cpufreq").glob(f"policy[0-9]*/{name}"))


def _distinct(texts: Iterable[str]) -> str:
    return ", ".join(sorted(set(texts) - {""}))


def _mhz(root: Path, name: str) -> str:
    # Some processors have cores of several kinds.
    khz = _every(root, name).split(", ")
    return _distinct(str(number // 1000) for number in map(_whole, khz) if number is not None)


def _turbo(root: Path) -> bool | None:
    off = read(root / _CPUS / "intel_pstate/no_turbo")
    if off:
        return off == "0"
    boost = read(root / _CPUS / "cpufreq/boost")
    return boost == "1" if boost else None


def _chosen(text: str) -> str:
    found = re.search(r"\[(\w+)\]", text)
    return found[1] if found else ""


def _limits(root: Path) -> tuple[float | None, int | None]:
    """CPUs and bytes that control groups leave to this process: the least of its group and those above."""
    quotas: list[float | None] = []
    sizes: list[int | None] = []
    group = re.search(r"^0::/(.*)$", read(root / "proc/self/cgroup"), re.MULTILINE)
    top = root / "sys/fs/cgroup"
    folder = top / (group[1] if group else "")
    for place in (folder, *folder.parents):
        if not place.is_relative_to(top):
            break
        quotas.append(_ratio(*read(place / "cpu.max").split()))
        sizes.append(_whole(read(place / "memory.max")))
    # Version 1, as a container sees it.
    quotas.append(_ratio(*(read(top / f"cpu/cpu.cfs_{name}_us") for name in ("quota", "period"))))
    sizes.append(_whole(read(top / "memory/memory.limit_in_bytes")))
    # Version 1 says "no limit" with a number near the largest there is.
    known_sizes = [size for size in sizes if size is not None and size < 2**60]
    known_quotas = [quota for quota in quotas if quota is not None]
    return min(known_quotas, default=None), min(known_sizes, default=None)


def _whole(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) < 20 else None


def _ratio(*texts: str) -> float | None:
    numbers = [_whole(text) for text in texts]
    if len(numbers) != 2 or numbers[0] is None or not numbers[1]:
        return None
    return numbers[0] / numbers[1]


def _container(root: Path) -> str:
    if (root / ".dockerenv").exists():
        return "docker"
    if (root / "run/.containerenv").exists():
        return "podman"
    groups = read(root / "proc/1/cgroup")
    return next((name for name in ("kubepods", "docker", "lxc", "containerd") if name in groups), "")
