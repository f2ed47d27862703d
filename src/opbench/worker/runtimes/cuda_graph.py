"""A prepared call recorded as a CUDA graph and replayed: what is left of it without the cost of launching."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.prepared import Prepared, body_of


def captured(prepared: Prepared, device: Any) -> Prepared:
    """The same call as a graph. To be done, like preparing the call, inside `device.capture_stream()`."""
    if prepared.function is None:
        raise Unsupported("a snippet cannot be captured as a CUDA graph; measure it without cuda_graph")
    pool, first_call_s = prepared.pool, prepared.first_call_s
    operands = None
    if pool is not None:
        # A graph works on fixed addresses, so there is one entry, restored in front of each call.
        pool.keep_one()
        operands = pool.first()
    if first_call_s is None:
        first_call_s = prepared.first_call(device)
    try:
        replay, result = device.capture(prepared.once)
    except RuntimeError as error:
        if "out of memory" in str(error).lower():
            raise
        reason = str(error).strip().partition("\n")[0]
        raise Unsupported(f"the call cannot be captured as a CUDA graph: {reason}") from error
    prepared.restore()
    if pool is not None and pool.first() is not operands:
        raise Unsupported(
            "the call changes its operands in a way that only fresh ones undo, "
            "and a CUDA graph has fixed ones"
        )

    def once() -> Any:
        if pool is not None:
            pool.first()
        replay()
        return result

    return replace(
        prepared,
        body=body_of("replay()", {"replay": replay}),
        once=once,
        first_call_s=first_call_s,
        provenance={**prepared.provenance, "cuda_graph": True},
        on_close=None,
        reference=prepared.reference or (lambda: prepared),
    )
