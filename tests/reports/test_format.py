"""Numbers for people."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.reports import format as fmt
from opbench.results.records import Interval, Metric

UNITS = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9}


@pytest.mark.parametrize(
    ("value", "digits", "text"),
    [
        (0.0, 3, "0"),
        (1.0, 3, "1.00"),
        (9.996, 3, "10.0"),
        (123456.0, 3, "123000"),
        (0.00123456, 3, "0.00123"),
        (1e-9, 3, "1.00e-09"),
        (math.inf, 3, "inf"),
        (-math.inf, 3, "-inf"),
        (math.nan, 3, "nan"),
    ],
)
def test_significant(value: float, digits: int, text: str) -> None:
    assert fmt.significant(value, digits) == text


@given(st.floats(1e-6, 1e12))
def test_significant_digits_are_right(value: float) -> None:
    assert float(fmt.significant(value)) == pytest.approx(value, rel=0.005)


@given(st.floats(1e-9, 9999))
def test_durations_are_eight_cells_wide_at_most_and_right(seconds: float) -> None:
    text = fmt.duration(seconds)
    number, unit = text.split()
    assert float(number) * UNITS[unit] == pytest.approx(seconds, rel=0.0006)
    assert len(text) <= 8
    assert text[-2:] == f"{unit:>2}"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.9999996, "1.000  s"),
        (999.96e-6, "1.000 ms"),
        (0.0, "0 ns"),
        (2e-12, "0.002000 ns"),
        (-1e-9, "-1.000 ns"),
    ],
)
def test_durations_at_the_edges(seconds: float, text: str) -> None:
    assert fmt.duration(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0 ms"),
        (0.85, "850 ms"),
        (0.9996, "1.0 s"),
        (4.21, "4.2 s"),
        (99.94, "99.9 s"),
        (99.96, "1 min 40 s"),
        (185.0, "3 min 05 s"),
        (7620.0, "2 h 07 min"),
    ],
)
def test_elapsed(seconds: float, text: str) -> None:
    assert fmt.elapsed(seconds) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (262144, "256 KiB"),
        (1047552, "1023 KiB"),
        (3 << 40, "3.00 TiB"),
    ],
)
def test_size(size_bytes: int, text: str) -> None:
    assert fmt.size(size_bytes) == text


@given(st.integers(0, 1 << 50))
def test_sizes_are_eight_cells_wide_at_most(size_bytes: int) -> None:
    assert len(fmt.size(size_bytes)) <= 8


@given(st.floats(-1e30, 1e30), st.integers(5, 8))
def test_fitted_numbers_fit(value: float, width: int) -> None:
    text = fmt.fitted(abs(value), width)
    assert len(text) <= width
    assert float(text) == pytest.approx(abs(value), rel=0.5, abs=0.01)


@given(
    st.floats(allow_nan=True, allow_infinity=True),
    st.sampled_from(["duration", "count", "bytes", "ratio", "rate"]),
)
def test_every_number_has_a_text(value: float, hint: str) -> None:
    assert fmt.by_hint(value, hint, "")  # type: ignore[arg-type]


def test_what_is_missing_is_a_dash() -> None:
    assert fmt.by_hint(None, "duration") == fmt.MISSING


def test_spread_is_the_wider_side() -> None:
    metric = Metric("time", 2.0, "s", "duration", interval=Interval(1.9, 2.3, 0.95))
    assert fmt.spread(metric) == pytest.approx(0.15)
    assert fmt.spread(Metric("time", 2.0, "s", "duration")) is None


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric("rate.flops", 65.5e9, "flop/s", "flop_rate"), "65.5 GFLOP/s"),
        (Metric("rate.bytes", 1.5e6, "B/s", "byte_rate"), "1.50 MB/s"),
        (Metric("roofline", 0.812, "", "ratio"), "81.2%"),
        (Metric("intensity", 42.67, "flop/B", "ratio"), "42.7 flop/B"),
        (Metric("allocations", 1234, "", "count"), "1,234"),
        (Metric("custom", 3.2e3, "things/s", "rate"), "3.20 kthings/s"),
    ],
)
def test_hints(metric: Metric, text: str) -> None:
    assert fmt.metric_text(metric) == text
