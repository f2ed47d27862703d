"""Fills whose numbers belong together along the last two dimensions: positive_definite."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from opbench.worker.errors import Unsupported
from opbench.worker.fills.numbers import uniform
from opbench.worker.fills.registry import Spec, Target, fill
from opbench.worker.streams import CHUNK_WORDS

WIDE = {torch.float64: torch.float64, torch.complex128: torch.complex128}


@fill("positive_definite")
def positive_definite(spec: Spec, target: Target) -> torch.Tensor:
    """Symmetric (or Hermitian) matrices. They are positive definite because the diagonal, 1 to 1.5,
    outweighs the rest of its row: the parts of all other numbers are at most 1 / 2n in size."""
    if len(target.shape) < 2 or target.shape[-1] != target.shape[-2]:
        raise Unsupported(
            f"the fill positive_definite needs the last two dimensions to be equal, not {list(target.shape)}"
        )
    if target.is_integral:
        raise Unsupported(f"the fill positive_definite does not suit {target.dtype}")
    out = target.empty()
    if not target.count:
        return out
    size = target.shape[-1]
    wide = WIDE.get(target.dtype, torch.complex64 if target.dtype.is_complex else torch.float32)
    bounds = {"kind": "uniform", "low": -0.5 / size, "high": 0.5 / size}
    drawn = uniform(bounds, Target(target.shape, wide, target.stream)).view(-1, size, size)
    matrices = out.view(-1, size, size)
    for some, raw in zip(_some(matrices), _some(drawn), strict=True):
        upper = raw.triu(1)
        diagonal = torch.view_as_real(raw)[..., 0] if raw.is_complex() else raw
        upper.diagonal(dim1=-2, dim2=-1).copy_(
            diagonal.diagonal(dim1=-2, dim2=-1).abs().mul_(0.5 * size).add_(0.5)
        )
        # The diagonal counts twice.
        some.copy_(upper + upper.mH)
    return out


def _some(matrices: torch.Tensor) -> Sequence[torch.Tensor]:
    groups: Sequence[torch.Tensor] = matrices.split(max(1, CHUNK_WORDS // matrices[0].numel()))
    return groups
