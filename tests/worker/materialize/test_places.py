"""Dtypes, strides, offsets, memory formats, gradients, and tensors of no or of one element."""

from __future__ import annotations

import math
from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.cases.check_fills import FILL_KINDS
from opbench.cases.dtypes import DTYPES
from opbench.cases.errors import DocumentError
from opbench.worker.dtypes import carrier_of
from opbench.worker.errors import Unsupported
from opbench.worker.fills import FILLS

from .makers import built, checked, drawn, tensor

NUMERIC = [
    *("float16", "bfloat16", "float32", "float64", "complex32", "complex64", "complex128", "bool"),
    *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu"),
]


def bits(found: torch.Tensor) -> torch.Tensor:
    """The bytes of each element, row-major, for any dtype."""
    places = torch.arange(1 + sum((n - 1) * s for n, s in zip(found.shape, found.stride(), strict=True)))
    places = places.as_strided(found.shape, found.stride()).flatten() + found.storage_offset()
    size = found.element_size()
    storage = torch.empty(0, dtype=torch.uint8).set_(found.untyped_storage())
    return storage[: len(storage) // size * size].view(-1, size)[places]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [[], [0], [1], [7], [2, 0, 3], [3, 5], [1, 1, 1, 1, 1], [2] * 10])
def test_every_dtype_is_built_in_every_shape(dtype: str, shape: list[int]) -> None:
    found = tensor(shape, dtype)
    assert list(found.shape) == shape
    assert found.dtype == getattr(torch, dtype)
    assert found.is_contiguous()
    assert found.device.type == "cpu"
    assert not found.requires_grad


def test_checks_and_worker_know_the_same_dtypes_and_fills() -> None:
    assert set(FILLS) == set(FILL_KINDS)
    here = {name for name in dir(torch) if isinstance(getattr(torch, name), torch.dtype)}
    canonical = {str(getattr(torch, name)).removeprefix("torch.") for name in here}
    assert canonical <= set(DTYPES)


@pytest.mark.parametrize("dtype", [f"{sign}int{width}" for sign in ("", "u") for width in range(1, 8)])
def test_narrow_numbers_fill_their_range_and_no_more(dtype: str) -> None:
    info = DTYPES[dtype]
    found = tensor([10_000], dtype).view(torch.int8 if dtype[0] == "i" else torch.uint8)
    assert found.unique().tolist() == list(range(info.low, info.high + 1))
    with pytest.raises((Unsupported, DocumentError)):
        tensor([4], dtype, {"kind": "constant", "value": info.high + 1})
    constant = tensor([4], dtype, {"kind": "constant", "value": info.low})
    assert constant.view(torch.int8 if dtype[0] == "i" else torch.uint8).tolist() == [info.low] * 4


@pytest.mark.parametrize("dtype", [name for name in DTYPES if DTYPES[name].kind == "bits"])
def test_bits_are_drawn_at_random(dtype: str) -> None:
    found = tensor([4096], dtype)
    size = found.element_size()
    counts = found.view(torch.uint8 if size == 1 else torch.int16).view(torch.uint8).bincount(minlength=256)
    assert bool((counts > 0).all())
    assert carrier_of(dtype) is not None


@pytest.mark.parametrize("dtype", [*NUMERIC, "int4", "uint2", "bits16", "float4_e2m1fn_x2"])
@pytest.mark.parametrize(
    ("shape", "strides", "offset"),
    [
        ([3, 4], [1, 3], 0),
        ([3, 4], [4, 1], 7),
        ([3, 4], [10, 2], 3),
        ([2, 3, 4], [4, 8, 1], 0),
        ([3, 2], [3, 2], 0),
        ([5], [3], 1),
        ([1, 5], [999, 1], 0),
    ],
)
def test_numbers_are_at_their_indices_whatever_the_strides(
    dtype: str, shape: list[int], strides: list[int], offset: int
) -> None:
    found = drawn(shape, dtype, None, strides=strides, storage_offset=offset)
    same = drawn(shape, dtype, None)
    assert list(found.stride()) == strides
    assert found.storage_offset() == offset
    assert torch.equal(bits(found), bits(same))
    reach = offset + 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
    assert found.untyped_storage().nbytes() == reach * found.element_size()


@pytest.mark.parametrize("dtype", NUMERIC)
def test_expanded_dimensions_repeat_their_first_number(dtype: str) -> None:
    found = drawn([3, 4, 2], dtype, None, strides=[2, 0, 1])
    once = bits(drawn([3, 1, 2], dtype, None)).view(3, 1, 2, -1)
    assert torch.equal(bits(found).view(3, 4, 2, -1), once.expand(3, 4, 2, -1))
    assert found.untyped_storage().nbytes() == 6 * found.element_size()


def test_a_huge_expanded_tensor_takes_the_memory_of_one_element() -> None:
    found = tensor([2**20, 2**20], "float32", strides=[0, 0])
    assert found.untyped_storage().nbytes() == 4
    assert float(found[0, 0]) == float(found[-1, -1])


@pytest.mark.parametrize("dtype", NUMERIC)
def test_overlapping_elements_hold_the_number_of_the_first(dtype: str) -> None:
    # As in the windows of an unfolded signal.
    found = drawn([4, 3], dtype, None, strides=[1, 1])
    plain = bits(drawn([4, 3], dtype, None)).view(4, 3, -1)
    memory = [plain[0, 0], plain[0, 1], plain[0, 2], plain[1, 2], plain[2, 2], plain[3, 2]]
    expected = torch.stack([torch.stack(memory[row : row + 3]) for row in range(4)])
    assert torch.equal(bits(found).view(4, 3, -1), expected)


@settings(deadline=None, max_examples=150)
@given(st.data())
def test_any_strides_are_those_of_as_strided(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(0, 4), max_size=4))
    strides = data.draw(st.lists(st.integers(0, 9), min_size=len(shape), max_size=len(shape)))
    offset = data.draw(st.integers(0, 5))
    dtype = data.draw(st.sampled_from(["float32", "bool", "int64", "complex128"]))
    found = tensor(shape, dtype, strides=strides, storage_offset=offset)
    expected = torch.empty(1000, dtype=found.dtype).as_strided(shape, strides, offset)
    assert found.stride() == expected.stride()
    assert found.storage_offset() == offset
    assert found.shape == expected.shape
    # No number is left at what the memory held before.
    if math.prod(shape) and dtype == "float32":
        assert bool((found != 0).all())


