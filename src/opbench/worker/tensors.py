"""One tensor from its spec: dtype, fill, layout, strides, device, gradient."""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

from opbench.worker.dtypes import carrier_of, differentiable, dtype_named
from opbench.worker.errors import Unsupported
from opbench.worker.fills import Target, default_fill, filled
from opbench.worker.layouts import seen_through, strided, wanted_strides
from opbench.worker.streams import Stream


def tensor(
    spec: dict[str, Any], *, stream: Stream, device: torch.device, with_gradient: bool, folder: str = ""
) -> torch.Tensor:
    """The tensor that a spec describes. `with_gradient` says whether one that can have a gradient gets it,
    where the spec leaves that open."""
    name = spec.get("dtype", "float32")
    dtype = dtype_named(name)
    shape = tuple(spec["shape"])
    carrier = carrier_of(name)
    filled_dtype = carrier.dtype if carrier else dtype
    fill = spec.get("fill") or default_fill(filled_dtype)

    def make(some_shape: tuple[int, ...]) -> torch.Tensor:
        return filled(fill, Target(some_shape, filled_dtype, stream, folder))

    strides, offset = wanted_strides(spec, shape), spec.get("storage_offset", 0)
    memory = strided(make, shape, strides, offset, filled_dtype)
    built = seen_through(memory.to(device), shape, strides, offset)
    wants = spec.get("requires_grad")
    if differentiable(dtype) if wants is None and with_gradient else wants:
        built.requires_grad_()
    return built


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
