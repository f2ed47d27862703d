"""A fuzzer for operators that reduce, scan or normalise along a dimension."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor


class ReductionOpFuzzer(Fuzzer):
    """One tensor `x` of one to four dimensions, and the dimension `axis` (from 0 to 3, to be taken modulo
    their number): small and large sizes on either side of it."""

    def __init__(self, seed: int | None, dtype: Any = "float32", cuda: bool = False) -> None:
        super().__init__(
            parameters=[
                FuzzedParameter("dim", distribution={1: 0.2, 2: 0.4, 3: 0.2, 4: 0.2}, strict=True),
                # Twelve is what 1, 2, 3 and 4 divide, so that every dimension is as likely as any other.
                FuzzedParameter("axis", 0, 11, "uniform"),
                FuzzedParameter("keepdim", distribution={True: 0.25, False: 0.75}),
                *(sizes.mixed(f"k{i}", 1, 4 * 1024**2) for i in range(4)),
                sizes.steps("x_step", 4),
            ],
            tensors=[
                FuzzedTensor(
                    "x",
                    size=tuple(f"k{i}" for i in range(4)),
                    steps=tuple(f"x_step_{i}" for i in range(4)),
                    probability_contiguous=0.75,
                    min_elements=1024,
                    max_elements=16 * 1024**2,
                    max_allocation_bytes=1024**3,
                    dim_parameter="dim",
                    dtype=dtype,
                    cuda=cuda,
                )
            ],
            seed=seed,
        )
