"""Units and significant figures: as torch has them, but for what is wrong there."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import benchmark

from opbench.cases.errors import ArgumentError
from opbench.results.units import ordered_unique, select_unit, trim_sigfig, unit_to_english

TIMES = st.floats(1e-9, 1e5)


@given(TIMES)
def test_units_are_those_of_torch(seconds: float) -> None:
    assert select_unit(seconds) == benchmark.select_unit(seconds)


@pytest.mark.parametrize("power", range(-9, 4))
def test_units_change_where_torchs_do(power: int) -> None:
    for seconds in (10.0**power, math.nextafter(10.0**power, 0), math.nextafter(10.0**power, 1e9)):
        if seconds >= 1e-9:
            assert select_unit(seconds) == benchmark.select_unit(seconds)


@pytest.mark.parametrize("seconds", [5e-10, 1e-13, 5e-324, 0.0])
def test_less_than_a_nanosecond_is_a_part_of_one(seconds: float) -> None:
    assert select_unit(seconds) == ("ns", 1e-9)


@pytest.mark.parametrize("seconds", [math.inf, math.nan, 1e300])
def test_what_has_no_magnitude_is_in_seconds(seconds: float) -> None:
    assert select_unit(seconds) == ("s", 1.0)


def test_units_have_names() -> None:
    for unit in ("ns", "us", "ms", "s"):
        assert unit_to_english(unit) == benchmark.unit_to_english(unit)
    with pytest.raises(ArgumentError, match="u must be one of ns, us, ms, s, not 'h'"):
        unit_to_english("h")


@given(st.floats(1e-12, 1e12), st.integers(1, 6))
def test_rounding_is_that_of_torch_as_far_as_single_precision_goes(value: float, digits: int) -> None:
    ours = trim_sigfig(value, digits)
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits)
    assert abs(ours - value) <= 0.5000001 * step
    # torch rounds in single precision, so it may go the other way where it is close.
    assert abs(ours - benchmark.trim_sigfig(value, digits)) <= step * (1 + 1e-5) + 1e-6 * value
    assert trim_sigfig(-value, digits) == -ours
    assert trim_sigfig(ours, digits) == ours


def test_zero_and_infinity_have_no_figures_to_trim() -> None:
    assert trim_sigfig(0, 3) == 0
    assert trim_sigfig(math.inf, 3) == math.inf
    assert trim_sigfig(3.14159, 2) == 3.1


@pytest.mark.parametrize("digits", [0, -1, 1.5, True])
def test_figures_are_a_whole_number(digits: float) -> None:
    with pytest.raises(ArgumentError, match="n must be a whole number"):
        trim_sigfig(1.0, digits)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["1", None, True, [1.0]])
def test_what_is_no_number_is_refused(value: object) -> None:
    with pytest.raises(ArgumentError, match="t must be a number"):
        select_unit(value)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="x must be a number"):
        trim_sigfig(value, 2)  # type: ignore[arg-type]
    if not isinstance(value, bool):
        with pytest.raises(ArgumentError, match="n must be a whole number"):
            trim_sigfig(1.0, value)  # type: ignore[arg-type]


@given(st.lists(st.integers(0, 5)))
def test_elements_come_once_in_their_order(elements: list[int]) -> None:
    assert ordered_unique(elements) == benchmark.ordered_unique(elements)
