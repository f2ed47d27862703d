"""Registering operators of one's own, and what is answered to mistakes."""

from __future__ import annotations

import math
import random
import subprocess
import sys
from contextlib import suppress
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import opbench
from opbench.worker.registry import Operator, all_or_nothing, amount, hooked_arguments, registered
from opbench.worker.resolve import operator_names, resolve

pytestmark = pytest.mark.usefixtures("empty_registry")


def double(x: Any) -> Any:
    return x * 2


def test_a_registered_function_resolves_by_its_name_and_stays_what_it_was() -> None:
    assert opbench.operator("my.double")(double) is double
    found = resolve("my.double")
    assert (found.name, found.kind, found.function, found.parameters) == (
        "my.double",
        "custom",
        double,
        ("x",),
    )
    assert operator_names()["registered"] == ["my.double"]


def test_registering_takes_five_lines() -> None:
    lines = ["import opbench", "", "@opbench.operator('my.op')", "def op(x):", "    return x"]
    space: dict[str, Any] = {}
    exec("\n".join(lines), space)
    assert resolve("my.op").function is space["op"]


def test_everything_that_is_said_about_an_operator_is_kept() -> None:
    @opbench.operator(
        *("my.saxpy",),
        flops=lambda x, y: 2 * x.numel(),
        bytes=64,
        category="pointwise",
        tags=["mine", "fast"],
        mutates=("y",),
    )
    def saxpy(x: Any, y: Any) -> Any:
        return y.add_(x)

    found = registered()["my.saxpy"]
    assert (found.category, found.tags, found.mutates, found.bytes) == (
        *("pointwise", ("mine", "fast"), ("y",), 64),
    )
    assert amount(found.flops, [torch.ones(5), None], {}) == 10
    assert amount(found.bytes, [], {}) == 64
    assert amount(None, [], {}) is None


def test_a_module_class_is_built_before_it_is_called() -> None:
    @opbench.operator("my.Layer")
    class Layer(torch.nn.Module):
        def forward(self, x: Any, scale: float) -> Any:
            return x * scale

    found = resolve("my.Layer")
    assert (found.kind, found.function, found.parameters) == ("module", Layer, ("x", "scale"))


def test_one_tag_and_one_position_need_no_list() -> None:
    opbench.operator("my.one", tags="solo", mutates=0)(double)
    opbench.operator("my.two", mutates="x")(double)
    assert registered()["my.one"].tags == ("solo",)
    assert registered()["my.one"].mutates == (0,)
    assert registered()["my.two"].mutates == ("x",)


def test_a_name_can_be_had_once_and_the_first_place_is_told() -> None:
    opbench.operator("my.double")(double)
    with pytest.raises(
        ValueError, match=r"'my.double' is registered already, by .*test_registry.py, line \d+"
    ):
        opbench.operator("my.double")(math.sqrt)


@pytest.mark.parametrize(
    "name", ["torch", "torch.mm", "torch.my.op", "aten.add", "F.gelu", "nn.Linear", "Tensor.x"]
)
def test_names_of_torch_cannot_be_had(name: str) -> None:
    with pytest.raises(ValueError, match="belong to torch; choose another"):
        opbench.operator(name)


@pytest.mark.parametrize(
    "name", ["", "my op", "my..op", ".my", "my.", "my-op", "1st", "ünicode", "a" * 201, "my.op\n"]
)
def test_names_are_dotted_identifiers(name: str) -> None:
    with pytest.raises(ValueError, match=r"dotted identifiers such as 'my\.scale'"):
        opbench.operator(name)


