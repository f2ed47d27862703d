"""Quantised tensors: whole numbers with a scale and a zero point.

Numbers are quantised here and not by torch, whose kernels round differently on different processors.
"""

from __future__ import annotations

import math
from typing import Any

import torch

from opbench.worker.dtypes import QUANTISED, Quantised, dtype_named
from opbench.worker.errors import Unsupported
from opbench.worker.fills import Target, filled
from opbench.worker.layouts import MakeNumbers, contiguous_strides, strided
from opbench.worker.streams import Stream

# What 32 bits hold in practice are sums of products of 8 bits each, or biases: no use to draw all of them.
DRAWN_INT32 = 1 << 15


def quantised(
    spec: dict[str, Any],
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    *,
    make: MakeNumbers,
    stream: Stream,
    device: torch.device,
) -> torch.Tensor:
    """A quantised tensor. Where it has a fill, `make` gives the numbers (float64) that it stands for;
    without one, every stored whole number is equally likely."""
    name = spec["dtype"]
    kind = QUANTISED[name]
    offset = spec.get("storage_offset", 0)
    if device.type == "meta":
        raise Unsupported("torch has no quantised tensors on the meta device")
    if kind.per_byte > 1 and (offset or strides != contiguous_strides(shape)):
        raise Unsupported(f"{name} packs several numbers into a byte: such tensors are contiguous only")
    empty = _empty(spec, kind, shape, device)
    memory = strided(_stored(spec, kind, make, stream), shape, strides, offset, kind.storage).to(device)
    if kind.per_byte == 1:
        return empty.set_(memory.untyped_storage(), offset, shape, strides)
    packed = _packed(memory, kind.per_byte)
    storage = empty.untyped_storage()
    raw = torch.empty(0, dtype=torch.uint8, device=device).set_(storage, 0, (storage.nbytes(),), (1,))
    raw.zero_().narrow(0, 0, packed.numel()).copy_(packed)
    return empty


def _empty(
    spec: dict[str, Any], kind: Quantised, shape: tuple[int, ...], device: torch.device
) -> torch.Tensor:
    quantization = spec.get("quantization") or {"scheme": "per_tensor"}
    scale, zero_point = float(quantization.get("scale", 0.1)), int(quantization.get("zero_point", 0))
    dtype = dtype_named(spec["dtype"])
    if not kind.low <= zero_point <= kind.high:
        raise Unsupported(f"the zero point {zero_point} is not one of {kind.low} to {kind.high}")
    # torch's kernels divide by it in single precision.
    if not torch.finfo(torch.float32).smallest_normal <= scale < math.inf:
        raise Unsupported(f"the scale {scale} is too small, or too large, for torch's quantised tensors")
    if quantization["scheme"] == "per_tensor":
        return torch._empty_affine_quantized(
            shape, scale=scale, zero_point=zero_point, dtype=dtype, device=device
        )
    axis = int(quantization.get("axis", 0))
    if not 0 <= axis < len(shape):
        raise Unsupported(f"a tensor of {len(shape)} dimensions has no axis {axis}")
    # Numbers of less than a byte have zero points that are no whole numbers.
    points = torch.float32 if kind.per_byte > 1 else torch.int64
    scales = torch.float32 if kind.per_byte > 1 else torch.float64
    return torch._empty_per_channel_affine_quantized(
        shape,
        scales=torch.full((shape[axis],), scale, dtype=scales, device=device),
        zero_points=torch.full((shape[axis],), zero_point, dtype=points, device=device),
        axis=axis,
        dtype=dtype,
        device=device,
    )


def _stored(spec: dict[str, Any], kind: Quantised, make: MakeNumbers, stream: Stream) -> MakeNumbers:
    quantization = spec.get("quantization") or {}
    scale, zero_point = float(quantization.get("scale", 0.1)), int(quantization.get("zero_point", 0))

    def drawn(shape: tuple[int, ...]) -> torch.Tensor:
        low, high = max(kind.low, -DRAWN_INT32), min(kind.high, DRAWN_INT32)
        whole = {"kind": "integers", "low": low, "high": high + 1}
        return filled(whole, Target(shape, kind.storage, stream))

    def rounded(shape: tuple[int, ...]) -> torch.Tensor:
        whole = make(shape).div_(scale).round_().add_(zero_point)
        return whole.nan_to_num_(nan=zero_point).clamp_(kind.low, kind.high).to(kind.storage)

    return rounded if spec.get("fill") else drawn


def _packed(numbers: torch.Tensor, per_byte: int) -> torch.Tensor:
    """Several numbers in each byte, the first one lowest."""
    padded = numbers.new_zeros(math.ceil(numbers.numel() / per_byte) * per_byte)
    padded[: numbers.numel()] = numbers
    columns = padded.view(-1, per_byte).unbind(1)
    packed = torch.zeros_like(columns[0])
    for place, column in enumerate(columns):
        packed.bitwise_or_(column.bitwise_left_shift(place * (8 // per_byte)))
    return packed
