"""The fuzzer: an endless, addressable sequence of items, each some parameters and some tensors."""

from __future__ import annotations

import secrets
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar

from opbench.cases.errors import ArgumentError
from opbench.cases.identity import digest
from opbench.sources.fuzzing.checks import checked_seed, count_of_items
from opbench.sources.fuzzing.conditional import Sampler
from opbench.sources.fuzzing.constraints import checked_constraints
from opbench.sources.fuzzing.item import Drawn, Item
from opbench.sources.fuzzing.mutation import Mutation
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.references import check_names
from opbench.sources.fuzzing.tensors import FuzzedTensor
from opbench.sources.fuzzing.words import Place, Stream

# An item that so many tries do not find is not looked for any longer.
MOST_TRIES = 1000
FINGERPRINTED = 100

Kind = TypeVar("Kind")
Built = tuple[dict[str, Any], dict[str, dict[str, Any]], dict[str, Any]]


class Fuzzer:
    """Random tensors of random shapes: always the same ones for the same seed, on every machine.

    `parameters` and `tensors` may have lists in them, which are unpacked. `constraints` are functions that
    are called with a dictionary of all parameters, or with those that they name, and return False for an
    item that is not wanted. Without a `seed` one is drawn; it is kept in `seed`.
    """

    def __init__(
        self,
        parameters: Sequence[FuzzedParameter | Iterable[FuzzedParameter]],
        tensors: Sequence[FuzzedTensor | Iterable[FuzzedTensor]],
        constraints: Sequence[Any] | None = None,
        seed: int | None = None,
    ) -> None:
        # Not from a generator that somebody else relies on.
        self.seed = secrets.randbelow(2**32) if seed is None else checked_seed(seed)
        self._parameters = _unpacked("parameters", parameters, FuzzedParameter)
        self._tensors = _unpacked("tensors", tensors, FuzzedTensor)
        check_names(self._parameters, self._tensors)
        self._names = tuple(parameter.name for parameter in self._parameters)
        self._constraints = checked_constraints(constraints, self._names)
        self._sampler = Sampler(self._parameters, self._tensors, self.seed)
        self._mutation = Mutation(self._sampler, self.seed)
        self._drawers = [
            (tensor.name, tensor.draw, Stream(self.seed, f"tensor/{tensor.name}").words)
            for tensor in self._tensors
        ]
        self._aliased = {index for index, parameter in enumerate(self._parameters) if parameter.aliases}
        self._places = {name: index for index, name in enumerate(self._names)}
        self._rejections = 0
        self._generated = 0

    @property
    def rejection_rate(self) -> float:
        """The share of what was drawn so far that a constraint refused. Nothing else is ever refused."""
        return self._rejections / self._generated if self._generated else 0.0

    def take(self, n: int) -> Iterator[Built]:
        """The first n items, built: tensors, their properties, and parameters, each a dictionary by name."""
        return map(self.item, range(count_of_items("n", n)))

    def item(self, k: int) -> Built:
        """Item k of `take`, built without those before it."""
        described = self.describe(k)
        return self.build(described), described.properties, dict(described.params)

    def described(self, n: int) -> Iterator[Item]:
        """The first n items as data; no tensor is built."""
        return map(self.describe, range(count_of_items("n", n)))

    def describe(self, k: int) -> Item:
        """Item k as data."""
        place = (count_of_items("k", k),)
        for attempt in range(MOST_TRIES):
            values = self._sampler.draw(place, attempt)
            params = self._params(values)
            if self._is_wanted(params):
                return self._item(place, values, params, place)
        strict = ", ".join(parameter.name for parameter in self._parameters if parameter.strict)
        hint = f", and the strict ones ({strict}) stay as they are in every try" if strict else ""
        raise ArgumentError(
            f"constraints: none of {MOST_TRIES:,} tries at item {k} was wanted: they refuse too much{hint}"
        )

    def neighbour(self, item: Item, number: int) -> Item | None:
        """An item that differs a little from another one; None when constraints refuse it.

        Neighbour `number` of an item is always the same.
        """
        place = (*item.place, count_of_items("number", number))
        values, is_laid_out_anew = self._mutation.mutated(item.values, place)
        params = self._params(values)
        if not self._is_wanted(params):
            return None
        return self._item(place, values, params, place if is_laid_out_anew else item.layout_place)

    def build(self, item: Item) -> dict[str, Any]:
        """The tensors of an item. No generator of torch or NumPy is used for it."""
        from opbench.sources.fuzzing.building import build

        return {
            tensor.name: build(tensor, item.drawn[tensor.name], item, self.seed) for tensor in self._tensors
        }

    def fingerprint(self, n: int = FINGERPRINTED) -> str:
        """A hash of the first n items as data: another one means that the stream is another one."""
        return digest([item.document() for item in self.described(n)])

    def _item(self, place: Place, values: Sequence[Any], params: dict[str, Any], layout_place: Place) -> Item:
        drawn: dict[str, Drawn] = {
            name: draw(params, words(layout_place)) for name, draw, words in self._drawers
        }
        return Item(place, params, drawn, tuple(values), layout_place)

    def _params(self, values: Sequence[Any]) -> dict[str, Any]:
        params = dict(zip(self._names, values, strict=True))
        for index in self._aliased:
            found = values[index]
            while isinstance(found, ParameterAlias):
                found = values[self._places[found.alias_to]]
            params[self._names[index]] = found
        return params

    def _is_wanted(self, params: Mapping[str, Any]) -> bool:
        self._generated += 1
        if all(wants(params) for wants in self._constraints):
            return True
        self._rejections += 1
        return False


def _unpacked(argument: str, given: Any, kind: type[Kind]) -> tuple[Kind, ...]:
    if isinstance(given, (str, Mapping)) or not isinstance(given, Iterable):
        raise ArgumentError(f"{argument} must be a list of {kind.__name__}, not {given!r}")
    found: list[Kind] = []
    for index, item in enumerate(given):
        inner = [item] if isinstance(item, kind) else item
        if isinstance(inner, (str, Mapping)) or not isinstance(inner, Iterable):
            raise ArgumentError(
                f"{argument}[{index}] must be a {kind.__name__} or a list of them, not {item!r}"
            )
        for part in inner:
            if not isinstance(part, kind):
                raise ArgumentError(f"{argument}[{index}] must hold {kind.__name__}s, and {part!r} is none")
            found.append(part)
    return tuple(found)
