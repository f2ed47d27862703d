"""Small spaces whose distribution can be computed by listing all of it, to hold samples against."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

Probabilities = Mapping[Any, float]


def loguniform(least: int, greatest: int) -> dict[int, float]:
    """What FuzzedParameter(..., "loguniform") promises."""
    whole = math.log((greatest + 1) / least)
    return {number: math.log((number + 1) / number) / whole for number in range(least, greatest + 1)}


def uniform(least: int, greatest: int) -> dict[int, float]:
    count = greatest - least + 1
    return dict.fromkeys(range(least, greatest + 1), 1 / count)


def conditional(
    parameters: Mapping[str, Probabilities], is_within: Callable[[dict[str, Any]], bool]
) -> dict[tuple[Any, ...], float]:
    """The distribution that drawing all parameters and rejecting what is not within would have."""
    found: dict[tuple[Any, ...], float] = {}
    for combination in itertools.product(*(choices.items() for choices in parameters.values())):
        values = tuple(value for value, _ in combination)
        if is_within(dict(zip(parameters, values, strict=True))):
            found[values] = math.prod(probability for _, probability in combination)
    total = math.fsum(found.values())
    return {values: probability / total for values, probability in found.items()}


def marginal(joint: Mapping[tuple[Any, ...], float], index: int) -> dict[Any, float]:
    """The distribution of one of the parameters."""
    found: dict[Any, float] = {}
    for values, probability in joint.items():
        found[values[index]] = found.get(values[index], 0.0) + probability
    return found


def shares(values: Iterable[Any]) -> dict[Any, float]:
    """How often each value occurs, in parts of all."""
    counts = Counter(values)
    return {value: count / counts.total() for value, count in counts.items()}


def distance(first: Mapping[Any, float], second: Mapping[Any, float]) -> float:
    """The total variation between two distributions: the largest difference in any probability."""
    return sum(abs(first.get(key, 0.0) - second.get(key, 0.0)) for key in {*first, *second}) / 2
