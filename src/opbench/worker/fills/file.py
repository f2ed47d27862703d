"""Numbers from a `.npy` file beside the suite."""

from __future__ import annotations

import torch

from opbench.worker.dtypes import carrier_of
from opbench.worker.errors import Unsupported
from opbench.worker.fills.numbers import require_infinity
from opbench.worker.fills.registry import Spec, Target, fill, require_range
from opbench.worker.npy import read_npy


@fill("file")
def file(spec: Spec, target: Target) -> torch.Tensor:
    """Numbers from a file of the target's shape and kind; floating-point ones are rounded to its dtype."""
    numbers = read_npy(target.folder, spec["path"], spec.get("sha256", ""), target.shape)
    if numbers.dtype == target.dtype and not carrier_of(target.name):
        return numbers
    same_kind = (
        numbers.dtype.is_floating_point == target.dtype.is_floating_point
        and numbers.dtype.is_complex == target.dtype.is_complex
        and (target.dtype == torch.bool) <= (numbers.dtype == torch.bool)
    )
    if not same_kind:
        held = str(numbers.dtype).removeprefix("torch.")
        raise Unsupported(
            f"the file {spec['path']!r} holds {held} numbers, "
            f"but {target.name} takes {_kind(target.dtype)} ones"
        )
    if not target.is_integral:
        parts = torch.view_as_real(numbers) if numbers.is_complex() else numbers
        finite = parts[parts.isfinite()]
        if len(finite) < parts.numel() and bool(parts.isinf().any()):
            require_infinity(target)
        if finite.numel():
            require_range(target, float(finite.min()), float(finite.max()))
    elif numbers.numel():
        require_range(target, *_extremes(numbers))
    return numbers.to(target.dtype)


def _kind(dtype: torch.dtype) -> str:
    if dtype == torch.bool:
        return "bool"
    if dtype.is_complex:
        return "complex"
    return "floating-point" if dtype.is_floating_point else "whole"


def _extremes(numbers: torch.Tensor) -> tuple[int, int]:
    """The least and the greatest of whole numbers; torch compares no unsigned ones of 64 bits."""
    if numbers.dtype == torch.uint64:
        ordered = numbers.view(torch.int64).bitwise_xor(-(1 << 63))
        return int(ordered.min()) + (1 << 63), int(ordered.max()) + (1 << 63)
    wide = numbers.to(torch.int64)
    return int(wide.min()), int(wide.max())
