"""A fuzzer for convolutions and pooling."""

from __future__ import annotations

from typing import Any

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.parameters import FuzzedParameter
from opbench.sources.fuzzing.ready import sizes
from opbench.sources.fuzzing.tensors import FuzzedTensor

KERNELS = {1: 0.3, 3: 0.45, 5: 0.15, 7: 0.1}
# The least image that the largest kernel fits into.
LEAST_IMAGE = 8
# Of one, two and three dimensions: about as many elements in each.
GREATEST_IMAGES = (16384, 256, 32)


class ConvolutionOpFuzzer(Fuzzer):
    """Images `x` of `dims` dimensions, `weight` and `bias` for them, `stride` and `padding`; of four and
    five dimensions in all, a third of the images is channels-last."""

    def __init__(
        self, seed: int | None, dtype: Any = "float32", cuda: bool = False, *, dims: int = 2
    ) -> None:
        if dims not in (1, 2, 3):
            raise ArgumentError(f"dims must be 1, 2 or 3, not {dims!r}")
        image = [f"image_{i}" for i in range(dims)]

        def tensor(
            name: str, *size: str, channels_last: float = 0.0, most: int | None = None
        ) -> FuzzedTensor:
            return FuzzedTensor(
                name,
                size=size,
                probability_contiguous=1.0,
                max_elements=most,
                probability_channels_last=channels_last,
                dtype=dtype,
                cuda=cuda,
            )

        super().__init__(
            parameters=[
                sizes.loguniform("batch", 1, 32),
                *(sizes.mixed(name, 1, 256, 0.6) for name in ("channels", "filters")),
                *(sizes.mixed(name, LEAST_IMAGE, GREATEST_IMAGES[dims - 1], 0.4) for name in image),
                FuzzedParameter("kernel", distribution=KERNELS, strict=True),
                FuzzedParameter("stride", distribution={1: 0.75, 2: 0.25}),
                FuzzedParameter("is_padded", distribution={True: 0.75, False: 0.25}),
            ],
            tensors=[
                tensor("x", "batch", "channels", *image, channels_last=1 / 3, most=1024**2),
                # What comes out is bounded too, and with it how long it takes.
                tensor("y", "batch", "filters", *image, most=1024**2),
                tensor("weight", "filters", "channels", *["kernel"] * dims, most=256 * 1024),
                tensor("transposed_weight", "channels", "filters", *["kernel"] * dims),
                tensor("bias", "filters"),
            ],
            seed=seed,
        )
