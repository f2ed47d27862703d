"""From a tensor as a person writes it, through the checks, to the tensor that a worker builds."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch

from opbench.cases.check import check_case
from opbench.cases.identity import case_document, work_id
from opbench.cases.model import Case
from opbench.worker.materialize import Builder


def checked(*args: Any, direction: str = "forward", folder: Path | None = None, **kwargs: Any) -> Case:
    """The case of a call with these arguments."""
    document = {"op": "torch.abs", "args": list(args), "kwargs": kwargs, "direction": direction}
    return check_case(document, folder=None if folder is None else str(folder))


def built(case: Case, *, seed: int = 0, folder: Path | None = None) -> tuple[list[Any], dict[str, Any]]:
    """The arguments of a case."""
    builder = Builder(
        seed=seed,
        work_id=work_id(case),
        device=case.device,
        direction=case.direction,
        folder="" if folder is None else str(folder),
    )
    document = case_document(case)
    return builder.arguments(document.get("args", []), document.get("kwargs", {}))


def tensor(
    shape: list[int],
    dtype: str = "float32",
    fill: Any = None,
    *,
    seed: int = 0,
    direction: str = "forward",
    folder: Path | None = None,
    **fields: Any,
) -> torch.Tensor:
    """The tensor of a document that the checks accept."""
    document = {"type": "tensor", "shape": shape, "dtype": dtype, "fill": fill, **fields}
    (result,), _ = built(checked(document, direction=direction, folder=folder), seed=seed, folder=folder)
    assert isinstance(result, torch.Tensor)
    return result


def drawn(
    shape: list[int], dtype: str, fill: Any, *, seed: int = 0, path: str = "args[0]", **fields: Any
) -> torch.Tensor:
    """A tensor of a worker's own request: canonical already, and with a fixed work id."""
    spec = {"type": "tensor", "shape": shape, "dtype": dtype, **fields}
    if fill is not None:
        spec["fill"] = {"kind": fill} if isinstance(fill, str) else fill
    builder = Builder(seed=seed, work_id="0123456789abcdef", device="cpu", direction="forward")
    result = builder.value(spec, path)
    assert isinstance(result, torch.Tensor)
    return result
