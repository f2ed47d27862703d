"""The check against float64: wrong operators are found, right ones are left in peace."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
import torch

from opbench.cases.builders import call, snippet, tensor
from opbench.cases.identity import case_document, work_id
from opbench.cases.model import Case
from opbench.worker.devices import Cpu
from opbench.worker.errors import Unsupported
from opbench.worker.materialize import Builder
from opbench.worker.registry import Operator
from opbench.worker.runtimes import eager
from opbench.worker.runtimes.widened import Widened

from .makers import name_of, prepared, probed, sweep


def registered(function: Callable[..., Any], case: Case, **fields: Any) -> Any:
    """A case of an operator that somebody registered."""
    made = prepared(case)
    args, kwargs = made.arguments
    operator = Operator("mine", "custom", function, **fields)
    return replace(
        made,
        once=lambda: function(*args, **kwargs),
        function=function,
        operator=operator,
    )


def narrow(value: torch.Tensor) -> bool:
    return value.dtype != torch.float64


@pytest.mark.parametrize("case", sweep(), ids=name_of)
def test_what_torch_computes_is_right(case: Case) -> None:
    metrics, warnings = probed("check", case)
    assert not warnings
    found = metrics["check.error"]
    assert found["value"] <= found["provenance"]["allowed"]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "float64", "complex64"])
@pytest.mark.parametrize("direction", ["forward", "backward"])
def test_every_precision_has_its_own_measure(dtype: str, direction: Any) -> None:
    operand = tensor(64, 64, dtype=dtype)
    metrics, warnings = probed("check", call("torch.mm", operand, operand, direction=direction))
    assert not warnings
    assert metrics["check.error"]["provenance"]["allowed"] < {"bfloat16": 0.5, "float16": 0.1}.get(
        dtype, 1e-4
    )


def test_a_product_in_half_precision_is_no_float32_product() -> None:
    def wrong(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
        return (a.half() @ b.half()).float() if narrow(a) else a @ b

    case = call("torch.mm", tensor(64, 64), tensor(64, 64))
    metrics, warnings = probed("check", registered(wrong, case))
    assert set(warnings) == {"wrong_result"}
    assert "rounding explains" in warnings["wrong_result"]
    assert metrics["check.error"]["value"] > 10 * metrics["check.error"]["provenance"]["allowed"]


UNARY: dict[str, tuple[Callable[[torch.Tensor], Any], str]] = {
    "one number is wrong": (lambda x: x.index_fill(0, torch.tensor([7]), 1.0) if narrow(x) else x, "differs"),
    "not a number": (lambda x: x / 0 * 0 if narrow(x) else x, "no number, at 100 places"),
    "infinite": (lambda x: x / 0 if narrow(x) else x, "infinite"),
    "shape": (lambda x: x[:50] if narrow(x) else x, r"shape \[50\] and not \[100\]"),
    "type": (lambda x: x > 0 if narrow(x) else x, "is bool where float64 gives float64"),
    "too many": (lambda x: (x, x) if narrow(x) else x, "gives 2 tensors"),
    "none": (lambda x: None if narrow(x) else x, "gives 0 tensors"),
    "not zero": (lambda x: x if narrow(x) else x * 0, "not zero everywhere"),
    "second output": (lambda x: (x, x + 1e-3 if narrow(x) else x), r"result\[1\] differs"),
    "cancellation": (
        lambda x: ((x + 1e4) ** 2).mean() - (x + 1e4).mean() ** 2 if narrow(x) else x.var(correction=0),
        "differs",
    ),
}


@pytest.mark.parametrize("what", UNARY)
def test_wrong_operators_are_found(what: str) -> None:
    function, said = UNARY[what]
    _, warnings = probed("check", registered(function, call("torch.neg", tensor(100))))
    assert set(warnings) == {"wrong_result"}
    assert re.search(said, warnings["wrong_result"])


def test_a_wrong_gradient_is_found() -> None:
    class Wrong(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: torch.Tensor) -> torch.Tensor:
            return x * 2

        @staticmethod
        def backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
            return gradient * (2.01 if narrow(gradient) else 2)

    case = call("torch.neg", tensor(100), direction="backward")
    operator = Operator("mine", "custom", Wrong.apply)
    builder = Builder(seed=0, work_id=work_id(case), device="cpu", direction="backward")
    made = eager.prepare(case_document(case), builder, operator, Cpu())
    made.operator = operator
    assert set(probed("check", made)[1]) == {"wrong_result"}


def test_a_result_too_large_for_the_type_is_infinite_and_right() -> None:
    def square(x: torch.Tensor) -> torch.Tensor:
        return (x * 1000) ** 2

    _, warnings = probed("check", registered(square, call("torch.neg", tensor(100, dtype="float16"))))
    assert not warnings


@pytest.mark.parametrize(
    ("case", "said"),
    [
        (call("torch.nn.functional.dropout", tensor(1000)), "up to chance"),
        (call("torch.rand_like", tensor(1000)), "up to chance"),
        (snippet("pass"), "snippet cannot be checked"),
    ],
)
def test_what_cannot_be_checked_is_refused(case: Case, said: str) -> None:
    with pytest.raises(Unsupported, match=said):
        probed("check", case)


def test_where_rounding_explains_everything_nothing_is_told() -> None:
    def chaotic(x: torch.Tensor) -> torch.Tensor:
        return torch.sin(x * 1e9)

    metrics, warnings = probed("check", registered(chaotic, call("torch.neg", tensor(1000))))
    assert set(warnings) == {"check_unknown"}
    assert not metrics


def test_choices_between_equals_are_not_called_wrong() -> None:
    def other_one(x: torch.Tensor) -> torch.Tensor:
        return x.argmax(1) ^ 1 if narrow(x) else x.argmax(1)

    made = registered(other_one, call("torch.neg", tensor(100, 4)))
    assert set(probed("check", made)[1]) == {"unlike_float64"}


def test_whole_numbers_must_agree_where_nothing_is_rounded() -> None:
    calls = []

    def fickle(x: torch.Tensor) -> torch.Tensor:
        calls.append(x)
        return x + (len(calls) <= 2)

    made = registered(fickle, call("torch.neg", tensor(100, dtype="int64")))
    assert set(probed("check", made)[1]) == {"wrong_result"}


def test_operands_are_as_before_afterwards() -> None:
    made = prepared(call("torch.Tensor.mul_", tensor(100), tensor(100)))
    before = [operand.clone() for operand in made.arguments[0]]
    _, warnings = probed("check", made)
    assert not warnings
    assert all(map(torch.equal, before, made.arguments[0]))


def test_a_module_keeps_its_parameters() -> None:
    made = prepared(call("torch.nn.LSTM", tensor(5, 2, 8), build=[8, 8], direction="forward_backward"))
    before = [parameter.clone() for parameter in made.function.parameters()]
    _, warnings = probed("check", made)
    assert not warnings
    assert all(parameter.dtype == torch.float32 for parameter in made.function.parameters())
    assert all(map(torch.equal, before, made.function.parameters()))


def test_wide_copies_have_the_same_numbers_and_share_the_same_memory() -> None:
    base = torch.randn(6, 8)
    given = {"a": base, "views": [base.t()[2:], base[:, ::2]], "same": (base, torch.float16, 3, None)}
    copied = Widened().of(given)
    assert copied["same"][0] is copied["a"]
    assert copied["same"][1:] == (torch.float64, 3, None)
    for old, new in zip([base, *given["views"]], [copied["a"], *copied["views"]], strict=True):
        assert new.dtype == torch.float64
        assert new.stride() == old.stride()
        assert torch.equal(new, old.double())
    copied["a"].zero_()
    assert not copied["views"][0].any()
    assert base.any()


def test_memory_that_is_shared_as_two_types_cannot_be_widened() -> None:
    base = torch.randn(8)
    with pytest.raises(Unsupported, match="share memory"):
        Widened().of([base, base.view(torch.int32)])


def test_nudged_copies_are_one_rounding_away() -> None:
    base = torch.randn(1000)
    shift = (Widened(nudge=True).of(base) / base.double() - 1).abs()
    assert shift.max() == pytest.approx(torch.finfo(torch.float32).eps / 2)
    assert shift.min() == pytest.approx(torch.finfo(torch.float32).eps / 2)
