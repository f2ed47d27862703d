"""Rates, intensity and share of the roofline: exact, from recorded numbers."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.model import Case
from opbench.results.machine import Bandwidth, Calibration, Peak
from opbench.results.records import Caution, Interval, Measurement, Metric
from opbench.results.roofline import DERIVED, derive

# 100 GFLOP/s and 10 GB/s: the ridge is at 10 flop/B.
CALIBRATION = Calibration(
    fingerprint="f",
    bandwidths=(
        Bandwidth(device="cpu", num_threads=1, bytes_per_s=10e9, cache_bytes=1000),
        Bandwidth(device="cpu", num_threads=2, bytes_per_s=15e9, cache_bytes=1000),
        Bandwidth(device="cuda:0", num_threads=1, bytes_per_s=1000e9, cache_bytes=1000),
    ),
    peaks=(
        Peak(device="cpu", num_threads=1, dtype="float32", flops_per_s=100e9),
        Peak(device="cuda:0", num_threads=1, dtype="float32", flops_per_s=5000e9),
    ),
)


def row(
    time_s: float | None = 1e-3,
    flops: int | None = None,
    moved: int | None = None,
    *,
    dtype: str = "float32",
    flush: bool = False,
    interval: Interval | None = None,
    status: Any = "ok",
    warnings: tuple[Caution, ...] = (),
    **case: Any,
) -> Measurement:
    provenance = {"flush_cache": True} if flush else {}
    metrics = [Metric("time", time_s, "s", "duration", interval=interval, provenance=provenance)]
    if flops is not None:
        metrics.append(Metric("flops", flops, "flop", "count", "neither", provenance={"dtype": dtype}))
    if moved is not None:
        metrics.append(Metric("bytes.moved", moved, "B", "bytes", "neither"))
    return Measurement(
        run_id="r",
        case_id="c",
        case=Case(op="torch.mm", **case),
        status=status,
        metrics=tuple(metrics),
        warnings=warnings,
    )


def derived(measurement: Measurement, calibration: Calibration | None = CALIBRATION) -> dict[str, float]:
    found = derive(measurement, calibration)
    return {metric.tag: metric.value for metric in found.metrics if metric.tag in DERIVED}  # type: ignore[misc]


def test_rates_and_intensity_need_no_calibration() -> None:
    assert derived(row(1e-3, 4_000_000, 2_000_000), None) == {
        "rate.flops": pytest.approx(4e9),
        "rate.bytes": pytest.approx(2e9),
        "intensity": 2.0,
    }
    assert derived(row(1e-3, 4_000_000), None) == {"rate.flops": pytest.approx(4e9)}
    assert derived(row(1e-3, moved=2_000_000), None) == {"rate.bytes": pytest.approx(2e9)}
    assert derived(row(1e-3), None) == {}


def test_below_the_ridge_memory_is_the_limit() -> None:
    # 2 MB take 200 µs at least, 4 MFLOP only 40 µs.
    found = derive(row(1e-3, 4_000_000, 2_000_000), CALIBRATION).metric("roofline")
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert found.provenance["bound"] == "memory"
    assert found.better == "higher"


def test_above_the_ridge_the_peak_is_the_limit() -> None:
    found = derive(row(1e-3, 40_000_000, 2_000_000), CALIBRATION).metric("roofline")
    assert found is not None
    assert found.value == pytest.approx(0.4)
    assert found.provenance == {
        "bound": "compute",
        "peak_flops_per_s": 100e9,
        "dtype": "float32",
        "bandwidth_bytes_per_s": 10e9,
    }


def test_without_flops_it_is_the_share_of_bandwidth_and_says_so() -> None:
    found = derive(row(1e-3, moved=2_000_000), CALIBRATION).metric("roofline")
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert "not known" in found.provenance["flops"]


def test_an_interval_turns_round() -> None:
    interval = Interval(0.5e-3, 2e-3, 0.95)
    found = derive(row(1e-3, moved=2_000_000, interval=interval), CALIBRATION)
    share, rate = found.metric("roofline"), found.metric("rate.bytes")
    assert share is not None
    assert rate is not None
    assert share.interval == Interval(pytest.approx(0.1), pytest.approx(0.4), 0.95)
    assert rate.interval == Interval(pytest.approx(1e9), pytest.approx(4e9), 0.95)


def test_data_that_fits_the_cache_is_not_held_to_the_bandwidth_of_memory() -> None:
    assert "roofline" not in derived(row(1e-6, moved=1000))
    found = derive(row(1e-6, 20_000, 1000), CALIBRATION).metric("roofline")
    assert found is not None
    assert found.value == pytest.approx(0.2)
    assert found.provenance["in_cache"] is True
    # Unless it was thrown out of there before each call.
    assert derived(row(1e-6, moved=1000, flush=True))["roofline"] == pytest.approx(0.1)


@pytest.mark.parametrize(
    "measurement",
    [
        row(1e-3, 4_000_000, 2_000_000, dtype="bfloat16"),
        row(1e-3, 4_000_000, 2_000_000, dtype=""),
        row(1e-3, 4_000_000, 2_000_000, num_threads=2),
        row(1e-3, 4_000_000, 2_000_000, num_threads=3),
        row(1e-3, moved=2_000_000, num_threads=3),
        row(1e-3, moved=2_000_000, device="cuda:1"),
        row(1e-3, 4_000_000),
        row(1e-3),
    ],
)
def test_there_is_no_share_where_a_limit_is_not_known(measurement: Measurement) -> None:
    assert "roofline" not in derived(measurement)


def test_threads_of_the_host_play_no_part_on_an_accelerator() -> None:
    for device in ("cuda", "cuda:0"):
        share = derived(row(1e-6, 2_500_000, 10_000, device=device, num_threads=7))["roofline"]
        assert share == pytest.approx(0.5)


@pytest.mark.parametrize("status", ["failed", "crashed", "timeout", "skipped"])
def test_a_row_that_is_not_ok_is_left_as_it_is(status: Any) -> None:
    measurement = row(1e-3, 4_000_000, 2_000_000, status=status)
    assert derive(measurement, CALIBRATION) is measurement


@pytest.mark.parametrize("time_s", [None, 0.0, -1e-9, float("nan"), float("inf")])
def test_a_time_that_is_none_gives_no_rates(time_s: float | None) -> None:
    assert derived(row(time_s, 4_000_000, 2_000_000)) == {}


@pytest.mark.parametrize(
    ("measurement", "said"),
    [
        (row(1e-4, moved=2_000_000), "200% of the bandwidth"),
        (row(1e-4, 20_000_000, 20_000), "200% of the peak"),
    ],
)
def test_more_than_all_there_is_comes_with_a_caution(measurement: Measurement, said: str) -> None:
    found = derive(measurement, CALIBRATION)
    (warning,) = found.warnings
    assert warning.code == "above_roofline"
    assert said in warning.message
    assert "doctor --calibrate" in warning.message
    # The number stays as it is: cutting it to 100% would hide what is wrong.
    assert derived(measurement)["roofline"] == pytest.approx(2.0)


def test_exactly_all_there_is_needs_none() -> None:
    assert not derive(row(2e-4, moved=2_000_000), CALIBRATION).warnings


@given(
    st.floats(1e-9, 1e3),
    st.none() | st.integers(0, 10**15),
    st.none() | st.integers(0, 10**15),
    st.booleans(),
)
def test_deriving_again_changes_nothing(
    time_s: float, flops: int | None, moved: int | None, flush: bool
) -> None:
    other = Caution("interference", "x")
    once = derive(row(time_s, flops, moved, flush=flush, warnings=(other,)), CALIBRATION)
    assert derive(once, CALIBRATION) == once
    assert other in once.warnings
    share = once.metric("roofline")
    above = share is not None and share.value is not None and share.value > 1
    assert above == any(warning.code == "above_roofline" for warning in once.warnings)
    # A row that is read where nothing was calibrated has no share, and none of its warnings.
    bare = derive(once, None)
    assert bare.metric("roofline") is None
    assert bare.warnings == (other,)
    assert msgspec.json.decode(msgspec.json.encode(once), type=Measurement) == once
