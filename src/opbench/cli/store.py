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
from opbench.cli.units import positive
from opbench.reports.format import size
from opbench.reports.runs import RunTable, run_document
from opbench.reports.text import printable
from opbench.results.jsonl import export_runs, import_runs
from opbench.results.locations import Location, locate
from opbench.results.store import Store

EPILOG = """examples:
  opbench store list --limit 5
  opbench store export last -o run.jsonl
  opbench store import run.jsonl --store postgresql://team@host/opbench
  opbench store delete 20261118-2300
"""
_NOTHING_TO_NAME = ("where", "list", "vacuum")
_BELONGS = {"limit": ("list",), "json": ("list", "where"), "output": ("export",)}


def add_arguments(parser: Parser) -> None:
    """The arguments of `opbench store`."""
    parser.epilog = EPILOG
    parser.add_argument(
        "action", type=one_of("action", ACTIONS), metavar="ACTION", help=f"one of {', '.join(ACTIONS)}"
    )
    parser.add_argument("names", nargs="*", metavar="RUN|FILE", help="ids of runs, their beginnings, or last")
    parser.add_argument("--limit", type=positive, metavar="N", help="of list: so many runs")
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
    for flag, actions in _BELONGS.items():
        if getattr(arguments, flag) and arguments.action not in actions:
            raise UsageError(f"--{flag} belongs to opbench store {' and '.join(actions)}")
    location = locate(arguments.store)
    if location.path and not location.path.exists() and arguments.action in _FINE_WITHOUT:
        _FINE_WITHOUT[arguments.action](location, arguments)
        return 0
    with Store.open(arguments.store, create=arguments.action == "import") as store:
        ACTIONS[arguments.action](store, arguments, Screen())
    return 0


def _nowhere_yet(location: Location, arguments: argparse.Namespace) -> None:
    if arguments.json:
        Screen().text(json.dumps({"store": str(location), "size_bytes": 0, "runs": 0}))
        return
    Screen().text(str(location))
    say("not there yet; opbench run makes it")


def _list_nothing(location: Location, arguments: argparse.Namespace) -> None:
    if not location.is_default:
        raise UsageError(f"there is no store at {location}")
    _say_no_runs(str(location))


def _say_no_runs(place: str) -> None:
    say(f"opbench: no runs in {printable(place)} yet (try opbench run quick)")


def _where(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    runs = store.count_runs()
    if arguments.json:
        screen.text(json.dumps({"store": str(store), "size_bytes": store.size_bytes, "runs": runs}))
        return
    # The place alone on stdout, so that a shell can use it.
    screen.text(str(store))
    say(f"{size(store.size_bytes)}, {_number(runs, 'run')}")


def _list(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    runs = store.runs(arguments.limit)
    if arguments.json:
        for item in runs:
            screen.text(json.dumps(run_document(item, store.counts(item.run_id))))
        return
    if not runs:
        _say_no_runs(str(store))
        return
    table = RunTable(screen.width)
    screen.line(table.header())
    for item in runs:
        screen.line(table.row(item, store.counts(item.run_id)))


def _export(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    wanted = [store.run(name).run_id for name in arguments.names]
    # From the oldest on, so that an import keeps their order.
    run_ids = wanted or [item.run_id for item in reversed(store.runs())]
    try:
        if arguments.output:
            with open_output(arguments.output, [str(store.path)] if store.path else []) as file:
                rows = export_runs(store, run_ids, file)
        else:
            # Elsewhere a character that the terminal lacks may be replaced, but records are kept exactly.
            reconfigure = getattr(sys.stdout, "reconfigure", None)
            if reconfigure is not None:
                reconfigure(encoding="utf-8")
            rows = export_runs(store, run_ids, sys.stdout)
    except BrokenPipeError:
        raise
    except OSError as error:
        place = arguments.output or "stdout"
        raise OpbenchError(f"{place} cannot be written: {error.strerror}") from None
    say(f"opbench: exported {_number(len(run_ids), 'run')} with {_number(rows, 'row')}")


def _import(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    for name in arguments.names:
        try:
            with Path(name).open("rb") as file:
                done = import_runs(store, file, name)
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise OpbenchError(f"{name} cannot be read: {reason}") from None
        for run_id in done.added:
            screen.text(printable(run_id))
        parts = [f"imported {_number(len(done.added), 'run')} with {_number(done.rows, 'row')}"]
        if done.present:
            known = ", ".join(done.present[:5]) + (", ..." if len(done.present) > 5 else "")
            parts.append(f"{_number(len(done.present), 'run')} there already: {known}")
        if done.cut_off:
            parts.append("the last line is incomplete and was left out")
        say(f"opbench: {printable(f'{name}: ' + '; '.join(parts))}")


def _delete(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    # All names are looked up first: a mistyped one deletes nothing.
    for run_id in dict.fromkeys(store.run(name).run_id for name in arguments.names):
        rows = store.delete_run(run_id)
        say(f"opbench: deleted run {printable(run_id)} with {_number(rows, 'row')}")


def _vacuum(store: Store, arguments: argparse.Namespace, screen: Screen) -> None:
    before = store.size_bytes
    store.vacuum()
    say(f"opbench: {printable(str(store))}: {size(before)} before, {size(store.size_bytes)} now")


def _number(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"


ACTIONS: dict[str, Callable[[Store, argparse.Namespace, Screen], None]] = {
    "where": _where,
    "list": _list,
    "export": _export,
    "import": _import,
    "delete": _delete,
    "vacuum": _vacuum,
}
# What to answer where there is no store yet, which is nobody's mistake.
_FINE_WITHOUT: dict[str, Callable[[Location, argparse.Namespace], None]] = {
    "where": _nowhere_yet,
    "list": _list_nothing,
}
