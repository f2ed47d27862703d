"""What a case will need, as far as its document and the plan tell."""

from __future__ import annotations

import math
from dataclasses import dataclass

from opbench.cases.dtypes import dtype_info
from opbench.cases.layouts import storage_elements
from opbench.cases.model import Case, tensors_of
from opbench.cases.plan import Plan
from opbench.cases.values import Tensor

# Starting a child, building inputs, the baseline and the passes beside the timing.
OVERHEAD_S = 0.1
# Indices of sparse tensors are 64-bit.
_INDEX_BYTES = 8


@dataclass(frozen=True)
class Estimate:
    """Memory of all input tensors (outputs only the operator knows), and the longest usual time."""

    input_bytes: int
    duration_s: float


def estimate(case: Case, plan: Plan) -> Estimate:
    """The memory of a case's input tensors, and the time if it uses all that the plan grants."""
    return Estimate(sum(map(tensor_bytes, tensors_of(case))), duration_s(plan))


def duration_s(plan: Plan) -> float:
    """The time that one case takes under a plan at most, unless single calls are long."""
    warmup_s = plan.warmup_s if plan.warmup_calls is None else 0.0
    # Fixed counts end no sooner and no later; how long a sample lasts is then a guess.
    sampling_s = plan.budget_s if plan.samples is None else plan.samples * plan.block_s
    return min(OVERHEAD_S + warmup_s + sampling_s, plan.timeout_s)


def tensor_bytes(tensor: Tensor) -> int:
    """The memory behind a tensor."""
    item_bytes = dtype_info(tensor.dtype).bits // 8
    if tensor.layout == "strided":
        return storage_elements(tensor.shape, tensor.strides, tensor.storage_offset) * item_bytes
    stored = round(math.prod(tensor.shape) * tensor.density)
    if tensor.layout == "sparse_coo":
        return stored * (item_bytes + _INDEX_BYTES * len(tensor.shape))
    block = math.prod(tensor.block_shape or (1, 1))
    # Besides, there is one pointer for each compressed row or column.
    compressed = -1 if tensor.layout in ("sparse_csc", "sparse_bsc") else -2
    pointers = math.prod(tensor.shape[:-2]) * (tensor.shape[compressed] + 1)
    return stored * item_bytes + (stored // block + pointers) * _INDEX_BYTES
