"""A sparse tensor as it was drawn: the Value that it is, and the properties that torch tells of it."""

from __future__ import annotations

import math
from typing import Any

import msgspec

from opbench.cases.errors import ArgumentError
from opbench.cases.values import AnyFill, Tensor


class DrawnSparseTensor(msgspec.Struct, frozen=True, omit_defaults=True):
    """Shape, layout and number of stored entries of one tensor of one item.

    `nnz` counts places of the first `sparse_dim` dimensions, each of which stores a block of the others.
    An uncoalesced tensor has every place twice.
    """

    name: str
    size: tuple[int, ...]
    layout: str
    sparse_dim: int
    nnz: int
    coalesced: bool
    dtype: str
    device: str = "cpu"
    fill: AnyFill | None = None
    block_shape: tuple[int, int] | None = None

    @property
    def places(self) -> int:
        """How many entries the sparse dimensions have, stored or not."""
        return math.prod(self.size[: self.sparse_dim])

    @property
    def density(self) -> float:
        """The share of them that is stored."""
        return self.nnz / self.places if self.places else 0.0

    @property
    def is_hybrid(self) -> bool:
        """True when it has dense dimensions too."""
        return self.sparse_dim < len(self.size)

    def value(self) -> Tensor:
        """The tensor as data; ArgumentError when it is hybrid or uncoalesced, which no Value is."""
        for is_so, what in ((self.is_hybrid, "hybrid"), (not self.coalesced, "uncoalesced")):
            if is_so:
                raise ArgumentError(
                    f"tensor {self.name!r} is a {what} sparse tensor, which a case cannot hold; the fuzzer of"
                    " the family sparse draws none"
                )
        return self.pattern()

    def pattern(self) -> Tensor:
        """Its sparse dimensions as a tensor."""
        return Tensor(
            self.size[: self.sparse_dim],
            self.dtype,
            self.fill,
            layout=self.layout,
            density=self.density,
            block_shape=self.block_shape,
        )

    def properties(self) -> dict[str, Any]:
        """What torch's fuzzer tells of a sparse tensor, by its names."""
        return {
            "numel": math.prod(self.size),
            "shape": self.size,
            "is_coalesced": self.coalesced,
            "density": self.density,
            "sparsity": 1.0 - self.density,
            "sparse_dim": self.sparse_dim,
            "dense_dim": len(self.size) - self.sparse_dim,
            "is_hybrid": self.is_hybrid,
            "dtype": f"torch.{self.dtype}",
        }
