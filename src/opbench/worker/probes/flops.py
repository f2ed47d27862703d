"""Floating-point operations of one call, and the bytes it must move, where they are known.

Counted as operations is what torch has formulas for: matrix products, convolutions, attention; 2 for each
multiply-add, 8 for a complex one. What goes through all numbers once (sums, activations, copies) counts
nothing. A call without any product has no flops metric rather than a zero, and neither has one with an
operator that does much work and has no formula. What an operator was registered with is believed instead.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from opbench.worker.probes import make_ready, metric
from opbench.worker.probes.bytes_moved import Traffic
from opbench.worker.probes.dispatch import name_of, watched
from opbench.worker.registry import amount
from opbench.worker.runtimes.outputs import tensors_in

# Operators that do the work of one that torch has a formula for, with the same first arguments.
SAME_AS = {
    "_int_mm": "mm",
    "_addmm_activation": "addmm",
    "addmm_": "addmm",
    "baddbmm_": "baddbmm",
    "_scaled_dot_product_flash_attention_for_cpu": "_scaled_dot_product_flash_attention",
    "_scaled_dot_product_flash_attention_for_cpu_backward": "_scaled_dot_product_flash_attention_backward",
    "_scaled_dot_product_fused_attention_overrideable": "_scaled_dot_product_flash_attention",
}
# A complex multiply-add is four real ones; torch's formulas count it as one.
PER_COMPLEX = 4
# Vector products: one multiply-add for each entry of this operand.
VECTOR_PRODUCTS = {"dot": 0, "vdot": 0, "mv": 0, "addmv": 1, "addmv_": 1}
# Products that are added to a first operand, which their formula does not have.
ADDED_TO = {"addbmm": "bmm", "addbmm_": "bmm"}
# Operators that do much work for which there is no formula: beside them, a sum of the others says little.
UNCOUNTED = (
    "_cdist",
    "_cslt",
    "_cudnn_",
    "_fft_",
    "_grouped_mm",
    "_linalg_",
    "_native_multi_head",
    "_pdist",
    "_scaled_",
    "_sparse_",
    "_thnn_",
    "_transformer_",
    "_trilinear",
    "_weight_int",
    "addr",
    "cholesky",
    "linalg_",
    "lu_",
    "miopen_",
    "mkldnn_",
    "ormqr",
    "triangular_solve",
)
LITTLE_WORK = frozenset({"linalg_vector_norm", "_linalg_check_errors"})


class Work:
    """Adds up the formulas of the operators that a call dispatches, and notes the type they compute in.

    `known` says whether there was a formula for everything that matters.
    """

    def __init__(self) -> None:
        self.flops: dict[str, int] = {}
        self.known = True
        self._by_dtype: dict[str, int] = {}

    def see(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        """Take in one operator."""
        formula = formulas().get(getattr(func, "_overloadpacket", None))
        name = name_of(func)
        if formula is None:
            self.known = self.known and _does_little(name)
            return
        if not all(_is_dense(tensor) for _, tensor in tensors_in([*args, *kwargs.values(), result])):
            # The formulas go by shape, and there is less work in it.
            self.known = False
            return
        dtype = computed_in(name, args)
        each = PER_COMPLEX if dtype.startswith("complex") else 1
        flops = each * int(formula(*args, **kwargs, out_val=result))
        self.flops[name] = self.flops.get(name, 0) + flops
        self._by_dtype[dtype] = self._by_dtype.get(dtype, 0) + flops

    @property
    def total(self) -> int | None:
        """All operations; None where they are not known."""
        return sum(self.flops.values()) if self.known else None

    @property
    def dtype(self) -> str:
        """The type that most of the work is done in; empty when there is no work."""
        return max(self._by_dtype, key=lambda dtype: self._by_dtype[dtype], default="")


def measure(
    prepared: Any, plan: Mapping[str, Any], device: Any
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """`flops` and `bytes.moved` of one call: what the operator was registered with, else what is seen."""
    del plan
    # Only an eager call is sure to go through the dispatcher; the work of another runtime is the same.
    source = prepared if prepared.reference is None else prepared.reference()
    flops, by_operator, dtype, moved, parts = _seen(source)
    metrics: list[dict[str, Any]] = []
    provenance: dict[str, Any] = {"method": "torch flop formulas", "operators": by_operator, "dtype": dtype}
    registered = _registered(prepared, "flops")
    if registered is not None:
        flops, provenance = registered, {"method": "registered with the operator", "dtype": dtype}
    elif prepared.reference is not None:
        provenance["counted_on"] = "eager"
    if flops:
        metrics.append(metric("flops", flops, "flop", "count", better="neither", provenance=provenance))
    provenance = {"method": "every byte once", **parts}
    registered = _registered(prepared, "bytes")
    if registered is not None:
        moved, provenance = registered, {"method": "registered with the operator"}
    if moved:
        metrics.append(metric("bytes.moved", moved, "B", "bytes", better="neither", provenance=provenance))
    return metrics, []


def _seen(source: Any) -> tuple[int | None, dict[str, int], str, int | None, dict[str, int]]:
    make_ready(source)
    work, traffic = Work(), Traffic(source.inputs)

    def watch(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        work.see(func, args, kwargs, result)
        traffic.see(func, args, kwargs, result)

    try:
        result = watched(source.once, watch, formulas().__contains__)
        # What a snippet leaves behind is in its variables, not in a result.
        moved = None if source.function is None else traffic.moved(result)
    finally:
        source.restore()
    parts = {} if moved is None else {"read_bytes": moved[0], "written_bytes": moved[1]}
    dtype = work.dtype or _dtype_of(source.inputs)
    return work.total, work.flops, dtype, sum(moved) if moved is not None else None, parts


def _registered(prepared: Any, field: str) -> int | None:
    """What the operator's own `flops` or `bytes` says of a forward call; None without one."""
    if prepared.direction != "forward":
        return None
    args, kwargs = prepared.arguments
    said = amount(getattr(prepared.operator, field, None), args, kwargs)
    return None if said is None else round(said)