@pytest.mark.parametrize("strides", [[-1], [4, -1], [1.5], ["1"], [2**63]])
def test_strides_that_are_no_strides_are_refused(strides: list[Any]) -> None:
    with pytest.raises(DocumentError, match="strides"):
        tensor([4] * len(strides), "float32", strides=strides)


def test_a_negative_offset_and_a_missing_stride_are_refused() -> None:
    with pytest.raises(DocumentError, match="storage_offset"):
        tensor([4], storage_offset=-1)
    with pytest.raises(DocumentError, match="one stride for each dimension"):
        tensor([4, 4], strides=[1])


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize(
    ("shape", "name"), [([2, 3, 4, 5], "channels_last"), ([2, 3, 2, 4, 5], "channels_last_3d")]
)
def test_memory_formats_are_those_of_torch(dtype: str, shape: list[int], name: str) -> None:
    found = drawn(shape, dtype, None, memory_format=name)
    memory_format = getattr(torch, name)
    assert found.is_contiguous(memory_format=memory_format)
    assert found.stride() == torch.empty(shape, memory_format=memory_format).stride()
    assert torch.equal(bits(found), bits(drawn(shape, dtype, None)))


@pytest.mark.parametrize("shape", [[1, 1, 1, 1], [2, 1, 4, 5], [2, 3, 1, 1], [0, 3, 4, 5], [2, 0, 4, 5]])
def test_memory_formats_of_odd_shapes_are_those_of_torch(shape: list[int]) -> None:
    found = tensor(shape, memory_format="channels_last")
    expected = torch.empty(shape, memory_format=torch.channels_last)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert found.stride() == expected.stride() or tuple(found.shape) == (1, 1, 1, 1)


def test_a_memory_format_of_another_rank_is_refused() -> None:
    with pytest.raises(DocumentError, match="for tensors of 4 dimensions"):
        tensor([2, 3], memory_format="channels_last")
    with pytest.raises(DocumentError, match="for tensors of 5 dimensions"):
        tensor([2, 3, 4, 4], memory_format="channels_last_3d")


