"""The two sides that a command line of `opbench fuzz` compares."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from opbench.cases.change import change_case
from opbench.cases.errors import UsageError
from opbench.cases.model import Case
from opbench.execution.fuzz_pairs import Side

_WAYS = "--env A=... --env B=..., --runtime A --runtime B, --num-threads A --num-threads B or --against NAME"


def sides_from(arguments: argparse.Namespace) -> tuple[tuple[Side, Side], dict[str, str]]:
    """Both sides, and the environments that they are measured in."""
    environments = dict(arguments.environments or ())
    if arguments.environments and len(environments) < len(arguments.environments):
        raise UsageError("--env gives one name twice")
    environments = environments or {"this": ""}
    given: dict[str, list[Any]] = {
        "--env": list(environments),
        "--runtime": arguments.runtime or ["eager"],
        "--num-threads": arguments.num_threads or [1],
        "--against": [arguments.op, arguments.against] if arguments.against else [arguments.op],
    }
    for flag, values in given.items():
        if len(values) > 2:
            raise UsageError(f"{flag} names {len(values)} sides, and two are compared")
    differing = [flag for flag, values in given.items() if len(values) == 2]
    if not differing:
        raise UsageError(f"say what to compare: {_WAYS}")
    if len(differing) > 1:
        raise UsageError(f"{' and '.join(differing)} would change two things at once: compare one")
    flag = differing[0]
    if given[flag][0] == given[flag][1]:
        raise UsageError(f"{flag}: both sides are {given[flag][0]}: there is nothing to compare")
    first, second = (_side(flag, given, index) for index in (0, 1))
    return (first, second), environments


def _side(flag: str, given: Mapping[str, list[Any]], index: int) -> Side:
    chosen = {name: values[index if name == flag else 0] for name, values in given.items()}
    suffix = " threads" if flag == "--num-threads" else ""
    change = _changing(chosen["--against"], chosen["--runtime"], chosen["--num-threads"])
    return Side(f"{chosen[flag]}{suffix}", change, chosen["--env"])


def _changing(op: str, runtime: str, num_threads: int) -> Callable[[Case], Case]:
    checked: dict[str, str] = {}

    def change(case: Case) -> Case:
        if not checked:
            # Once is enough: names are the same for every case.
            found = change_case(case, {"op": op, "runtime": runtime})
            checked.update(op=found.op, runtime=found.runtime)
        return msgspec.structs.replace(case, **checked, num_threads=num_threads)

    return change