def count(call: Callable[[], Any]) -> dict[str, int]:
    """Flops of everything that the call dispatches, by operator."""
    work = Work()
    watched(call, work.see, formulas().__contains__)
    return work.flops


def _does_little(name: str) -> bool:
    library, _, operator = name.partition(".")
    if operator in LITTLE_WORK:
        return True
    return library in ("aten", "prims") and not operator.startswith(UNCOUNTED)


def _is_dense(tensor: Any) -> bool:
    import torch

    return tensor.layout in (torch.strided, torch._mkldnn) and not tensor.is_nested


def computed_in(name: str, args: tuple[Any, ...]) -> str:
    """The dtype of an operator's numbers; `tfloat32` where a GPU is allowed to shorten float32 to that."""
    import torch

    tensor = next((value for value in args if isinstance(value, torch.Tensor)), None)
    if tensor is None:
        return ""
    if tensor.dtype == torch.float32 and tensor.device.type == "cuda":
        convolves = "convolution" in name
        backend = torch.backends.cudnn if convolves else torch.backends.cuda.matmul
        if backend.allow_tf32:
            return "tfloat32"
    return str(tensor.dtype).removeprefix("torch.")


def _dtype_of(tensors: tuple[Any, ...]) -> str:
    """The dtype of the first tensor of numbers with a point, for operators that are not torch's own."""
    dtypes = [tensor.dtype for tensor in tensors]
    first = next((dtype for dtype in dtypes if dtype.is_floating_point), dtypes[0] if dtypes else "")
    return str(first).removeprefix("torch.")


@lru_cache(maxsize=1)
def formulas() -> Mapping[Any, Callable[..., int]]:
    """Flop formulas by operator packet: torch's, and those of operators that do the same work."""
    import torch
    from torch.utils.flop_counter import flop_registry

    aten = torch.ops.aten
    known: dict[Any, Callable[..., int]] = dict(flop_registry)
    for name, same in SAME_AS.items():
        if hasattr(aten, name) and hasattr(aten, same) and getattr(aten, same) in known:
            known.setdefault(getattr(aten, name), known[getattr(aten, same)])
    for name, same in ADDED_TO.items():
        known.setdefault(getattr(aten, name), _without_first(known[getattr(aten, same)]))
    for name, operand in VECTOR_PRODUCTS.items():
        known.setdefault(getattr(aten, name), _twice_entries_of(operand))
    return known


def _without_first(formula: Callable[..., int]) -> Callable[..., int]:
    def flops(*args: Any, out_val: Any = None, **kwargs: Any) -> int:
        return formula(*args[1:], out_val=out_val)

    return flops


def _twice_entries_of(operand: int) -> Callable[..., int]:
    def flops(*args: Any, **kwargs: Any) -> int:
        return 2 * int(args[operand].numel())

    return flops
