"""Operators as a person would call them, and snippets as they would be written around a loop."""

from __future__ import annotations

import linecache
from itertools import repeat
from time import perf_counter_ns
from typing import Any

import pytest
import torch

from opbench.worker.errors import Unsupported
from opbench.worker.probes.loop import compiled
from opbench.worker.registry import Operator
from opbench.worker.runtimes import runtime_for, snippet
from opbench.worker.runtimes.call import Call
from opbench.worker.runtimes.outputs import tensors_in
from opbench.worker.runtimes.snippet import place_of

from .cases import integer, number, prepared, run_block, tensor


def test_the_result_is_that_of_the_call() -> None:
    found = prepared("torch.addmm", tensor(5), tensor(3, 4), tensor(4, 5), kwargs={"beta": number(0.5)})
    (bias, left, right), kwargs = found.arguments
    torch.testing.assert_close(found.call(), 0.5 * bias + left @ right)
    assert kwargs == {"beta": 0.5}


def test_a_method_and_its_keywords_are_called_with_their_names() -> None:
    source, names = Call(max, (1, 2), {"key": abs, "from": 3, "__debug__": 1}).source()
    assert source == "f(a0, a1, key=k0, **{'from': k1}, **{'__debug__': k2})"
    assert names == {"f": max, "a0": 1, "a1": 2, "k0": abs, "k1": 3, "k2": 1}


def test_a_keyword_that_python_cannot_write_is_passed() -> None:
    seen: list[dict[str, Any]] = []
    op = Operator("my.op", "custom", lambda **kwargs: seen.append(kwargs))
    found = prepared(op, kwargs={"from": integer(1), "naïve": integer(2)})
    run_block(found, 1)
    assert seen == [{"from": 1, "naïve": 2}]


def test_forward_records_no_graph_unless_an_argument_wants_a_gradient() -> None:
    assert not prepared("torch.exp", tensor(3)).call().requires_grad
    assert prepared("torch.exp", tensor(3, requires_grad=True)).call().requires_grad


def test_a_module_is_built_once_with_the_same_numbers_for_the_same_seed() -> None:
    build = {"args": [integer(3), integer(4)]}

    def weight() -> torch.Tensor:
        torch.default_generator.manual_seed(5)
        found = prepared("torch.nn.Linear", tensor(2, 3, dtype="float32"), build=build)
        assert found.function is found.body.names["f"]
        weight: torch.Tensor = found.function.weight
        return weight

    assert torch.equal(weight(), weight())


def test_a_module_has_the_dtype_that_its_build_says() -> None:
    build = {"args": [integer(3)], "dtype": "bfloat16"}
    found = prepared("torch.nn.BatchNorm1d", tensor(4, 3, dtype="bfloat16"), build=build)
    assert found.call().dtype == found.function.weight.dtype == found.function.running_mean.dtype
    assert found.function.weight.dtype == torch.bfloat16
    assert found.function.num_batches_tracked.dtype == torch.int64


def test_what_cannot_be_converted_has_no_dtype() -> None:
    class Adder:
        def __call__(self, x: torch.Tensor) -> torch.Tensor:
            return x + 1

    op = Operator("my.Adder", "module", Adder)
    assert prepared(op, tensor(3)).call().dtype == torch.float64
    with pytest.raises(Unsupported, match=r"Adder has no `to` that could make it bfloat16"):
        prepared(op, tensor(3), build={"dtype": "bfloat16"})


def test_parameters_and_buffers_of_a_module_are_inputs_of_it() -> None:
    found = prepared("torch.nn.BatchNorm1d", tensor(4, 3, dtype="float32"), build={"args": [integer(3)]})
    state = {id(value) for value in [*found.function.parameters(), *found.function.buffers()]}
    assert state < {id(value) for value in found.inputs}
    assert len(found.inputs) == 6


def test_a_tensor_given_twice_is_one_input() -> None:
    op = Operator("my.op", "custom", torch.add, setup=lambda x: (x, x))
    assert len(prepared(op, tensor(3)).inputs) == 1


def test_what_a_hook_makes_wants_a_gradient_where_the_argument_did() -> None:
    op = Operator("my.op", "custom", torch.mul, fill=lambda x, y: (x + 1, y.clone()))
    found = prepared(op, tensor(3), tensor(3, requires_grad=False), direction="backward")
    assert [value.requires_grad for value in found.arguments[0]] == [True, False]
    assert len(found.call()) == 1


