"""The bytes a call must move: each byte of inputs and outputs once, or no number at all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.cases.builders import call, snippet, tensor
from opbench.cases.model import Case
from opbench.worker.probes.extents import covered, extent_of

from .makers import name_of, of_function, probed, values

F32 = 4


def indices(count: int, bound: int) -> Any:
    return tensor(count, dtype="int64", fill={"kind": "indices", "bound": bound})


BY_HAND: list[tuple[Case, int]] = [
    (call("torch.add", tensor(100), tensor(100)), 300 * F32),
    (call("torch.add", tensor(10, 10), tensor(10)), 210 * F32),
    (call("torch.add", tensor(10, 1), tensor(1, 10)), 120 * F32),
    # Every row is the same memory.
    (call("torch.neg", tensor(10, 10, strides=[0, 1])), (10 + 100) * F32),
    # What lies between is not read.
    (call("torch.neg", tensor(10, strides=[3])), (10 + 10) * F32),
    # Windows that overlap.
    (call("torch.neg", tensor(9, 2, strides=[1, 1])), (10 + 18) * F32),
    (call("torch.mm", tensor(8, 16), tensor(16, 4)), (8 * 16 + 16 * 4 + 8 * 4) * F32),
    (call("torch.sum", tensor(100)), 101 * F32),
    (call("torch.clone", tensor(100, dtype="float16")), 400),
    (call("torch.Tensor.add_", tensor(100), tensor(100)), 300 * F32),
    (call("torch.Tensor.zero_", tensor(100)), 100 * F32),
    (call("torch.Tensor.copy_", tensor(100), tensor(100)), 200 * F32),
    (call("torch.add", tensor(100), tensor(100), kwargs={"out": tensor(100)}), 300 * F32),
    (call("torch.cat", [tensor(10), tensor(20)]), 60 * F32),
    (call("torch.Tensor.to", tensor(100), torch.float64), 100 * (4 + 8)),
    # Nothing is to be read to fill a tensor.
    (call("torch.zeros_like", tensor(100)), 100 * F32),
    # The same operand twice is the same memory once.
    (call("torch.sum", tensor(3, 3, strides=[1, 3])), 10 * F32),
]


@pytest.mark.parametrize(("case", "expected"), BY_HAND, ids=[name_of(case) for case, _ in BY_HAND])
def test_counts_by_hand(case: Case, expected: int) -> None:
    assert values("flops", case)["bytes.moved"] == expected


@pytest.mark.parametrize(
    "case",
    [
        call("torch.transpose", tensor(8, 8), 0, 1),
        call("torch.Tensor.view", tensor(8, 8), 64),
        call("torch.Tensor.expand", tensor(8, 1), 8, 8),
        call("torch.empty", 100),
        # How much of it is read depends on its numbers, or its kernel.
        call("torch.masked_select", tensor(100), tensor(100, dtype="bool")),
        call("torch.searchsorted", tensor(100, fill="sorted"), tensor(10)),
        call("torch.tril", tensor(8, 8)),
        call("torch.nn.functional.interpolate", tensor(1, 1, 8, 8), kwargs={"scale_factor": 0.5}),
        call("torch.nn.functional.conv2d", tensor(1, 1, 8, 8), tensor(1, 1, 1, 1), kwargs={"stride": 2}),
    ],
    ids=name_of,
)
def test_what_moves_nothing_or_nobody_knows_has_no_number(case: Case) -> None:
    assert "bytes.moved" not in values("flops", case)


def test_what_a_snippet_moves_is_not_known() -> None:
    assert "bytes.moved" not in values("flops", snippet("x + x", setup="import torch; x = torch.ones(9)"))


def moved(function: Callable[[], Any], *inputs: torch.Tensor) -> int | None:
    found: int | None = values("flops", of_function(function, inputs)).get("bytes.moved")
    return found


def test_what_lives_only_during_the_call_does_not_count() -> None:
    a = torch.ones(100)
    assert moved(lambda: ((a * a) + a).exp(), a) == 200 * F32


def test_several_outputs_count_each_and_the_same_one_once() -> None:
    a = torch.ones(10, 10)
    assert moved(lambda: (a.sum(0), a.sum(1)), a) == (100 + 20) * F32

    def twice() -> Any:
        b = a * a
        return b, b, b.t()

    assert moved(twice, a) == 200 * F32


def test_a_part_of_what_is_made_is_all_that_must_be_written() -> None:
    a = torch.ones(10, 10)
    assert moved(lambda: (a * a)[0], a) == (100 + 10) * F32


def test_views_that_share_memory_count_it_once() -> None:
    a = torch.ones(100)
    assert moved(lambda: a[:60] + a[40:], a) == (100 + 60) * F32
    assert moved(lambda: a + a, a) == 200 * F32
    assert moved(lambda: a.view(10, 10) @ a.view(10, 10).t(), a) == 200 * F32


def test_rows_that_are_looked_up_count_once_each() -> None:
    table = torch.ones(1000, 8)
    rows = torch.tensor([3, 5, 3, 3, 999])
    expected = 3 * 8 * F32 + 5 * 8 + 5 * 8 * F32
    assert moved(lambda: torch.nn.functional.embedding(rows, table), rows, table) == expected
    assert moved(lambda: table.index_select(0, rows), rows, table) == expected
    assert moved(lambda: table[rows], rows, table) == expected


def test_the_gradient_of_a_product() -> None:
    case = call("torch.mm", tensor(8, 16), tensor(16, 4), direction="backward")
    # Both operands and the cotangent are read, two gradients written.
    assert values("flops", case)["bytes.moved"] == (2 * (8 * 16 + 16 * 4) + 8 * 4) * F32


def test_read_and_written_are_told_apart() -> None:
    provenance = probed("flops", call("torch.sum", tensor(100)))[0]["bytes.moved"]["provenance"]
    assert provenance["read_bytes"] == 400
    assert provenance["written_bytes"] == 4


def test_what_torch_cannot_see_makes_it_unknown() -> None:
    a = torch.ones(8)
    assert moved(lambda: torch.from_numpy(a.numpy() + 1), a) is None


@st.composite
def views(draw: st.DrawFn) -> list[torch.Tensor]:
    """A few views of one storage of 64 numbers."""
    base = torch.arange(64, dtype=torch.float32)
    found = []
    for _ in range(draw(st.integers(1, 3))):
        shape = draw(st.lists(st.integers(0, 4), max_size=3))
        strides = [draw(st.integers(0, 6)) for _ in shape]
        reach = sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True) if size)
        offset = draw(st.integers(0, max(0, 63 - reach)))
        if reach <= 63:
            found.append(base.as_strided(shape, strides, offset))
    return found


@given(views())
@settings(max_examples=500, deadline=None)
def test_what_views_cover_is_exact_or_not_known(tensors: list[torch.Tensor]) -> None:
    touched = {int(value) for view in tensors for value in view.flatten().tolist()}
    extents = [extent_of(view) for view in tensors]
    if None in extents:
        return
    total = covered(extent for extent in extents if extent is not None)
    assert total is None or total == len(touched) * F32


@given(st.lists(st.integers(1, 4), max_size=4), st.permutations(range(4)))
def test_a_permuted_dense_tensor_is_always_known(shape: list[int], order: list[int]) -> None:
    dims = [dim for dim in order if dim < len(shape)]
    view = torch.zeros(shape).permute(dims)
    extent = extent_of(view)
    assert extent is not None
    assert covered([extent]) == view.numel() * F32
