"""Strided tensors: laid out in memory as slices of permuted memory are, and as the Values say."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from opbench.cases import values
from opbench.cases.builders import as_document, checked_value
from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import FuzzedParameter, FuzzedTensor, Fuzzer
from opbench.sources.fuzzing.drawn import DrawnTensor


def fuzzer_of(tensor: FuzzedTensor, seed: int = 0) -> Fuzzer:
    return Fuzzer(
        [
            *(FuzzedParameter(f"k{index}", 1, 5, "uniform") for index in range(5)),
            *(FuzzedParameter(f"s{index}", 1, 3, "uniform") for index in range(5)),
            FuzzedParameter("dim", 0, 5, "uniform"),
            FuzzedParameter("roll", -7, 7, "uniform"),
        ],
        [tensor],
        seed=seed,
    )


SIZE, STEPS = tuple(f"k{index}" for index in range(5)), tuple(f"s{index}" for index in range(5))


@given(st.integers(0, 10**6))
def test_tensors_lie_in_memory_as_torch_would_have_sliced_them(k: int) -> None:
    fuzzer = fuzzer_of(FuzzedTensor("x", SIZE, STEPS, dim_parameter="dim"))
    tensors, properties, params = fuzzer.item(k)
    seen, about = tensors["x"], properties["x"]
    size = [params[name] for name in SIZE][: params["dim"]]
    steps = [params[name] for name in STEPS][: params["dim"]]
    raw = torch.empty([one * step for one, step in zip(size, steps, strict=True)])
    order = about["order"]
    back = [order.index(dim) for dim in range(len(order))]
    raw = raw.permute(order).contiguous().permute(back)
    sliced = raw[tuple(slice(0, one * step, step) for one, step in zip(size, steps, strict=True))]
    assert seen.shape == sliced.shape
    assert seen.is_contiguous() == sliced.is_contiguous() == about["is_contiguous"]
    for dim, one in enumerate(size):
        # Of one place only, a stride means nothing.
        assert one == 1 or seen.is_contiguous() or seen.stride(dim) == sliced.stride(dim)


@given(st.integers(0, 10**6))
def test_values_are_in_the_form_that_a_checked_document_has(k: int) -> None:
    fuzzer = fuzzer_of(
        FuzzedTensor(
            "x",
            SIZE,
            STEPS,
            dim_parameter="dim",
            probability_offset=0.3,
            probability_expanded=0.3,
            probability_channels_last=0.5,
        )
    )
    value = fuzzer.describe(k).tensors["x"]
    assert checked_value(as_document(value)) == value


def test_orders_but_the_usual_one_are_all_alike() -> None:
    fuzzer = Fuzzer([], [FuzzedTensor("x", (2, 2, 2), probability_contiguous=0.25)], seed=0)
    orders = Counter(item.properties["x"]["order"] for item in fuzzer.described(6000))
    assert set(orders) == set(itertools.permutations(range(3)))
    usual = orders.pop((0, 1, 2))
    assert stats.binomtest(usual, 6000, 0.25).pvalue > 1e-3
    assert stats.chisquare(list(orders.values())).pvalue > 1e-3


@pytest.mark.parametrize(("probability", "share"), [(0.0, 0.0), (1.0, 1.0), (0.5, 0.5)])
def test_a_tensor_is_as_often_contiguous_as_said(probability: float, share: float) -> None:
    fuzzer = Fuzzer([], [FuzzedTensor("x", (2, 3), probability_contiguous=probability)], seed=0)
    seen = [item.properties["x"]["is_contiguous"] for item in fuzzer.described(2000)]
    assert abs(sum(seen) / 2000 - share) < 0.04


def test_sizes_are_cut_filled_up_and_rolled() -> None:
    tensor = FuzzedTensor(
        "x", ("k0", 7, 9), dim_parameter="dim", roll_parameter="roll", probability_contiguous=1.0
    )
    for item in fuzzer_of(tensor).described(200):
        dim = item.params["dim"]
        plain = [item.params["k0"], 7, 9, 1, 1][:dim]
        places = item.params["roll"] % dim if dim else 0
        assert list(item.drawn["x"].size) == plain[dim - places :] + plain[: dim - places]


def test_rolled_steps_stay_with_their_sizes() -> None:
    tensor = FuzzedTensor("x", (3, 5), (2, 4), roll_parameter="roll", max_allocation_bytes=4 * 6 * 20)
    for item in fuzzer_of(tensor).described(50):
        drawn: Any = item.drawn["x"]
        assert set(zip(drawn.size, drawn.steps, strict=True)) == {(3, 2), (5, 4)}


def test_offsets_expanded_dimensions_and_channels_last() -> None:
    tensor = FuzzedTensor(
        "x",
        (2, 3, 4, 5),
        probability_contiguous=1.0,
        probability_offset=0.5,
        probability_expanded=0.5,
        probability_channels_last=0.5,
    )
    fuzzer = Fuzzer([], [tensor], seed=0)
    found: Counter[str] = Counter()
    for k, item in enumerate(fuzzer.described(400)):
        drawn: Any = item.drawn["x"]
        built = fuzzer.build(item)["x"] if k < 40 else None
        if built is not None:
            assert built.storage_offset() == drawn.storage_offset
            assert built.stride() == drawn.strides
        found["offset"] += bool(drawn.storage_offset)
        found["expanded"] += 0 in drawn.strides
        found["channels last"] += item.tensors["x"].memory_format == "channels_last"
    assert 150 < found["offset"] < 250
    assert 150 < found["expanded"] < 250
    assert 60 < found["channels last"] < 140


@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 3)), max_size=4),
    st.randoms(use_true_random=False),
)
def test_contiguity_is_what_torch_calls_it(dims: list[tuple[int, int]], random: Any) -> None:
    order = list(range(len(dims)))
    random.shuffle(order)
    drawn = DrawnTensor(
        tuple(size for size, _ in dims), tuple(step for _, step in dims), tuple(order), "float32"
    )
    seen = torch.empty(max(math.prod(drawn.allocation), 1)).as_strided(drawn.size, drawn.strides)
    assert seen.is_contiguous() == drawn.is_contiguous


def test_numbers_are_as_in_torchs_fuzzer() -> None:
    tensors = [
        FuzzedTensor("float", (2000,)),
        FuzzedTensor("complex", (2000,), dtype=torch.complex64),
        FuzzedTensor("int", (2000,), dtype=torch.int16),
        FuzzedTensor("bool", (2000,), dtype="bool"),
    ]
    built, _, _ = Fuzzer([], tensors, seed=0).item(0)
    assert stats.kstest(built["float"].numpy(), "uniform").pvalue > 1e-3
    assert built["int"].min() == 1
    assert built["int"].max() == 126
    assert built["complex"].real.min() >= 0
    assert not torch.equal(built["float"], Fuzzer([], tensors, seed=0).item(1)[0]["float"])


def test_a_fill_may_depend_on_parameters() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("rows", 2, 50, "uniform")],
        [
            FuzzedTensor("x", (200,), dtype="int64", fill={"kind": "indices", "bound": "rows"}),
            FuzzedTensor("y", (4,), fill="normal"),
            FuzzedTensor("z", (4,), fill=values.Constant(3)),
        ],
        seed=0,
    )
    for item in fuzzer.described(20):
        assert item.tensors["x"].fill == values.Indices(item.params["rows"])
        assert item.tensors["y"].fill == values.Normal()
    built = fuzzer.item(0)[0]
    assert built["x"].max() < fuzzer.describe(0).params["rows"]
    assert built["z"].tolist() == [3.0] * 4


def test_a_constructor_makes_the_memory_and_cannot_be_saved() -> None:
    calls = []

    def constructor(size: Any, dtype: torch.dtype, **params: Any) -> torch.Tensor:
        calls.append((size, dtype, params))
        return torch.arange(math.prod(size), dtype=dtype).reshape(size)

    tensor = FuzzedTensor(
        "x", SIZE, STEPS, dim_parameter="dim", dtype=torch.int32, tensor_constructor=constructor
    )
    fuzzer = fuzzer_of(tensor)
    for k in range(30):
        tensors, properties, params = fuzzer.item(k)
        size, dtype, given = calls[-1]
        steps = properties["x"]["steps"]
        assert dtype is torch.int32
        assert given == params
        plain = torch.arange(math.prod(size), dtype=dtype).reshape(size)
        assert torch.equal(tensors["x"], plain[tuple(slice(None, None, step) for step in steps)])
        assert tensors["x"].is_contiguous() == properties["x"]["is_contiguous"]
    with pytest.raises(ArgumentError, match="tensor 'x' is made by a tensor_constructor"):
        _ = fuzzer.describe(0).tensors


def test_devices_are_named_as_torch_names_them() -> None:
    assert FuzzedTensor("x", (1,), cuda=True).device == "cuda"
    assert FuzzedTensor("x", (1,), device=torch.device("cuda", 1)).device == "cuda:1"
    assert Fuzzer([], [FuzzedTensor("x", (3,), device="meta")], seed=0).item(0)[0]["x"].is_meta


def test_arguments_stand_in_torchs_order() -> None:
    import inspect

    from torch.utils import benchmark

    for own, name in (
        (FuzzedTensor, "FuzzedTensor"),
        (FuzzedParameter, "FuzzedParameter"),
        (Fuzzer, "Fuzzer"),
    ):
        theirs = inspect.signature(getattr(benchmark, name)).parameters
        ours = inspect.signature(own).parameters
        assert list(ours)[: len(theirs)] == list(theirs)
        for argument, parameter in theirs.items():
            if argument != "dtype":
                assert ours[argument].default == parameter.default
        assert all(ours[more].kind is inspect.Parameter.KEYWORD_ONLY for more in list(ours)[len(theirs) :])


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: FuzzedTensor("", (1,)), "name must be"),
    (lambda: FuzzedTensor("x", "k0"), "tensor 'x': size must be a tuple"),
    (lambda: FuzzedTensor("x", 3), "tensor 'x': size must be a tuple"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1, -1)), r"size\[1\] must be a whole number of at least 0"),
    (lambda: FuzzedTensor("x", (1, 1.5)), r"size\[1\] must be"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), (0,)), r"steps\[0\] must be a whole number of at least 1"),
    (
        lambda: FuzzedTensor("x", (1,), probability_contiguous=1.5),
        "probability_contiguous must be a probability",
    ),
    (lambda: FuzzedTensor("x", (1,), probability_offset=-1), "probability_offset must be"),
    (lambda: FuzzedTensor("x", (1,), probability_expanded="a"), "probability_expanded must be"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), probability_channels_last=None), "probability_channels_last"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), min_elements=-1), "min_elements must be"),
    (lambda: FuzzedTensor("x", (1,), min_elements=9, max_elements=8), "min_elements .9. must not be above"),
    (lambda: FuzzedTensor("x", (1,), max_allocation_bytes="1"), "max_allocation_bytes must be"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), dim_parameter=2), "dim_parameter must be the name"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), roll_parameter=2), "roll_parameter must be the name"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), dtype="flaot32"), "no dtype is called 'flaot32'; did you mean float32"),
    (lambda: FuzzedTensor("x", (1,), device="gpu"), "no device is called 'gpu'; did you mean cuda"),
    (lambda: FuzzedTensor("x", (1,), cuda=True, device="cpu"), "cuda and device exclude each other"),
    (lambda: FuzzedTensor("x", (1,), tensor_constructor=3), "tensor_constructor must be callable"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), fill="norml"), "fill has no kind 'norml'; did you mean normal"),
    (lambda: FuzzedTensor("x", (1,), fill=3), "fill must be a Fill"),  # type: ignore[arg-type]
    (lambda: FuzzedTensor("x", (1,), fill={"kind": "uniform", "hi": 3}), "fill is not one"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_argument_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
