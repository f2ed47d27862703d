"""Fuzzed cases: the items of a fuzzer as calls of an operator."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from opbench.cases.builders import call
from opbench.cases.dtypes import DTYPES, canonical_dtype
from opbench.cases.errors import ArgumentError
from opbench.cases.identity import case_id
from opbench.cases.model import Case, Suite
from opbench.cases.names import canonical_operator, operator_spellings
from opbench.cases.suggest import nearest
from opbench.sources.fuzzing.checks import count_of_items
from opbench.sources.fuzzing.families import FAMILIES, Recipe
from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.item import Item


class FuzzedOperator:
    """An operator with the fuzzer of its inputs. `fuzzer` is the name of a family (by default the one that
    the operator is in), or a Fuzzer, whose tensors are then the arguments in their order."""

    def __init__(
        self, op: str, *, seed: int | None = None, fuzzer: str | Fuzzer | None = None, dtype: Any = ""
    ) -> None:
        if not isinstance(op, str) or canonical_operator(op) is None:
            raise ArgumentError(f"op must be the name of an operator, not {op!r}")
        self.op = op
        self._recipe: Recipe | None = None
        if isinstance(fuzzer, Fuzzer):
            for argument, given in (("seed", seed is not None), ("dtype", bool(dtype))):
                if given:
                    raise ArgumentError(
                        f"{argument} must be left out where fuzzer is a Fuzzer: it has its own"
                    )
            self.family, self.fuzzer = "own", fuzzer
            return
        if fuzzer is not None and not isinstance(fuzzer, str):
            raise ArgumentError(f"fuzzer must be a Fuzzer or the name of a family, not {fuzzer!r}")
        self.family = fuzzer or family_of(op)
        self._recipe = _recipe(op, self.family)
        self.fuzzer = self._recipe.make(seed, _dtype(dtype) or self._recipe.dtype)

    def case(self, item: Item, *, tags: Sequence[str] = (), **fields: Any) -> Case:
        """The call of the operator with the tensors of an item."""
        if self._recipe is None:
            args: list[Any] = list(item.tensors.values())
            kwargs: dict[str, Any] = {}
        else:
            args, kwargs = self._recipe.arguments(item)
        return call(self.op, *args, kwargs=kwargs, tags=("fuzzed", self.family, *tags), **fields)


def fuzzed_cases(
    op: str,
    n: int,
    seed: int | None = None,
    *,
    fuzzer: str | Fuzzer | None = None,
    dtype: Any = "",
    directions: Sequence[str] = ("forward",),
    **fields: Any,
) -> Suite:
    """A suite of n random inputs of an operator, the same ones for the same seed.

    `fuzzer` is the name of a family of inputs, or a Fuzzer. Each input is a case for each direction. An
    input that comes again has other numbers in it. Further fields are those of a case: device, label, ...
    """
    count = count_of_items("n", n)
    if not count:
        raise ArgumentError("n must be at least 1: a suite has cases")
    if not directions:
        raise ArgumentError("directions must name at least one, such as 'forward'")
    made = FuzzedOperator(op, seed=seed, fuzzer=fuzzer, dtype=dtype)

    def cases() -> Iterator[Case]:
        # Ids as numbers: a few megabytes for 100,000 cases.
        seen: set[int] = set()
        for item in made.fuzzer.described(count):
            repeated = 0
            first = made.case(item, direction=directions[0], **fields)
            while int(case_id(first), 16) in seen:
                repeated += 1
                first = made.case(item, direction=directions[0], seed=repeated, **fields)
            seen.add(int(case_id(first), 16))
            yield first
            for direction in directions[1:]:
                yield made.case(item, direction=direction, seed=repeated, **fields)

    return Suite(fields.get("label") or f"{op} fuzzed", cases, count * len(directions))


def family_of(op: str) -> str:
    """The family that an operator is in; ArgumentError when it is in none."""
    name, base = canonical_operator(op) or op, _base(op)
    for family in FAMILIES.values():
        if any(name.startswith(namespace) for namespace in family.namespaces):
            return family.name
    # `to_dense` and the like are of a family with a namespace, but stand outside of it.
    in_order = sorted(FAMILIES.values(), key=lambda family: bool(family.namespaces))
    found = [family.name for family in in_order if base in family.operators]
    if found:
        return found[0]
    families = ", ".join(f"{family.name} ({family.what})" for family in FAMILIES.values())
    near = nearest(base, [other for family in FAMILIES.values() for other in family.operators])
    hint = f"; did you mean {near}?" if near else ""
    raise ArgumentError(
        f"op: no family of inputs is known for {op!r}{hint}; choose one as fuzzer (--fuzzer): {families}"
    )


def _recipe(op: str, family: str) -> Recipe:
    if family not in FAMILIES:
        near = nearest(family, FAMILIES)
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"fuzzer has no family {family!r} (there are {', '.join(FAMILIES)}){hint}")
    known = FAMILIES[family].operators
    return known.get(canonical_operator(op) or op) or known.get(_base(op)) or FAMILIES[family].usual


def _base(op: str) -> str:
    """The last part of a name, without the mark of operators that write to their first argument."""
    return operator_spellings(canonical_operator(op) or op)[-1].removesuffix("_")


def _dtype(given: Any) -> str:
    if not given:
        return ""
    found = canonical_dtype(str(given))
    if found is None:
        near = nearest(str(given), DTYPES)
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"dtype: no dtype is called {str(given)!r}{hint}")
    return found
