"""Sparse tensors: distinct, sorted, random positions, and a fill for what is stored there."""

from __future__ import annotations

import math
from typing import Any

import torch

from opbench.worker.bijection import scattered
from opbench.worker.errors import Unsupported
from opbench.worker.fills import FILLED_DIMENSIONS
from opbench.worker.layouts import MakeNumbers, as_bits, layout_named, require_memory
from opbench.worker.streams import Stream

# Fills that say which number belongs where.
PLACED_FILLS = ("literal", "arange", "file")
COMPRESSED = ("sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc")


def sparse(
    spec: dict[str, Any],
    shape: tuple[int, ...],
    *,
    make: MakeNumbers,
    stream: Stream,
    device: torch.device,
    view: torch.dtype,
) -> torch.Tensor:
    """A sparse tensor. `make` gives its numbers, which are then seen as `view`.

    What is stored are `density` of all entries (or blocks): in all of a COO tensor, in each matrix of the
    compressed layouts.
    """
    layout = spec["layout"]
    fill = (spec.get("fill") or {}).get("kind")
    if fill in FILLED_DIMENSIONS:
        raise Unsupported(
            f"the fill {fill} is for strided tensors: sparse ones hold only some of its numbers"
        )
    if spec.get("strides") is not None or spec.get("storage_offset") or spec.get("memory_format"):
        raise Unsupported(f"a tensor of layout {layout} has no strides, no offset and no memory format")
    build = _coo if layout == "sparse_coo" else _compressed
    if build is _compressed and layout not in COMPRESSED:
        raise Unsupported(f"tensors of layout {layout!r} cannot be built")
    return build(spec, shape, fill in PLACED_FILLS, make, stream.substream("positions"), device, view)


def _coo(
    spec: dict[str, Any],
    shape: tuple[int, ...],
    is_placed: bool,
    make: MakeNumbers,
    stream: Stream,
    device: torch.device,
    view: torch.dtype,
) -> torch.Tensor:
    require_memory(_count(math.prod(shape), spec.get("density", 0.1)) * (len(shape) + 1), shape)
    positions = _positions(math.prod(shape), spec.get("density", 0.1), stream)
    numbers = _taken(make(shape).view(-1), positions) if is_placed else make((len(positions),))
    indices = positions.new_empty((len(shape), len(positions)))
    rest = positions
    for dim in reversed(range(len(shape))):
        indices[dim] = rest.remainder(max(shape[dim], 1))
        rest = rest.div(max(shape[dim], 1), rounding_mode="floor")
    return torch.sparse_coo_tensor(
        indices.to(device),
        numbers.to(device).view(view),
        shape,
        is_coalesced=True,
        check_invariants=False,
    )


def _compressed(
    spec: dict[str, Any],
    shape: tuple[int, ...],
    is_placed: bool,
    make: MakeNumbers,
    stream: Stream,
    device: torch.device,
    view: torch.dtype,
) -> torch.Tensor:
    layout = spec["layout"]
    if len(shape) < 2:
        raise Unsupported(f"a tensor of layout {layout} has two dimensions or more, not {len(shape)}")
    block = _block_shape(spec, shape)
    batch, grid = shape[:-2], (shape[-2] // block[0], shape[-1] // block[1])
    by_row = layout in ("sparse_csr", "sparse_bsr")
    # Positions count along the compressed dimension first.
    lines, places = grid if by_row else grid[::-1]
    matrices = math.prod(batch)
    count = _count(lines * places, spec.get("density", 0.1))
    require_memory(matrices * (lines + 1 + count * math.prod(block)), shape)
    # First of all, because it is what a huge number of matrices has no memory for.
    pointers = torch.zeros((matrices, lines + 1), dtype=torch.int64, device="cpu")
    chosen = [
        _positions(lines * places, spec.get("density", 0.1), stream.substream(str(matrix)))
        for matrix in range(matrices)
    ]
    positions = torch.stack(chosen) if chosen else torch.empty((0, count), dtype=torch.int64, device="cpu")
    line = positions.div(max(places, 1), rounding_mode="floor")
    place = positions.remainder(max(places, 1))
    ends = torch.arange(1, lines + 1, dtype=torch.int64, device="cpu").expand(matrices, lines).contiguous()
    pointers[:, 1:] = torch.searchsorted(line.contiguous(), ends)
    is_blocked = layout in ("sparse_bsr", "sparse_bsc")
    own = block if is_blocked else ()
    if is_placed:
        blocks = make(shape).view(matrices, grid[0], block[0], grid[1], block[1]).permute(0, 1, 3, 2, 4)
        rows, columns = (line, place) if by_row else (place, line)
        owner = torch.arange(matrices, device="cpu").view(-1, 1).expand_as(positions)
        numbers = _taken(blocks, owner, rows, columns).reshape(*batch, count, *own)
    else:
        numbers = make((*batch, count, *own))
    return torch.sparse_compressed_tensor(
        pointers.view(*batch, lines + 1).to(device),
        place.view(*batch, count).to(device),
        numbers.to(device).view(view),
        shape,
        layout=layout_named(layout),
        check_invariants=False,
    )


def _block_shape(spec: dict[str, Any], shape: tuple[int, ...]) -> tuple[int, int]:
    if spec["layout"] in ("sparse_csr", "sparse_csc"):
        return 1, 1
    if spec.get("block_shape") is None:
        raise Unsupported(f"a tensor of layout {spec['layout']} needs a block_shape")
    height, width = spec["block_shape"]
    if not (height and width) or shape[-2] % height or shape[-1] % width:
        raise Unsupported(f"blocks of {height} x {width} do not tile a matrix of {shape[-2]} x {shape[-1]}")
    return int(height), int(width)


def _taken(numbers: torch.Tensor, *indices: torch.Tensor) -> torch.Tensor:
    return as_bits(numbers)[indices].view(numbers.dtype)


def _count(size: int, density: float) -> int:
    return min(size, round(size * density))


def _positions(size: int, density: float, stream: Stream) -> torch.Tensor:
    """Distinct numbers of [0, size), ascending."""
    numbers = torch.arange(_count(size, density), dtype=torch.int64, device="cpu")
    if len(numbers) == size:
        return numbers
    return scattered(numbers, size, stream).sort().values
