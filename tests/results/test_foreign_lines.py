"""Lines that were changed somewhere: read as records, or refused with a sentence; never anything else."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import OpbenchError
from opbench.results.encoding import encode
from opbench.results.jsonl import read_records

from .makers import make_measurement, make_run

LINES = [
    {"kind": kind, **json.loads(encode(record))}
    for kind, record in (("run", make_run()), ("measurement", make_measurement(0)))
]
# With lone surrogates, which JSON has as escapes.
TEXTS = st.text(st.characters(), max_size=6)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=5,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, ...]] = []
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            inner += [(*path, key), *places(item, (*path, key))]
    return inner


def read(document: Any) -> None:
    file = io.BytesIO(b"\n" + json.dumps(document).encode() + b"\n")
    for record in read_records(file, "changed.jsonl"):
        # What is accepted can be written and read again.
        assert encode(record)


@given(st.data())
def test_a_changed_line_is_a_record_or_refused(data: st.DataObject) -> None:
    document = json.loads(json.dumps(data.draw(st.sampled_from(LINES))))
    path = data.draw(st.sampled_from(places(document)))
    parent = document
    for key in path[:-1]:
        parent = parent[key]
    if isinstance(parent, dict) and data.draw(st.booleans()):
        parent[data.draw(TEXTS)] = parent.pop(path[-1])
    else:
        parent[path[-1]] = data.draw(VALUES)
    refusal = "changed.jsonl: line 2: "
    try:
        read(document)
    except OpbenchError as error:
        refusal = str(error)
    assert refusal.startswith("changed.jsonl: line 2: ")


@pytest.mark.parametrize("line", LINES, ids=lambda line: line["kind"])
def test_half_a_surrogate_pair_in_place_of_a_name(line: dict[str, Any]) -> None:
    path = "status" if line["kind"] == "measurement" else "plan"
    wrong = {**line, path: "\ud800" if path == "status" else {"\ud800": 1}}
    with pytest.raises(OpbenchError, match="no text"):
        read(wrong)
