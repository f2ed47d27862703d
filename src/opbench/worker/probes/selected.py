"""How much operators read that pick elements or rows out of a table: each that is picked counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

# Marking what is picked in a table of this many places takes a few milliseconds; for a larger one, sorting
# so many indices does. Beyond both, what is read is not known.
MOST_PLACES = 1 << 24
MOST_SORTED = 1 << 16


def rows(table: Any, indices: Any, *rest: Any, **more: Any) -> int | None:
    """Bytes of the different rows of an embedding table."""
    return _rows(table, 0, indices)


def bag_rows(
    table: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> int | None:
    """Bytes of the different rows that bags are made of; a padding row is skipped, so it is left open."""
    return _rows(table, 0, indices) if padding_idx < 0 else None


def slices(table: Any, dim: int, indices: Any) -> int | None:
    """Bytes of the different slices along a dimension."""
    return _rows(table, dim, indices)


def gathered(table: Any, dim: int, indices: Any, **more: Any) -> int | None:
    """Bytes of the different elements that are picked along a dimension."""
    import torch

    if table.numel() > MOST_PLACES:
        return None
    marks = torch.zeros(table.shape, dtype=torch.bool, device=table.device)
    return _bytes(table, marks.scatter_(dim, indices, True) if table.dim() else marks.fill_(True))


def taken(table: Any, indices: Any) -> int | None:
    """Bytes of the different elements that are picked by their flat positions."""
    import torch

    if table.numel() > MOST_PLACES:
        return None
    marks = torch.zeros(table.shape, dtype=torch.bool, device=table.device)
    return _bytes(table, marks.put_(indices, torch.ones_like(indices, dtype=torch.bool)))


def indexed(table: Any, indices: Any) -> int | None:
    """Bytes of the different elements that are picked by a tuple of index tensors."""
    import torch

    if table.numel() > MOST_PLACES:
        return None
    marks = torch.zeros(table.shape, dtype=torch.bool, device=table.device)
    true = torch.ones((), dtype=torch.bool, device=table.device)
    return _bytes(table, torch.ops.aten.index_put_(marks, list(indices), true))


def _rows(table: Any, dim: int, indices: Any) -> int | None:
    import torch

    if table.dim() == 0:
        return int(table.element_size())
    count = table.shape[dim]
    flat = indices.reshape(-1)
    if flat.numel() <= MOST_SORTED:
        different = int(torch.unique(flat).numel())
    elif count <= MOST_PLACES:
        marks = torch.zeros(count, dtype=torch.bool, device=table.device)
        marks[flat.long()] = True
        different = int(marks.sum())
    else:
        return None
    return different * (table.numel() // count if count else 0) * int(table.element_size())


def _bytes(table: Any, marks: Any) -> int:
    return int(marks.sum()) * int(table.element_size())


# By operator: what it reads of its first argument, in bytes.
SELECTING: dict[str, Callable[..., int | None]] = {
    "embedding": rows,
    "_embedding_bag": bag_rows,
    "_embedding_bag_forward_only": bag_rows,
    "index_select": slices,
    "gather": gathered,
    "take": taken,
    "index": indexed,
}
