"""Checks of a fuzzer's names: each is there, once, and stands for what it is used as."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from opbench.cases.errors import ArgumentError
from opbench.sources.fuzzing.checks import unknown
from opbench.sources.fuzzing.distributions import (
    Choices,
    LoguniformWhole,
    UniformWhole,
    WholeChoices,
    is_whole,
)
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.tensors import FuzzedTensor

WHOLE = (LoguniformWhole, UniformWhole, WholeChoices)
# As many as a tensor can have.
MOST_DIMENSIONS = 64


def check_names(parameters: Sequence[FuzzedParameter], tensors: Sequence[FuzzedTensor]) -> None:
    """Refuse names that are there twice, that are not there, or that stand for what cannot be used so."""
    seen: set[str] = set()
    for argument, items in (("parameters", parameters), ("tensors", tensors)):
        for item in items:
            if item.name in seen:
                raise ArgumentError(f"{argument}: the name {item.name!r} is there twice")
            seen.add(item.name)
    by_name = {parameter.name: parameter for parameter in parameters}
    for parameter in parameters:
        for target in parameter.aliases:
            if target not in by_name:
                raise unknown(f"parameter {parameter.name!r}", "ParameterAlias", target, by_name)
    _refuse_cycles(by_name)
    for tensor in tensors:
        for index, entry in enumerate(tensor.size):
            _check_whole(tensor, f"size[{index}]", entry, by_name, 0, None)
        for index, entry in enumerate(tensor.steps):
            _check_whole(tensor, f"steps[{index}]", entry, by_name, 1, None)
        for argument, name in tensor.references():
            if name not in by_name:
                raise unknown(tensor.owner, argument, name, by_name)
            if argument == "dim_parameter":
                _check_whole(tensor, argument, name, by_name, 0, MOST_DIMENSIONS)
            elif argument == "roll_parameter":
                _check_whole(tensor, argument, name, by_name, None, None)
            elif argument in tensor.COUNTS:
                _check_whole(tensor, argument, name, by_name, tensor.COUNTS[argument], None)


def reached(name: str, by_name: Mapping[str, FuzzedParameter]) -> Iterator[FuzzedParameter]:
    """A parameter, and all those whose value it may take through aliases."""
    pending, seen = [name], {name}
    while pending:
        parameter = by_name[pending.pop()]
        yield parameter
        pending += [target for target in parameter.aliases if target not in seen]
        seen.update(parameter.aliases)


def _refuse_cycles(by_name: Mapping[str, FuzzedParameter]) -> None:
    done: set[str] = set()

    def visit(name: str, path: tuple[str, ...]) -> None:
        if name in path:
            cycle = " -> ".join((*path[path.index(name) :], name))
            raise ArgumentError(f"parameters: a ParameterAlias leads back to where it began: {cycle}")
        if name not in done:
            for target in by_name[name].aliases:
                visit(target, (*path, name))
            done.add(name)

    for name in by_name:
        visit(name, ())


def _check_whole(
    tensor: FuzzedTensor,
    argument: str,
    entry: int | str,
    by_name: Mapping[str, FuzzedParameter],
    least: int | None,
    most: int | None,
) -> None:
    if not isinstance(entry, str):
        return
    if entry not in by_name:
        raise unknown(tensor.owner, argument, entry, by_name)
    for parameter in reached(entry, by_name):
        for value in _extremes(parameter):
            if not is_whole(value):
                wrong = "whole"
            elif least is not None and value < least:
                wrong = f"at least {least}"
            elif most is not None and value > most:
                wrong = f"at most {most}"
            else:
                continue
            raise ArgumentError(
                f"{tensor.owner}: {argument} must be {wrong}, and parameter {parameter.name!r} can be"
                f" {value!r}"
            )


def _extremes(parameter: FuzzedParameter) -> Iterator[Any]:
    distribution = parameter.distribution
    if isinstance(distribution, WHOLE):
        yield from (distribution.least, distribution.greatest)
    elif isinstance(distribution, Choices):
        for value in distribution.values:
            if not isinstance(value, ParameterAlias):
                yield value
    else:
        yield distribution.draw(1 << 63)