@given(st.text(max_size=20))
def test_whatever_text_is_no_name_is_refused_with_it(name: str) -> None:
    try:
        opbench.operator(name)
    except ValueError as error:
        assert repr(name) in str(error)  # noqa: PT017


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"setup": 3}, "setup of operator 'my.op' must be a function, not 3"),
        ({"fill": "normal"}, "fill of operator 'my.op' must be a function"),
        ({"flops": "many"}, "flops of operator 'my.op' must be a number or a function"),
        ({"flops": True}, "flops of operator 'my.op' must be a number or a function"),
        ({"bytes": -1}, "must be finite and not negative"),
        ({"bytes": math.inf}, "must be finite and not negative"),
        ({"category": 3}, "category of operator 'my.op' must be text, not 3"),
        ({"tags": ["a", 3]}, "a tag of operator 'my.op' must be text, not 3"),
        ({"mutates": (True,)}, "positions and keywords, not True"),
        ({"mutates": (-1,)}, "positions and keywords, not -1"),
        ({"mutates": (1.5,)}, "positions and keywords, not 1.5"),
    ],
)
def test_mistakes_are_told_where_they_are_made(options: dict[str, Any], message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        opbench.operator("my.op", **options)
    assert registered() == {}


def test_the_parentheses_are_missed() -> None:
    with pytest.raises(TypeError, match=r"@operator needs a name: @operator\('my.name'\)"):
        opbench.operator(double)  # type: ignore[arg-type]


@pytest.mark.parametrize("thing", [3, "text", None, int, dict, torch.ones(1)])
def test_only_functions_and_module_classes_can_be_registered(thing: Any) -> None:
    with pytest.raises(TypeError, match=r"must be a function or an nn\.Module class"):
        opbench.operator("my.thing")(thing)


def test_half_a_file_of_operators_is_none() -> None:
    opbench.operator("my.first")(double)
    with suppress(ZeroDivisionError), all_or_nothing():
        opbench.operator("my.second")(double)
        raise ZeroDivisionError
    assert list(registered()) == ["my.first"]


def own(**options: Any) -> Operator:
    return Operator("my.op", "custom", double, **options)


def test_hooks_change_arguments_in_place_or_return_others() -> None:
    x, y = torch.ones(3), torch.ones(3)
    assert hooked_arguments(own(fill=lambda x, y: y.mul_(3)), [x], {"y": y}) == ([x], {"y": y})
    assert y.tolist() == [3, 3, 3]
    assert hooked_arguments(own(fill=lambda x: None), [x], {}) == ([x], {})
    assert hooked_arguments(own(fill=lambda xs: xs), [[x, y]], {}) == ([[x, y]], {})
    assert hooked_arguments(own(setup=lambda x: (x, 5)), [1], {}) == ([1, 5], {})
    assert hooked_arguments(own(setup=lambda x: [x]), [1], {}) == ([1], {})
    assert hooked_arguments(own(setup=lambda x: {"y": x}), [1], {}) == ([1], {"y": 1})


def test_set_up_comes_after_fill() -> None:
    both = own(fill=lambda x: (x + 1,), setup=lambda x: (x * 10,))
    assert hooked_arguments(both, [1], {}) == ([20], {})


def test_a_hook_that_returns_something_else_is_told_what_it_may_return() -> None:
    with pytest.raises(TypeError, match=r"setup of operator 'my.op' must return a tuple .* not Tensor"):
        hooked_arguments(own(setup=lambda x: x + 1), [torch.ones(1)], {})


def test_random_numbers_of_hooks_follow_the_seed() -> None:
    drawing = own(fill=lambda x: (torch.rand(3).tolist(), random.random()))
    first = hooked_arguments(drawing, [0], {}, seed=5)
    torch.rand(7)
    assert hooked_arguments(drawing, [0], {}, seed=5) == first
    assert hooked_arguments(drawing, [0], {}, seed=6) != first


def test_hooks_build_no_graph() -> None:
    weight = torch.ones(2, requires_grad=True)
    args, _ = hooked_arguments(own(setup=lambda w: (w * 2,)), [weight], {})
    assert not args[0].requires_grad


@pytest.mark.parametrize("count", [lambda: "many", lambda: None, lambda: -3, lambda: math.nan])
def test_counts_that_are_none_are_refused(count: Any) -> None:
    with pytest.raises((TypeError, ValueError), match="the count of bytes or flops must be"):
        amount(count, [], {})


def test_a_file_that_registers_operators_needs_no_framework() -> None:
    code = "import sys, opbench; opbench.operator('my.op')(len); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
