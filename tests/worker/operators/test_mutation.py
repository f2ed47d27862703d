"""Which arguments a call writes to: what opbench says, against what torch counts while the call is made."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.worker.mutation import mutated, mutates_by_name, versions
from opbench.worker.registry import Operator, parameters_by_signature
from opbench.worker.resolve import operator_names, resolve


def floats(*shape: int) -> torch.Tensor:
    return torch.rand(*shape)


def index(*shape: int, bound: int) -> torch.Tensor:
    return torch.randint(bound, shape)


CALLS: list[tuple[str, list[Any], dict[str, Any]]] = [
    ("torch.add", [floats(4), floats(4)], {}),
    ("torch.add", [floats(4), floats(4)], {"out": floats(4)}),
    ("torch.sort", [floats(4)], {"out": (floats(4), index(4, bound=3))}),
    ("torch.Tensor.add_", [floats(4), floats(4)], {}),
    ("torch.Tensor.__iadd__", [floats(4), floats(4)], {}),
    ("torch.Tensor.__setitem__", [floats(4), 0, floats(1)], {}),
    ("torch.Tensor.__getitem__", [floats(4), 0], {}),
    ("torch.Tensor.copy_", [floats(4), floats(4)], {}),
    ("torch.Tensor.index_put_", [floats(4), (index(2, bound=4),), floats(2)], {}),
    ("torch.index_put", [floats(4), (index(2, bound=4),), floats(2)], {}),
    ("torch.Tensor.scatter_add_", [floats(4), 0, index(4, bound=4), floats(4)], {}),
    ("torch.Tensor.normal_", [floats(4)], {}),
    ("torch.Tensor.t_", [floats(4, 3)], {}),
    ("torch.sigmoid_", [floats(4)], {}),
    ("torch.sigmoid_", [], {"input": floats(4)}),
    ("torch.Tensor.resize_", [floats(4), [2, 4]], {}),
    ("torch.nn.functional.relu", [floats(4)], {}),
    ("torch.nn.functional.relu", [floats(4)], {"inplace": True}),
    ("torch.nn.functional.relu", [floats(4), True], {}),
    ("torch.nn.functional.relu", [floats(4), False], {}),
    ("torch.nn.functional.relu", [], {"input": floats(4), "inplace": True}),
    ("torch.nn.functional.relu_", [floats(4)], {}),
    ("torch.nn.functional.dropout", [floats(4), 0.5, True, True], {}),
    ("torch.nn.functional.hardtanh", [floats(4), -1.0, 1.0, True], {}),
    ("torch.nn.functional.embedding", [index(4, bound=3), floats(3, 2)], {"max_norm": 0.1}),
    ("torch.nn.functional.embedding", [index(4, bound=3), floats(3, 2)], {}),
    ("torch.nn.functional.embedding", [index(4, bound=3), floats(3, 2), None, 0.1], {}),
    ("torch.nn.functional.layer_norm", [floats(2, 4), [4]], {}),
    ("torch.nn.init.kaiming_uniform_", [floats(4, 4)], {}),
    ("torch._foreach_add_", [[floats(4), floats(2)], 1.0], {}),
    ("torch._foreach_add", [[floats(4), floats(2)], 1.0], {}),
    ("torch._foreach_addcmul_", [[floats(4)], [floats(4)], [floats(4)]], {}),
    ("torch.ops.aten.add.Tensor", [floats(4), floats(4)], {}),
    ("torch.ops.aten.add", [floats(4), floats(4)], {}),
    ("torch.ops.aten.add_.Tensor", [floats(4), floats(4)], {}),
    ("torch.ops.aten.add_", [floats(4), floats(4)], {}),
    ("torch.ops.aten.add.out", [floats(4), floats(4)], {"out": floats(4)}),
    ("torch.ops.aten.add", [floats(4), floats(4)], {"out": floats(4)}),
    ("torch.ops.aten.mm.out", [floats(4, 4), floats(4, 4)], {"out": floats(4, 4)}),
    ("torch.ops.aten.sort.values", [floats(4)], {"values": floats(4), "indices": index(4, bound=3)}),
    ("torch.ops.aten.index_put_.default", [floats(4), [index(2, bound=4)], floats(2)], {}),
    ("torch.ops.aten._index_put_impl_", [floats(4), [index(2, bound=4)], floats(2)], {}),
    ("torch.ops.aten.copy_", [floats(4), floats(4)], {}),
]


def written(args: list[Any], kwargs: dict[str, Any], before: dict[int | str, list[int]]) -> set[int | str]:
    after = versions(args, kwargs)
    return {place for place, counts in before.items() if after[place] != counts}


@pytest.mark.parametrize(
    ("name", "args", "kwargs"), CALLS, ids=[f"{position}-{call[0]}" for position, call in enumerate(CALLS)]
)
def test_what_is_said_to_be_written_is_what_torch_counts_as_written(
    name: str, args: list[Any], kwargs: dict[str, Any]
) -> None:
    operator = resolve(name)
    said = mutated(operator, args, kwargs)
    before = versions(args, kwargs)
    shapes = [tuple(value.shape) for value in args if isinstance(value, torch.Tensor)]
    operator.function(*args, **kwargs)
    resized = shapes != [tuple(value.shape) for value in args if isinstance(value, torch.Tensor)]
    assert set(said) == (written(args, kwargs, before) or ({0} if resized else set()))


def test_a_fused_optimiser_step_writes_parameters_and_momenta() -> None:
    lists = [[floats(4)], [floats(4)], [floats(4)]]
    options = {"weight_decay": 0.0, "momentum": 0.9, "lr": 0.1, "dampening": 0.0}
    options |= {"nesterov": False, "maximize": False, "is_first_step": False}
    before = [tensors[0].clone() for tensors in lists]
    operator = resolve("torch._fused_sgd_")
    operator.function(*lists, **options)
    # Its schema allows it to write gradients too; torch does not count these writes.
    changed = {place for place, tensors in enumerate(lists) if not torch.equal(tensors[0], before[place])}
    assert changed == {0, 2}
    assert set(mutated(operator, lists, options)) == {0, 1, 2}


@pytest.mark.filterwarnings("ignore")
def test_every_in_place_method_of_one_tensor_is_known_to_write_it() -> None:
    tried = 0
    for name in operator_names()["torch.Tensor"]:
        base = name.rpartition(".")[2]
        # These take part in gradients, or give the tensor another memory or name, and write no numbers.
        if base in ("requires_grad_", "detach_", "rename_", "retain_grad", "sparse_resize_"):
            continue
        operator = resolve(name)
        value = torch.rand(4, 4) * 0.5
        before = versions([value], {})
        try:
            operator.function(value)
        except (RuntimeError, TypeError, IndexError, NotImplementedError, AssertionError, ValueError):
            continue
        tried += 1
        if written([value], {}, before):
            assert mutated(operator, [value], {}) == (0,), name
    assert tried > 250


def test_every_operator_of_aten_that_its_schema_says_writes_is_known_to() -> None:
    for schema in torch._C._jit_get_all_schemas():
        library, _, name = schema.name.partition("::")
        writes = [a for a in schema.arguments if a.alias_info is not None and a.alias_info.is_write]
        if library != "aten" or not writes or not name.endswith("_") or name.endswith("__"):
            continue
        full = f"torch.ops.aten.{name}.{schema.overload_name or 'default'}"
        if full not in operator_names()["torch.ops.aten"]:
            continue
        assert 0 in resolve(full).mutates, full


@pytest.mark.parametrize(
    ("name", "positions"),
    [
        *(("x.add_", (0,)), ("x.__iadd__", (0,)), ("x.__setitem__", (0,)), ("x.__imatmul__", ())),
        *(("x.add", ()), ("x.__add__", ()), ("x.__invert__", ()), ("x.__index__", ()), ("_private", ())),
    ],
)
def test_names_say_what_is_written(name: str, positions: tuple[int, ...]) -> None:
    assert mutates_by_name(name) == positions


def test_a_module_that_works_in_place_writes_its_input() -> None:
    operator = resolve("torch.nn.ReLU")
    assert mutated(operator, [floats(3)], {}, torch.nn.ReLU(inplace=True)) == (0,)
    assert mutated(operator, [floats(3)], {}, torch.nn.ReLU()) == ()
    assert mutated(operator, [], {"input": floats(3)}, torch.nn.ReLU(inplace=True)) == ("input",)


def scale(x: Any, y: Any = None, *, out: Any = None) -> Any:
    return x, y, out


@settings(max_examples=200, deadline=None)
@given(
    declared=st.lists(st.sampled_from([0, 1, 2, "x", "y", "out", "other"]), max_size=4),
    positional=st.integers(0, 2),
    named=st.lists(st.sampled_from(["x", "y", "out"]), unique=True, max_size=3),
)
def test_each_declared_argument_is_named_once_by_the_way_the_call_passes_it(
    declared: list[int | str], positional: int, named: list[str]
) -> None:
    names = ("x", "y")
    args = [floats(1) for _ in range(positional)]
    kwargs = {name: floats(1) for name in named if name not in names[:positional]}
    operator = Operator(
        "my.scale", "custom", scale, mutates=tuple(declared), parameters=parameters_by_signature(scale)
    )
    said = mutated(operator, args, kwargs)
    passed = {*range(len(args)), *kwargs}
    assert len(said) == len(set(said))
    assert set(said) <= passed
    for wanted in declared:
        place = wanted if isinstance(wanted, str) else names[wanted] if wanted < len(names) else None
        if place in kwargs:
            assert place in said
        elif place in names and names.index(place) < positional:
            assert names.index(place) in said


def test_writes_are_counted_in_whatever_holds_tensors() -> None:
    args = [[floats(2), {"inner": floats(2)}], 3, "text"]
    before = versions(args, {"key": floats(1)})
    args[0][1]["inner"].mul_(2)
    assert written(args, {"key": floats(1)}, before) == {0}
    with torch.inference_mode():
        assert versions([torch.ones(1)], {}) == {0: []}
