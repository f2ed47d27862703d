"""Imaginary machines: folders that look like the root of one."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

Files: TypeAlias = dict[str, str]

CPU = "sys/devices/system/cpu"


def build(root: Path, files: Files) -> Path:
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return root


def _cpuinfo(count: int, entry: str) -> str:
    return "".join(entry.format(number=number, core=number // 2) + "\n" for number in range(count))


INTEL: Files = {
    "proc/cpuinfo": _cpuinfo(
        4,
        "processor\t: {number}\nvendor_id\t: GenuineIntel\ncpu family\t: 6\nmodel\t\t: 106\n"
        "model name\t: Intel(R) Xeon(R) Gold 6338 CPU @ 2.00GHz\nstepping\t: 6\ncpu MHz\t\t: 80{number}.1\n"
        "physical id\t: 0\ncore id\t\t: {core}\nflags\t\t: fpu avx512f avx2 amx_tile\n",
    ),
    "proc/meminfo": "MemTotal:       65536000 kB\nMemFree: 1 kB\nMemAvailable:   60000000 kB\n",
    "proc/loadavg": "0.50 1.25 2.00 3/345 6789\n",
    "proc/sys/kernel/randomize_va_space": "2\n",
    f"{CPU}/intel_pstate/no_turbo": "1\n",
    f"{CPU}/smt/active": "1\n",
    f"{CPU}/cpufreq/policy0/scaling_governor": "powersave\n",
    f"{CPU}/cpufreq/policy1/scaling_governor": "performance\n",
    f"{CPU}/cpufreq/policy0/scaling_driver": "intel_pstate\n",
    f"{CPU}/cpufreq/policy0/cpuinfo_max_freq": "3200000\n",
    f"{CPU}/cpufreq/policy0/scaling_max_freq": "2000000\n",
    f"{CPU}/cpu0/cache/index0/size": "48K\n",
    f"{CPU}/cpu0/cache/index0/level": "1\n",
    f"{CPU}/cpu0/cache/index0/type": "Data\n",
    f"{CPU}/cpu0/cache/index1/size": "32K\n",
    f"{CPU}/cpu0/cache/index1/level": "1\n",
    f"{CPU}/cpu0/cache/index1/type": "Instruction\n",
    f"{CPU}/cpu0/cache/index2/size": "49152K\n",
    f"{CPU}/cpu0/cache/index2/level": "3\n",
    f"{CPU}/cpu0/cache/index2/type": "Unified\n",
    "sys/devices/system/node/node0/meminfo": "",
    "sys/devices/system/node/node1/meminfo": "",
    "sys/kernel/mm/transparent_hugepage/enabled": "always [madvise] never\n",
    "sys/class/dmi/id/sys_vendor": "Imaginary Inc.\n",
    "sys/class/dmi/id/product_name": "Rack 1\n",
    "etc/os-release": 'NAME="Imaginary"\nPRETTY_NAME="Imaginary Linux 12"\n',
    "proc/driver/nvidia/gpus/0000:01:00.0/information": "Model: \t\t NVIDIA H200\nIRQ:   1\n",
    "proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31\n",
}

AMD: Files = {
    "proc/cpuinfo": _cpuinfo(
        2,
        "processor\t: {number}\nvendor_id\t: AuthenticAMD\ncpu family\t: 25\nmodel\t\t: 1\nstepping\t: 1\n"
        "model name\t: AMD EPYC 7763 64-Core Processor\nphysical id\t: {number}\ncore id\t\t: 0\n"
        "flags\t\t: fpu avx2\n",
    ),
    "proc/meminfo": "MemTotal:       16384000 kB\n",
    f"{CPU}/cpufreq/boost": "1\n",
    f"{CPU}/smt/active": "0\n",
    f"{CPU}/cpufreq/policy0/scaling_driver": "acpi-cpufreq\n",
}

ARM: Files = {
    "proc/cpuinfo": _cpuinfo(
        2,
        "processor\t: {number}\nFeatures\t: fp asimd sve\n"
        "CPU implementer\t: 0x41\nCPU part\t: 0xd4{number}\n",
    ),
    "proc/meminfo": "MemTotal:        8000000 kB\n",
}

# A container of half a processor, inside a pod of two; the host's files show through.
CONTAINER: Files = INTEL | {
    "proc/self/cgroup": "0::/pod/container\n",
    "sys/fs/cgroup/pod/cpu.max": "200000 100000\n",
    "sys/fs/cgroup/pod/memory.max": "1073741824\n",
    "sys/fs/cgroup/pod/container/cpu.max": "50000 100000\n",
    "sys/fs/cgroup/pod/container/memory.max": "max\n",
    ".dockerenv": "",
}

OLD_CONTAINER: Files = INTEL | {
    "proc/self/cgroup": "4:memory:/docker/abc\n3:cpu,cpuacct:/docker/abc\n",
    "proc/1/cgroup": "4:memory:/kubepods/abc\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "150000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "536870912\n",
}

UNLIMITED: Files = {
    "proc/self/cgroup": "0::/\n",
    "sys/fs/cgroup/cpu.max": "max 100000\n",
    "sys/fs/cgroup/cpu/cpu.cfs_quota_us": "-1\n",
    "sys/fs/cgroup/cpu/cpu.cfs_period_us": "100000\n",
    "sys/fs/cgroup/memory/memory.limit_in_bytes": "9223372036854771712\n",
}
