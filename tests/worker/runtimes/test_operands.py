"""In-place operators get fresh operands, checked by the numbers that come out."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.worker.devices import Cpu, cache_bytes
from opbench.worker.probes import clock
from opbench.worker.registry import Operator
from opbench.worker.runtimes.operands import Copies, Operands
from opbench.worker.runtimes.outputs import tensors_in
from opbench.worker.runtimes.prepared import Prepared

from ..clock.fakes import plan
from .cases import boolean, indices, integer, number, prepared, run_block, tensor


def room_for(count: int) -> Any:
    return lambda entry_bytes: count * entry_bytes


def test_each_call_of_a_block_writes_to_an_operand_of_its_own() -> None:
    found = prepared("torch.Tensor.add_", tensor(5), tensor(5))
    original, other = found.arguments[0]
    entries = run_block(found, 8)
    assert len({entry.data_ptr() for entry in entries}) == 8
    for entry in entries:
        torch.testing.assert_close(entry, original + other)


def test_operands_are_as_new_in_every_block() -> None:
    found = prepared("torch.Tensor.add_", tensor(5), tensor(5))
    original, other = (value.clone() for value in found.arguments[0])
    for _ in range(20):
        entries = run_block(found, 3)
    torch.testing.assert_close(entries[0], original + other)
    # The originals are never written to.
    assert torch.equal(found.arguments[0][0], original)


def test_operands_are_as_new_after_a_whole_measurement() -> None:
    found = prepared(
        "torch.Tensor.mul_", tensor(50, fill={"kind": "uniform", "low": 2, "high": 3}), number(2.0)
    )
    original = found.arguments[0][0].clone()
    clock.measure(found, plan(budget_s=0.02, warmup_s=0.01, block_s=1e-4), Cpu())
    # A number doubled a thousand times over would be infinite.
    torch.testing.assert_close(found.call(), original * 2)
    assert torch.equal(found.arguments[0][0], original)


@pytest.mark.parametrize(
    ("op", "args", "more"),
    [
        ("torch.relu_", [tensor(5)], {}),
        ("torch.nn.functional.relu", [tensor(5)], {"kwargs": {"inplace": boolean(True)}}),
        ("torch.nn.functional.relu", [tensor(5), boolean(True)], {}),
        ("torch.nn.ReLU", [tensor(5)], {"build": {"kwargs": {"inplace": boolean(True)}}}),
        ("torch.Tensor.__iadd__", [tensor(5), tensor(5)], {}),
        ("torch.Tensor.index_add_", [tensor(5, 2), integer(0), indices(3, below=5), tensor(3, 2)], {}),
        ("torch.ops.aten.add_.Tensor", [tensor(5), tensor(5)], {}),
        ("torch.Tensor.sqrt_", [tensor(5, strides=[3], fill={"kind": "uniform", "low": 1, "high": 2})], {}),
        ("torch.Tensor.t_", [tensor(3, 4)], {}),
        ("torch.Tensor.unsqueeze_", [tensor(3, 4), integer(0)], {}),
        ("torch.Tensor.resize_", [tensor(3, 4), {"type": "list", "value": [integer(9), integer(9)]}], {}),
        ("torch.Tensor.squeeze_", [tensor(3, 1)], {}),
    ],
)
def test_every_way_to_write_in_place_starts_from_the_same(op: str, args: list[Any], more: Any) -> None:
    found = prepared(op, *args, **more)
    assert found.pool is not None
    original = found.arguments[0][0].clone()
    shape, stride = found.arguments[0][0].shape, found.arguments[0][0].stride()
    first = found.call().clone()
    for _ in range(3):
        run_block(found, 2)
        found.restore()
        entry = found.pool.first()
        assert (entry.shape, entry.stride()) == (shape, stride)
        assert torch.equal(entry, original)
        found.restore()
        # What `resize_` adds has no value yet.
        if op != "torch.Tensor.resize_":
            torch.testing.assert_close(found.call(), first)
    assert torch.equal(found.arguments[0][0], original)


@pytest.mark.parametrize("op", ["torch.add", "torch.Tensor.add", "torch.nn.functional.relu", "torch.relu"])
def test_an_operator_that_writes_nothing_has_no_pool(op: str) -> None:
    args = [tensor(5)] * (2 if op.endswith("add") else 1)
    assert prepared(op, *args).pool is None


def test_an_output_may_be_overwritten_again_and_again() -> None:
    found = prepared("torch.add", tensor(5), tensor(5), kwargs={"out": tensor(5)})
    assert found.pool is None
    assert found.call() is found.arguments[1]["out"]


def test_in_place_backward_writes_to_copies_of_what_is_differentiated() -> None:
    found = prepared("torch.Tensor.exp_", tensor(4), direction="forward_backward")
    original = found.arguments[0][0].detach().clone()
    for _ in range(3):
        run_block(found, 4)
    (gradient,) = found.call()
    torch.testing.assert_close(gradient, original.exp() * found.body.names["cotangents"][0])
    assert torch.equal(found.arguments[0][0], original)


def test_the_pool_is_as_large_as_the_plan_of_the_device_says() -> None:
    pool = Operands([torch.zeros(1000)], room_for(7))
    assert pool.room == 7
    assert Operands([torch.zeros(1000)], room_for(0)).room == 1
    assert Operands([3], room_for(5)).room == 1


def test_fresh_operands_of_a_block_fit_into_the_cache_that_one_would_be_in() -> None:
    sizes = cache_bytes()
    assert Cpu().pool_bytes(1000) == sizes[1] // 2
    assert Cpu().pool_bytes(sizes[-1]) == sizes[-1]
    found = prepared("torch.Tensor.add_", tensor(10), tensor(10))
    assert found.pool is not None
    assert found.pool.room * 80 <= sizes[1]


def test_blocks_are_no_longer_than_there_are_operands() -> None:
    size = cache_bytes()[-1] // 8
    found = prepared("torch.Tensor.add_", tensor(size, fill={"kind": "constant", "value": 1}), integer(1))
    assert found.pool is not None
    assert found.pool.room == 1
    metrics, _ = clock.measure(found, plan(samples=2, warmup_calls=1, baseline=False), Cpu())
    assert metrics[0]["provenance"]["calls_per_sample"] == 1
    assert metrics[0]["provenance"]["fresh_operands"] == 1


def test_what_shares_memory_shares_it_in_the_copy() -> None:
    base = torch.arange(12.0).reshape(3, 4)
    copies = Copies()
    left, right, nested = copies.of([base[0], base.t(), {"x": base}])
    left.fill_(-1)
    assert torch.equal(right[:, 0], torch.full((4,), -1.0))
    assert torch.equal(nested["x"][0], torch.full((4,), -1.0))
    assert base[0, 1] == 1
    assert right.stride() == base.t().stride()


def test_what_an_operator_reads_and_writes_is_one_memory_in_each_entry() -> None:
    def shifted(x: torch.Tensor, y: torch.Tensor) -> None:
        x[1:].copy_(y[:-1].clone())

    op = Operator("my.shift", "custom", shifted, mutates=(0,), setup=lambda x: (x, x))
    found = prepared(op, tensor(4))
    original = found.arguments[0][0].clone()
    for x, y in run_block(found, 3):
        assert x.data_ptr() == y.data_ptr()
        assert torch.equal(x[1:], original[:-1])


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=3),
    st.integers(0, 3),
    st.permutations(range(3)),
    st.integers(1, 5),
    st.sampled_from([torch.float32, torch.bfloat16, torch.int8, torch.bool, torch.complex64]),
)
def test_restored_operands_equal_the_original_bit_by_bit(
    shape: list[int], offset: int, order: list[int], count: int, dtype: torch.dtype
) -> None:
    numbers = torch.arange(offset + torch.Size(shape).numel()) % 7
    original = (
        numbers.to(dtype)[offset:].reshape(shape).permute([axis for axis in order if axis < len(shape)])
    )
    pool = Operands([original], room_for(count))
    for _ in range(2):
        for entry in pool.fresh(count):
            assert torch.equal(entry, original)
            assert (entry.stride(), entry.storage_offset()) == (original.stride(), original.storage_offset())
            entry.fill_(1)
    pool.restore()
    assert torch.equal(pool.first(), original)


@pytest.mark.filterwarnings("ignore:torch.quantize_per_tensor")
@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.eye(3).to_sparse(),
        lambda: torch.quantize_per_tensor(torch.ones(3), 0.1, 0, torch.qint8),
        lambda: torch.ones(3, dtype=torch.complex64).conj(),
        lambda: torch.zeros(0),
        lambda: torch.ones(3, requires_grad=True),
        lambda: [torch.ones(2), {"x": torch.zeros(2)}],
    ],
    ids=["sparse", "quantised", "conjugated", "empty", "with gradient", "nested"],
)
def test_values_of_every_kind_are_copied(make: Callable[[], Any]) -> None:
    value = make()
    pool = Operands([value], room_for(3))
    first, second = pool.fresh(2)
    assert first is not second
    assert type(first) is type(value)
    pool.restore()
    for (_, found), (_, original) in zip(tensors_in(pool.first()), tensors_in(value), strict=True):
        assert found is not original
        assert torch.equal(_plain(found), _plain(original))


def _plain(value: torch.Tensor) -> torch.Tensor:
    return value.dequantize() if value.is_quantized else value.to_dense() if value.is_sparse else value


def test_a_call_measured_once_leaves_its_operands_as_they_were() -> None:
    found: Prepared = prepared("torch.Tensor.add_", tensor(5), tensor(5))
    first = found.call().clone()
    assert torch.equal(found.call(), first)
    assert torch.equal(found.outputs()[0], first)
