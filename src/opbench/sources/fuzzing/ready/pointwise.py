"""Fuzzers for operators of one tensor, and of two that broadcast."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor


class UnaryOpFuzzer(Fuzzer):
    """One tensor `x` of one to three dimensions, some of them permuted or strided."""

    def __init__(self, seed: int | None, dtype: Any = "float32", cuda: bool = False) -> None:
        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution=sizes.DIMENSIONS, strict=True),
                *(sizes.mixed(f"k{i}", sizes.LEAST_SIZE, sizes.GREATEST_SIZE) for i in range(3)),
                sizes.steps("x_step"),
                sizes.entropy(),
            ],
            tensors=[_tensor("x", "k{}", dtype, cuda)],
            seed=seed,
        )


class BinaryOpFuzzer(Fuzzer):
    """Two tensors `x` and `y` of one to three dimensions; each size of `y` is 1 in a fifth of all items."""

    def __init__(self, seed: int | None, dtype: Any = "float32", cuda: bool = False) -> None:
        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution=sizes.DIMENSIONS, strict=True),
                *(sizes.mixed(f"k{i}", sizes.LEAST_SIZE, sizes.GREATEST_SIZE) for i in range(3)),
                [
                    FuzzedParameter(
                        f"y_k{i}", distribution={ParameterAlias(f"k{i}"): 0.8, 1: 0.2}, strict=True
                    )
                    for i in range(3)
                ],
                sizes.steps("x_step"),
                sizes.steps("y_step"),
                sizes.entropy(),
            ],
            tensors=[_tensor("x", "k{}", dtype, cuda), _tensor("y", "y_k{}", dtype, cuda, least=None)],
            seed=seed,
        )


def _tensor(
    name: str, size: str, dtype: Any, cuda: bool, least: int | None = sizes.LEAST_ELEMENTS
) -> FuzzedTensor:
    return FuzzedTensor(
        name,
        size=tuple(size.format(i) for i in range(3)),
        steps=tuple(f"{name}_step_{i}" for i in range(3)),
        probability_contiguous=0.75,
        min_elements=least,
        max_elements=None if least is None else sizes.GREATEST_ELEMENTS,
        max_allocation_bytes=sizes.GREATEST_ALLOCATION_BYTES,
        dim_parameter="dim",
        dtype=dtype,
        cuda=cuda,
    )
