"""Backward and forward_backward beside torch's own `.backward()`."""

from __future__ import annotations

import copy
import sys
from typing import Any

import pytest
import torch

from opbench.worker.errors import Unsupported
from opbench.worker.registry import Operator
from opbench.worker.runtimes.outputs import distinct, tensors_in
from opbench.worker.runtimes.prepared import Prepared

from .cases import boolean, indices, integer, number, prepared, recorded_gradients, run_block, tensor

CALLS: dict[str, tuple[str, list[dict[str, Any]], dict[str, Any]]] = {
    "mm": ("torch.mm", [tensor(3, 4), tensor(4, 5)], {}),
    "the same tensor is an argument of none": ("torch.exp", [tensor(6)], {}),
    "broadcast": ("torch.mul", [tensor(3, 4), tensor(4)], {}),
    "softmax": ("torch.softmax", [tensor(3, 4), integer(-1)], {}),
    "keyword": ("torch.sum", [tensor(3, 4)], {"kwargs": {"dim": integer(1)}}),
    "scalar output": ("torch.nn.functional.mse_loss", [tensor(5), tensor(5)], {}),
    "integer argument beside": ("torch.nn.functional.embedding", [indices(7, below=4), tensor(4, 3)], {}),
    "several outputs": ("torch.linalg.qr", [tensor(4, 3)], {}),
    "a list of outputs": ("torch.unbind", [tensor(3, 4)], {}),
    "an output without gradient": ("torch.max", [tensor(3, 4), integer(1)], {}),
    "view": ("torch.Tensor.transpose", [tensor(3, 4), integer(0), integer(1)], {}),
    "complex": ("torch.mul", [tensor(3, dtype="complex128"), tensor(3, dtype="complex128")], {}),
    "strided": ("torch.mul", [tensor(3, 4, strides=[1, 3]), tensor(3, 4)], {}),
    "in place": ("torch.Tensor.mul_", [tensor(3, 4), tensor(3, 4)], {}),
    "in place, by keyword": (
        "torch.nn.functional.relu",
        [tensor(3, 4)],
        {"kwargs": {"inplace": boolean(True)}},
    ),
    "module": (
        "torch.nn.Linear",
        [tensor(2, 3)],
        {
            "build": {
                "args": [integer(3), integer(5)],
                "kwargs": {"dtype": {"type": "dtype", "value": "float64"}},
            }
        },
    ),
    "module with nested outputs": (
        "torch.nn.LSTM",
        [tensor(2, 1, 3)],
        {
            "build": {
                "args": [integer(3), integer(4)],
                "kwargs": {"dtype": {"type": "dtype", "value": "float64"}},
            }
        },
    ),
}


def by_torch(found: Prepared) -> list[Any]:
    """Gradients of the same call on copies, by `.backward()`; None where there is none."""
    args, kwargs = found.arguments
    leaves = found.body.names["inputs"]
    memo: dict[int, Any] = {}
    args, kwargs, function = copy.deepcopy((args, kwargs, found.function), memo)
    copies = [memo[id(leaf)] for leaf in leaves]
    # What an in-place operator writes to must not be a leaf.
    result = function(*[_unleafed(found, value) for value in args], **kwargs)
    outputs = [
        output for output in distinct([tensor for _, tensor in tensors_in(result)]) if output.requires_grad
    ]
    cotangents = found.body.names["cotangents"]
    assert len(outputs) == len(cotangents)
    sum(
        (output * cotangent.conj()).sum().real for output, cotangent in zip(outputs, cotangents, strict=True)
    ).backward()
    return [leaf.grad for leaf in copies]


def _unleafed(found: Prepared, value: Any) -> Any:
    return value.clone() if found.provenance.get("in_place_here") else value


@pytest.mark.parametrize("direction", ["backward", "forward_backward"])
@pytest.mark.parametrize("name", CALLS)
def test_gradients_are_those_of_torch(name: str, direction: str) -> None:
    op, args, more = CALLS[name]
    found = prepared(op, *args, direction=direction, **more)
    if name.startswith("in place"):
        found.provenance["in_place_here"] = True
    expected = by_torch(found)
    for gradients in [found.call(), found.call(), *recorded_gradients(found, 3)]:
        assert len(gradients) == len(expected)
        for gradient, other in zip(gradients, expected, strict=True):
            torch.testing.assert_close(gradient, other)


@pytest.mark.parametrize("direction", ["backward", "forward_backward"])
def test_no_gradient_is_accumulated_anywhere(direction: str) -> None:
    dtype = {"dtype": {"type": "dtype", "value": "float64"}}
    build = {"args": [integer(3), integer(5)], "kwargs": dtype}
    found = prepared("torch.nn.Linear", tensor(2, 3), build=build, direction=direction)
    run_block(found, 5)
    assert {id(parameter) for parameter in found.function.parameters()} <= {id(leaf) for leaf in found.inputs}
    assert all(leaf.grad is None for leaf in found.inputs)


