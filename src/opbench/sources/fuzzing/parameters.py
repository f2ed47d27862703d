"""Parameters of a fuzzer: a name, and what its value is drawn from."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from opbench.cases.errors import ArgumentError
from opbench.cases.suggest import nearest
from opbench.sources.fuzzing.distributions import (
    Choices,
    LoguniformReal,
    LoguniformWhole,
    UniformReal,
    UniformWhole,
    WholeChoices,
    is_real,
    is_whole,
)

AnyDistribution: TypeAlias = (
    LoguniformWhole | UniformWhole | LoguniformReal | UniformReal | Choices | WholeChoices
)
NAMED = ("loguniform", "uniform")
# Sizes and what is multiplied to them stay exact.
LARGEST = 2**63 - 1


@dataclass(frozen=True)
class ParameterAlias:
    """As a choice of a parameter: whatever value another parameter has. Chains are fine, cycles are not."""

    alias_to: str

    def __post_init__(self) -> None:
        if not isinstance(self.alias_to, str) or not self.alias_to:
            raise ArgumentError(f"alias_to must be the name of a parameter, not {self.alias_to!r}")


class FuzzedParameter:
    """A named value, drawn anew for each item.

    `distribution` is "loguniform" or "uniform", from `minval` to `maxval` with both ends included, or a
    dictionary of choices and their probabilities. Whole bounds give whole numbers. A `strict` parameter
    has exactly this distribution; the others are drawn so that tensors stay within their budgets.
    """

    def __init__(
        self,
        name: str,
        minval: float | None = None,
        maxval: float | None = None,
        distribution: str | Mapping[Any, float] | None = None,
        strict: bool = False,
    ) -> None:
        if not isinstance(name, str) or not name:
            raise ArgumentError(f"name must be a text that is not empty, not {name!r}")
        self._name = name
        self.strict = bool(strict)
        self.distribution = _distribution(name, minval, maxval, distribution)

    @property
    def name(self) -> str:
        """What tensors, aliases and constraints call it."""
        return self._name

    @property
    def aliases(self) -> tuple[str, ...]:
        """The parameters whose value it may take."""
        values = self.distribution.values if isinstance(self.distribution, Choices) else ()
        return tuple(value.alias_to for value in values if isinstance(value, ParameterAlias))

    def __repr__(self) -> str:
        kind = type(self.distribution).__name__
        return f"FuzzedParameter({self.name!r}, {kind}{', strict=True' if self.strict else ''})"


def _distribution(name: str, minval: Any, maxval: Any, distribution: Any) -> AnyDistribution:
    if isinstance(distribution, Mapping):
        for argument, given in (("minval", minval), ("maxval", maxval)):
            if given is not None:
                raise ArgumentError(
                    f"parameter {name!r}: {argument} must be left out where distribution names the choices"
                )
        return _choices(name, distribution)
    if distribution not in NAMED:
        near = nearest(distribution, NAMED) if isinstance(distribution, str) else ""
        hint = f"; did you mean {near!r}?" if near else ""
        raise ArgumentError(
            f"parameter {name!r}: distribution must be 'loguniform', 'uniform' or a dictionary of choices"
            f" and probabilities, not {distribution!r}{hint}"
        )
    low, high = _bound(name, "minval", minval), _bound(name, "maxval", maxval)
    if low > high:
        raise ArgumentError(f"parameter {name!r}: minval ({minval}) must not be above maxval ({maxval})")
    is_log = distribution == "loguniform"
    if is_log and low <= 0:
        raise ArgumentError(f"parameter {name!r}: minval must be above 0 for loguniform, not {minval}")
    if is_log and low == math.floor(low) and high == math.floor(high):
        # 1e3 to 1e6 are meant as the whole numbers they are.
        low, high = int(low), int(high)
    if isinstance(low, int) and isinstance(high, int):
        return LoguniformWhole(low, high) if is_log else UniformWhole(low, high)
    return LoguniformReal(low, high) if is_log else UniformReal(low, high)


def _bound(name: str, argument: str, value: Any) -> int | float:
    if not is_real(value):
        raise ArgumentError(f"parameter {name!r}: {argument} must be a number, not {value!r}")
    if not is_whole(value):
        return float(value)
    if abs(int(value)) > LARGEST:
        raise ArgumentError(f"parameter {name!r}: {argument} must be within 64 bits, not {value}")
    return int(value)


def _choices(name: str, probabilities: Mapping[Any, Any]) -> Choices | WholeChoices:
    if not probabilities:
        raise ArgumentError(f"parameter {name!r}: distribution has no choices")
    for choice, probability in probabilities.items():
        if not is_real(probability) or probability < 0:
            raise ArgumentError(
                f"parameter {name!r}: the probability of {choice!r} in distribution must be a number of at"
                f" least 0, not {probability!r}"
            )
    total = math.fsum(map(float, probabilities.values()))
    if abs(total - 1) > 1e-5:
        raise ArgumentError(
            f"parameter {name!r}: the probabilities in distribution must sum to one, not to {total:g}"
        )
    if all(map(is_whole, probabilities)):
        return WholeChoices({int(choice): float(share) for choice, share in probabilities.items()})
    return Choices(probabilities)
