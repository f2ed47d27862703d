"""Print the JSON Schema of suites (what you write), or of results (what you get)."""

from __future__ import annotations

import argparse
import json

from opbench.cli.parser import Parser, one_of
from opbench.results.schema import KINDS, json_schema

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
        type=one_of("schema", KINDS),
        metavar="|".join(KINDS),
        help="what is described (default: suite)",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the schema."""
    print(json.dumps(json_schema(arguments.what), indent=2))
    return 0
