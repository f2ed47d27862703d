"""What `opbench fuzz` has found: as a table, as JSON, and as a suite that can be run."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec
from rich.cells import cell_len

from opbench.cases.identity import case_document, case_id
from opbench.cases.model import Case
from opbench.execution.fuzz_search import Estimate, Found
from opbench.reports.format import duration, significant
from opbench.reports.inputs import describe_inputs
from opbench.reports.table import LONGEST_CELL, Line
from opbench.reports.text import printable, right, shorten
from opbench.sources.fuzzing import Item
from opbench.sources.suite_document import VERSION

_RATIO, _RANGE, _TIME, _SEARCH = 7, 15, 9, 9
_LEAST_INPUTS = 20


class DifferenceLines:
    """A line for each difference: times of both sides, how many times as long the second takes, inputs."""

    def __init__(self, names: tuple[str, str], width: int | None) -> None:
        self._names = [printable(name) for name in names]
        self._widths = [max(cell_len(name), _TIME) for name in self._names]
        taken = sum(self._widths) + _RATIO + _RANGE + _SEARCH + 5 * 2
        self._inputs = LONGEST_CELL if width is None else max(width - taken, _LEAST_INPUTS)

    def header(self) -> Line:
        """The titles of the columns."""
        cells = [right(name, width) for name, width in zip(self._names, self._widths, strict=True)]
        cells += [right("ratio", _RATIO), right("range", _RANGE), right("in search", _SEARCH), "inputs"]
        return [("  ".join(cells), "bold underline")]

    def line(self, found: Found[Item], case: Case) -> Line:
        """One difference, by its fresh times."""
        fresh = found.fresh
        times = [
            right(duration(side.time_s), width)
            for side, width in zip((fresh.first, fresh.second), self._widths, strict=True)
        ]
        low, high = fresh.range
        style = "" if not fresh.is_apart else "red" if fresh.ratio > 1 else "green"
        return [
            ("  ".join(times), ""),
            (f"  {right(_times(fresh.ratio), _RATIO)}", style),
            (f"  {right(f'{significant(low)}–{significant(high)}', _RANGE)}", "dim"),
            (f"  {right(_times(found.searched.ratio), _SEARCH)}", "dim"),
            (f"  {shorten(printable(describe_inputs(case)), self._inputs)}", ""),
        ]


def difference_line(found: Found[Item], names: tuple[str, str], cases: tuple[Case, Case]) -> str:
    """One difference as a line of JSON. Keys are stable: scripts rely on them."""
    low, high = found.fresh.range
    sides = zip(names, cases, (found.fresh.first, found.fresh.second), strict=True)
    document = {
        "case_id": case_id(cases[0]),
        "op": cases[0].op,
        "inputs": describe_inputs(cases[0]),
        "ratio": found.fresh.ratio,
        "ratio_low": low,
        "ratio_high": high,
        "is_apart": found.fresh.is_apart,
        "ratio_in_search": found.searched.ratio,
        "sides": [_side_document(name, case, estimate) for name, case, estimate in sides],
    }
    return json.dumps(document, allow_nan=False)


def found_suite(
    name: str,
    description: str,
    names: tuple[str, str],
    pairs: Sequence[tuple[Found[Item], tuple[Case, Case]]],
) -> str:
    """What was found as a suite file: each input once, or for each side where it is another case there."""
    cases: dict[str, Any] = {}
    for found, sides in pairs:
        text = f"{names[1]} takes {_times(found.fresh.ratio)} as long as {names[0]}"
        for case in sides:
            labelled = msgspec.structs.replace(case, description=text)
            cases.setdefault(case_id(case), case_document(labelled))
    document = {"opbench": VERSION, "name": name, "description": description, "cases": list(cases.values())}
    return "\n".join(_layout(document)) + "\n"


def _layout(document: dict[str, Any]) -> Iterator[str]:
    """JSON with one case on each line: what differs between cases can be seen."""
    head = {key: value for key, value in document.items() if key != "cases"}
    yield "{"
    for key, value in head.items():
        yield f"  {json.dumps(key)}: {json.dumps(value)},"
    yield '  "cases": ['
    texts = [json.dumps(case) for case in document["cases"]]
    yield from (f"    {text}," for text in texts[:-1])
    yield from (f"    {text}" for text in texts[-1:])
    yield "  ]"
    yield "}"


def _side_document(name: str, case: Case, estimate: Estimate) -> dict[str, Any]:
    return {
        "name": name,
        "time_s": estimate.time_s,
        "time_low_s": estimate.low_s,
        "time_high_s": estimate.high_s,
        "case": case_document(case),
    }


def _times(ratio: float) -> str:
    return f"{significant(ratio)}×"
