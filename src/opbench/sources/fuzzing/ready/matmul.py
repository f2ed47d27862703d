"""A fuzzer for products of matrices."""

from __future__ import annotations

from typing import Any

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor

GREATEST_SIZE = 4096
# Three matrices of so many elements bound a product at about two billion multiplications.
GREATEST_ELEMENTS = 1024**2


class MatmulOpFuzzer(Fuzzer):
    """Matrices `x` (m by k) and `y` (k by n), either of them transposed in memory now and then, with their
    product's shape in `z`, a row `bias` of n and a column `vector` of k numbers. `batch` puts a dimension
    before all matrices: of up to 64, and always there."""

    def __init__(
        self, seed: int | None, dtype: Any = "float32", cuda: bool = False, *, batch: bool = False
    ) -> None:
        outer = ("batch",) if batch else ()

        def matrix(name: str, *size: str, contiguous: float = 0.75) -> FuzzedTensor:
            return FuzzedTensor(
                name,
                size=(*outer, *size),
                probability_contiguous=contiguous,
                max_elements=GREATEST_ELEMENTS,
                dtype=dtype,
                cuda=cuda,
            )

        super().__init__(
            parameters=[
                FuzzedParameter("batch", 1, 64, "loguniform") if batch else [],
                *(sizes.mixed(name, 1, GREATEST_SIZE, 0.4) for name in ("m", "k", "n")),
            ],
            tensors=[
                matrix("x", "m", "k"),
                matrix("y", "k", "n"),
                matrix("z", "m", "n", contiguous=1.0),
                # As torch.nn.functional.linear has its weights.
                matrix("weight", "n", "k"),
                FuzzedTensor("bias", size=("n",), probability_contiguous=1.0, dtype=dtype, cuda=cuda),
                FuzzedTensor("vector", size=("k",), probability_contiguous=1.0, dtype=dtype, cuda=cuda),
            ],
            seed=seed,
        )
