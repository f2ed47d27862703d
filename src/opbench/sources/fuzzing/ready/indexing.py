"""A fuzzer for operators that gather, scatter and look up."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor


class IndexingOpFuzzer(Fuzzer):
    """A table `x` (rows by columns) and indices into it: `rows_of` many of its rows (`index`), a row for
    each column (`places`), elements of it as one line (`flat`), which elements (`mask`) and the numbers that
    go there (`source`)."""

    def __init__(self, seed: int | None, dtype: Any = "float32", cuda: bool = False) -> None:
        def indices(name: str, bound: str, *size: str) -> FuzzedTensor:
            return FuzzedTensor(
                name,
                size=size,
                probability_contiguous=1.0,
                dtype="int64",
                cuda=cuda,
                fill={"kind": "indices", "bound": bound},
            )

        super().__init__(
            parameters=[
                sizes.mixed("rows", 16, 1024**2),
                sizes.mixed("columns", 1, 1024, 0.4),
                sizes.loguniform("picked", 1, 64 * 1024),
            ],
            tensors=[
                FuzzedTensor(
                    "x",
                    size=("rows", "columns"),
                    probability_contiguous=0.85,
                    min_elements=1024,
                    max_elements=8 * 1024**2,
                    dtype=dtype,
                    cuda=cuda,
                ),
                FuzzedTensor(
                    "source",
                    size=("picked", "columns"),
                    probability_contiguous=1.0,
                    max_elements=4 * 1024**2,
                    dtype=dtype,
                    cuda=cuda,
                ),
                indices("index", "rows", "picked"),
                indices("places", "rows", "picked", "columns"),
                FuzzedTensor(
                    "mask", size=("rows", "columns"), probability_contiguous=1.0, dtype="bool", cuda=cuda
                ),
            ],
            seed=seed,
        )
