"""Every knob of a Plan as a flag: `budget_s` is `--budget 2s`, `memory` is `--memory` or `--no-memory`."""

from __future__ import annotations

import argparse
import sys
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.plan import PRESETS, Plan, check_plan, preset
from opbench.cases.suggest import nearest
from opbench.cli.parser import Parser, one_of
from opbench.cli.units import duration_s, ratio, size_bytes, whole

HELP = {
    "budget_s": "time for the timed samples of one case",
    "precision": "stop once the interval of the median is this narrow on each side, as in 1%%",
    "confidence": "of that interval, as in 95%%",
    "min_samples": "never stop on precision with fewer",
    "max_samples": "stop with so many",
    "block_s": "a sample is a block of calls that lasts at least so long",
    "warmup_s": "longest warm-up; it ends earlier when block times stop falling",
    "warmup_calls": "exactly so many calls of warm-up",
    "calls_per_sample": "exactly so many calls in a sample",
    "samples": "exactly so many samples",
    "mode": "calls back to back, each timed by itself, or back to back with device events",
    "flush_cache": "empty the last-level cache before each call",
    "cuda_graph": "replay the call as a CUDA graph",
    "baseline": "subtract what an empty loop costs",
    "garbage_collection": "leave Python's garbage collector on during samples",
    "retakes": "take disturbed samples again, up to this many times the fewest samples",
    "memory": "a pass that measures memory",
    "flops": "a pass that counts floating-point operations",
    "check": "a pass that compares the result with eager mode in float64",
    "timeout_s": "a case that runs longer is stopped",
    "memory_cap_bytes": "memory that a case may add, as in 4GiB",
}
_SUFFIXES: tuple[tuple[str, Callable[[str], Any], str], ...] = (
    ("_s", duration_s, "TIME"),
    ("_bytes", size_bytes, "SIZE"),
)


def add_plan_flags(parser: Parser) -> None:
    """Add `--plan`, `--plan-file` and a flag for each knob."""
    group = parser.add_argument_group("how precisely to measure")
    group.add_argument(
        "--plan",
        metavar="NAME",
        type=one_of("plan", PRESETS),
        help=f"{', '.join(PRESETS)} (default: default)",
    )
    group.add_argument("--plan-file", metavar="FILE", help="knobs from a JSON or TOML file; flags go first")
    hints = get_type_hints(Plan)
    for field in msgspec.structs.fields(Plan):
        if field.name == "name":
            continue
        text = HELP[field.name]
        names = [*(["-w"] if field.name == "warmup_calls" else []), flag_of(field.name)]
        if isinstance(field.default, bool):
            group.add_argument(
                *names,
                dest=f"plan_{field.name}",
                action=argparse.BooleanOptionalAction,
                default=None,
                help=text,
            )
            continue
        convert, metavar = _conversion(field.name, hints[field.name])
        group.add_argument(*names, dest=f"plan_{field.name}", type=convert, metavar=metavar, help=text)


def flag_of(knob: str) -> str:
    """The flag for a knob: without its unit, which the argument carries."""
    for suffix, _, _ in _SUFFIXES:
        knob = knob.removesuffix(suffix)
    return f"--{knob.replace('_', '-')}"


def plan_from(arguments: argparse.Namespace, base: Plan | None = None) -> Plan:
    """The plan that the flags ask for; `base` is used where they name no preset."""
    plan = preset(arguments.plan) if arguments.plan else base or preset("default")
    changes: dict[str, Any] = {}
    if arguments.plan_file:
        changes = _read(Path(arguments.plan_file))
        if not arguments.plan and changes.get("name") in PRESETS:
            plan = preset(changes["name"])
        changes.pop("name", None)
    for field in msgspec.structs.fields(Plan):
        given = getattr(arguments, f"plan_{field.name}", None)
        if given is not None:
            changes[field.name] = given
    return check_plan(msgspec.structs.replace(plan, **changes))


def _conversion(knob: str, hint: Any) -> tuple[Callable[[str], Any], str]:
    for suffix, convert, metavar in _SUFFIXES:
        if knob.endswith(suffix):
            return convert, metavar
    if get_origin(hint) is Literal:
        return one_of(knob, get_args(hint)), "{" + ",".join(get_args(hint)) + "}"
    kinds = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    if float in kinds:
        return ratio, "SHARE" if knob in ("precision", "confidence") else "NUMBER"
    return whole, "N"


def _read(path: Path) -> dict[str, Any]:
    try:
        if path.suffix == ".toml":
            document = _toml(path.read_text(encoding="utf-8"))
        else:
            document = msgspec.json.decode(path.read_bytes())
        partial = msgspec.convert(document, dict[str, Any])
        known = {field.name for field in msgspec.structs.fields(Plan)}
        unknown = [name for name in partial if name not in known]
        if unknown:
            raise UsageError(f"{path}: " + "; ".join(_not_a_knob(name, known) for name in unknown))
        whole_plan = msgspec.convert(partial, Plan)
    except OSError as error:
        raise UsageError(f"{path}: the plan file cannot be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{path}: {error}") from None
    return {name: getattr(whole_plan, name) for name in partial}


def _toml(text: str) -> Any:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    return tomllib.loads(text)


def _not_a_knob(name: str, known: set[str]) -> str:
    near = nearest(name, known)
    return f"a plan has no {name!r}; did you mean {near}?" if near else f"a plan has no {name!r}"
