"""One row in full."""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.reports.details import details, spark
from opbench.reports.table import Line
from opbench.results.records import Measurement
from opbench.worker.probes.estimate import quantile

Golden = Callable[[str, Iterable[Line]], None]


@pytest.mark.parametrize("width", [80, 120])
def test_as_looked_at(rows: list[Measurement], width: int, golden: Golden) -> None:
    lines: list[Line] = []
    for row in (rows[3], rows[5], rows[8]):
        lines += [*details(row, width), []]
    golden(f"details_{width}", lines)


def test_output_is_shown_and_harmless(rows: list[Measurement]) -> None:
    text = "\n".join("".join(piece for piece, _ in line) for line in details(rows[5], 80))
    assert "| hello" in text
    assert "two\\x1b[2J" in text
    assert "\x1b" not in text
    assert "7 B of output were not kept" in text


@given(st.lists(st.floats(1e-9, 1e3), min_size=1, max_size=200), st.integers(1, 60))
def test_spark_has_a_cell_for_each_value_until_they_are_too_many(values: list[float], cells: int) -> None:
    assert len(spark(values, cells)) == min(cells, len(values))


@given(st.lists(st.floats(-1e6, 1e6), min_size=2, max_size=50), st.floats(0, 1))
def test_quantiles_are_numpys(values: list[float], share: float) -> None:
    ordered = sorted(values)
    assert quantile(ordered, share) == pytest.approx(
        float(numpy.quantile(ordered, share)), rel=1e-9, abs=1e-6
    )
