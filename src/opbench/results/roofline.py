"""Rates, arithmetic intensity and share of the roofline, from what was measured."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import msgspec

from opbench.results.machine import Bandwidth, Calibration, Peak
from opbench.results.records import Caution, Hint, Interval, Measurement, Metric

ABOVE = "above_roofline"
DERIVED = ("rate.flops", "rate.bytes", "intensity", "roofline")


def derive(measurement: Measurement, calibration: Calibration | None) -> Measurement:
    """The row with the metrics that follow from others: `rate.flops`, `rate.bytes`, `intensity`, `roofline`.

    Each is there only where all it needs is known. `roofline` is the share of the least upper bound: the
    peak for the dtype, or bandwidth times intensity where that is lower.
    """
    time = measurement.metric("time")
    if measurement.status != "ok" or time is None or not _positive(time.value):
        return measurement
    kept = tuple(metric for metric in measurement.metrics if metric.tag not in DERIVED)
    found = tuple(_derived(measurement, time, calibration))
    warnings = tuple(warning for warning in measurement.warnings if warning.code != ABOVE)
    warnings += tuple(_above(metric) for metric in found if metric.tag == "roofline" and _exceeds(metric))
    return msgspec.structs.replace(measurement, metrics=kept + found, warnings=warnings)


def _exceeds(metric: Metric) -> bool:
    return _number(metric.value) > 1.0


def _above(metric: Metric) -> Caution:
    """What a share of more than all there is means."""
    percent = f"{100 * _number(metric.value):.4g}%"
    if metric.provenance["bound"] == "memory":
        said = f"{percent} of the bandwidth that a copy reached: a part of its data was in a cache"
    else:
        said = (
            f"{percent} of the peak that a matrix product reached: it does less work than was counted, "
            "or does it better"
        )
    return Caution(
        ABOVE,
        f"{said}, or the machine was busy when it was calibrated (opbench doctor --calibrate once more)",
    )


def _derived(row: Measurement, time: Metric, calibration: Calibration | None) -> Iterator[Metric]:
    flops, moved = row.metric("flops"), row.metric("bytes.moved")
    flop_count = flops.value if flops is not None and _positive(flops.value) else None
    byte_count = moved.value if moved is not None and _positive(moved.value) else None
    if flop_count is not None:
        yield _rate("rate.flops", flop_count, "flop/s", "flop_rate", time)
    if byte_count is not None:
        yield _rate("rate.bytes", byte_count, "B/s", "byte_rate", time)
    if flop_count is not None and byte_count is not None:
        yield Metric("intensity", flop_count / byte_count, "flop/B", "ratio", "neither")
    if calibration is None:
        return
    case = row.case
    dtype = str(flops.provenance.get("dtype", "")) if flops is not None else ""
    peak = calibration.peak(case.device, case.num_threads, dtype)
    bandwidth = calibration.bandwidth(case.device, case.num_threads)
    share = _share(flop_count, byte_count, peak, bandwidth, flushed=bool(time.provenance.get("flush_cache")))
    if share is not None:
        least_s, provenance = share
        yield Metric(
            "roofline",
            least_s / _number(time.value),
            "",
            "ratio",
            "higher",
            interval=_inverse(least_s, time.interval),
            provenance=provenance,
        )


def _share(
    flops: float | None,
    moved: float | None,
    peak: Peak | None,
    bandwidth: Bandwidth | None,
    *,
    flushed: bool,
) -> tuple[float, dict[str, Any]] | None:
    """The least time that the machine's limits allow, and which limit that is."""
    if flops is not None and peak is None:
        return None  # the lower of two limits cannot be told from one
    limits: dict[str, float] = {}
    provenance: dict[str, Any] = {}
    if flops is not None and peak is not None:
        limits["compute"] = flops / peak.flops_per_s
        provenance |= {"peak_flops_per_s": peak.flops_per_s, "dtype": peak.dtype}
    if moved is not None and bandwidth is not None:
        # What calls find in the cache, where the call before left it, is not held up by memory.
        if moved > bandwidth.cache_bytes or flushed:
            limits["memory"] = moved / bandwidth.bytes_per_s
            provenance["bandwidth_bytes_per_s"] = bandwidth.bytes_per_s
        else:
            provenance["in_cache"] = True
    if not limits or (flops is not None and (moved is None or bandwidth is None)):
        return None
    bound = max(limits, key=lambda name: limits[name])
    if flops is None:
        provenance["flops"] = "not known; this is the share of bandwidth"
    return limits[bound], {"bound": bound, **provenance}


def _rate(tag: str, amount: float, unit: str, hint: Hint, time: Metric) -> Metric:
    interval = _inverse(amount, time.interval)
    return Metric(tag, amount / _number(time.value), unit, hint, "higher", interval=interval)


def _inverse(amount: float, interval: Interval | None) -> Interval | None:
    """Where `amount` divided by the time lies."""
    if interval is None or not (_positive(interval.low) and _positive(interval.high)):
        return None
    return Interval(amount / interval.high, amount / interval.low, interval.confidence)


def _positive(value: object) -> bool:
    return isinstance(value, int | float) and math.isfinite(value) and value > 0


def _number(value: float | None) -> float:
    assert value is not None
    return value
