"""Sparse tensors: valid by torch's own checks, as dense as asked for, at positions that favour no place."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from opbench.worker.bijection import scattered
from opbench.worker.errors import Unsupported
from opbench.worker.layouts import require_memory
from opbench.worker.measure import judged
from opbench.worker.streams import Stream

from .makers import drawn, tensor

pytestmark = pytest.mark.filterwarnings("ignore:Sparse:UserWarning")

COMPRESSED = {
    "sparse_csr": {},
    "sparse_csc": {},
    "sparse_bsr": {"block_shape": [2, 3]},
    "sparse_bsc": {"block_shape": [2, 3]},
}
LAYOUTS: dict[str, dict[str, Any]] = {"sparse_coo": {}, **COMPRESSED}


def assert_valid(found: torch.Tensor) -> None:
    """What torch checks when it is told to distrust the parts."""
    if found.layout == torch.sparse_coo:
        assert found.is_coalesced()
        indices, values = found.indices(), found.values()
        torch.sparse_coo_tensor(indices, values, found.shape, is_coalesced=True, check_invariants=True)
        return
    by_row = found.layout in (torch.sparse_csr, torch.sparse_bsr)
    pointers = found.crow_indices() if by_row else found.ccol_indices()
    places = found.col_indices() if by_row else found.row_indices()
    torch.sparse_compressed_tensor(
        pointers, places, found.values(), found.shape, layout=found.layout, check_invariants=True
    )


@settings(deadline=None, max_examples=150)
@given(
    st.sampled_from(list(LAYOUTS)),
    st.lists(st.integers(0, 3), max_size=2),
    st.integers(0, 5),
    st.integers(0, 5),
    st.floats(0, 1),
    st.sampled_from(["float32", "bool", "int64", "complex128", "bfloat16"]),
)
def test_any_shape_and_density_is_a_valid_sparse_tensor(
    layout: str, batch: list[int], rows: int, columns: int, density: float, dtype: str
) -> None:
    fields = LAYOUTS[layout]
    block = fields.get("block_shape", [1, 1])
    shape = [*batch, rows * block[0], columns * block[1]]
    found = tensor(shape, dtype, layout=layout, density=density, **fields)
    assert list(found.shape) == shape
    assert str(found.layout) == f"torch.{layout}"
    assert_valid(found)
    if layout == "sparse_coo":
        assert found._nnz() == min(math.prod(shape), round(math.prod(shape) * density))
    else:
        blocks = rows * columns
        assert found.values().shape[len(batch)] == min(blocks, round(blocks * density))


@pytest.mark.parametrize("shape", [[], [7], [3, 4], [2, 3, 4, 5]])
def test_coordinates_suit_any_number_of_dimensions(shape: list[int]) -> None:
    found = tensor(shape, layout="sparse_coo", density=0.5)
    assert_valid(found)
    assert found._nnz() == round(math.prod(shape) * 0.5)
    full = tensor(shape, layout="sparse_coo", density=1)
    assert bool((full.to_dense() != 0).all())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("fill", ["arange", "literal"])
def test_placed_numbers_are_where_they_are_in_the_dense_tensor(layout: str, fill: str) -> None:
    chosen = (
        {"kind": "literal", "values": list(range(1, 49))}
        if fill == "literal"
        else {"kind": "arange", "start": 1}
    )
    found = tensor([2, 4, 6], "int32", chosen, layout=layout, density=0.5, **LAYOUTS[layout])
    dense, whole = found.to_dense(), torch.arange(1, 49, dtype=torch.int32).view(2, 4, 6)
    stored = dense != 0
    assert torch.equal(dense[stored], whole[stored])
    assert int(stored.sum()) == 24


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_sparse_tensor_can_have_a_gradient(layout: str) -> None:
    found = tensor([4, 6], layout=layout, density=0.5, direction="backward", **LAYOUTS[layout])
    assert found.requires_grad
    assert found.is_leaf


def test_what_is_stored_follows_the_fill() -> None:
    found = tensor([500, 500], "float64", layout="sparse_csr", density=0.1)
    assert found.values().numel() == 25_000
    assert stats.kstest(found.values().detach().numpy(), stats.norm.cdf).pvalue > 1e-4


@pytest.mark.parametrize("size", [50, 1000, 1 << 14, 10_007])
def test_positions_favour_no_place(size: int) -> None:
    counts = np.zeros(size)
    stored = 0
    for seed in range(200):
        found = drawn(
            [size], "bool", {"kind": "constant", "value": 1}, seed=seed, layout="sparse_coo", density=0.2
        )
        counts[found.indices()[0].numpy()] += 1
        stored += found._nnz()
    assert stored == 200 * round(size * 0.2)
    # Drawn without replacement: the variance of a cell is that of a binomial number.
    statistic = ((counts - 40) ** 2).sum() / (200 * 0.2 * 0.8)
    assert stats.chi2(size - 1).sf(statistic) > 1e-4


def test_rows_have_as_many_entries_as_chance_gives_them() -> None:
    found = drawn([1000, 1000], "float32", None, layout="sparse_csr", density=0.05)
    lengths = found.crow_indices().diff().numpy()
    assert lengths.sum() == 50_000
    expected = stats.hypergeom(10**6, 50_000, 1000)
    assert 0.85 < lengths.var() / expected.var() < 1.15
    assert (
        stats.kstest(
            lengths + np.random.default_rng(0).random(1000) - 0.5, stats.norm(50, expected.std()).cdf
        ).pvalue
        > 1e-4
    )


def test_each_matrix_of_a_batch_has_positions_of_its_own() -> None:
    found = drawn([4, 30, 30], "float32", None, layout="sparse_csr", density=0.1)
    assert len({tuple(places.tolist()) for places in found.col_indices()}) == 4


@given(st.integers(1, 3000), st.integers(0, 2**64 - 1))
def test_the_bijection_is_one(bound: int, key: int) -> None:
    found = scattered(torch.arange(bound), bound, Stream(key))
    assert torch.equal(found.sort().values, torch.arange(bound))


@given(st.sampled_from([2**62, 2**63 - 1, 2**40 + 1]), st.integers(0, 2**64 - 1))
def test_the_bijection_stays_below_huge_bounds(bound: int, key: int) -> None:
    found = scattered(torch.arange(1000), bound, Stream(key))
    assert bool((found >= 0).all())
    assert bool((found < bound).all())
    assert len(found.unique()) == 1000


@pytest.mark.parametrize("fill", ["permutation", "sorted", {"kind": "offsets", "total": 3}])
def test_fills_that_mean_something_only_together_are_refused(fill: Any) -> None:
    with pytest.raises(Unsupported, match="strided tensors"):
        tensor([4, 4], "int64", fill, layout="sparse_coo")


@pytest.mark.parametrize(
    ("shape", "fields"),
    [
        ([2**40, 0, 0], {"layout": "sparse_csr"}),
        ([2**60, 0, 0], {"layout": "sparse_csr"}),
        ([2**30, 2**30], {"layout": "sparse_coo", "density": 1.0}),
        ([2**20, 2**40], {"layout": "sparse_coo", "density": 0.01}),
        ([2**30, 2**30], {"layout": "sparse_bsr", "block_shape": [2**15, 2**15], "density": 1.0}),
        ([2**59], {"layout": "strided", "dtype": "qint8"}),
        ([2**61], {"layout": "strided", "dtype": "int8"}),
    ],
)
def test_what_is_too_large_for_memory_is_out_of_memory(shape: list[int], fields: dict[str, Any]) -> None:
    chosen = {"dtype": "float32", "fill": None, **fields}
    with pytest.raises((RuntimeError, MemoryError)) as caught:
        drawn(shape, **chosen)
    assert judged(caught.value)[0] == "out_of_memory"


def test_more_than_this_machine_has_is_refused_before_any_of_it_is_taken() -> None:
    physical_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    with pytest.raises(MemoryError, match="out of memory"):
        require_memory(5 * physical_bytes, (5 * physical_bytes,))
    require_memory(physical_bytes, (physical_bytes,))


def test_a_huge_matrix_of_few_entries_is_built() -> None:
    found = tensor([2**30, 2**30], layout="sparse_coo", density=1e-15)
    assert found._nnz() == round(2**60 * 1e-15)
    assert_valid(found)
