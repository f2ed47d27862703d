"""Floating-point operations of one call, where they are known.

Counted are what torch has formulas for: matrix products, convolutions, attention; 2 for each multiply-add.
Everything else counts nothing, so an operator without any of these has no flops metric rather than a zero.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

# Operators that do the work of one that torch has a formula for, with the same first arguments.
SAME_AS = {
    "_int_mm": "mm",
    "_addmm_activation": "addmm",
    "_scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable": "_scaled_dot_product_flash_attention",
}


def measure(
    prepared: Any,
    plan: dict[str, Any],
    device: Any,
    *,
    operator: Any = None,
    reference: Any = None,
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The flops of one call: what the operator was registered with, else what a dispatched call counts.

    `reference` is the same case prepared eagerly, for runtimes whose work does not go through the dispatcher.
    """
    counted = registered(operator, prepared, "flops")
    if counted is not None:
        return [_metric(counted, {"method": "registered with the operator"})], []
    source = reference if reference is not None else prepared
    source.restore()
    try:
        by_operator = count(source.once)
    finally:
        source.restore()
    total = sum(by_operator.values())
    if total <= 0:
        return [], []
    provenance: dict[str, Any] = {"method": "torch flop formulas", "operators": by_operator}
    if reference is not None:
        provenance["counted_on"] = "eager"
    return [_metric(total, provenance)], []


def registered(operator: Any, prepared: Any, field: str) -> int | None:
    """What the operator's own `flops` or `bytes` function says of a forward call; None without one."""
    function = getattr(operator, field, None)
    if function is None or prepared.direction != "forward":
        return None
    args, kwargs = prepared.arguments
    return int(function(*args, **kwargs))


def count(call: Callable[[], Any]) -> dict[str, int]:
    """Flops of everything that the call dispatches, by operator."""
    counts: dict[str, int] = {}
    with _counter_class()(counts):
        call()
    return counts


@lru_cache(maxsize=1)
def _formulas() -> dict[Any, Callable[..., int]]:
    import torch
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten
    formulas: dict[Any, Callable[..., int]] = dict(flop_registry)
    for name, known in SAME_AS.items():
        if hasattr(aten, name) and hasattr(aten, known) and getattr(aten, known) in formulas:
            formulas.setdefault(getattr(aten, name), formulas[getattr(aten, known)])
    # Vector products: one multiply-add for each entry of the larger operand.
    for name, operand in (("dot", 0), ("vdot", 0), ("mv", 0), ("addmv", 1)):
        formulas.setdefault(getattr(aten, name), _twice_entries_of(operand))
    return formulas


def _twice_entries_of(operand: int) -> Callable[..., int]:
    def flops(*args: Any, **kwargs: Any) -> int:
        return 2 * int(args[operand].numel())

    return flops


@lru_cache(maxsize=1)
def _counter_class() -> Any:
    import torch
    from torch.utils._python_dispatch import TorchDispatchMode

    formulas = _formulas()

    class Counter(TorchDispatchMode):  # type: ignore[misc]
        """Adds up the formulas of the operators that are dispatched."""

        @classmethod
        def _should_skip_dynamo(cls) -> bool:
            # Otherwise torch imports its compiler, which takes a second in every fresh process; that is
            # what torch's own FlopCounterMode costs.
            return False

        def __init__(self, counts: dict[str, int]) -> None:
            super().__init__()
            self._counts = counts

        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            packet = getattr(func, "_overloadpacket", None)
            formula = formulas.get(packet)
            if formula is None and isinstance(func, torch._ops.OpOverload):
                # In inference mode composite operators arrive whole; their parts have the formulas.
                with self:
                    result = func.decompose(*args, **kwargs)
                if result is not NotImplemented:
                    return result
            result = func(*args, **kwargs)
            if formula is not None:
                name = str(packet)
                self._counts[name] = self._counts.get(name, 0) + int(formula(*args, **kwargs, out_val=result))
            return result

    return Counter


def _metric(value: int, provenance: dict[str, Any]) -> dict[str, Any]:
    return {
        "tag": "flops",
        "value": value,
        "unit": "flop",
        "hint": "count",
        "better": "neither",
        "provenance": provenance,
    }
