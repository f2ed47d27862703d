"""Builds the tensors of an item in this process, with what workers build the inputs of cases with.

Numbers are drawn from the fuzzer's seed, the item and the tensor's name: no generator of torch takes part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from opbench.cases.values import Tensor
from opbench.sources.fuzzing.drawn import DrawnTensor
from opbench.sources.fuzzing.drawn_sparse import DrawnSparseTensor
from opbench.sources.fuzzing.item import Drawn, Item
from opbench.sources.fuzzing.tensors import FuzzedTensor

if TYPE_CHECKING:
    from opbench.worker.materialize import Builder


def build(tensor: FuzzedTensor, drawn: Drawn, item: Item, seed: int) -> Any:
    """One tensor of an item."""
    # Only who builds tensors needs the framework.
    from opbench.worker.materialize import Builder

    builder = Builder(seed=seed, work_id=f"fuzz/{item.place}", device=drawn.device, direction="forward")
    if isinstance(drawn, DrawnSparseTensor):
        return _sparse(drawn, builder)
    if tensor.tensor_constructor is not None:
        return _constructed(tensor, drawn, item)
    return builder.value(msgspec.to_builtins(drawn.value()), tensor.name)


def _constructed(tensor: FuzzedTensor, drawn: DrawnTensor, item: Item) -> Any:
    """What the user's own function makes, seen through the item's order and steps."""
    import torch

    assert tensor.tensor_constructor is not None
    dtype = getattr(torch, drawn.dtype)
    raw = tensor.tensor_constructor(size=drawn.allocation, dtype=dtype, **item.params)
    if drawn.device != "cpu":
        raw = raw.to(drawn.device)
    order = drawn.order
    if order != tuple(range(len(order))):
        back = sorted(range(len(order)), key=order.__getitem__)
        raw = raw.permute(order).contiguous().permute(back)
    seen = raw[tuple(slice(0, size * step, step) for size, step in zip(drawn.size, drawn.steps, strict=True))]
    if drawn.expanded is not None:
        seen = seen.narrow(drawn.expanded, 0, min(1, drawn.size[drawn.expanded])).expand(drawn.size)
    return seen


def _sparse(drawn: DrawnSparseTensor, builder: Builder) -> Any:
    name = drawn.name
    if drawn.coalesced and not drawn.is_hybrid:
        return builder.value(msgspec.to_builtins(drawn.value()), name)
    import torch

    dense = drawn.size[drawn.sparse_dim :]
    # Where numbers are is drawn as for a tensor of the sparse dimensions alone.
    indices = builder.value(msgspec.to_builtins(drawn.pattern()), name).indices()
    copies = 1 if drawn.coalesced else 2
    numbers = Tensor((copies * indices.shape[1], *dense), drawn.dtype, drawn.fill)
    return torch.sparse_coo_tensor(
        torch.cat([indices] * copies, dim=1),
        builder.value(msgspec.to_builtins(numbers), f"{name}.values"),
        drawn.size,
        is_coalesced=drawn.coalesced,
        check_invariants=False,
    )
