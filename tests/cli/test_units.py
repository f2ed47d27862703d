"""Quantities as people type them."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cli.units import duration_s, positive, ratio, shard, size_bytes, whole


@pytest.mark.parametrize(
    ("convert", "text", "value"),
    [
        (duration_s, "2", 2.0),
        (duration_s, "500ms", 0.5),
        (duration_s, "1.5min", 90.0),
        (duration_s, "1 h", 3600.0),
        (duration_s, "20us", 20e-6),
        (duration_s, ".5s", 0.5),
        (duration_s, "1e-3", 1e-3),
        (size_bytes, "4GiB", 4 * 2**30),
        (size_bytes, "512M", 512 * 2**20),
        (size_bytes, "4GB", 4 * 10**9),
        (size_bytes, "1000", 1000),
        (size_bytes, "1.5k", 1536),
        (ratio, "1%", 0.01),
        (ratio, "0.5", 0.5),
        (shard, "1/4", (1, 4)),
        (whole, "-3", -3),
        (positive, "3", 3),
    ],
)
def test_what_is_meant(convert: Callable[[str], Any], text: str, value: object) -> None:
    assert convert(text) == pytest.approx(value)


@given(text=st.text(max_size=12))
@pytest.mark.parametrize("convert", [duration_s, size_bytes, ratio, shard, whole, positive])
def test_anything_else_is_refused_with_its_own_words(convert: Callable[[str], Any], text: str) -> None:
    try:
        convert(text)
    except argparse.ArgumentTypeError as error:
        message = str(error)
    else:
        return
    assert repr(text) in message