def test_a_runtime_that_is_not_there_is_named() -> None:
    with pytest.raises(Unsupported, match="no runtime 'abacus'; there is compile, eager"):
        runtime_for("abacus")


def test_tensors_are_found_in_whatever_an_operator_returns() -> None:
    from dataclasses import dataclass

    @dataclass
    class Pair:
        left: Any
        right: Any

    one, two = torch.zeros(1), torch.ones(1)
    found = tensors_in([one, (3, {"x": Pair(two, None), 4: one}), "text"])
    assert [path for path, _ in found] == ["[0]", "[1][1]['x'].left", "[1][1][4]"]
    endless: list[Any] = []
    endless.append(endless)
    assert tensors_in(endless) == []


# Snippets


def counted(**case: str) -> tuple[Any, list[Any]]:
    """A prepared snippet whose code can call `seen`."""
    seen: list[Any] = []
    found = snippet.prepare({"global_setup": "", **case})
    assert found.body.globals is not None
    found.body.globals["seen"] = seen.append
    return found, seen


def test_set_up_runs_once_in_front_of_the_loop_and_the_statement_in_it() -> None:
    found, seen = counted(setup="x = 1\nseen('setup')", stmt="x += 1\nseen(x)")
    loop = compiled(found.body, perf_counter_ns)
    loop.send(repeat(None, 2))
    loop.send(repeat(None, 1))
    assert seen == ["setup", 2, 3, 4]


def test_global_set_up_runs_when_the_snippet_is_prepared_and_its_names_are_global() -> None:
    found = snippet.prepare(
        {"global_setup": "def twice(x):\n    return 2 * x\ny = []", "stmt": "y.append(twice(3))"}
    )
    assert found.body.globals is not None
    assert found.body.globals["y"] == []
    found.call()
    found.call()
    assert found.body.globals["y"] == [6, 6]


def test_torch_is_there_already() -> None:
    found, seen = counted(stmt="seen(torch.ones(2).sum().item())")
    found.call()
    assert seen == [2.0]


def test_indented_snippets_are_as_good() -> None:
    found, seen = counted(setup="\n    x = 4\n", stmt="\n    for i in range(2):\n        seen(x + i)\n    ")
    found.call()
    assert seen == [4, 5]


def test_an_empty_statement_is_a_statement() -> None:
    snippet.prepare({"stmt": "# nothing"}).call()


@pytest.mark.parametrize("part", ["stmt", "setup", "global_setup"])
@pytest.mark.parametrize("source", ["return 3", "yield", "x = (", "break", "await f()"])
def test_what_is_no_statement_of_its_own_is_refused(part: str, source: str) -> None:
    with pytest.raises(SyntaxError):
        snippet.prepare({"stmt": "pass", part: source})


@pytest.mark.parametrize(
    ("case", "place"),
    [
        ({"stmt": "x = 1\n1 / 0"}, "line 2 of stmt"),
        ({"stmt": "pass", "setup": "x = 1\n\n1 / 0"}, "line 3 of setup"),
        ({"stmt": "f()", "setup": "def f():\n    1 / 0"}, "line 2 of setup"),
        ({"stmt": "\nf()", "global_setup": "def f():\n\n    1 / 0"}, "line 3 of global_setup"),
        ({"stmt": "pass", "global_setup": "1 / 0"}, "line 1 of global_setup"),
    ],
)
def test_an_error_says_where_in_the_snippet_it_is_from(case: dict[str, str], place: str) -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        snippet.prepare(case).call()
    assert place_of(caught.value) == place


def test_an_error_from_elsewhere_has_no_place() -> None:
    with pytest.raises(ZeroDivisionError) as caught:
        _ = 1 / 0
    assert place_of(caught.value) == ""


def test_tracebacks_show_the_lines_of_a_snippet() -> None:
    snippet.prepare({"stmt": "answer = 42", "setup": "x = 1"})
    assert linecache.getline("<snippet>", 2) == "answer = 42"


@pytest.mark.parametrize("direction", ["backward", "forward_backward"])
def test_a_snippet_has_no_backward_of_its_own(direction: str) -> None:
    with pytest.raises(Unsupported, match="write it into the statement"):
        snippet.prepare({"stmt": "pass", "direction": direction})
