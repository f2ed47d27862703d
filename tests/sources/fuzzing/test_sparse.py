"""Sparse tensors: as dense as was asked, in every layout, by whatever names parameters have."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing import FuzzedParameter, FuzzedSparseTensor, Fuzzer

PARAMETERS = [
    FuzzedParameter("rows", distribution=dict.fromkeys([96, 128, 200], 1 / 3)),
    FuzzedParameter("columns", distribution=dict.fromkeys([64, 100, 240], 1 / 3)),
    FuzzedParameter("how_dense", distribution={0.1: 0.4, 0.05: 0.3, 0.01: 0.3}),
    FuzzedParameter("how_many", 1, 3000, "uniform"),
    FuzzedParameter("sparse_ones", distribution={1: 0.5, 2: 0.5}),
    FuzzedParameter("sorted_once", distribution={True: 0.5, False: 0.5}),
    FuzzedParameter("dims", distribution={1: 0.3, 2: 0.4, 3: 0.3}),
]


@pytest.fixture(autouse=True)
def _torch_has_no_opinions() -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def fuzzer_of(*args: Any, **fields: Any) -> Fuzzer:
    return Fuzzer(PARAMETERS, [FuzzedSparseTensor("x", ("rows", "columns"), *args, **fields)], seed=0)


def stored(tensor: torch.Tensor) -> int:
    values = tensor._values() if tensor.layout == torch.sparse_coo else tensor.values()
    return values.numel()


@pytest.mark.parametrize("layout", ["sparse_coo", "sparse_csr", "sparse_csc", "sparse_bsr"])
def test_a_tensor_is_as_dense_as_was_asked(layout: str) -> None:
    blocks = {"block_shape": (2, 4)} if layout == "sparse_bsr" else {}
    fuzzer = fuzzer_of(density="how_dense", layout=layout, **blocks)
    for tensors, properties, params in fuzzer.take(30):
        x = tensors["x"]
        assert str(x.layout) == f"torch.{layout}"
        assert x.shape == properties["x"]["shape"] == (params["rows"], params["columns"])
        density = stored(x) / x.numel()
        # Blocks are stored whole: no count of them is nearer than half of one.
        nearest = 4 / x.numel() / params["how_dense"] if blocks else 0
        assert abs(density / params["how_dense"] - 1) < max(0.01, 1.001 * nearest)
        assert properties["x"]["density"] == density
        assert properties["x"]["sparsity"] == 1 - density
        if layout == "sparse_coo":
            assert len(x._indices().unique(dim=1).T) == stored(x)
        else:
            assert (x.to_dense() != 0).sum() <= stored(x)


def test_properties_are_those_that_torch_tells() -> None:
    fuzzer = fuzzer_of(None, None, "dims", "sparse_ones", None, "how_dense", "sorted_once")
    for tensors, properties, params in fuzzer.take(60):
        x, about = tensors["x"], properties["x"]
        assert about == {
            "numel": x.numel(),
            "shape": tuple(x.shape),
            "is_coalesced": x.is_coalesced(),
            "density": about["density"],
            "sparsity": 1 - about["density"],
            "sparse_dim": x.sparse_dim(),
            "dense_dim": x.dense_dim(),
            "is_hybrid": x.dense_dim() > 0,
            "dtype": "torch.float32",
        }
        assert x.sparse_dim() == min(params["sparse_ones"], params["dims"])
        assert x.is_coalesced() == params["sorted_once"]


def test_uncoalesced_tensors_have_every_place_twice_and_no_more() -> None:
    fuzzer = fuzzer_of(density=0.05, coalesced=False)
    x = fuzzer.item(0)[0]["x"]
    places = x._nnz()
    assert not x.is_coalesced()
    assert x.coalesce()._nnz() * 2 == places
    assert abs(places / 2 / x.numel() / 0.05 - 1) < 0.01


def test_a_hybrid_tensor_stores_rows() -> None:
    for tensors, properties, params in fuzzer_of(sparse_dim=1, density="how_dense").take(20):
        x = tensors["x"]
        assert x._values().shape == (x._nnz(), params["columns"])
        # The nearest that so few rows allow.
        assert x._nnz() == max(round(params["rows"] * params["how_dense"]), 1)
        assert properties["x"]["is_hybrid"]


@pytest.mark.parametrize("nnz", ["how_many", 17])
def test_the_number_of_entries_is_honoured_and_goes_before_a_density(nnz: Any) -> None:
    for tensors, properties, params in fuzzer_of(nnz=nnz, density="how_dense").take(30):
        wanted = params["how_many"] if nnz == "how_many" else 17
        assert tensors["x"]._nnz() == wanted
        assert properties["x"]["density"] == wanted / tensors["x"].numel()


def test_no_more_entries_are_stored_than_there_are() -> None:
    fuzzer = Fuzzer(
        [], [FuzzedSparseTensor("x", (3, 4), nnz=100), FuzzedSparseTensor("y", (0, 4), nnz=5)], seed=0
    )
    built = fuzzer.item(0)[0]
    assert (built["x"]._nnz(), built["y"]._nnz()) == (12, 0)


def test_values_have_the_same_number_of_entries() -> None:
    for item in fuzzer_of(nnz="how_many").described(50):
        value = item.tensors["x"]
        numel = value.shape[0] * value.shape[1]
        assert round(numel * value.density) == item.params["how_many"]
        assert value.layout == "sparse_coo"


def test_batches_of_compressed_matrices() -> None:
    tensor = FuzzedSparseTensor("x", (3, "rows", "columns"), layout=torch.sparse_csr, density=0.05)
    x = Fuzzer(PARAMETERS, [tensor], seed=0).item(0)[0]["x"]
    assert x.values().shape[0] == 3
    assert abs(x.values().numel() / x.numel() / 0.05 - 1) < 0.01


def test_the_layout_may_be_a_parameter() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("how", distribution={"sparse_csr": 0.5, "torch.sparse_coo": 0.5})],
        [FuzzedSparseTensor("x", (40, 40), layout="how")],
        seed=0,
    )
    layouts = {item.tensors["x"].layout for item in fuzzer.described(30)}
    assert layouts == {"sparse_csr", "sparse_coo"}


@pytest.mark.parametrize(
    ("fields", "what"), [({"sparse_dim": 1}, "hybrid"), ({"coalesced": False}, "uncoalesced")]
)
def test_what_no_value_is_cannot_be_saved(fields: dict[str, Any], what: str) -> None:
    item = fuzzer_of(**fields).describe(0)
    with pytest.raises(ArgumentError, match=f"tensor 'x' is a {what} sparse tensor"):
        _ = item.tensors


def test_arguments_stand_in_torchs_order() -> None:
    from torch.utils.benchmark import FuzzedSparseTensor as Theirs

    theirs = list(inspect.signature(Theirs).parameters)
    ours = inspect.signature(FuzzedSparseTensor).parameters
    assert list(ours)[: len(theirs)] == theirs
    assert all(ours[more].kind is inspect.Parameter.KEYWORD_ONLY for more in list(ours)[len(theirs) :])


WRONG: list[tuple[Callable[[], Any], str]] = [
    (lambda: fuzzer_of(density=1.5), "density must be the name of a parameter or a number from 0 to 1"),
    (lambda: fuzzer_of(nnz=-1), "nnz must be"),
    (lambda: fuzzer_of(sparse_dim=1.5), "sparse_dim must be"),
    (lambda: fuzzer_of(coalesced=1), "coalesced must be the name of a parameter or True, False"),
    (lambda: fuzzer_of(density="nosuch"), "density names a parameter 'nosuch'"),
    (lambda: fuzzer_of(coalesced="nosuch"), "coalesced names a parameter 'nosuch'"),
    (lambda: fuzzer_of(layout="sparse_crs"), "layout names a parameter 'sparse_crs'"),
    (lambda: fuzzer_of(layout=3), "layout must be a layout or a parameter"),
    (lambda: fuzzer_of(nnz="how_dense"), "nnz must be whole, and parameter 'how_dense' can be 0.1"),
    (lambda: fuzzer_of(block_shape=(0, 1)), "block_shape must be two whole numbers"),
    (lambda: fuzzer_of(layout="sparse_bsr").describe(0), "block_shape is missing"),
    (
        lambda: fuzzer_of(layout="sparse_bsr", block_shape=(7, 7)).describe(0),
        "block_shape .7, 7. does not divide",
    ),
    (lambda: fuzzer_of(density="how_many").describe(0), "density must be from 0 to 1, and its parameter is"),
    (
        lambda: Fuzzer([], [FuzzedSparseTensor("x", (3,), layout="sparse_csr")], seed=0).describe(0),
        "layout sparse_csr needs two dimensions",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_argument_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
