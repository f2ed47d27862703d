"""Parameters that several ready fuzzers share."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias

# Where torch's own fuzzers look: from 16 to 16 Mi a dimension, 4 Ki to 32 Mi elements in all.
LEAST_SIZE = 16
GREATEST_SIZE = 16 * 1024**2
LEAST_ELEMENTS = 4 * 1024
GREATEST_ELEMENTS = 32 * 1024**2
GREATEST_ALLOCATION_BYTES = 2 * 1024**3
DIMENSIONS: Mapping[int, float] = {1: 0.3, 2: 0.4, 3: 0.3}
STEPS: Mapping[int, float] = {1: 0.8, 2: 0.06, 4: 0.06, 8: 0.04, 16: 0.04}


def loguniform(name: str, least: int, greatest: int) -> FuzzedParameter:
    """A size, its logarithm uniform."""
    return FuzzedParameter(name, least, greatest, "loguniform")


def one_of(name: str, sizes: Iterable[int]) -> FuzzedParameter:
    """One of these sizes, each as likely as any other."""
    listed = tuple(sizes)
    return FuzzedParameter(name, distribution=dict.fromkeys(listed, 1 / len(listed)))


def mixed(name: str, least: int, greatest: int, share_of_powers: float = 0.2) -> list[FuzzedParameter]:
    """A size of any value, or (as often as said) a power of two: those are what models are full of, and
    where caches and vector units behave in their own ways."""
    powers = [1 << bit for bit in range(least.bit_length() - 1, greatest.bit_length()) if 1 << bit >= least]
    stem = name.removeprefix("k") or name
    return [
        loguniform(f"k_any_{stem}", least, greatest),
        one_of(f"k_pow2_{stem}", powers),
        FuzzedParameter(
            name,
            distribution={
                ParameterAlias(f"k_any_{stem}"): 1 - share_of_powers,
                ParameterAlias(f"k_pow2_{stem}"): share_of_powers,
            },
            strict=True,
        ),
    ]


def steps(prefix: str, count: int = 3) -> list[FuzzedParameter]:
    """How far apart in memory neighbours are, mostly one."""
    return [FuzzedParameter(f"{prefix}_{index}", distribution=STEPS) for index in range(count)]


def entropy() -> FuzzedParameter:
    """A number for whatever else a user draws for an item."""
    return FuzzedParameter("random_value", 0, 2**32 - 1, "uniform")
