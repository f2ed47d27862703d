"""Look after the store: where it is, its runs, and runs as JSON Lines.

where            say where it is, how large, and how many runs it has
list             its runs, the latest first
export RUN...    write runs as JSON Lines; without a RUN, all of them
import FILE...   add the runs of JSON Lines files
delete RUN...    delete runs with all their rows
vacuum           give back the space of what was deleted
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path

from opbench.cases.errors import OpbenchError, UsageError
from opbench.cli.output import open_output
from opbench.cli.parser import Parser, one_of
from opbench.cli.run_flags import add_store_flag
from opbench.cli.screen import Screen, say
from opbench.reports.format import size
from opbench.reports.runs import RunTable, run_document
from opbench.results.jsonl import export_runs, import_runs
from opbench.results.store import Store

EPILOG = """examples:
  opbench store list --limit 5
  opbench store export last -o run.jsonl
  opbench store import run.jsonl --store postgresql://team@host/opbench
  opbench store delete 20261118-2300
"""
_NOTHING_TO_NAME = ("where", "list", "vacuum")


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench store`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "action", type=one_of("action", ACTIONS), metavar="ACTION", help=f"one of {', '.join(ACTIONS)}"
    )
    parser.add_argument("names", nargs="*", metavar="RUN|FILE", help="ids of runs, their beginnings, or last")
    parser.add_argument("--limit", type=int, metavar="N", help="of list: so many runs")
    parser.add_argument(
        "--json", action="store_true", help="of list and where: one JSON object for each line"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="of export: where to (default: stdout)")
    add_store_flag(parser)


def run(arguments: argparse.Namespace) -> int:
    """Do it."""
    if arguments.names and arguments.action in _NOTHING_TO_NAME:
        raise UsageError(f"opbench store {arguments.action} takes no names; found {arguments.names[0]!r}")
    if not arguments.names and arguments.action in ("import", "delete"):
        raise UsageError(f"opbench store {arguments.action} needs to know which: name at least one")
    if arguments.output and arguments.action != "export":
        raise UsageError("-o belongs to opbench store export")
    with Store.open(arguments.store) as store:
        ACTIONS[arguments.action](store, arguments, Screen())
    return 0


def _where(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    place, runs = _place(store), len(store.runs())
    if arguments.json:
        screen.text(json.dumps({"store": place, "size_bytes": store.size_bytes, "runs": runs}))
        return
    # The place alone on stdout, so that a shell can use it.
    screen.text(place)
    say(f"{size(store.size_bytes)}, {runs} run{'' if runs == 1 else 's'}")


def _list(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    runs = store.runs(arguments.limit)
    if arguments.json:
        for item in runs:
            screen.text(json.dumps(run_document(item, store.counts(item.run_id))))
        return
    if not runs:
        say(f"opbench: no runs in {_place(store)} yet (try opbench run quick)")
        return
    table = RunTable(screen.width)
    screen.line(table.header())
    for item in runs:
        screen.line(table.row(item, store.counts(item.run_id)))


def _export(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    wanted = [store.run(name).run_id for name in arguments.names]
    # From the oldest on, so that an import keeps their order.
    run_ids = wanted or [item.run_id for item in reversed(store.runs())]
    if not arguments.output:
        rows = export_runs(store, run_ids, sys.stdout)
    else:
        with open_output(arguments.output, [str(store.path)] if store.path else []) as file:
            rows = export_runs(store, run_ids, file)
    say(f"opbench: exported {len(run_ids)} run{'' if len(run_ids) == 1 else 's'} with {rows} rows")


def _import(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    for name in arguments.names:
        try:
            with Path(name).open("rb") as file:
                done = import_runs(store, file, name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OpbenchError(f"{name} cannot be read: {reason}") from None
        for run_id in done.added:
            screen.text(run_id)
        parts = [f"imported {len(done.added)} run{'' if len(done.added) == 1 else 's'} with {done.rows} rows"]
        if done.present:
            parts.append(f"{len(done.present)} were there already: {', '.join(done.present[:5])}")
        if done.cut_off:
            parts.append("the last line is incomplete and was left out")
        say(f"opbench: {name}: {'; '.join(parts)}")


def _delete(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    # All names are looked up first: a mistyped one deletes nothing.
    for run_id in dict.fromkeys(store.run(name).run_id for name in arguments.names):
        rows = store.delete_run(run_id)
        say(f"opbench: deleted run {run_id} with {rows} rows")


def _vacuum(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    before = store.size_bytes
    store.vacuum()
    say(f"opbench: {_place(store)}: {size(before)} before, {size(store.size_bytes)} now")


def _place(store: Store) -> str:
    return str(store.path) if store.path else store.url


ACTIONS: dict[str, Callable[[Store, argparse.Namespace, Screen], None]] = {
    "where": _where,
    "list": _list,
    "export": _export,
    "import": _import,
    "delete": _delete,
    "vacuum": _vacuum,
}
