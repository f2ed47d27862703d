"""A Measurement as text, in the layout of `torch.utils.benchmark`, with more where more is known."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from opbench.results.units import select_unit

if TYPE_CHECKING:
    from opbench.results.timing import Measurement

_BARS = "▁▂▃▄▅▆▇█"
_CELLS = 24
# The slowest few would squeeze all others into one cell.
_SHOWN_SHARE = 0.98
# With fewer times than this, quartiles and pictures say nothing.
_LEAST_FOR_QUARTILES = 4
_LEAST_FOR_PICTURE = 8


def described(measurement: Measurement, heading: str) -> str:
    """What a person wants to see of a measurement, below a heading."""
    return "\n".join((heading, *_parts(measurement)))


def _parts(measurement: Measurement) -> Iterator[str]:
    count = len(measurement.raw_times)
    unit, scale = select_unit(measurement.median)
    yield measurement.task_spec.summarize()
    yield f"  {'Median: ' if count > 1 else ''}{measurement.median / scale:.2f} {unit}"
    if count >= _LEAST_FOR_QUARTILES:
        low, high = (measurement.quantile(share) / scale for share in (0.25, 0.75))
        yield f"  IQR:    {measurement.iqr / scale:.2f} {unit} ({low:.2f} to {high:.2f})"
    yield f"  {_counts(measurement)}"
    if measurement.source == "opbench":
        yield from _more(measurement, unit, scale)
    for text in measurement.warnings:
        first, *others = text.splitlines()
        yield f"  WARNING: {first}"
        yield from (f"           {other}" for other in others)


def _counts(measurement: Measurement) -> str:
    count, runs, threads = len(measurement.raw_times), measurement.number_per_run, measurement.num_threads
    per = " per measurement" if count > 1 else ""
    return (
        f"{count} measurement{'s' if count > 1 else ''}, {runs} runs{per}, "
        f"{threads} thread{'s' if threads > 1 else ''}"
    )


def _more(measurement: Measurement, unit: str, scale: float) -> Iterator[str]:
    interval = measurement.interval()
    if interval is not None:
        yield (
            f"  Median between {interval.low / scale:.4g} and {interval.high / scale:.4g} {unit} "
            f"({interval.confidence * 100:.3g}% confidence)"
        )
    if measurement.baseline_s:
        yield f"  Empty loop of {measurement.baseline_s * 1e9:.2f} ns per run subtracted"
    if measurement.disturbed_times:
        left_out = len(measurement.disturbed_times)
        yield f"  {left_out} disturbed measurement{'s' if left_out > 1 else ''} left out"
    if len(measurement.raw_times) >= _LEAST_FOR_PICTURE:
        yield f"  {picture(measurement.times, unit, scale)}"


def bins(times: Sequence[float], count: int) -> tuple[list[int], float, float, int]:
    """How many times fall into each of so many bins, where these begin and end, and how many lie beyond."""
    ordered = sorted(times)
    low, high = ordered[0], ordered[min(len(ordered) - 1, int(_SHOWN_SHARE * len(ordered)))]
    counts = [0] * count
    beyond = 0
    for time in ordered:
        if time > high:
            beyond += 1
        else:
            counts[min(count - 1, int((time - low) / (high - low) * count)) if high > low else 0] += 1
    return counts, low, high, beyond


def picture(times: Sequence[float], unit: str, scale: float) -> str:
    """The distribution as one line: its ends, and a bar for every bin between them."""
    counts, low, high, beyond = bins(times, _CELLS)
    most = max(counts)
    bars = "".join(_BARS[round((count / most) * (len(_BARS) - 1))] if count else " " for count in counts)
    if not high > low:
        return f"all {low / scale:.4g} {unit}"
    tail = f", {beyond} up to {max(times) / scale:.4g}" if beyond else ""
    return f"{low / scale:.4g} |{bars}| {high / scale:.4g} {unit}{tail}"
