"""The JSON Schemas of all documents that people and programs exchange with opbench."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.plan import Plan
from opbench.cases.schema import DIALECT, suite_schema
from opbench.cases.suggest import nearest
from opbench.results.records import Measurement, Run

KINDS = ("suite", "result", "run", "plan")

# JSON has no infinities and no NaN: these texts stand in for them in fields that are numbers.
_NOT_FINITE = {"enum": ["inf", "-inf", "nan"]}


def json_schema(kind: str = "suite") -> dict[str, Any]:
    """The JSON Schema of a kind of document: suite, result (the line of a measurement), run or plan."""
    if kind == "suite":
        return suite_schema()
    if kind == "plan":
        return _generated(Plan, "opbench plan")
    if kind == "result":
        return _line("measurement", _generated(Measurement, "opbench measurement"))
    if kind == "run":
        return _line("run", _generated(Run, "opbench run"))
    near = nearest(kind, KINDS)
    hint = f"; did you mean {near}?" if near else ""
    raise UsageError(f"no schema is called {kind!r} (there are {', '.join(KINDS)}){hint}")


def _generated(record: type[msgspec.Struct], title: str) -> dict[str, Any]:
    # Through text, because msgspec has tuples where JSON has lists.
    schema = json.loads(json.dumps(msgspec.json.schema(record)))
    definitions = {name: _with_texts(found) for name, found in schema["$defs"].items()}
    return {"$schema": DIALECT, "title": title, "$ref": schema["$ref"], "$defs": definitions}


def _line(kind: str, schema: dict[str, Any]) -> dict[str, Any]:
    return schema | {"required": ["kind"], "properties": {"kind": {"const": kind}}}


def _with_texts(schema: Any) -> Any:
    """The same schema with the texts for infinities and NaN wherever there is a number."""
    if isinstance(schema, list):
        return [_with_texts(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    if schema.get("type") == "number":
        kept = {name: schema[name] for name in ("default",) if name in schema}
        return {"anyOf": [schema, _NOT_FINITE], **kept}
    return {name: part if name == "default" else _with_texts(part) for name, part in schema.items()}
