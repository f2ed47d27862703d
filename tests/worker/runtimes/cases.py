"""Cases as a worker gets them, prepared with the real torch."""

from __future__ import annotations

from itertools import repeat
from time import perf_counter_ns
from typing import Any

from opbench.worker.devices import Cpu
from opbench.worker.materialize import Builder
from opbench.worker.probes.loop import compiled
from opbench.worker.registry import Operator
from opbench.worker.resolve import resolve
from opbench.worker.runtimes import runtime_for
from opbench.worker.runtimes.prepared import Prepared


def tensor(*shape: int, **more: Any) -> dict[str, Any]:
    return {"type": "tensor", "shape": list(shape), "dtype": "float64", **more}


def indices(*shape: int, below: int) -> dict[str, Any]:
    return {
        "type": "tensor",
        "shape": list(shape),
        "dtype": "int64",
        "fill": {"kind": "indices", "bound": below},
    }


def integer(value: int) -> dict[str, Any]:
    return {"type": "int", "value": value}


def number(value: float) -> dict[str, Any]:
    return {"type": "float", "value": value}


def boolean(value: bool) -> dict[str, Any]:
    return {"type": "bool", "value": value}


def builder(direction: str = "forward", seed: int = 0, work_id: str = "w") -> Builder:
    return Builder(seed=seed, work_id=work_id, device="cpu", direction=direction)


def prepared(
    op: str | Operator, *args: dict[str, Any], seed: int = 0, device: Any = None, **case: Any
) -> Prepared:
    """An operator call in eager mode, with fields of the case such as `direction`, `kwargs`, `build`."""
    operator = resolve(op) if isinstance(op, str) else op
    case = {"op": operator.name, "args": list(args), **case}
    made = builder(case.get("direction", "forward"), seed)
    return runtime_for("eager").prepare(case, made, operator, device or Cpu())


def run_block(found: Prepared, calls: int) -> list[Any]:
    """Run the timed loop itself; give the operands that the calls had."""
    loop = compiled(found.body, perf_counter_ns)
    operands = list(repeat(None, calls)) if found.pool is None else list(found.pool.fresh(calls))
    loop.send(operands)
    return operands


def recorded_gradients(found: Prepared, calls: int = 1) -> list[tuple[Any, ...]]:
    """Run the timed loop itself, and keep what each of its calls of `torch.autograd.grad` gives."""
    from dataclasses import replace

    kept: list[tuple[Any, ...]] = []
    grad = found.body.names["grad"]

    def recording(*args: Any, **kwargs: Any) -> Any:
        kept.append(grad(*args, **kwargs))
        return kept[-1]

    run_block(replace(found, body=replace(found.body, names={**found.body.names, "grad": recording})), calls)
    return kept
