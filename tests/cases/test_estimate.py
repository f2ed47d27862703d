"""Estimates of memory, against what torch allocates; of time, against what a plan grants."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from opbench.cases.check import check_case
from opbench.cases.estimate import duration_s, estimate, tensor_bytes
from opbench.cases.plan import PRESETS, Plan
from opbench.cases.values import Tensor

from .documents import tensor

torch = pytest.importorskip("torch")


def made(document: Any) -> Tensor:
    value = check_case({"op": "my.op", "args": [document]}).args[0]
    assert isinstance(value, Tensor)
    return value


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "complex64", "bool", "int8", "int64"])
@pytest.mark.parametrize("shape", [(), (3,), (4, 5), (0, 7)])
def test_a_dense_tensor_has_the_bytes_torch_gives_it(dtype: str, shape: tuple[int, ...]) -> None:
    real = torch.zeros(shape, dtype=getattr(torch, dtype))
    assert tensor_bytes(made(tensor(*shape, dtype=dtype))) == real.untyped_storage().nbytes()


def test_strides_and_offsets_count() -> None:
    real = torch.zeros(100).as_strided((2, 3), (10, 2), 5)
    last = real.storage_offset() + sum((s - 1) * k for s, k in zip(real.shape, real.stride(), strict=True))
    assert tensor_bytes(made(tensor(2, 3, strides=[10, 2], storage_offset=5))) == (last + 1) * 4
    assert tensor_bytes(made(tensor(1000, 1000, strides=[0, 0]))) == 4
    assert tensor_bytes(made(tensor(2, 3, 4, 5, memory_format="channels_last"))) == 2 * 3 * 4 * 5 * 4


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr", "sparse_bsc"])
@pytest.mark.filterwarnings("ignore")
def test_a_sparse_tensor_has_about_the_bytes_torch_gives_it(layout: str) -> None:
    dense = torch.zeros(40, 60)
    blocked = layout in ("sparse_bsr", "sparse_bsc")
    block = (4, 5) if blocked else None
    fields: dict[str, Any] = {"layout": layout, "density": 0.25} | (
        {"block_shape": [4, 5]} if blocked else {}
    )
    if blocked:
        dense[:20, :30] = 1
    else:
        dense.view(-1)[::4] = 1
    real = dense.to_sparse(layout=getattr(torch, layout), blocksize=block)
    if layout == "sparse_coo":
        parts = (real.indices(), real.values())
    elif layout in ("sparse_csr", "sparse_bsr"):
        parts = (real.crow_indices(), real.col_indices(), real.values())
    else:
        parts = (real.ccol_indices(), real.row_indices(), real.values())
    held = sum(part.numel() * part.element_size() for part in parts)
    # Pointers are of rows of blocks, not of rows.
    assert held <= tensor_bytes(made(tensor(40, 60, **fields))) <= held * 1.5


def test_a_case_needs_what_all_its_tensors_need() -> None:
    case = check_case(
        {
            "op": "my.Op",
            "build": [tensor(10)],
            "args": [[tensor(20)], 3],
            "kwargs": {"x": tensor(30, dtype="int8")},
        }
    )
    found = estimate(case, Plan())
    assert found.input_bytes == 40 + 80 + 30
    assert found.duration_s == duration_s(Plan())


def test_a_longer_plan_takes_longer() -> None:
    assert duration_s(PRESETS["quick"]) < duration_s(PRESETS["default"]) < duration_s(PRESETS["rigorous"])
    default = Plan()
    assert default.budget_s < duration_s(default) <= default.budget_s + default.warmup_s + 0.5
    short = msgspec.structs.replace(default, timeout_s=0.5)
    assert duration_s(short) == 0.5
    counted = msgspec.structs.replace(default, samples=10, warmup_calls=0)
    assert duration_s(counted) < duration_s(default)
