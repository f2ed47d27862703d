"""Where a run was measured, in one line."""

from __future__ import annotations

from typing import Any

from opbench.reports.text import printable
from opbench.results.records import Environment


def describe_environment(environment: Environment) -> str:
    """Processor, CPUs, framework and Python, as far as they are known."""
    machine = _section(environment, "machine")
    framework = _section(environment, "framework")
    python = _section(environment, "python")
    cpus = _section(environment, "settings").get("cpus_usable") or machine.get("cpus_logical")
    parts = [
        str(machine.get("cpu") or machine.get("architecture") or ""),
        *map(str, machine.get("accelerators") or ()),
        f"{cpus} CPU{'s' if cpus != 1 else ''}" if cpus else "",
        f"{framework.get('name', '')} {framework.get('version', '')}".strip(),
        f"Python {python['version']}" if python.get("version") else "",
    ]
    text = " · ".join(" ".join(part.split()) for part in parts if part)
    name = "" if environment.name == "this" else f"{environment.name}: "
    return printable(f"{name}{text}")


def _section(environment: Environment, name: str) -> dict[str, Any]:
    # An imported run may hold anything.
    section = environment.facts.get(name)
    return section if isinstance(section, dict) else {}
