"""What machine this is: in one line, as the doctor's findings, and by its limits."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from opbench.reports.format import MISSING, significant
from opbench.reports.table import Line
from opbench.reports.text import left, printable, right, wrap
from opbench.results.findings import Finding, State
from opbench.results.machine import Bandwidth, Calibration, Peak
from opbench.results.records import Environment

_STYLES: dict[State, str] = {
    "fine": "green",
    "unknown": "dim",
    "caution": "yellow",
    "missing": "yellow",
    "broken": "red",
}
_TOPIC_WIDTH = 12
_STATE_WIDTH = 7


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


def finding_lines(finding: Finding, width: int) -> Iterator[Line]:
    """A finding and what to do about it, in so many columns."""
    indent = _STATE_WIDTH + _TOPIC_WIDTH + 4
    state = (f"  {left(finding.state, _STATE_WIDTH)}", _STYLES[finding.state])
    topic = (f" {left(finding.topic, _TOPIC_WIDTH)} ", "bold")
    texts = wrap(printable(finding.text), max(width - indent, 20))
    yield [state, topic, (texts[0] if texts else "", "")]
    yield from ([(" " * indent + text, "")] for text in texts[1:])
    for position, text in enumerate(wrap(printable(finding.advice), max(width - indent - 2, 20))):
        yield [(" " * indent + ("  " if position else "> ") + text, "dim")]


def finding_document(finding: Finding) -> dict[str, Any]:
    """A finding as plain data."""
    document: dict[str, Any] = msgspec.to_builtins(finding)
    return document


def findings_summary(findings: list[Finding]) -> str:
    """How many findings of each kind want attention."""
    counts = {
        state: sum(1 for finding in findings if finding.state == state)
        for state in ("broken", "caution", "missing")
    }
    if counts["broken"]:
        topics = ", ".join(finding.topic for finding in findings if finding.state == "broken")
        return f"Nothing can be measured and kept before this is mended: {topics}"
    parts = [f"{counts['caution']} with a caution"] if counts["caution"] else []
    parts += [f"{counts['missing']} missing"] if counts["missing"] else []
    return "Ready to measure" + (f" ({', '.join(parts)})" if parts else "")


def calibration_lines(calibration: Calibration) -> Iterator[Line]:
    """The limits of a machine as a table: a line for each device and number of threads."""
    dtypes = list(dict.fromkeys(peak.dtype for peak in calibration.peaks))
    widths = [9, *(max(9, len(dtype) + 2) for dtype in dtypes)]
    entries: tuple[Bandwidth | Peak, ...] = (*calibration.bandwidths, *calibration.peaks)
    places = {(entry.device, entry.num_threads) for entry in entries}
    table = [["device", "threads", "copy", *dtypes], ["", "", "GB/s", *["GFLOP/s"] * len(dtypes)]]
    for device, threads in sorted(places):
        bandwidth = calibration.bandwidth(device, threads)
        peaks = [calibration.peak(device, threads, dtype) for dtype in dtypes]
        limits = [
            bandwidth.bytes_per_s if bandwidth else None,
            *(peak.flops_per_s if peak else None for peak in peaks),
        ]
        # Threads of the host have no part in what an accelerator does.
        host = str(threads) if device == "cpu" else ""
        table.append([printable(device), host, *(_giga(limit) for limit in limits)])
    for position, (device, threads_text, *cells) in enumerate(table):
        text = "".join(right(cell, width) for cell, width in zip(cells, widths, strict=True))
        yield [(f"  {left(device, 8)}{right(threads_text, 8)}{text}", "dim" if position < 2 else "")]


def _giga(limit: float | None) -> str:
    return MISSING if limit is None else significant(limit / 1e9)
