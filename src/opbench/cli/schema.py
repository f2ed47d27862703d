"""Print the JSON Schema of suites (what you write), or of results (what you get)."""

from __future__ import annotations

import argparse
import json
from typing import Any

import msgspec

from opbench.cli.parser import Parser, one_of

EPILOG = """examples:
  opbench schema > opbench.schema.json          for your editor: suites
  opbench schema result                         a line of `run -o FILE` or `store export`
"""


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench schema`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "what",
        nargs="?",
        default="suite",
        type=one_of("schema", ("suite", "result", "run", "plan")),
        metavar="suite|result|run|plan",
        help="what is described (default: suite)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    print(json.dumps(schema_of(arguments.what), indent=2))
    return 0


def schema_of(what: str) -> dict[str, Any]:
    """The JSON Schema of a kind of document."""
    if what == "suite":
        from opbench.cases.schema import json_schema

        return json_schema()
    from opbench.cases.plan import Plan
    from opbench.results.records import Measurement, Run

    kinds: dict[str, Any] = {"result": Measurement, "run": Run, "plan": Plan}
    schema = msgspec.json.schema(kinds[what])
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
