"""Budgets of tensors as inequalities: least <= constant * product of parameters <= most.

A *form* is what all budgets come to once it is known which dimensions there are and what each alias
stands for. In a form every parameter has a window: the values that it may have beside those of the others.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from opbench.sources.fuzzing.distributions import Ordered

# Beyond what any parameter can be.
UNBOUNDED = 2**64


# The value of each parameter, by its place.
Values: TypeAlias = Mapping[int, int] | Sequence[Any]


class Budget(NamedTuple):
    """One inequality; `factors` are the places of parameters, one that counts twice is there twice."""

    what: str
    least: int
    most: int | None
    constant: int
    factors: tuple[int, ...]


class _Share(NamedTuple):
    """A budget as one of its parameters sees it: `others * value ** exponent` lies within it."""

    constant: int
    others: tuple[int, ...]
    exponent: int
    least: int
    most: int | None


class Form:
    """The budgets of one structure. `problem` says why none of its items can keep them, if none can."""

    def __init__(self, budgets: Sequence[Budget], distributions: Mapping[int, Ordered]) -> None:
        self.problem = ""
        # Found out when it is first needed, by who knows how to draw.
        self.is_narrow: bool | None = None
        self.what: tuple[str, ...] = ()
        binding: list[Budget] = []
        for budget in budgets:
            low = budget.constant * math.prod(distributions[factor].least for factor in budget.factors)
            high = budget.constant * math.prod(distributions[factor].greatest for factor in budget.factors)
            most = high if budget.most is None else budget.most
            if low > most:
                self.problem = f"{budget.what} cannot be kept: the least possible is {low:,}"
            elif high < budget.least:
                self.problem = f"{budget.what} cannot be kept: the most possible is {high:,}"
            elif low < budget.least or high > most:
                binding.append(budget)
        self.what = tuple(budget.what for budget in binding)
        self.roots = tuple(sorted({factor for budget in binding for factor in budget.factors}))
        self.shares = {root: _shares(root, binding) for root in self.roots}


def _shares(root: int, budgets: Sequence[Budget]) -> tuple[_Share, ...]:
    return tuple(
        _Share(
            budget.constant,
            tuple(factor for factor in budget.factors if factor != root),
            budget.factors.count(root),
            budget.least,
            budget.most,
        )
        for budget in budgets
        if root in budget.factors
    )


def window(shares: Sequence[_Share], lows: Values, highs: Values) -> tuple[int, int]:
    """The least and the greatest value of a parameter that some values of the others, each in its own
    [low, high], leave possible."""
    first, last = 0, UNBOUNDED
    for constant, others, exponent, least, most in shares:
        if most is not None:
            rest = constant
            for other in others:
                rest *= lows[other]
            if rest:
                bound = most // rest
                if exponent > 1:
                    bound = root_below(bound, exponent)
                if bound < last:
                    last = bound
        if least:
            rest = constant
            for other in others:
                rest *= highs[other]
            if not rest:
                return 1, 0
            bound = -(-least // rest)
            if exponent > 1:
                bound = root_below(bound - 1, exponent) + 1
            if bound > first:
                first = bound
    return first, last


def root_below(number: int, exponent: int) -> int:
    """The greatest whole number whose power is at most `number`."""
    if exponent == 2:
        return math.isqrt(number)
    low, high = 0, 1 << (number.bit_length() // exponent + 1)
    while low < high:
        middle = (low + high + 1) // 2
        if middle**exponent <= number:
            low = middle
        else:
            high = middle - 1
    return low
