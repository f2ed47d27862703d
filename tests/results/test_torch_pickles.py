"""Pickles of torch's measurements are read on request, and nothing in them runs."""

from __future__ import annotations

import os
import pickle
import pickletools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.utils import benchmark

from opbench.cases.errors import ArgumentError
from opbench.results.timing import Measurement
from opbench.results.torch_measurements import read_torch_pickle

TASK = benchmark.TaskSpec("x + 1", "x = 1", label="add", num_threads=2)
THEIRS = benchmark.Measurement(10, [1.0, 2.0, 3.0], TASK, {"numel": 4})
PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)


class Harmful:
    """Runs a command when it is unpickled."""

    def __init__(self, mark: Path) -> None:
        self.mark = mark

    def __reduce__(self) -> Any:
        return os.system, (f"touch {self.mark}",)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_what_torch_pickled_is_read(protocol: int, tmp_path: Path) -> None:
    expected = Measurement.from_torch(THEIRS)
    assert THEIRS.median == 0.2  # the statistics that torch caches are pickled too
    file = tmp_path / "results.pkl"
    file.write_bytes(pickle.dumps([THEIRS, {"nested": (THEIRS,)}], protocol))
    assert read_torch_pickle(file) == [expected, expected]
    assert read_torch_pickle(str(file)) == [expected, expected]
    assert read_torch_pickle(pickle.dumps(THEIRS, protocol)) == [expected]
    assert expected.metadata == {"numel": 4}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_nothing_in_a_pickle_runs(protocol: int, tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    for content in ([THEIRS, Harmful(mark)], benchmark.Measurement(1, [1.0], TASK, {"a": Harmful(mark)})):
        with pytest.raises(ArgumentError, match="system, which is no part of a measurement"):
            read_torch_pickle(pickle.dumps(content, protocol))
    assert not mark.exists()


@pytest.mark.parametrize(
    "opcodes",
    [
        b"cbuiltins\neval\n(S'1'\ntR.",
        b"cbuiltins\ngetattr\n.",
        b"ctorch.utils.benchmark.utils.common\nos\n.",
        b"ctorch.utils.benchmark\nTimer\n.",
        b"\x80\x04\x8c\x02os\x8c\x06system\x93.",
        b"\x80\x04\x8c\x25torch.utils.benchmark.utils.common\x8c\x0fMeasurement.env\x93.",
    ],
)
def test_no_other_name_is_looked_up(opcodes: bytes) -> None:
    with pytest.raises(ArgumentError, match="source is no pickle of measurements"):
        read_torch_pickle(opcodes)


@given(st.binary(max_size=80), st.integers(0, 400))
def test_broken_pickles_are_refused(noise: bytes, place: int) -> None:
    data = pickle.dumps([THEIRS])
    for broken in (noise, data[: place % len(data)], data[:place] + noise + data[place:]):
        try:
            found = read_torch_pickle(broken)
        except ArgumentError:
            continue
        assert all(isinstance(one, Measurement) for one in found)


def test_a_pickle_of_something_else_says_so() -> None:
    with pytest.raises(ArgumentError, match="without any torch Measurement"):
        read_torch_pickle(pickle.dumps([1, 2]))


def test_a_measurement_with_parts_of_a_wrong_kind_is_refused() -> None:
    wrong = benchmark.Measurement(1, [1.0], benchmark.TaskSpec("x", "y", num_threads="2"))
    with pytest.raises(ArgumentError, match=r"task_spec\.num_threads must not be str"):
        Measurement.from_torch(wrong)
    with pytest.raises(ArgumentError, match="measurement must be a torch Measurement, not int"):
        Measurement.from_torch(3)
    assert pickletools.optimize(pickle.dumps(THEIRS))