@pytest.mark.parametrize("dtype", NUMERIC)
@pytest.mark.parametrize("direction", ["forward", "backward", "forward_backward"])
def test_tensors_that_can_have_a_gradient_get_one_where_a_backward_is_asked_for(
    dtype: str, direction: str
) -> None:
    found = tensor([3], dtype, direction=direction)
    differentiable = found.is_floating_point() or found.is_complex()
    assert found.requires_grad == (direction != "forward" and differentiable)
    assert found.is_leaf
    if differentiable:
        assert tensor([3], dtype, direction=direction, requires_grad=True).requires_grad
        assert not tensor([3], dtype, direction=direction, requires_grad=False).requires_grad


def test_a_gradient_arrives_in_a_leaf_of_any_strides() -> None:
    for fields in ({}, {"strides": [1, 3]}, {"strides": [0, 1]}, {"storage_offset": 5}):
        found = tensor([3, 3], direction="backward", **fields)
        (found * 2).sum().backward()
        assert found.grad is not None
        assert torch.equal(found.grad, torch.full((3, 3), 2.0))


def test_an_operator_can_write_into_what_was_built() -> None:
    for fields in ({}, {"strides": [1, 3]}, {"storage_offset": 5}):
        found = tensor([3, 3], **fields)
        expected = found + 1
        assert torch.equal(found.add_(1), expected)
        assert found._base is None


@pytest.mark.parametrize("dtype", [*NUMERIC, "int4", "bits8"])
def test_meta_tensors_have_everything_but_numbers(dtype: str) -> None:
    found = tensor([2**20, 2**20], dtype, device="meta")
    assert found.is_meta
    assert found.dtype == getattr(torch, dtype)
    strange = tensor([3, 4], dtype, device="meta", strides=[0, 2], storage_offset=3)
    assert (strange.stride(), strange.storage_offset()) == ((0, 2), 3)


def test_a_device_that_is_not_here_is_unsupported_by_name() -> None:
    for name in ("hpu", "vulkan", "cuda:126", "xpu"):
        with pytest.raises(Unsupported, match=name):
            tensor([2], device=name)


@pytest.mark.parametrize(
    ("fill", "dtype", "reason"),
    [
        ({"kind": "constant", "value": 1e6}, "float16", "float16 holds -65504"),
        ({"kind": "constant", "value": 1e300}, "float32", "float32 holds"),
        ({"kind": "integers", "low": 0, "high": 100_000}, "float16", "float16 holds"),
        ({"kind": "normal", "std": 1e6}, "float16", "float16 holds"),
        ({"kind": "normal", "std": 1e308}, "float64", "float64 holds"),
        ({"kind": "uniform", "low": -1e308, "high": 1e308}, "float64", "further than"),
        ({"kind": "uniform", "low": 0.3, "high": 0.301}, "float8_e5m2", "no number from"),
        ({"kind": "uniform", "low": 0, "high": 1e5}, "float16", "float16 holds"),
        ({"kind": "arange", "start": 65_000, "step": 100}, "float16", "float16 holds"),
        ({"kind": "arange", "start": 0, "step": 1e308}, "float64", "float64 holds"),
        ({"kind": "sorted", "low": 0.2, "high": 0.8}, "int32", "no whole number"),
        ({"kind": "constant", "value": "inf"}, "float8_e4m3fn", "no infinity"),
        ({"kind": "literal", "values": ["-inf"] + [0] * 15}, "float8_e5m2fnuz", "no infinity"),
        ({"kind": "constant", "value": 0}, "float8_e8m0fnu", "float8_e8m0fnu holds"),
        ({"kind": "constant", "value": -2}, "float8_e8m0fnu", "float8_e8m0fnu holds"),
        ("mask", "float8_e8m0fnu", "float8_e8m0fnu holds"),
    ],
)
def test_numbers_that_a_dtype_cannot_hold_are_refused(fill: Any, dtype: str, reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        tensor([16], dtype, fill)


def test_rows_of_very_small_probabilities_are_refused() -> None:
    with pytest.raises(Unsupported, match="too small for float8_e4m3fn"):
        tensor([2, 100], "float8_e4m3fn", "probabilities")


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (2**64 - 1, "uint64"),
        (-(2**63), "int64"),
        (2**53 + 1, "int64"),
        (3.4028235e38, "float32"),
        (65504, "float16"),
        (448, "float8_e4m3fn"),
        ("inf", "float8_e5m2"),
        ("-inf", "bfloat16"),
        (0.5, "float8_e8m0fnu"),
        (True, "bool"),
        (-0.0, "float32"),
    ],
)
def test_constants_are_exact(value: Any, dtype: str) -> None:
    found = tensor([3], dtype, {"kind": "constant", "value": value})
    expected = torch.tensor([float(value)], dtype=torch.float64).to(found.dtype)
    if not found.is_floating_point():
        assert [int(number) for number in found.tolist()] == [int(value)] * 3
    else:
        assert found.double().tolist() == expected.double().tolist() * 3
        assert math.copysign(1, found.double()[0]) == math.copysign(1, float(value))


