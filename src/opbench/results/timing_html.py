"""A Measurement as HTML, for notebooks: its numbers, its warnings, a small plot of its distribution."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING

from opbench.results.timing_text import bins
from opbench.results.units import select_unit

if TYPE_CHECKING:
    from opbench.results.timing import Measurement

_WIDTH, _HEIGHT, _BINS = 320, 60, 40


def as_html(measurement: Measurement) -> str:
    """A fragment that needs nothing from elsewhere. All that comes from outside is escaped."""
    rows = "".join(
        f'<tr><th style="text-align:left">{escape(name)}</th>'
        f'<td style="text-align:right">{escape(text)}</td></tr>'
        for name, text in _facts(measurement)
    )
    warnings = "".join(
        f'<p style="color:#b45309;margin:2px 0">⚠ {escape(text)}</p>' for text in measurement.warnings
    )
    title = escape(measurement.task_spec.summarize())
    return (
        '<div style="font-family:sans-serif;max-width:640px">'
        f'<pre style="margin:0;font-weight:bold;text-align:left">{title}</pre>'
        '<div style="display:flex;gap:24px;align-items:center">'
        f"<table>{rows}</table>{_plot(measurement)}</div>{warnings}</div>"
    )


def _facts(measurement: Measurement) -> Iterator[tuple[str, str]]:
    unit, scale = select_unit(measurement.median)

    def text(seconds: float) -> str:
        return f"{seconds / scale:.4g} {unit}"

    yield "median", text(measurement.median)
    interval = measurement.interval()
    if interval is not None:
        name = f"its {interval.confidence * 100:.3g}% interval"
        yield name, f"{interval.low / scale:.4g} to {text(interval.high)}"
        yield "IQR", text(measurement.iqr)
        yield "min, max", f"{measurement.min / scale:.4g}, {text(measurement.max)}"
    yield "measurements", f"{len(measurement.raw_times)} of {measurement.number_per_run} runs"
    yield "threads", str(measurement.num_threads)
    if measurement.disturbed_times:
        yield "disturbed, left out", str(len(measurement.disturbed_times))


def _plot(measurement: Measurement) -> str:
    if len(measurement.raw_times) < 2:
        return ""
    counts, low, high, beyond = bins(measurement.times, _BINS)
    unit, scale = select_unit(measurement.median)
    most, step = max(counts), _WIDTH / _BINS
    bars = "".join(
        f'<rect x="{place * step:.1f}" y="{_HEIGHT * (1 - count / most):.1f}" width="{step - 1:.1f}" '
        f'height="{_HEIGHT * count / most:.1f}" fill="#3b82f6"/>'
        for place, count in enumerate(counts)
        if count
    )
    share = (measurement.median - low) / (high - low) if high > low else 0.0
    middle = min(1.0, share) * _WIDTH
    tail = f" (+{beyond})" if beyond else ""
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT + 16}" '
        f'role="img" aria-label="distribution of times">{bars}'
        f'<line x1="{middle:.1f}" x2="{middle:.1f}" y1="0" y2="{_HEIGHT}" stroke="#dc2626"/>'
        f'<text x="0" y="{_HEIGHT + 13}" font-size="11" fill="currentColor">{low / scale:.4g}</text>'
        f'<text x="{_WIDTH}" y="{_HEIGHT + 13}" font-size="11" text-anchor="end" fill="currentColor">'
        f"{high / scale:.4g} {unit}{tail}</text></svg>"
    )
