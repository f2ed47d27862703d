"""Floating-point operations: torch's own counter, formulas by hand, and what operators say of themselves."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from opbench.cases.builders import call, snippet, tensor
from opbench.cases.model import Case
from opbench.worker.probes.flops import count
from opbench.worker.registry import Operator

from .makers import name_of, of_function, prepared, probed, sweep, values

MM = 2 * 8 * 16 * 4
OPERANDS = [tensor(8, 16), tensor(16, 4)]
CONV = 2 * 2 * 4 * 8 * 3 * 3 * 16 * 16
IMAGE = [tensor(2, 8, 16, 16), tensor(4, 8, 3, 3)]
# Q K^T and the product with V, for 2 batches of 4 heads.
SDPA = 2 * 4 * (2 * 32 * 16 * 32 + 2 * 32 * 32 * 16)

BY_HAND: list[tuple[Case, int]] = [
    (call("torch.mm", *OPERANDS), MM),
    (call("torch.mm", *OPERANDS, direction="backward"), 2 * MM),
    (call("torch.mm", *OPERANDS, direction="forward_backward"), 3 * MM),
    (call("torch.bmm", tensor(3, 8, 16), tensor(3, 16, 4)), 3 * MM),
    (call("torch.matmul", tensor(3, 5, 8, 16), tensor(16, 4)), 15 * MM),
    (call("torch.addmm", tensor(4), *OPERANDS), MM),
    (call("torch.nn.functional.linear", tensor(8, 16), tensor(4, 16), tensor(4)), MM),
    (call("torch.nn.Linear", tensor(8, 16), build=[16, 4], direction="backward"), 2 * MM),
    (call("torch.mv", tensor(8, 16), tensor(16)), 2 * 8 * 16),
    (call("torch.dot", tensor(100), tensor(100)), 200),
    (call("torch.addbmm", tensor(8, 4), tensor(3, 8, 16), tensor(3, 16, 4)), 3 * MM),
    (call("torch.Tensor.baddbmm_", tensor(3, 8, 4), tensor(3, 8, 16), tensor(3, 16, 4)), 3 * MM),
    (call("torch.Tensor.addmv_", tensor(8), tensor(8, 16), tensor(16)), 2 * 8 * 16),
    (call("torch.einsum", "ij,jk->ik", [*OPERANDS]), MM),
    (call("torch.nn.functional.conv2d", *IMAGE, kwargs={"padding": 1}), CONV),
    (call("torch.nn.functional.conv2d", *IMAGE, kwargs={"padding": 1}, direction="backward"), 2 * CONV),
    (call("torch.nn.functional.scaled_dot_product_attention", *[tensor(2, 4, 32, 16)] * 3), SDPA),
    # Four real multiply-adds for a complex one.
    (call("torch.mm", *(tensor(*o.shape, dtype="complex64") for o in OPERANDS)), 4 * MM),
]


@pytest.mark.parametrize(("case", "expected"), BY_HAND, ids=[name_of(case) for case, _ in BY_HAND])
def test_formulas_by_hand(case: Case, expected: int) -> None:
    assert values("flops", case)["flops"] == expected


@pytest.mark.parametrize("case", sweep(), ids=name_of)
def test_the_counter_of_torch_counts_the_same(case: Case) -> None:
    made = prepared(case)
    made.restore()
    with FlopCounterMode(display=False) as counter:
        made.once()
    expected = counter.get_total_flops()
    found = values("flops", case).get("flops", 0)
    if case.op == "torch.linalg.solve":
        # Torch counts the products in its backward alone, without what solves the systems.
        assert found == 0
    elif case.op.endswith("attention"):
        # It has no formula for the kernel of the CPU, which does what others do that it has one for.
        assert found > expected
    else:
        assert found == expected


@pytest.mark.parametrize(
    "case",
    [
        call("torch.add", tensor(8), tensor(8)),
        call("torch.nn.functional.gelu", tensor(8)),
        call("torch.fft.fft", tensor(64)),
        call("torch.linalg.solve", tensor(4, 4), tensor(4, 4)),
        call("torch.mm", tensor(0, 4), tensor(4, 4)),
    ],
    ids=name_of,
)
def test_what_is_not_known_has_no_number(case: Case) -> None:
    assert "flops" not in values("flops", case)


@pytest.mark.parametrize(
    "stmt",
    [
        "a @ a; torch.linalg.inv(a)",
        "a @ a; torch.nn.functional.bilinear(a, a, torch.ones(2, 8, 8))",
        "a @ a; torch.cdist(a, a)",
        "a @ a.to_sparse()",
    ],
)
def test_a_part_of_the_work_is_no_number_either(stmt: str) -> None:
    assert "flops" not in values("flops", snippet(stmt, setup="import torch; a = torch.eye(8)"))


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16", "float16", "complex64"])
def test_the_type_of_the_work_goes_with_it(dtype: str) -> None:
    case = call("torch.mm", tensor(8, 16, dtype=dtype), tensor(16, 4, dtype=dtype))
    provenance = probed("flops", case)[0]["flops"]["provenance"]
    assert provenance["dtype"] == dtype
    assert list(provenance["operators"]) == ["aten.mm"]


def test_a_snippet_counts_all_that_it_does_but_its_set_up() -> None:
    case = snippet(
        "y = a @ b; z = y @ b.t()", setup="import torch; a = torch.ones(8, 16); b = torch.ones(16, 4); a @ b"
    )
    assert values("flops", case)["flops"] == 2 * MM


def test_an_operator_is_believed_for_its_own_forward_call() -> None:
    made = prepared(call("torch.add", tensor(8), tensor(8)))
    made.operator = Operator("mine", "custom", torch.add, flops=lambda a, b: 3 * a.numel(), bytes=77)
    metrics, _ = probed("flops", made)
    assert metrics["flops"]["value"] == 24
    assert metrics["flops"]["provenance"]["method"] == "registered with the operator"
    assert metrics["bytes.moved"]["value"] == 77
    made.direction = "backward"
    assert "flops" not in values("flops", made)


def test_a_count_that_is_none_is_an_error_not_a_number() -> None:
    made = prepared(call("torch.add", tensor(8), tensor(8)))
    for wrong in (lambda a, b: -1, lambda a, b: float("nan"), lambda a, b: "many"):
        made.operator = Operator("mine", "custom", torch.add, flops=wrong)
        with pytest.raises((TypeError, ValueError)):
            probed("flops", made)


def test_counting_leaves_operands_as_they_were() -> None:
    made = prepared(call("torch.Tensor.addmm_", tensor(8, 4), *OPERANDS))
    before = made.arguments[0][0].clone()
    assert values("flops", made)["flops"] == MM
    assert torch.equal(made.arguments[0][0], before)


def test_work_under_inference_mode_is_seen_too() -> None:
    left, right = torch.ones(2, 8, 16), torch.ones(16, 4)

    def inference() -> Any:
        with torch.inference_mode():
            return torch.matmul(left, right)

    assert count(inference) == {"aten.mm": 2 * MM}
    assert values("flops", of_function(inference, (left, right)))["flops"] == 2 * MM
