"""Large tensors are drawn in chunks: they take little memory beside themselves."""

from __future__ import annotations

from itertools import accumulate
from typing import Any

import pytest
import torch
from torch.autograd.profiler import profile

from .makers import drawn

COUNT = 1 << 22
CHUNKED: list[tuple[str, Any]] = [
    ("float32", "normal"),
    ("bfloat16", "normal"),
    ("float64", {"kind": "uniform", "low": -1.0, "high": 1.0}),
    ("complex64", "normal"),
    ("bool", "mask"),
    ("int64", {"kind": "indices", "bound": 10**6}),
    ("int8", {"kind": "integers", "low": -128, "high": 128}),
    ("int64", {"kind": "zipf", "bound": 10**6, "scatter": True}),
    ("float32", "arange"),
    ("float32", {"kind": "constant", "value": 1.0}),
]


def peak_bytes(shape: list[int], dtype: str, fill: Any, **fields: Any) -> tuple[int, int]:
    """The most memory that torch's allocator holds while a tensor is drawn, and what the tensor takes."""
    drawn([100_000], dtype, fill)
    with profile(use_kineto=False, profile_memory=True) as recorded:
        found = drawn(shape, dtype, fill, **fields)
    assert recorded.kineto_results is not None
    events = [event for event in recorded.kineto_results.events() if event.name() == "[memory]"]
    most = max(accumulate(event.nbytes() for event in sorted(events, key=lambda event: event.start_ns())))
    return most, found.untyped_storage().nbytes()


@pytest.mark.parametrize(("dtype", "fill"), CHUNKED)
def test_a_large_tensor_takes_little_more_than_its_own_memory(dtype: str, fill: Any) -> None:
    most, size = peak_bytes([COUNT], dtype, fill)
    assert size == COUNT * torch.empty(0, dtype=getattr(torch, dtype)).element_size()
    assert most < size + (4 << 20)


@pytest.mark.parametrize("fields", [{"strides": [1, 2048]}, {"storage_offset": 100}])
def test_other_strides_take_twice_the_memory_at_most(fields: dict[str, Any]) -> None:
    most, size = peak_bytes([2048, 2048], "float32", "normal", **fields)
    assert most < 2 * size + (4 << 20)
