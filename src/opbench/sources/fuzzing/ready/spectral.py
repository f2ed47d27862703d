"""A fuzzer for Fourier transforms and their like."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing import checks
from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor

LEAST_SIZE = 16
GREATEST_SIZE = 16 * 1024


def regular_sizes(least: int, greatest: int) -> tuple[int, ...]:
    """The numbers above `least`, up to `greatest`, with no prime factor but 2, 3 and 5."""
    found = []
    fives = 1
    while fives <= greatest:
        threes = fives
        while threes <= greatest:
            number = threes
            while number <= greatest:
                if number > least:
                    found.append(number)
                number *= 2
            threes *= 3
        fives *= 5
    return tuple(sorted(found))


class SpectralOpFuzzer(Fuzzer):
    """One tensor `x` of one to three dimensions; its sizes are products of 2, 3 and 5 with
    `probability_regular`, because transforms of other sizes go through other algorithms."""

    def __init__(
        self,
        *,
        seed: int | None,
        dtype: Any = "float64",
        cuda: bool = False,
        probability_regular: float = 1.0,
    ) -> None:
        share = checks.probability("SpectralOpFuzzer", "probability_regular", probability_regular)
        regular = regular_sizes(LEAST_SIZE, GREATEST_SIZE)
        super().__init__(
            parameters=[
                FuzzedParameter("ndim", distribution=sizes.DIMENSIONS, strict=True),
                [sizes.loguniform(f"k_any_{i}", LEAST_SIZE, GREATEST_SIZE) for i in range(3)],
                [sizes.one_of(f"k_regular_{i}", regular) for i in range(3)],
                [
                    FuzzedParameter(
                        f"k{i}",
                        distribution={
                            ParameterAlias(f"k_regular_{i}"): share,
                            ParameterAlias(f"k_any_{i}"): 1 - share,
                        },
                        strict=True,
                    )
                    for i in range(3)
                ],
                sizes.steps("step"),
            ],
            tensors=[
                FuzzedTensor(
                    "x",
                    size=("k0", "k1", "k2"),
                    steps=("step_0", "step_1", "step_2"),
                    probability_contiguous=0.75,
                    min_elements=sizes.LEAST_ELEMENTS,
                    max_elements=sizes.GREATEST_ELEMENTS,
                    max_allocation_bytes=sizes.GREATEST_ALLOCATION_BYTES,
                    dim_parameter="ndim",
                    dtype=dtype,
                    cuda=cuda,
                )
            ],
            seed=seed,
        )
