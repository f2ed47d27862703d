"""Quantised tensors: what is stored, and the numbers that it stands for."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from opbench.worker.errors import Unsupported

from .makers import drawn, tensor

RANGES = {"qint8": (-128, 127), "quint8": (0, 255), "qint32": (-(2**31), 2**31 - 1)}
PACKED = {"quint4x2": (0, 15), "quint2x4": (0, 3)}


def stored(found: torch.Tensor, dtype: str) -> list[int]:
    """The whole numbers of a tensor, unpacked by hand."""
    if dtype not in PACKED:
        return [int(number) for number in found.int_repr().flatten().tolist()]
    storage = found.untyped_storage()
    raw = torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,)).tolist()
    width = 4 if dtype == "quint4x2" else 2
    numbers = [byte >> shift & (1 << width) - 1 for byte in raw for shift in range(0, 8, width)]
    return numbers[: found.numel()]


@pytest.mark.parametrize("dtype", [*RANGES, *PACKED])
@pytest.mark.parametrize("scheme", ["per_tensor", "per_channel"])
@pytest.mark.parametrize("shape", [[5], [3, 7], [2, 3, 4]])
def test_scale_zero_point_and_axis_are_as_asked_for(dtype: str, scheme: str, shape: list[int]) -> None:
    quantization = {"scheme": scheme, "scale": 0.25, "zero_point": 2}
    if scheme == "per_channel":
        quantization["axis"] = len(shape) - 1
    found = drawn(shape, dtype, None, quantization=quantization)
    assert found.dtype == getattr(torch, dtype)
    if scheme == "per_tensor":
        assert (found.q_scale(), found.q_zero_point()) == (0.25, 2)
    else:
        assert found.q_per_channel_scales().tolist() == [0.25] * shape[-1]
        assert found.q_per_channel_zero_points().tolist() == [2] * shape[-1]
        assert found.q_per_channel_axis() == len(shape) - 1
    low, high = (RANGES | PACKED)[dtype]
    assert all(low <= number <= high for number in stored(found, dtype))


@pytest.mark.parametrize("dtype", ["qint8", "quint8", *PACKED])
def test_without_a_fill_every_stored_number_is_drawn(dtype: str) -> None:
    low, high = (RANGES | PACKED)[dtype]
    assert set(stored(drawn([5000], dtype, None), dtype)) == set(range(low, high + 1))


@pytest.mark.parametrize("dtype", RANGES)
@pytest.mark.parametrize("fill", ["normal", {"kind": "uniform", "low": -100.0, "high": 100.0}])
def test_filled_numbers_are_quantised_as_torch_does_it(dtype: str, fill: Any) -> None:
    found = drawn([2000], dtype, fill, quantization={"scheme": "per_tensor", "scale": 0.125, "zero_point": 3})
    plain = drawn([2000], "float64", fill).float()
    expected = torch.quantize_per_tensor(plain, 0.125, 3, getattr(torch, dtype))
    # A scale that is a power of two leaves no room for rounding to differ.
    assert stored(found, dtype) == stored(expected, dtype)


@pytest.mark.parametrize("dtype", PACKED)
@pytest.mark.parametrize("count", [1, 2, 3, 4, 5, 7, 8])
def test_several_numbers_share_a_byte_the_first_one_lowest(dtype: str, count: int) -> None:
    high = PACKED[dtype][1]
    values = [index % (high + 1) for index in range(count)]
    fill = {"kind": "literal", "values": values}
    found = drawn([count], dtype, fill, quantization={"scheme": "per_tensor", "scale": 1.0, "zero_point": 0})
    assert stored(found, dtype) == values


def test_packed_numbers_are_packed_as_torch_packs_them() -> None:
    plain = torch.tensor([3.0, 1.0, 15.0, 0.0, 7.0])
    expected = torch.quantize_per_channel(
        plain.view(1, 5), torch.tensor([1.0]), torch.tensor([0.0]), 0, torch.quint4x2
    )
    fill = {"kind": "literal", "values": [3, 1, 15, 0, 7]}
    found = drawn([1, 5], "quint4x2", fill, quantization={"scheme": "per_channel", "scale": 1.0, "axis": 0})
    assert stored(found, "quint4x2") == stored(expected, "quint4x2")


@pytest.mark.parametrize("value", ["inf", "-inf", "nan", 1e30, -1e30])
def test_numbers_beyond_the_scale_are_the_nearest_ones(value: Any) -> None:
    fill = {"kind": "constant", "value": value}
    found = tensor([3], "qint8", fill, quantization={"scheme": "per_tensor", "scale": 0.5, "zero_point": 7})
    expected = 7 if value == "nan" else 127 if float(value) > 0 else -128
    assert stored(found, "qint8") == [expected] * 3


@pytest.mark.parametrize("dtype", RANGES)
def test_quantised_tensors_have_strides_and_offsets(dtype: str) -> None:
    found = drawn([3, 4], dtype, None, strides=[1, 3], storage_offset=5)
    assert (found.stride(), found.storage_offset()) == ((1, 3), 5)
    assert stored(found.contiguous(), dtype) == stored(drawn([3, 4], dtype, None), dtype)
    image = drawn([2, 3, 4, 5], dtype, None, memory_format="channels_last")
    assert image.is_contiguous(memory_format=torch.channels_last)


@pytest.mark.parametrize(
    ("dtype", "fields", "reason"),
    [
        ("qint8", {"layout": "sparse_coo"}, "no sparse quantised tensors"),
        ("quint8", {"device": "meta"}, "meta"),
        ("quint4x2", {"strides": [1, 4]}, "contiguous only"),
        ("quint8", {"quantization": {"scheme": "per_tensor", "zero_point": -1}}, "zero point -1"),
        ("qint8", {"quantization": {"scheme": "per_tensor", "scale": 1e-300}}, "scale"),
    ],
)
def test_what_torch_has_not_is_refused(dtype: str, fields: dict[str, Any], reason: str) -> None:
    with pytest.raises(Unsupported, match=reason):
        tensor([4, 4], dtype, **fields)


def test_an_operator_takes_what_was_built() -> None:
    found = tensor([2, 3], "quint8", "normal")
    assert torch.nn.functional.relu(found).int_repr().shape == (2, 3)
    assert torch.equal(
        found.dequantize(), (found.int_repr().float() - found.q_zero_point()) * found.q_scale()
    )
