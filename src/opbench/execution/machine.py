"""What the doctor says of the machine: processor, cores, memory, frequency, clock, noise."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import perf_counter_ns
from typing import Any

from opbench.execution.noise import Noise
from opbench.results.findings import Finding
from opbench.results.hardware import ROOT, machine_facts, moment_facts, settings_facts, system_facts
from opbench.worker.probes.timer import measured

# Beyond these shares, the last per cent of a time is not worth much.
MUCH_WAITED, MUCH_STEAL, MUCH_TAIL = 0.01, 0.005, 0.10
# A block of the default plan is 1 ms long, and a step of the clock is to be a hundredth of it at most.
COARSE_NS = 10_000


def machine_findings(root: Path = ROOT) -> Iterator[Finding]:
    """Processor, cores, memory, and the settings that make times vary."""
    machine, settings, system = machine_facts(root), settings_facts(root), system_facts(root)
    moment = moment_facts(root)
    place = f", in {system['container']}" if "container" in system else ""
    yield Finding(
        topic="machine",
        state="fine",
        text=f"{machine.get('cpu') or machine.get('architecture') or 'unknown processor'}, "
        f"{system.get('os', 'unknown system')}{place}",
        facts={"cpu": machine.get("cpu", ""), "architecture": machine.get("architecture", ""), **system},
    )
    yield _cores(machine, settings)
    yield _memory(machine, settings, moment)
    yield _frequency(settings)


def _cores(machine: Mapping[str, Any], settings: Mapping[str, Any]) -> Finding:
    usable, logical = settings.get("cpus_usable", 1), machine.get("cpus_logical", 1)
    physical, quota = machine.get("cores_physical"), settings.get("cpu_quota")
    text = f"{usable} of {logical} CPUs usable" if usable != logical else f"{usable} CPUs, all usable"
    text += f", {physical} cores" if physical else ""
    facts = {"usable": usable, "logical": logical, "physical": physical, "quota": quota}
    facts = {name: value for name, value in facts.items() if value is not None}
    if quota is not None and quota < usable:
        return Finding(
            topic="cores",
            state="caution",
            text=f"{text}, but a control group allows the time of {quota:g}: beyond that, all threads stop",
            advice="raise the limit of the container, or bind it to whole CPUs (docker run --cpuset-cpus)",
            facts=facts,
        )
    if usable == 1:
        return Finding(
            topic="cores",
            state="caution",
            text=f"{text}: whatever else runs here disturbs the case",
            advice="measure where there are two CPUs or more",
            facts=facts,
        )
    return Finding(topic="cores", state="fine", text=text, facts=facts)


def _memory(machine: Mapping[str, Any], settings: Mapping[str, Any], moment: Mapping[str, Any]) -> Finding:
    available, total = moment.get("memory_available_bytes"), machine.get("memory_gib")
    limit = settings.get("memory_limit_bytes")
    if available is None:
        return Finding(topic="memory", state="unknown", text="this system does not say how much is free")
    facts = {"available_bytes": available, "total_gib": total, "limit_bytes": limit}
    facts = {name: value for name, value in facts.items() if value is not None}
    text = f"{available / 2**30:.1f} GiB free{f' of {total}' if total else ''}"
    if limit is not None and limit < available:
        text += f", of which a control group allows {limit / 2**30:.1f}"
    if min(available, limit or available) < 2**30:
        advice = "end what takes it; the framework alone takes some hundred MiB"
        return Finding(topic="memory", state="caution", text=text, advice=advice, facts=facts)
    return Finding(topic="memory", state="fine", text=text, facts=facts)


def _frequency(settings: Mapping[str, Any]) -> Finding:
    known = {
        name: settings[name]
        for name in ("governor", "frequency_driver", "limit_mhz", "turbo", "smt")
        if name in settings
    }
    governor, turbo = settings.get("governor"), settings.get("turbo")
    parts = [f"governor {governor}"] if governor else []
    parts += [f"turbo {'on' if turbo else 'off'}"] if turbo is not None else []
    if not parts:
        return Finding(
            topic="frequency",
            state="unknown",
            text="governor and turbo cannot be read here, as in most virtual machines",
            facts=known,
        )
    advice = []
    if governor and governor != "performance":
        advice.append("cpupower frequency-set -g performance")
    if turbo:
        off = {
            "intel_pstate": "echo 1 > /sys/devices/system/cpu/intel_pstate/no_turbo",
            "": "echo 0 > /sys/devices/system/cpu/cpufreq/boost",
        }
        driver = "intel_pstate" if "intel" in str(settings.get("frequency_driver", "")) else ""
        advice.append(off[driver])
    return Finding(
        topic="frequency",
        state="caution" if advice else "fine",
        text=", ".join(parts) + (": the clock changes with load and heat" if advice else ""),
        advice=f"for steadier times, as root: {'; '.join(advice)}" if advice else "",
        facts=known,
    )


def clock_finding(clock: Callable[[], int] = perf_counter_ns) -> Finding:
    """What the clock resolves, and what reading it costs."""
    timer = measured(clock)
    text = f"steps of {timer.resolution_ns} ns, {timer.cost_ns:.0f} ns a reading"
    facts = {"resolution_ns": timer.resolution_ns, "cost_ns": round(timer.cost_ns, 1)}
    if timer.resolution_ns > COARSE_NS or timer.cost_ns > COARSE_NS:
        return Finding(
            topic="clock",
            state="caution",
            text=f"{text}: too coarse for blocks of the usual length",
            advice="measure longer blocks (--block 100ms); see which clocksource the kernel uses",
            facts=facts,
        )
    return Finding(topic="clock", state="fine", text=text, facts=facts)


def noise_finding(noise: Noise, cpu: int | None = None, root: Path = ROOT) -> Finding:
    """What a fixed loop showed."""
    load = moment_facts(root).get("load", [])
    parts = [
        f"half of all blocks of a fixed loop within ±{noise.usual_share:.1%}",
        f"one in twenty {noise.tail_share:.1%} slower or more",
    ]
    because = []
    if noise.waited_share is not None and noise.waited_share > MUCH_WAITED:
        because.append(f"waited for its CPU {noise.waited_share:.0%} of the time")
    if noise.steal_share is not None and noise.steal_share > MUCH_STEAL:
        because.append(f"the host took {noise.steal_share:.1%} of the CPUs' time (steal)")
    if load:
        parts.append(f"load {load[0]:g}")
    facts = {"cpu": cpu, "load": load, **noise._asdict()}
    text = ", ".join(because + parts)
    if not because and noise.tail_share <= MUCH_TAIL:
        return Finding(topic="noise", state="fine", text=text, facts=facts)
    return Finding(
        topic="noise",
        state="caution",
        text=text,
        advice="end other programs, or measure on CPUs of your own (taskset, isolcpus, another machine); "
        "opbench marks the samples that were disturbed and takes them again",
        facts=facts,
    )
