"""The fuzzer: the same items for the same seed, each by itself, whatever else goes on."""

from __future__ import annotations

import itertools
import random
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import numpy
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import (
    BinaryOpFuzzer,
    FuzzedParameter,
    FuzzedTensor,
    Fuzzer,
    ParameterAlias,
    UnaryOpFuzzer,
    UnaryOpSparseFuzzer,
)


def small(seed: int | None = 0, **changes: Any) -> Fuzzer:
    """A fuzzer whose tensors are built in no time."""
    parameters = [
        FuzzedParameter("dim", distribution={1: 0.5, 2: 0.5}, strict=True),
        [FuzzedParameter(f"k{index}", 1, 64, "loguniform") for index in range(2)],
        FuzzedParameter("y0", distribution={ParameterAlias("k0"): 0.5, 1: 0.5}),
    ]
    tensors = [
        FuzzedTensor("x", ("k0", "k1"), ("k0", 1), dim_parameter="dim", max_elements=256),
        [FuzzedTensor("y", ("y0", "k1"), dim_parameter="dim", dtype="int64")],
    ]
    return Fuzzer(**({"parameters": parameters, "tensors": tensors, "seed": seed} | changes))


def same(first: Any, second: Any) -> bool:
    (tensors, properties, params), (others, other_properties, other_params) = first, second
    return (
        properties == other_properties
        and params == other_params
        and all(
            torch.equal(tensors[name], others[name]) and tensors[name].stride() == others[name].stride()
            for name in (*tensors, *others)
        )
    )


def test_take_gives_tensors_properties_and_parameters_as_torch_does() -> None:
    items = list(small().take(20))
    assert len(items) == 20
    for tensors, properties, params in items:
        assert list(params) == ["dim", "k0", "k1", "y0"]
        assert list(tensors) == list(properties) == ["x", "y"]
        for name, tensor in tensors.items():
            assert set(properties[name]) == {"numel", "order", "steps", "is_contiguous", "dtype"}
            assert properties[name]["numel"] == tensor.numel()
            assert properties[name]["is_contiguous"] == tensor.is_contiguous()
            assert properties[name]["dtype"] == str(tensor.dtype)
            assert (
                tensor.dim()
                == params["dim"]
                == len(properties[name]["order"])
                == len(properties[name]["steps"])
            )


def test_the_same_seed_gives_the_same_items_and_another_one_others() -> None:
    assert all(map(same, small(3).take(20), small(3).take(20)))
    assert not any(map(same, small(3).take(20), small(4).take(20)))


@given(st.integers(0, 10**12))
def test_an_item_needs_none_of_those_before_it(k: int) -> None:
    fuzzer = small(9)
    assert fuzzer.describe(k) == small(9).describe(k)
    if k < 20:
        assert same(next(itertools.islice(fuzzer.take(k + 1), k, None)), fuzzer.item(k))


def test_taking_twice_starts_again() -> None:
    fuzzer = small()
    first = fuzzer.take(5)
    next(first)
    assert all(map(same, small().take(5), fuzzer.take(5)))


def test_data_and_built_items_agree() -> None:
    fuzzer = small(2)
    for described, (tensors, properties, params) in zip(fuzzer.described(20), fuzzer.take(20), strict=True):
        assert described.params == params
        assert described.properties == properties
        for name, value in described.tensors.items():
            assert tuple(tensors[name].shape) == value.shape
            assert str(tensors[name].dtype) == f"torch.{value.dtype}"


def test_no_generator_is_disturbed_and_none_disturbs() -> None:
    torch.manual_seed(1)
    numpy.random.seed(1)
    random.seed(1)
    before = torch.get_rng_state(), str(numpy.random.get_state()), random.getstate()
    first = list(small(5).take(5))
    after = torch.get_rng_state(), str(numpy.random.get_state()), random.getstate()
    assert torch.equal(before[0], after[0])
    assert before[1:] == after[1:]
    torch.manual_seed(2)
    numpy.random.seed(2)
    assert all(map(same, first, small(5).take(5)))


def test_a_seed_is_drawn_and_kept_where_none_is_given() -> None:
    fuzzer = small(None)
    assert 0 <= fuzzer.seed < 2**32
    assert all(map(same, fuzzer.take(3), small(fuzzer.seed).take(3)))
    assert small(None).seed != fuzzer.seed or small(None).seed != fuzzer.seed


def test_another_parameter_or_tensor_changes_nothing_about_the_others() -> None:
    plain = small(4)
    more = small(
        4,
        parameters=[
            FuzzedParameter("before", 1, 9, "uniform"),
            *plain._parameters,
            FuzzedParameter("after", 1, 9, "uniform"),
        ],
        tensors=[FuzzedTensor("z", ("before",)), *plain._tensors],
    )
    for one, other in zip(plain.described(50), more.described(50), strict=True):
        assert one.params.items() <= other.params.items()
        assert one.drawn.items() <= other.drawn.items()
    assert torch.equal(plain.item(3)[0]["x"], more.item(3)[0]["x"])