def test_cotangents_are_random_fixed_and_the_same_for_both_directions() -> None:
    def cotangent(direction: str, seed: int = 0) -> Any:
        return prepared("torch.mm", tensor(4, 4), tensor(4, 4), direction=direction, seed=seed).body.names[
            "cotangents"
        ][0]

    found = cotangent("backward")
    assert found.unique().numel() == 16
    assert torch.equal(found, cotangent("backward"))
    assert torch.equal(found, cotangent("forward_backward"))
    assert not torch.equal(found, cotangent("backward", seed=1))
    assert not found.requires_grad


def test_cotangents_are_laid_out_like_the_output() -> None:
    found = prepared("torch.Tensor.transpose", tensor(3, 4), integer(0), integer(1), direction="backward")
    assert found.body.names["cotangents"][0].stride() == (1, 4)


def test_cotangents_have_the_type_of_the_output() -> None:
    found = prepared(
        "torch.mm", tensor(3, 3, dtype="bfloat16"), tensor(3, 3, dtype="bfloat16"), direction="backward"
    )
    assert found.body.names["cotangents"][0].dtype == torch.bfloat16


def test_only_what_wants_a_gradient_is_differentiated() -> None:
    found = prepared("torch.mul", tensor(3), tensor(3, requires_grad=False), direction="backward")
    assert len(found.body.names["inputs"]) == 1
    torch.testing.assert_close(found.call()[0], found.arguments[0][1] * found.body.names["cotangents"][0])


def test_an_argument_that_plays_no_part_has_no_gradient() -> None:
    first = Operator("my.first", "custom", lambda x, y: x * 2)
    found = prepared(first, tensor(3), tensor(3), direction="forward_backward")
    assert found.body.names["inputs"] == (found.arguments[0][0],)
    assert len(recorded_gradients(found, 2)) == 2


def test_an_input_that_is_no_leaf_is_where_the_gradient_ends() -> None:
    def doubled(x: Any) -> tuple[Any, ...]:
        with torch.enable_grad():
            return (x.detach().requires_grad_() * 2,)

    square = Operator("my.square", "custom", lambda x: x * x, setup=doubled)
    for direction in ("backward", "forward_backward"):
        found = prepared(square, tensor(3), direction=direction)
        x = found.arguments[0][0]
        assert not x.is_leaf
        for (gradient,) in recorded_gradients(found, 3):
            torch.testing.assert_close(gradient, 2 * x.detach() * found.body.names["cotangents"][0])


@pytest.mark.parametrize(
    ("op", "args", "text"),
    [
        ("torch.argmax", [tensor(5)], "depends on its inputs differentiably"),
        ("torch.add", [indices(5, below=3), indices(5, below=3)], "no argument and no parameter is a number"),
        ("torch.Tensor.size", [tensor(3)], "gives no tensor"),
        ("torch.mul", [tensor(3, requires_grad=False)] * 2, "no argument and no parameter"),
        ("torch.zeros_like", [tensor(3)], "differentiably"),
    ],
)
def test_where_there_is_no_backward_the_reason_is_said(op: str, args: list[Any], text: str) -> None:
    for direction in ("backward", "forward_backward"):
        with pytest.raises(Unsupported, match=text):
            prepared(op, *args, direction=direction)


def test_what_torch_has_no_derivative_for_is_held_fixed_and_named() -> None:
    one = tensor(3, fill={"kind": "uniform", "low": 1, "high": 2})
    found = prepared("torch.igamma", one, one, direction="backward")
    assert found.body.names["inputs"] == (found.arguments[0][1],)
    assert found.provenance["without_derivative"] == ["self"]
    assert "without_derivative" not in prepared("torch.mul", one, one, direction="backward").provenance


def test_what_was_asked_for_by_name_is_not_held_fixed() -> None:
    fill = {"kind": "uniform", "low": 1, "high": 2}
    asked = tensor(3, fill=fill, requires_grad=True)
    with pytest.raises(RuntimeError, match="not implemented"):
        prepared("torch.igamma", asked, tensor(3, fill=fill), direction="backward")


def test_the_first_call_is_timed_while_preparing() -> None:
    back = prepared("torch.mm", tensor(30, 30), tensor(30, 30), direction="backward")
    assert back.first_call_s is not None
    assert back.first_call_s > 0
    # Importing what torch needs for its first backward is no part of it.
    assert "torch.fx.experimental.symbolic_shapes" in sys.modules


def test_dropout_draws_anew_in_every_call() -> None:
    found = prepared("torch.nn.functional.dropout", tensor(1000), number(0.5), direction="forward_backward")
    first, second = recorded_gradients(found, 2)
    assert not torch.equal(first[0], second[0])
