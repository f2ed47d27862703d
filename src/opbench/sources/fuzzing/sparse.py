"""Sparse tensors of a fuzzer: which sizes, layouts and densities they may have."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from opbench.cases.errors import ArgumentError
from opbench.cases.names import LAYOUT_NAMES
from opbench.cases.suggest import nearest
from opbench.cases.values import AnyFill
from opbench.sources.fuzzing.distributions import is_real, is_whole
from opbench.sources.fuzzing.drawn_sparse import DrawnSparseTensor
from opbench.sources.fuzzing.tensors import FuzzedTensor
from opbench.sources.fuzzing.words import Words

_LAYOUTS = {name: full for name, full in LAYOUT_NAMES.items() if full != "strided"}
_BLOCKED = ("sparse_bsr", "sparse_bsc")
# As values.Tensor has it.
USUAL_DENSITY = 0.1


class FuzzedSparseTensor(FuzzedTensor):
    """A sparse tensor. `sparse_dim`, `nnz`, `density` and `coalesced` are names of parameters, or values.

    It stores `nnz` entries, or (where `nnz` is None) `density` of those that its sparse dimensions have,
    and at least one where that is not nothing. `layout` is "sparse_coo", "sparse_csr", "sparse_csc",
    "sparse_bsr" or "sparse_bsc", or the parameter that says which; the blocked ones need a `block_shape`
    that divides the last two sizes. All but sparse_coo have two sparse dimensions and are coalesced; a third
    one is a batch, whose matrices share the entries evenly.
    """

    COUNTS: ClassVar[Mapping[str, int]] = {"sparse_dim": 1, "nnz": 0}

    def __init__(
        self,
        name: str,
        size: Sequence[int | str],
        min_elements: int | None = None,
        max_elements: int | None = None,
        dim_parameter: str | None = None,
        sparse_dim: str | int | None = None,
        nnz: str | int | None = None,
        density: str | float | None = None,
        coalesced: str | bool | None = None,
        dtype: Any = "float32",
        cuda: bool = False,
        *,
        layout: Any = "sparse_coo",
        block_shape: tuple[int, int] | None = None,
        fill: AnyFill | Mapping[str, Any] | str | None = None,
        device: Any = None,
    ) -> None:
        super().__init__(
            name,
            size,
            min_elements=min_elements,
            max_elements=max_elements,
            dim_parameter=dim_parameter,
            dtype=dtype,
            cuda=cuda,
            fill=fill,
            device=device,
        )
        self.sparse_dim = self._checked("sparse_dim", sparse_dim)
        self.nnz = self._checked("nnz", nnz)
        self.density = self._checked("density", density)
        self.coalesced = self._checked("coalesced", coalesced)
        # The parameter's name, or the canonical name of the layout.
        self.layout = _LAYOUTS.get(str(layout), layout)
        if not isinstance(self.layout, str):
            raise ArgumentError(f"{self.owner}: layout must be a layout or a parameter, not {layout!r}")
        self.block_shape = _blocks(self.owner, block_shape)

    def references(self) -> list[tuple[str, str]]:
        """(argument, parameter) of each name that it uses, except those of sizes."""
        named = [(name, getattr(self, name)) for name in ("sparse_dim", "nnz", "density", "coalesced")]
        if self.layout not in _LAYOUTS:
            named.append(("layout", self.layout))
        return super().references() + [(argument, name) for argument, name in named if isinstance(name, str)]

    def draw(self, params: Mapping[str, Any], words: Words) -> DrawnSparseTensor:
        """The tensor of one item, from its parameters."""
        size, _ = self.resolved(params)
        layout = self._layout(params)
        compressed = layout != "sparse_coo"
        block = self.block_shape if layout in _BLOCKED else None
        if compressed and len(size) < 2:
            raise ArgumentError(f"{self.owner}: layout {layout} needs two dimensions, and size is {size}")
        if block and (size[-2] % block[0] or size[-1] % block[1]):
            raise ArgumentError(f"{self.owner}: block_shape {block} does not divide the size {size}")
        sparse_dim = len(size) if compressed else min(self._of(params, "sparse_dim", len(size)), len(size))
        entries = math.prod(size[:sparse_dim])
        # Matrices of a batch have equally many entries, and blocks are stored whole.
        unit = math.prod(size[:-2]) * math.prod(block or (1, 1)) if compressed else 1
        coalesced = compressed or bool(self._of(params, "coalesced", True))
        return DrawnSparseTensor(
            self.name,
            size,
            layout,
            sparse_dim,
            self._stored(params, entries, unit),
            coalesced,
            self.dtype,
            self.device,
            self.fill.resolved(params),
            block,
        )

    def _stored(self, params: Mapping[str, Any], entries: int, unit: int) -> int:
        """How many entries are stored: a multiple of `unit`, since no less can be added."""
        if self.nnz is not None:
            wanted: float = min(self._of(params, "nnz", 0), entries)
        else:
            wanted = entries * _density(self.owner, self._of(params, "density", USUAL_DENSITY))
        if not wanted or not entries:
            return 0
        return int(min(max(round(wanted / unit), 1) * unit, entries))

    def _of(self, params: Mapping[str, Any], argument: str, usual: Any) -> Any:
        given = getattr(self, argument)
        if given is None:
            return usual
        return params[given] if isinstance(given, str) else given

    def _layout(self, params: Mapping[str, Any]) -> str:
        name = str(self.layout if self.layout in _LAYOUTS else params[self.layout])
        if name not in _LAYOUTS:
            near = nearest(name, _LAYOUTS)
            hint = f"; did you mean {near}?" if near else f" (there are {', '.join(_LAYOUTS)})"
            raise ArgumentError(f"{self.owner}: layout has no {name!r}{hint}")
        layout = _LAYOUTS[name]
        if layout in _BLOCKED and self.block_shape is None:
            raise ArgumentError(f"{self.owner}: block_shape is missing, and layout {layout} needs it")
        return layout

    def _checked(self, argument: str, given: Any) -> Any:
        if given is None or (isinstance(given, str) and given):
            return given
        if argument == "coalesced":
            is_right = isinstance(given, bool)
        elif argument == "density":
            is_right = is_real(given) and 0 <= given <= 1
        else:
            is_right = is_whole(given) and given >= 0
        if not is_right:
            kinds = {"coalesced": "True, False", "density": "a number from 0 to 1"}
            expected = kinds.get(argument, "a whole number of at least 0")
            raise ArgumentError(
                f"{self.owner}: {argument} must be the name of a parameter or {expected}, not {given!r}"
            )
        return given


def _density(owner: str, given: Any) -> float:
    if not is_real(given) or not 0 <= given <= 1:
        raise ArgumentError(f"{owner}: density must be from 0 to 1, and its parameter is {given!r}")
    return float(given)


def _blocks(owner: str, given: Any) -> tuple[int, int] | None:
    if given is None:
        return None
    is_pair = isinstance(given, Sequence) and len(given) == 2
    if not is_pair or not all(is_whole(size) and size > 0 for size in given):
        raise ArgumentError(f"{owner}: block_shape must be two whole numbers above 0, not {given!r}")
    return int(given[0]), int(given[1])
