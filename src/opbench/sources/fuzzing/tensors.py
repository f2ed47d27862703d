"""Strided tensors of a fuzzer: which sizes, steps and places in memory they may have."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

from opbench.cases.dtypes import dtype_info
from opbench.cases.errors import ArgumentError
from opbench.cases.values import AnyFill
from opbench.sources.fuzzing import checks
from opbench.sources.fuzzing.drawn import DrawnTensor
from opbench.sources.fuzzing.fills import FillTemplate
from opbench.sources.fuzzing.item import Drawn
from opbench.sources.fuzzing.words import Words, below, happens

# An offset is drawn from 1 to this: enough to meet every alignment that vector units care about.
LARGEST_OFFSET = 64
_CHANNELS_LAST = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}


class FuzzedTensor:
    """A tensor whose `size` and `steps` are whole numbers and names of parameters.

    With `dim_parameter` they are cut, or filled up with ones, to so many dimensions; with `roll_parameter`
    the result is rotated by so many places, as `numpy.roll` does. Memory is laid out in another order of
    dimensions than row-major with probability `1 - probability_contiguous`, and then sliced with `steps`.

    `min_elements`, `max_elements` and `max_allocation_bytes` (before slicing) are kept by drawing
    parameters to fit, not by trying again. A `tensor_constructor` is called with `size`, `dtype` and all
    parameters, and makes the memory instead of opbench. Further keywords: a `fill` (a Fill, its kind, or
    an object whose texts are parameters), a `device`, and how likely the tensor begins inside its memory,
    is expanded along one dimension, or is channels-last.
    """

    # Parameters beside sizes and steps that must be whole numbers, and the least that each may be.
    COUNTS: ClassVar[Mapping[str, int]] = {}

    def __init__(
        self,
        name: str,
        size: Sequence[int | str],
        steps: Sequence[int | str] | None = None,
        probability_contiguous: float = 0.5,
        min_elements: int | None = None,
        max_elements: int | None = None,
        max_allocation_bytes: int | None = None,
        dim_parameter: str | None = None,
        roll_parameter: str | None = None,
        dtype: Any = "float32",
        cuda: bool = False,
        tensor_constructor: Callable[..., Any] | None = None,
        *,
        fill: AnyFill | Mapping[str, Any] | str | None = None,
        device: Any = None,
        probability_offset: float = 0.0,
        probability_expanded: float = 0.0,
        probability_channels_last: float = 0.0,
    ) -> None:
        self._name = checks.checked_name(name)
        owner = self.owner
        self.size = checks.entries(owner, "size", size, 0)
        self.steps = checks.entries(owner, "steps", () if steps is None else steps, 1)
        self.probability_contiguous = checks.probability(
            owner, "probability_contiguous", probability_contiguous
        )
        self.min_elements = checks.optional_count(owner, "min_elements", min_elements)
        self.max_elements = checks.optional_count(owner, "max_elements", max_elements)
        self.max_allocation_bytes = checks.optional_count(owner, "max_allocation_bytes", max_allocation_bytes)
        self.dim_parameter = checks.optional_name(owner, "dim_parameter", dim_parameter)
        self.roll_parameter = checks.optional_name(owner, "roll_parameter", roll_parameter)
        self.dtype = checks.dtype_name(owner, dtype)
        self.device = checks.device_name(owner, device, cuda)
        if tensor_constructor is not None and not callable(tensor_constructor):
            raise ArgumentError(f"{owner}: tensor_constructor must be callable, not {tensor_constructor!r}")
        self.tensor_constructor = tensor_constructor
        self.fill = FillTemplate(owner, fill, self.dtype)
        self.probability_offset = checks.probability(owner, "probability_offset", probability_offset)
        self.probability_expanded = checks.probability(owner, "probability_expanded", probability_expanded)
        self.probability_channels_last = checks.probability(
            owner, "probability_channels_last", probability_channels_last
        )
        least, most = self.min_elements, self.max_elements
        if least is not None and most is not None and least > most:
            raise ArgumentError(f"{owner}: min_elements ({least}) must not be above max_elements ({most})")

    @property
    def name(self) -> str:
        """What it is called in an item."""
        return self._name

    @property
    def owner(self) -> str:
        """How errors speak of it."""
        return f"tensor {self._name!r}"

    @property
    def element_bytes(self) -> int:
        """What one element takes in memory."""
        return dtype_info(self.dtype).bits // 8

    def references(self) -> list[tuple[str, str]]:
        """(argument, parameter) of each name that it uses, except those of sizes and steps."""
        named = (("dim_parameter", self.dim_parameter), ("roll_parameter", self.roll_parameter))
        return [(argument, name) for argument, name in named if name is not None] + self.fill.references()

    def draw(self, params: Mapping[str, Any], words: Words) -> Drawn:
        """The tensor of one item, from its parameters and eight random words."""
        size, steps = self.resolved(params)
        dim = len(size)
        order = tuple(range(dim))
        if dim > 1 and not happens(words[0], self.probability_contiguous):
            # Number 0 is the row-major order itself.
            order = _permutation(dim, 1 + below(words[1], math.factorial(dim) - 1))
        if dim in _CHANNELS_LAST and happens(words[2], self.probability_channels_last):
            order = _CHANNELS_LAST[dim]
        offset, expanded = 0, None
        if self.tensor_constructor is None and happens(words[3], self.probability_offset):
            offset = 1 + below(words[4], LARGEST_OFFSET)
        if dim and happens(words[5], self.probability_expanded):
            expanded = below(words[6], dim)
        return DrawnTensor(
            size,
            steps,
            order,
            self.dtype,
            self.device,
            self.fill.resolved(params),
            offset,
            expanded,
            "" if self.tensor_constructor is None else self.name,
        )

    def resolved(self, params: Mapping[str, Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Sizes and steps as numbers."""
        dim = len(self.size) if self.dim_parameter is None else params[self.dim_parameter]
        size, steps = _numbers(self.size, params, dim), _numbers(self.steps, params, dim)
        if self.roll_parameter is not None and dim:
            places = params[self.roll_parameter] % dim
            if places:
                size = size[-places:] + size[:-places]
                steps = steps[-places:] + steps[:-places]
        return size, steps


def _numbers(given: tuple[int | str, ...], params: Mapping[str, Any], dim: int) -> tuple[int, ...]:
    numbers = [params[entry] if isinstance(entry, str) else entry for entry in given[:dim]]
    return (*numbers, *(1,) * (dim - len(numbers)))


def _permutation(count: int, number: int) -> tuple[int, ...]:
    """The permutation of 0..count-1 that has this number in alphabetical order."""
    left = list(range(count))
    order = []
    for remaining in range(count - 1, -1, -1):
        index, number = divmod(number, math.factorial(remaining))
        order.append(left.pop(index))
    return tuple(order)
