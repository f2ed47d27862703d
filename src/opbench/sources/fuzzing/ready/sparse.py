"""Fuzzers for operators of sparse tensors."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.sparse import FuzzedSparseTensor
from opbench.sources.fuzzing.tensors import FuzzedTensor

_DENSITIES = {0.1: 0.4, 0.05: 0.3, 0.01: 0.3}
_LAYOUTS = {"sparse_coo": 0.35, "sparse_csr": 0.35, "sparse_csc": 0.15, "sparse_bsr": 0.15}
_SPARSE_DIMENSIONS = {1: 0.4, 2: 0.4, 3: 0.2}
_SIZES = tuple(part << bit for bit in range(2, 10) for part in (4, 5, 6))


class UnaryOpSparseFuzzer(Fuzzer):
    """One COO tensor `x` of one to three dimensions, half of them uncoalesced, many of them hybrid."""

    def __init__(self, seed: int | None, dtype: Any = None, cuda: bool = False) -> None:
        super().__init__(
            parameters=_parameters(), tensors=[_tensor("x", "k{}", dtype or "float32", cuda)], seed=seed
        )


class BinaryOpSparseFuzzer(Fuzzer):
    """Two COO tensors `x` and `y` of one shape and density."""

    def __init__(self, seed: int | None, dtype: Any = "float32", cuda: bool = False) -> None:
        super().__init__(
            parameters=[
                *_parameters(),
                [
                    FuzzedParameter(f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 1.0}, strict=True)
                    for i in range(3)
                ],
            ],
            tensors=[_tensor("x", "k{}", dtype, cuda), _tensor("y", "y_k{}", dtype, cuda)],
            seed=seed,
        )


class SparseMatrixFuzzer(Fuzzer):
    """A sparse matrix `x` in any layout, or in the one that is named, and two dense ones: `w` to multiply it
    with, `y` of its own shape."""

    BLOCK = 4

    def __init__(
        self, seed: int | None, dtype: Any = "float32", cuda: bool = False, *, layout: str | None = None
    ) -> None:
        layouts = {layout: 1.0} if layout else _LAYOUTS
        super().__init__(
            parameters=[
                # Multiples of the block, so that every layout can have every size.
                [sizes.one_of(name, _SIZES) for name in ("rows", "columns")],
                sizes.loguniform("width", 1, 512),
                FuzzedParameter("density", distribution=_DENSITIES),
                FuzzedParameter("layout", distribution=layouts),
            ],
            tensors=[
                FuzzedSparseTensor(
                    "x",
                    size=("rows", "columns"),
                    min_elements=sizes.LEAST_ELEMENTS,
                    max_elements=4 * 1024**2,
                    density="density",
                    layout="layout",
                    block_shape=(self.BLOCK, self.BLOCK),
                    dtype=dtype,
                    cuda=cuda,
                ),
                FuzzedTensor(
                    "w", size=("columns", "width"), probability_contiguous=1.0, dtype=dtype, cuda=cuda
                ),
                FuzzedTensor(
                    "y", size=("rows", "columns"), probability_contiguous=1.0, dtype=dtype, cuda=cuda
                ),
            ],
            seed=seed,
        )


def _parameters() -> list[FuzzedParameter | list[FuzzedParameter]]:
    return [
        FuzzedParameter("dim_parameter", distribution=sizes.DIMENSIONS, strict=True),
        FuzzedParameter("sparse_dim", distribution=_SPARSE_DIMENSIONS, strict=True),
        *(sizes.mixed(f"k{i}", sizes.LEAST_SIZE, sizes.GREATEST_SIZE) for i in range(3)),
        FuzzedParameter("density", distribution=_DENSITIES),
        FuzzedParameter("coalesced", distribution={True: 0.5, False: 0.5}),
        sizes.entropy(),
    ]


def _tensor(name: str, size: str, dtype: Any, cuda: bool) -> FuzzedSparseTensor:
    return FuzzedSparseTensor(
        name,
        size=tuple(size.format(i) for i in range(3)),
        dim_parameter="dim_parameter",
        sparse_dim="sparse_dim",
        density="density",
        coalesced="coalesced",
        min_elements=sizes.LEAST_ELEMENTS,
        max_elements=sizes.GREATEST_ELEMENTS,
        dtype=dtype,
        cuda=cuda,
    )
