"""One tiny case in the server before the first fork: what it imports, compiles, looks up, no child has to."""

from __future__ import annotations

import contextlib
from typing import Any

from opbench.worker.measure import measure_case

_OPERAND = {"type": "tensor", "shape": [2, 2]}
# Forward only: the first backward pass starts threads where accelerators are, and a fork would lose them.
# What it imports is imported all the same.
_CASE = {"op": "torch.add", "args": [_OPERAND, _OPERAND]}
_PLAN: dict[str, Any] = {
    "budget_s": 0.001,
    "precision": 1.0,
    "confidence": 0.95,
    "min_samples": 1,
    "max_samples": 1,
    "block_s": 1e-6,
    "warmup_s": 0.0,
    "warmup_calls": 1,
    "calls_per_sample": 1,
    "samples": 1,
    "mode": "continuous",
    "flush_cache": False,
    "cuda_graph": False,
    "baseline": True,
    "garbage_collection": False,
    "retakes": 0.0,
    "memory": True,
    "flops": True,
    "check": False,
}


def rehearse(framework: str) -> None:
    """Measure a case and forget it. Nothing depends on whether it works."""
    if framework != "torch":
        return
    import torch

    # Not those of the worker: torch may have settled for fewer, and starts a pool when told once more.
    case = {**_CASE, "num_threads": torch.get_num_threads()}
    request = {"case": case, "work_id": "rehearsal", "plan": _PLAN}
    with contextlib.suppress(Exception):
        measure_case(request, ())
    from opbench.worker.runtimes import gradients

    gradients.ready()