def test_constants_of_nan_are_nan() -> None:
    for dtype in NUMERIC[:7] + NUMERIC[-5:]:
        assert bool(
            tensor([3], dtype, {"kind": "constant", "value": "nan"}).to(torch.complex128).isnan().all()
        )


def test_literal_and_arange_count_rows_whatever_the_strides() -> None:
    values = list(range(6))
    for fields in ({}, {"strides": [1, 2]}, {"strides": [9, 3], "storage_offset": 2}):
        for fill in ({"kind": "literal", "values": values}, "arange"):
            assert tensor([2, 3], "int32", fill, **fields).tolist() == [[0, 1, 2], [3, 4, 5]]
    expanded = tensor([2, 3], "int32", {"kind": "literal", "values": values}, strides=[0, 1])
    assert expanded.tolist() == [[0, 1, 2], [0, 1, 2]]


def test_arange_is_exact_where_the_dtype_is() -> None:
    found = tensor([5], "uint64", {"kind": "arange", "start": 2**64 - 1, "step": -1})
    assert [int(number) for number in found.numpy()] == [2**64 - 1 - index for index in range(5)]
    halves = tensor([40_000], "float64", {"kind": "arange", "start": 0.5, "step": 0.25})
    assert torch.equal(halves, torch.arange(40_000, dtype=torch.float64) * 0.25 + 0.5)


@pytest.mark.parametrize("strides", [[0, 1], [1, 0], [1, 1], [0, 0]])
@pytest.mark.parametrize("fill", ["permutation", "positive_definite"])
def test_numbers_that_belong_together_need_a_place_each(fill: str, strides: list[int]) -> None:
    dtype = "float32" if fill == "positive_definite" else "int64"
    if fill == "permutation" and strides == [0, 1]:
        # The rows are one in memory, and it is a permutation.
        assert sorted(tensor([4, 4], dtype, fill, strides=strides)[2].tolist()) == [0, 1, 2, 3]
        return
    with pytest.raises(Unsupported, match=r"several elements are one number in memory"):
        tensor([4, 4], dtype, fill, strides=strides)


def test_strides_that_interleave_without_meeting_keep_a_permutation() -> None:
    rows = tensor([2, 3], "int64", "permutation", strides=[3, 2])
    assert [sorted(row) for row in rows.tolist()] == [[0, 1, 2], [0, 1, 2]]


@pytest.mark.parametrize("shape", [[2**62, 2], [2**40, 2**40], [2**31, 2**31, 4]])
def test_a_tensor_beyond_all_memory_is_out_of_memory_at_once(shape: list[int]) -> None:
    with pytest.raises((DocumentError, MemoryError)):
        tensor(shape)
    with pytest.raises(MemoryError, match="out of memory"):
        drawn(shape, "float32", None)


def test_values_that_are_no_tensors_are_built_too() -> None:
    case = checked(
        1, 2.5, True, None, "text", [1, [2]],
        {"type": "complex", "real": 1, "imag": "inf"},
        {"type": "float", "value": "-inf"},
        {"type": "dtype", "value": "bf16"},
        {"type": "device"},
        {"type": "layout", "value": "sparse_csr"},
        {"type": "memory_format", "value": "channels_last"},
        {"type": "slice", "start": 1, "step": -2},
        {"type": "ellipsis"},
        {"type": "tuple", "value": [1, {"type": "tuple"}]},
        {"type": "dict", "value": {"b": 1, "a": 2}},
        {"type": "int", "value": 2**64 - 1},
    )  # fmt: skip
    args, kwargs = built(case)
    assert kwargs == {}
    assert args == [
        1, 2.5, True, None, "text", [1, [2]],
        complex(1, math.inf), -math.inf, torch.bfloat16, torch.device("cpu"),
        torch.sparse_csr, torch.channels_last, slice(1, None, -2), ..., (1, ()), {"a": 2, "b": 1}, 2**64 - 1,
    ]  # fmt: skip
    assert [type(item) for item in args[:4]] == [int, float, bool, type(None)]
