"""Checksums of numbers, by fill and dtype. `python -m tests.worker.materialize.golden` writes them anew:
only together with a new IDENTITY_VERSION, because cases with an unchanged id would get other numbers."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any

import torch

from opbench.cases.dtypes import DTYPES
from opbench.cases.errors import DocumentError
from opbench.worker.errors import Unsupported

from .makers import checked, drawn

FILE = Path(__file__).with_name("golden.json")
# More elements than a chunk of any fill has.
LONG, SHORT = [40_003], [3, 7]
SQUARE = [3, 40, 40]
FILLS: dict[str, tuple[list[int], dict[str, Any] | None]] = {
    "usual": (LONG, None),
    "normal": (LONG, {"kind": "normal", "mean": -1.5, "std": 0.3}),
    "uniform": (LONG, {"kind": "uniform", "low": 0.1, "high": 0.7}),
    "integers": (LONG, {"kind": "integers", "low": 0, "high": 2}),
    "wide integers": (LONG, {"kind": "integers", "low": -(2**61), "high": 2**63 - 1}),
    "indices": (LONG, {"kind": "indices", "bound": 100}),
    "many indices": (LONG, {"kind": "indices", "bound": 1_000_003}),
    "zipf": (LONG, {"kind": "zipf", "bound": 100_000, "alpha": 1.05}),
    "scattered zipf": (LONG, {"kind": "zipf", "bound": 2**40 + 7, "alpha": 0.8, "scatter": True}),
    "offsets": (LONG, {"kind": "offsets", "total": 100, "include_last": True}),
    "permutation": (SHORT, {"kind": "permutation"}),
    "sorted": (LONG, {"kind": "sorted", "low": 1.0, "high": 7.5}),
    "mask": (LONG, {"kind": "mask", "density": 0.25}),
    "constant": (SHORT, {"kind": "constant", "value": 1}),
    "arange": (SHORT, {"kind": "arange", "start": 1, "step": 1}),
    "fractions": (SHORT, {"kind": "arange", "start": 0.1, "step": 0.3}),
    "literal": (SHORT, {"kind": "literal", "values": [0, 1, 1] * 7}),
    "positive_definite": (SQUARE, {"kind": "positive_definite"}),
    "probabilities": ([700, 60], {"kind": "probabilities"}),
}
SPARSE: dict[str, dict[str, Any]] = {
    "sparse_coo": {"layout": "sparse_coo"},
    "sparse_csr": {"layout": "sparse_csr", "density": 0.2},
    "sparse_csc": {"layout": "sparse_csc", "density": 0.2},
    "sparse_bsr": {"layout": "sparse_bsr", "block_shape": [4, 5]},
    "sparse_bsc": {"layout": "sparse_bsc", "block_shape": [8, 2], "density": 0.01},
}
PLACES: dict[str, dict[str, Any]] = {
    "transposed": {"strides": [1600, 1, 40]},
    "expanded": {"strides": [0, 40, 1], "storage_offset": 5},
    "overlapping": {"strides": [40, 7, 1]},
}


def checksums() -> dict[str, str]:
    """A checksum for each fill and dtype that go together, for each layout, and for some strides."""
    found: dict[str, str] = {}
    for dtype in DTYPES:
        for name, (shape, fill) in FILLS.items():
            try:
                checked({"type": "tensor", "shape": shape, "dtype": dtype, "fill": fill})
                found[f"{name} {dtype}"] = checksum(drawn(shape, dtype, fill))
            except (DocumentError, Unsupported):
                continue
    for name, fields in (SPARSE | PLACES).items():
        for dtype in ("float32", "bool", "complex128", "int64"):
            found[f"{name} {dtype}"] = checksum(drawn(SQUARE, dtype, None, **fields))
    return found


def checksum(tensor: torch.Tensor) -> str:
    """A checksum of the numbers of a tensor of any dtype and layout, and of where they are stored."""
    digest = hashlib.sha256()
    for part in parts(tensor):
        if part.dtype == torch.bool or part.element_size() == 1:
            part = part.view(torch.uint8)
        elif part.is_complex():
            part = torch.view_as_real(part.detach())
        if sys.byteorder == "big" and part.element_size() > 1:
            part = part.view(torch.uint8).view(-1, part.element_size()).flip(1)
        digest.update(part.contiguous().flatten().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]


def parts(tensor: torch.Tensor) -> list[torch.Tensor]:
    """What a tensor is made of, as contiguous tensors."""
    if tensor.is_quantized:
        # A storage is the same for all quantised dtypes, packed ones too.
        storage = tensor.untyped_storage()
        return [torch.empty(0, dtype=torch.uint8).set_(storage, 0, (storage.nbytes(),), (1,))]
    if tensor.layout == torch.sparse_coo:
        return [tensor.indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csr, torch.sparse_bsr):
        return [tensor.crow_indices(), tensor.col_indices(), tensor.values()]
    if tensor.layout in (torch.sparse_csc, torch.sparse_bsc):
        return [tensor.ccol_indices(), tensor.row_indices(), tensor.values()]
    return [tensor.contiguous()] if tensor.element_size() > 1 else [tensor.view(torch.uint8).contiguous()]


if __name__ == "__main__":
    FILE.write_text(json.dumps(checksums(), indent=0, sort_keys=True) + "\n")
