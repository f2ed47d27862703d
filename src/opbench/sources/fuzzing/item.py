"""One item of a fuzzer as data: parameters, and tensors that are not built yet."""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec

from opbench.cases.values import Tensor
from opbench.sources.fuzzing.drawn import DrawnTensor
from opbench.sources.fuzzing.drawn_sparse import DrawnSparseTensor
from opbench.sources.fuzzing.words import Place

Drawn: TypeAlias = DrawnTensor | DrawnSparseTensor


class Item(msgspec.Struct, frozen=True):
    """Parameters and tensors of one item.

    `place` is its number, followed by those of the mutations that lead to it. `values` are the parameters
    with aliases as they were drawn.
    """

    place: Place
    params: dict[str, Any]
    drawn: dict[str, Drawn]
    values: tuple[Any, ...]
    layout_place: Place

    @property
    def index(self) -> int:
        """Which item of the fuzzer it is, or is descended from."""
        return self.place[0]

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors as Values, which a case can hold; ArgumentError for one that is more than a Value."""
        return {name: drawn.value() for name, drawn in self.drawn.items()}

    @property
    def properties(self) -> dict[str, dict[str, Any]]:
        """What torch's fuzzer tells of each tensor."""
        return {name: drawn.properties() for name, drawn in self.drawn.items()}

    def document(self) -> Any:
        """All that makes the item, as plain data."""
        params = {
            name: value if isinstance(value, _PLAIN) else repr(value) for name, value in self.params.items()
        }
        return [params, msgspec.to_builtins(self.drawn)]


_PLAIN = (bool, int, float, str, type(None))
