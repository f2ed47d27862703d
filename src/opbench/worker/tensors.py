"""One tensor from its spec: dtype, fill, layout, strides, device, gradient."""

from __future__ import annotations

import math
import warnings
from functools import cache
from typing import Any

import torch

from opbench.worker.dtypes import QUANTISED, carrier_of, differentiable, dtype_named
from opbench.worker.errors import Unsupported
from opbench.worker.fills import FILLED_DIMENSIONS, Target, default_fill, filled
from opbench.worker.layouts import (
    MakeNumbers,
    places_are_distinct,
    require_memory,
    seen_through,
    span,
    strided,
    wanted_strides,
)
from opbench.worker.quantised import quantised
from opbench.worker.sparse import sparse
from opbench.worker.streams import Stream

# Fills that have as many numbers as the tensor has elements, whether or not those share memory.
COMPLETE_FILLS = ("literal", "file")


def tensor(
    spec: dict[str, Any], *, stream: Stream, device: torch.device, with_gradient: bool, folder: str = ""
) -> torch.Tensor:
    """The tensor that a spec describes. `with_gradient` says whether one that can have a gradient gets it,
    where the spec leaves that open."""
    name = spec.get("dtype", "float32")
    dtype = dtype_named(name)
    can_have_gradient = name not in QUANTISED and differentiable(dtype)
    wants = spec.get("requires_grad")
    if wants and not can_have_gradient:
        raise Unsupported(f"a tensor of {name} cannot have a gradient")
    # torch has opinions on complex32, sparse and quantised tensors; the case has asked for them.
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        built = _built({**spec, "dtype": name}, dtype, stream, device, folder)
    if can_have_gradient if wants is None and with_gradient else wants:
        built.requires_grad_()
    return built


def _built(
    spec: dict[str, Any], dtype: torch.dtype, stream: Stream, device: torch.device, folder: str
) -> torch.Tensor:
    shape = tuple(spec["shape"])
    _require_addressable(shape, 1, spec)
    carrier = carrier_of(spec["dtype"])
    is_quantised = spec["dtype"] in QUANTISED
    filled_dtype = carrier.dtype if carrier else torch.float64 if is_quantised else dtype
    make = _maker(spec, shape, filled_dtype, stream, folder)
    if spec.get("layout", "strided") != "strided":
        if is_quantised:
            raise Unsupported("torch has no sparse quantised tensors")
        return sparse(spec, shape, make=make, stream=stream, device=device, view=dtype)
    strides, offset = wanted_strides(spec, shape), spec.get("storage_offset", 0)
    reach = offset + span(shape, strides)
    _require_addressable((reach,), dtype.itemsize, spec)
    if device.type != "meta":
        require_memory(reach, shape)
    _require_own_places(spec, shape, strides)
    if is_quantised:
        return quantised(spec, shape, strides, make=make, stream=stream, device=device)
    if device.type == "meta":
        memory = torch.empty(reach, dtype=dtype, device=device)
    else:
        memory = strided(make, shape, strides, offset, filled_dtype).to(device).view(dtype)
    return seen_through(memory, shape, strides, offset)


def _maker(
    spec: dict[str, Any], shape: tuple[int, ...], dtype: torch.dtype, stream: Stream, folder: str
) -> MakeNumbers:
    carrier = carrier_of(spec["dtype"])
    usual = {"kind": "integers", "low": carrier.low, "high": carrier.high} if carrier else default_fill(dtype)
    fill = spec.get("fill") or usual

    def make(some_shape: tuple[int, ...]) -> torch.Tensor:
        if fill["kind"] not in COMPLETE_FILLS:
            return filled(fill, Target(some_shape, dtype, stream, folder, spec["dtype"]))
        complete = filled(fill, Target(shape, dtype, stream, folder, spec["dtype"]))
        return complete[tuple(slice(0, size) for size in some_shape)].contiguous()

    return make


def _require_own_places(spec: dict[str, Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Refuse strides that would make one number of those that belong together out of several."""
    kind = (spec.get("fill") or {}).get("kind", "")
    together = FILLED_DIMENSIONS.get(kind, 0)
    first = max(0, len(shape) - together)
    once = tuple(
        1 if stride == 0 and dim < first else size
        for dim, (size, stride) in enumerate(zip(shape, strides, strict=True))
    )
    if together and math.prod(shape) and not places_are_distinct(once, strides):
        raise Unsupported(
            f"with the strides {list(strides)} several elements are one number in memory, "
            f"which the fill {kind} does not allow"
        )


def _require_addressable(shape: tuple[int, ...], element_bytes: int, spec: dict[str, Any]) -> None:
    size_bytes = math.prod(shape) * element_bytes
    if size_bytes >= 1 << 63:
        raise MemoryError(f"out of memory: a tensor of shape {list(spec['shape'])} takes {size_bytes} bytes")


@cache
def available_device(name: str) -> torch.device:
    """The torch device of that name, if there is one here."""
    try:
        device = torch.device(name)
    except RuntimeError:
        raise Unsupported(f"torch {torch.__version__} knows no device called {name!r}") from None
    if device.type in ("cpu", "meta"):
        return device
    module = getattr(torch, device.type, None)
    if module is None or not hasattr(module, "is_available") or not module.is_available():
        raise Unsupported(
            f"the device {name!r} is not available: torch {torch.__version__} finds no {device.type} here"
        )
    count = module.device_count() if hasattr(module, "device_count") else 1
    if device.index is not None and device.index >= count:
        raise Unsupported(
            f"the device {name!r} is not available: there are {count} of its kind, counted from 0"
        )
    return device
