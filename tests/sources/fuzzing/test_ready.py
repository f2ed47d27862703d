"""The ready fuzzers: torch's parameters by torch's names, within budgets, and none rejected."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from scipy import stats
from torch.utils.benchmark.op_fuzzers import binary, sparse_binary, sparse_unary, spectral, unary
from torch.utils.benchmark.utils import fuzzer as torchs

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import (
    BinaryOpFuzzer,
    BinaryOpSparseFuzzer,
    ConvolutionOpFuzzer,
    Fuzzer,
    IndexingOpFuzzer,
    MatmulOpFuzzer,
    ReductionOpFuzzer,
    SparseMatrixFuzzer,
    SpectralOpFuzzer,
    UnaryOpFuzzer,
    UnaryOpSparseFuzzer,
)
from opbench.sources.fuzzing.ready.spectral import regular_sizes

PAIRS: list[tuple[type, type]] = [
    (UnaryOpFuzzer, unary.UnaryOpFuzzer),
    (BinaryOpFuzzer, binary.BinaryOpFuzzer),
    (SpectralOpFuzzer, spectral.SpectralOpFuzzer),
    (UnaryOpSparseFuzzer, sparse_unary.UnaryOpSparseFuzzer),
    (BinaryOpSparseFuzzer, sparse_binary.BinaryOpSparseFuzzer),
]
OWN: list[Callable[[int], Fuzzer]] = [
    ReductionOpFuzzer,
    MatmulOpFuzzer,
    lambda seed: MatmulOpFuzzer(seed, batch=True),
    *(lambda seed, dims=dims: ConvolutionOpFuzzer(seed, dims=dims) for dims in (1, 2, 3)),  # type: ignore[misc]
    IndexingOpFuzzer,
    SparseMatrixFuzzer,
]
ALL = [*(lambda seed, own=own: own(seed=seed) for own, _ in PAIRS), *OWN]


@pytest.fixture
def torchs_check_is_mended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch refuses exactly the probabilities that do sum to one."""
    monkeypatch.setattr(
        torchs.FuzzedParameter, "_check_distribution", lambda self, distribution: distribution
    )


@pytest.mark.parametrize(("own", "theirs"), PAIRS)
def test_signatures_are_torchs(own: type, theirs: type) -> None:
    mine, other = (inspect.signature(kind).parameters for kind in (own, theirs))
    assert list(mine) == list(other)
    for name in mine:
        assert mine[name].kind == other[name].kind
        if name != "dtype":
            assert mine[name].default == other[name].default


@pytest.mark.usefixtures("torchs_check_is_mended")
@pytest.mark.parametrize(("own", "theirs"), PAIRS)
def test_parameters_and_tensors_have_torchs_names(own: Any, theirs: Any) -> None:
    item = own(seed=0).describe(0)
    other = theirs(seed=0)
    assert set(item.params) == {parameter.name for parameter in other._parameters}
    assert list(item.drawn) == [tensor.name for tensor in other._tensors]


@pytest.mark.usefixtures("torchs_check_is_mended")
def test_what_is_drawn_is_distributed_as_torch_draws_it() -> None:
    """Torch by its rejections (most of what it draws), ours by construction."""
    import numpy

    other = unary.UnaryOpFuzzer(seed=0)
    state = numpy.random.RandomState(0)
    theirs = [other._generate(state) for _ in range(1500)]
    ours = [item.params for item in UnaryOpFuzzer(0).described(1500)]
    assert other.rejection_rate > 0.5
    for measure in (
        lambda params: params["dim"],
        lambda params: math.log2(params["k0"]),
        lambda params: sum(math.log2(params[f"k{index}"]) for index in range(params["dim"])),
        lambda params: sum(math.log2(params[f"x_step_{index}"]) for index in range(params["dim"])),
        lambda params: params["random_value"],
    ):
        found = stats.ks_2samp([measure(params) for params in ours], [measure(params) for params in theirs])
        assert found.statistic < 0.06


@pytest.mark.parametrize("make", ALL)
def test_every_item_is_drawn_without_rejection(make: Callable[[int], Fuzzer]) -> None:
    fuzzer = make(1)
    shapes = set()
    for item in fuzzer.described(300):
        assert item.properties
        shapes.add(tuple(drawn.size for drawn in item.drawn.values()))
    assert fuzzer.rejection_rate == 0
    assert len(shapes) > 150


@pytest.mark.parametrize("own", [UnaryOpFuzzer, BinaryOpFuzzer])
def test_sizes_are_within_torchs_limits(own: Any) -> None:
    for item in own(0).described(1000):
        x = item.drawn["x"]
        assert 4096 <= math.prod(x.size) <= 32 * 1024**2
        for drawn in item.drawn.values():
            assert math.prod(drawn.allocation) * 4 <= 2 * 1024**3


def test_dimensions_are_as_likely_as_said() -> None:
    dims = [item.params["dim"] for item in BinaryOpFuzzer(0).described(5000)]
    expected = [1500, 2000, 1500]
    assert stats.chisquare([dims.count(dim) for dim in (1, 2, 3)], expected).pvalue > 1e-3


def test_two_operands_broadcast_and_have_steps_of_their_own() -> None:
    ones, differing = 0, 0
    for item in BinaryOpFuzzer(0).described(1000):
        x, y = item.drawn["x"].size, item.drawn["y"].size
        assert torch.broadcast_shapes(x, y) == torch.Size(x)
        assert all(own in (1, other) for own, other in zip(y, x, strict=True))
        ones += any(own == 1 for own in y)
        differing += item.drawn["x"].steps != item.drawn["y"].steps
        assert item.drawn["y"].steps == tuple(item.params[f"y_step_{index}"] for index in range(len(y)))
    assert 250 < ones < 480
    assert differing > 400


def test_regular_sizes_are_torchs() -> None:
    assert list(regular_sizes(16, 16 * 1024)) == sorted(spectral.REGULAR_SIZES)


@pytest.mark.parametrize(
    ("probability", "least", "most"), [(1.0, 1.0, 1.0), (0.0, 0.0, 0.4), (0.5, 0.4, 0.8)]
)
def test_sizes_are_as_often_regular_as_said(probability: float, least: float, most: float) -> None:
    regular = set(regular_sizes(16, 16 * 1024))
    items = SpectralOpFuzzer(seed=0, probability_regular=probability).described(300)
    seen = [size in regular for item in items for size in item.drawn["x"].size]
    assert least <= sum(seen) / len(seen) <= most


def test_operands_of_a_family_fit_each_other() -> None:
    for item in MatmulOpFuzzer(0).described(200):
        m, k, n = (item.params[name] for name in "mkn")
        sizes = {name: drawn.size for name, drawn in item.drawn.items()}
        assert sizes == {
            "x": (m, k),
            "y": (k, n),
            "z": (m, n),
            "weight": (n, k),
            "bias": (n,),
            "vector": (k,),
        }
        assert max(m * k, k * n, m * n) <= 1024**2
    formats = [item.tensors["x"].memory_format for item in ConvolutionOpFuzzer(0).described(300)]
    assert 60 < formats.count("channels_last") < 140


def test_a_wrong_argument_is_named() -> None:
    with pytest.raises(ArgumentError, match="dims must be 1, 2 or 3, not 4"):
        ConvolutionOpFuzzer(0, dims=4)
    with pytest.raises(ArgumentError, match="probability_regular must be a probability"):
        SpectralOpFuzzer(seed=0, probability_regular=2)
    with pytest.raises(ArgumentError, match="no dtype is called 'float33'"):
        UnaryOpFuzzer(0, dtype="float33")
