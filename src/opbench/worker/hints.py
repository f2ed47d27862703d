"""What to do about errors of a framework that do not say so themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_BOUNDS = re.compile(r"out of (range|bounds)|non-negative|offsets\[0\] has to be 0|at least 0", re.IGNORECASE)
_PROBABILITY = re.compile(r"probability tensor|p_in|between 0 and 1", re.IGNORECASE)
_DEFINITE = re.compile(r"positive.definite", re.IGNORECASE)
_MIXED = re.compile(
    r"same dtype|match weight dtype|should be the same|expected scalar type|mixed dtype", re.IGNORECASE
)
_CONSTRUCTOR = re.compile(r"__init__\(\) (missing|takes|got an unexpected)")


def with_hint(reason: str, case: Mapping[str, Any]) -> str:
    """The reason, and what to do about it where that is known."""
    hint = _hint(reason, case)
    return f"{reason.rstrip('.')}; {hint}" if hint else reason


def _hint(reason: str, case: Mapping[str, Any]) -> str:
    if _CONSTRUCTOR.search(reason):
        return "the arguments of the constructor are given in `build` (--build-arg, --build-kwarg)"
    if _MIXED.search(reason) and (dtype := _dtype_beside_float32(case)):
        return (
            "the parameters of a module are float32 unless its `build` says otherwise"
            f" (--build-kwarg dtype=torch.{dtype}); --dtype {dtype} changes them and the inputs"
        )
    if "a leaf Variable that requires grad is being used in an in-place" in reason:
        return (
            "the call writes to an argument: an operator of your own says so with"
            " @opbench.operator(..., mutates=(0,)), and gets fresh ones"
        )
    unfilled = [_dtype_of(spec) for spec in _tensors(case) if spec.get("fill") is None]
    if _BOUNDS.search(reason) and any("int" in dtype for dtype in unfilled):
        return (
            "whole numbers without a fill are any, also negative: give indices a bound"
            " (int64[8]:indices(100)), offsets a total (int64[4]:offsets(8))"
        )
    if _PROBABILITY.search(reason) and any("float" in dtype for dtype in unfilled):
        return "numbers without a fill are normal: there are float32[8]:uniform and float32[8]:probabilities"
    if _DEFINITE.search(reason) and unfilled:
        return "there is a fill for such matrices: float32[8,8]:positive_definite"
    return ""


def _dtype_beside_float32(case: Mapping[str, Any]) -> str:
    """What the inputs of a module are, if they are not float32 as its parameters are."""
    build = case.get("build")
    if build is None or "dtype" in build or "dtype" in build.get("kwargs", {}):
        return ""
    dtypes = map(_dtype_of, _tensors(case))
    return next((name for name in dtypes if "float" in name and name != "float32"), "")


def _dtype_of(spec: Mapping[str, Any]) -> str:
    return str(spec.get("dtype", "float32"))


def _tensors(case: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    pending: list[Any] = [*case.get("args", ()), *case.get("kwargs", {}).values()]
    while pending:
        spec = pending.pop()
        if spec["type"] == "tensor":
            yield spec
        elif spec["type"] in ("list", "tuple"):
            pending += spec.get("value", ())
        elif spec["type"] == "dict":
            pending += spec.get("value", {}).values()
