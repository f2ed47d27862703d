"""The runtime `compile`: what torch.compile makes of an operator is timed, and what it leaves alone told."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch._dynamo.utils import counters

import opbench
from opbench.worker.devices import device_for
from opbench.worker.errors import Unsupported
from opbench.worker.materialize import Builder
from opbench.worker.resolve import resolve
from opbench.worker.runtimes import compiled, runtime_for

TENSOR = {"type": "tensor", "shape": [4]}


@pytest.fixture
def pretended(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A torch.compile that compiles nothing, says so, and counts the calls of what it gives."""
    calls: list[Any] = []

    def compile_nothing(function: Callable[..., Any], *, dynamic: bool) -> Callable[..., Any]:
        assert dynamic is False
        counters["stats"]["unique_graphs"] = 1

        def call(*args: Any, **kwargs: Any) -> Any:
            calls.append(args)
            return function(*args, **kwargs)

        return call

    monkeypatch.setattr(torch, "compile", compile_nothing)
    counters.clear()
    return calls


def prepared(op: str, *args: Any, **fields: Any) -> Any:
    case = {"op": op, "args": list(args), "runtime": "compile", **fields}
    builder = Builder(seed=0, work_id="test", device="cpu", direction=fields.get("direction", "forward"))
    return runtime_for("compile").prepare(case, builder, resolve(op, ()), device_for("cpu"))


def test_the_first_call_is_made_while_preparing(pretended: list[Any]) -> None:
    ready = prepared("torch.add", TENSOR, TENSOR)
    assert len(pretended) == 1
    assert ready.first_call_s > 0
    assert ready.provenance["graphs"] == 1


def test_the_reference_is_the_operator_as_it_is(pretended: list[Any]) -> None:
    ready = prepared("torch.add", TENSOR, TENSOR)
    pretended.clear()
    reference = ready.reference()
    assert torch.equal(reference.once(), ready.once())
    assert len(pretended) == 1
    assert reference.operator is not None


def test_operators_that_write_get_fresh_operands(pretended: list[Any]) -> None:
    ready = prepared("torch.Tensor.add_", TENSOR, TENSOR)
    assert ready.pool is not None
    assert torch.equal(ready.call(), ready.call())


def test_what_torch_runs_as_it_is_is_unsupported(
    pretended: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)
    counters["graph_break"]["data-dependent\n  output"] = 1
    with pytest.raises(Unsupported, match="nothing to compile in it: data-dependent output"):
        prepared("torch.nonzero", TENSOR)


def test_a_snippet_is_not_compiled() -> None:
    with pytest.raises(Unsupported, match=r"call torch\.compile in its setup"):
        compiled.prepare({"stmt": "x"}, None, None, None)


def test_in_a_worker() -> None:
    if shutil.which(os.environ.get("CXX", "c++").split()[0]) is None:
        if os.environ.get("CI") == "true":
            pytest.fail("there is no C++ compiler")
        pytest.skip("inductor needs a C++ compiler")
    plan = opbench.Plan(samples=6, warmup_calls=1, calls_per_sample=1, check=True)
    tensor = opbench.tensor(32, 32)
    cases = [
        opbench.call("F.gelu", tensor, runtime="compile"),
        opbench.call("F.gelu", tensor, runtime="compile", direction="backward"),
        opbench.call("torch.nonzero", opbench.tensor(8), runtime="compile"),
    ]
    forward, backward, data_dependent = opbench.run(cases, plan)
    for row in (forward, backward):
        assert row.status == "ok", row.reason
        assert not {warning.code for warning in row.warnings} & {"check_unknown", "left_processes"}
        error = row.metric("check.error")
        assert error is not None
        assert error.value is not None
        assert error.value < 1e-4
    first, time = forward.metric("time.first_call"), forward.metric("time")
    assert first is not None
    assert time is not None
    assert first.value > 20 * time.value
    assert time.provenance["graphs"] == 1
    assert data_dependent.status == "unsupported"
    assert "nothing to compile" in data_dependent.reason