def test_other_processes_draw_the_same() -> None:
    script = (
        "from opbench.sources.fuzzing import UnaryOpFuzzer; import sys;"
        "print(UnaryOpFuzzer(7).fingerprint()); assert 'torch' not in sys.modules"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == UnaryOpFuzzer(7).fingerprint()


def test_a_fingerprint_tells_streams_apart() -> None:
    prints = [small(0), small(1), UnaryOpFuzzer(0), UnaryOpFuzzer(0, dtype="float64"), BinaryOpFuzzer(0)]
    assert len({fuzzer.fingerprint() for fuzzer in prints}) == 5
    assert small(0).fingerprint() == small(0).fingerprint()
    assert small(0).fingerprint(5) != small(0).fingerprint(6)


# The stream is what saved seeds stand for. Where these change, words.STREAM_VERSION has to be raised.
GOLDEN: dict[Any, Any] = {
    (UnaryOpFuzzer, 0): ([((236, 36018),), ((16, 8192),), ((512, 32, 44),)], "a6771dc1adfdae94"),
    (UnaryOpFuzzer, 2024): ([((420, 21, 20),), ((125, 256, 76),), ((182, 3181),)], "a5a22e8570357916"),
    (BinaryOpFuzzer, 0): (
        [((236, 36018), (1, 36018)), ((16, 8192), (16, 8192)), ((512, 32, 44), (512, 32, 44))],
        "9ae9926e9bb9b9b7",
    ),
    (BinaryOpFuzzer, 2024): (
        [((4119, 21, 21), (4119, 21, 1)), ((93, 256, 65), (93, 256, 65)), ((182, 3181), (182, 3181))],
        "2f8076840b3de057",
    ),
    (UnaryOpSparseFuzzer, 0): ([((236, 36018),), ((32, 8192),), ((1048576,),)], "7cdb4f9be2e2e1ca"),
    (UnaryOpSparseFuzzer, 2024): ([((420, 21, 20),), ((362, 512),), ((3717, 8479),)], "c36a0457a0cf0715"),
}
NUMBERS = [20, 67, 89, 2]


def test_the_stream_is_what_it_always_was() -> None:
    for (make, seed), (sizes, fingerprint) in GOLDEN.items():
        fuzzer = make(seed)
        drawn = [tuple(tensor.size for tensor in item.drawn.values()) for item in fuzzer.described(3)]
        assert drawn == sizes
        assert fuzzer.fingerprint() == fingerprint
    assert small(0).item(0)[0]["y"].flatten()[:4].tolist() == NUMBERS


CONSTRAINTS: list[Callable[..., Any]] = [
    lambda params: params["k0"] > params["k1"],
    lambda p: p["k0"] > p["k1"],
    lambda k0, k1: k0 > k1,
    lambda *, k0, k1: k0 > k1,
    lambda k0, k1, **others: k0 > k1,
    lambda **params: params["k0"] > params["k1"],
    lambda *params: params[0]["k0"] > params[0]["k1"],
    lambda k0, k1, slack=0: k0 > k1 + slack,
]


@pytest.mark.parametrize("constraint", CONSTRAINTS)
def test_constraints_are_called_with_a_dictionary_or_by_name(constraint: Callable[..., Any]) -> None:
    fuzzer = small(constraints=[constraint])
    items = list(fuzzer.described(200))
    assert all(item.params["k0"] > item.params["k1"] for item in items)
    assert 0.3 < fuzzer.rejection_rate < 0.7
    assert [item.params for item in items] == [
        item.params for item in small(constraints=[CONSTRAINTS[0]]).described(200)
    ]
    assert fuzzer.describe(7) == items[7]


def test_strict_parameters_stay_while_others_are_tried_again() -> None:
    plain = [item.params["dim"] for item in small().described(300)]
    constrained = small(constraints=[lambda k0: k0 > 20])
    assert [item.params["dim"] for item in constrained.described(300)] == plain


def test_constraints_that_nothing_meets_end_with_an_error() -> None:
    fuzzer = small(constraints=[lambda params: False])
    with pytest.raises(ValueError, match="constraints: none of 1,000 tries at item 3 was wanted"):
        fuzzer.describe(3)
    assert fuzzer.rejection_rate == 1.0


def test_a_constraint_on_what_is_strict_is_told_for_what_it_is() -> None:
    fuzzer = small(constraints=[lambda dim: dim == 1])
    with pytest.raises(ArgumentError, match=r"the strict ones \(dim\) stay as they are in every try"):
        list(fuzzer.described(20))


def test_an_error_in_a_constraint_is_not_hidden() -> None:
    with pytest.raises(KeyError, match="nosuch"):
        small(constraints=[lambda params: params["nosuch"]]).describe(0)


def test_neighbours_are_near_and_always_the_same() -> None:
    fuzzer = UnaryOpFuzzer(0)
    parent = fuzzer.describe(0)
    children = [fuzzer.neighbour(parent, number) for number in range(40)]
    assert children == [UnaryOpFuzzer(0).neighbour(parent, number) for number in range(40)]
    changed = []
    for child in children:
        assert child is not None
        assert child.index == parent.index
        different = sum(one != other for one, other in zip(parent.values, child.values, strict=True))
        assert different <= 2
        changed.append(different)
        grandchild = fuzzer.neighbour(child, 1)
        assert grandchild is not None
        assert len(grandchild.place) == 3
    assert sum(changed) > 30


def test_a_neighbour_that_a_constraint_refuses_is_none() -> None:
    fuzzer = small(constraints=[lambda k0: k0 > 8])
    near = [fuzzer.neighbour(fuzzer.describe(0), number) for number in range(60)]
    assert None in near
    assert all(item.params["k0"] > 8 for item in near if item)


PARAMETER, TENSOR = FuzzedParameter("n", 1, 4, "uniform"), FuzzedTensor("x", ("n",))
WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: Fuzzer([PARAMETER], [TENSOR], seed=-1), "seed must be .* not -1"),
    (lambda: Fuzzer([PARAMETER], [TENSOR], seed=1.5), "seed must be"),  # type: ignore[arg-type]
    (lambda: Fuzzer([PARAMETER], [TENSOR], seed=True), "seed must be"),
    (lambda: Fuzzer(PARAMETER, [TENSOR]), "parameters must be a list of FuzzedParameter"),  # type: ignore[arg-type]
    (lambda: Fuzzer([PARAMETER], ["x"]), r"tensors\[0\] must be a FuzzedTensor"),  # type: ignore[list-item]
    (lambda: Fuzzer([[PARAMETER, TENSOR]], []), r"parameters\[0\] must hold FuzzedParameter"),  # type: ignore[list-item]
    (lambda: Fuzzer([PARAMETER, PARAMETER], []), "parameters: the name 'n' is there twice"),
    (lambda: Fuzzer([PARAMETER], [FuzzedTensor("n", (1,))]), "tensors: the name 'n' is there twice"),
    (lambda: Fuzzer([PARAMETER], [FuzzedTensor("x", ("m",))]), r"size\[0\] names a parameter 'm'"),
    (lambda: Fuzzer([PARAMETER], [FuzzedTensor("x", (1,), ("m",))]), r"steps\[0\] names a parameter 'm'"),
    (lambda: Fuzzer([PARAMETER], [FuzzedTensor("x", (1,), dim_parameter="m")]), "dim_parameter names .* 'm'"),
    (lambda: Fuzzer([PARAMETER], [FuzzedTensor("x", (1,), roll_parameter="m")]), "roll_parameter names"),
    (
        lambda: Fuzzer(
            [PARAMETER], [FuzzedTensor("x", (1,), dtype="int64", fill={"kind": "indices", "bound": "m"})]
        ),
        "fill.bound names a parameter 'm'",
    ),
    (
        lambda: Fuzzer([FuzzedParameter("a", distribution={ParameterAlias("nn"): 1.0}), PARAMETER], []),
        "ParameterAlias names a parameter 'nn'",
    ),
    (
        lambda: Fuzzer(
            [
                FuzzedParameter("a", distribution={ParameterAlias("b"): 1.0}),
                FuzzedParameter("b", distribution={ParameterAlias("a"): 0.5, 1: 0.5}),
            ],
            [],
        ),
        "leads back to where it began: a -> b -> a",
    ),
    (
        lambda: Fuzzer([FuzzedParameter("n", 0.5, 4, "uniform")], [TENSOR]),
        r"size\[0\] must be whole, and parameter 'n'",
    ),
    (lambda: Fuzzer([FuzzedParameter("n", -2, 4, "uniform")], [TENSOR]), r"size\[0\] must be at least 0"),
    (
        lambda: Fuzzer([FuzzedParameter("n", 0, 4, "uniform")], [FuzzedTensor("x", (1,), ("n",))]),
        r"steps\[0\] must be at least 1, and parameter 'n' can be 0",
    ),
    (
        lambda: Fuzzer(
            [FuzzedParameter("n", 1, 65, "uniform")], [FuzzedTensor("x", (1,), dim_parameter="n")]
        ),
        "dim_parameter must be at most 64",
    ),
    (lambda: Fuzzer([PARAMETER], [TENSOR], constraints=len), "constraints must be a list of functions"),  # type: ignore[arg-type]
    (lambda: Fuzzer([PARAMETER], [TENSOR], constraints=[1]), r"constraints\[0\] must be a function, not 1"),
    (
        lambda: Fuzzer([PARAMETER], [TENSOR], constraints=[lambda n, m: True]),
        r"constraints\[0\] must take one dictionary .*; it takes m",
    ),
    (lambda: small().take(-1), "n must be a whole number of at least 0, not -1"),
    (lambda: small().take("3"), "n must be a whole number"),  # type: ignore[arg-type]
    (lambda: small().item(-1), "k must be a whole number of at least 0, not -1"),
    (lambda: small().describe(1.0), "k must be a whole number"),  # type: ignore[arg-type]
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_argument_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
