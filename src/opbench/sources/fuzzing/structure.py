"""Which parameters decide what a budget is made of: dimensions and aliases, and every way to set them."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from opbench.sources.fuzzing.budgets import Budget, Form
from opbench.sources.fuzzing.distributions import Choices, Ordered, WholeChoices
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.references import WHOLE, reached
from opbench.sources.fuzzing.tensors import FuzzedTensor

# What the structural parameters were set to, each a number or an alias.
Settings: TypeAlias = tuple[Any, ...]
# More are neither listed nor kept.
MOST_LISTED = 4096


class Structure:
    """The structural parameters of a fuzzer, by their places, and the form of each of their settings."""

    def __init__(self, parameters: Sequence[FuzzedParameter], tensors: Sequence[FuzzedTensor]) -> None:
        self._parameters = parameters
        self._by_name = {parameter.name: parameter for parameter in parameters}
        self._place_of = {parameter.name: place for place, parameter in enumerate(parameters)}
        self._tensors = [tensor for tensor in tensors if _has_budget(tensor)]
        structural: set[str] = set()
        for tensor in self._tensors:
            if tensor.dim_parameter is not None:
                structural |= {parameter.name for parameter in reached(tensor.dim_parameter, self._by_name)}
            for entry in (*tensor.size, *tensor.steps):
                if isinstance(entry, str):
                    within = reached(entry, self._by_name)
                    structural |= {parameter.name for parameter in within if parameter.aliases}
        self.places = tuple(sorted(self._place_of[name] for name in structural))
        self.distributions: dict[int, Ordered] = {
            place: parameter.distribution
            for place, parameter in enumerate(parameters)
            if isinstance(parameter.distribution, WHOLE)
        }
        self._forms: dict[Settings, Form] = {}

    def form(self, settings: Settings) -> Form:
        """The budgets under these settings, which stand in the order of `places`."""
        known = self._forms.get(settings)
        if known is None:
            if len(self._forms) >= MOST_LISTED:
                self._forms.clear()
            known = self._forms[settings] = Form(list(self._budgets(settings)), self.distributions)
        return known

    def choices(self, place: int) -> list[tuple[Any, float]]:
        """Everything that a structural parameter can be set to, with its probability."""
        distribution = self._parameters[place].distribution
        if isinstance(distribution, (Choices, WholeChoices)):
            pairs = zip(distribution.values, distribution.probabilities(), strict=True)
            return [(value, probability) for value, probability in pairs if probability]
        ordered = self.distributions[place]
        return [(value, ordered.mass(value, value)) for value in range(ordered.least, ordered.greatest + 1)]

    def all_settings(self) -> Iterator[tuple[Settings, float]]:
        """Every setting with its probability; nothing when there are too many to list."""
        choices = [self.choices(place) for place in self.places]
        if math.prod(map(len, choices)) <= MOST_LISTED:
            for combination in itertools.product(*choices):
                settings, probabilities = zip(*combination, strict=True) if combination else ((), ())
                yield settings, math.prod(probabilities)

    def describe(self, settings: Settings) -> str:
        """Settings as people read them: `dim = 1, y_k0 = k0`."""
        texts = (
            f"{self._parameters[place].name} = "
            + (setting.alias_to if isinstance(setting, ParameterAlias) else str(setting))
            for place, setting in zip(self.places, settings, strict=True)
        )
        return ", ".join(texts)

    def _budgets(self, settings: Settings) -> Iterator[Budget]:
        chosen = dict(zip(self.places, settings, strict=True))
        for tensor in self._tensors:
            dim = len(tensor.size)
            if tensor.dim_parameter is not None:
                dim, _ = self._product([tensor.dim_parameter], chosen)
            constant, factors = self._product(tensor.size[:dim], chosen)
            if tensor.min_elements or tensor.max_elements is not None:
                limits = {"min_elements": tensor.min_elements, "max_elements": tensor.max_elements}
                names = " and ".join(f"{name}={limit}" for name, limit in limits.items() if limit is not None)
                yield Budget(
                    f"{tensor.owner}: {names}",
                    tensor.min_elements or 0,
                    tensor.max_elements,
                    constant,
                    factors,
                )
            if tensor.max_allocation_bytes is not None:
                more, others = self._product(tensor.steps[:dim], chosen)
                limit = tensor.max_allocation_bytes
                yield Budget(
                    f"{tensor.owner}: max_allocation_bytes={limit}",
                    0,
                    limit,
                    constant * more * tensor.element_bytes,
                    factors + others,
                )

    def _product(
        self, entries: Sequence[int | str], chosen: Mapping[int, Any]
    ) -> tuple[int, tuple[int, ...]]:
        constant, factors = 1, []
        for entry in entries:
            found: Any = entry
            while isinstance(found, (str, ParameterAlias)):
                place = self._place_of[found if isinstance(found, str) else found.alias_to]
                if place not in chosen:
                    factors.append(place)
                    break
                found = chosen[place]
            else:
                constant *= found
        return constant, tuple(factors)


def _has_budget(tensor: FuzzedTensor) -> bool:
    limits = (tensor.max_elements, tensor.max_allocation_bytes)
    return bool(tensor.min_elements) or any(limit is not None for limit in limits)
