"""Checks of a case: a JSON document goes in; a Case comes out, or everything that is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from opbench.cases.check_fields import (
    INVALID,
    FieldCheck,
    check_object,
    choice,
    dtype,
    integer,
    items,
    number,
    optional,
    text,
)
from opbench.cases.check_names import device, operator
from opbench.cases.check_values import mapping, sequence
from opbench.cases.collect import Place, Problems, describe
from opbench.cases.dtypes import PARAMETER_DTYPES
from opbench.cases.files import FileHasher
from opbench.cases.model import Build, Case
from opbench.cases.names import DIRECTIONS, LANGUAGE_ALIASES, LANGUAGES, RUNTIMES

LARGEST_SEED = 2**63 - 1
MOST_THREADS = 4096
MOST_TAGS = 100


def _operator(value: Any, place: Place, problems: Problems) -> Any:
    # As a snippet has it.
    return value if value == "" else operator(value, place, problems)


def _nonempty(value: Any, place: Place, problems: Problems) -> Any:
    checked = text(value, place, problems)
    if checked == "":
        problems.add(place, "must not be empty", found='""', expected="text")
        return INVALID
    return checked


def _tags(value: Any, place: Place, problems: Problems) -> Any:
    checked = _tag_list([value] if isinstance(value, str) else value, place, problems)
    return checked if checked is INVALID else tuple(dict.fromkeys(checked))


def _build(value: Any, place: Place, problems: Problems) -> Any:
    if isinstance(value, list):
        value = {"args": value}
    before = problems.count
    found = check_object(value, place, problems, {"args": sequence, "kwargs": mapping, "dtype": _build_dtype})
    if found is None or problems.count != before:
        return INVALID
    # To build with nothing is what happens without it, too.
    return Build(**found) if any(found.values()) else None


def _build_dtype(value: Any, place: Place, problems: Problems) -> Any:
    # As a module has it that is left as it was built.
    name = "" if value == "" else dtype(value, place, problems)
    if name in ("", INVALID, *PARAMETER_DTYPES):
        return name
    expected = "a floating-point or complex dtype"
    problems.add(place, "no dtype that parameters can have", found=describe(value), expected=expected)
    return INVALID


_tag_list = items(_nonempty, "a list of texts", MOST_TAGS)

WORK_CHECKS: dict[str, FieldCheck] = {
    "op": _operator,
    "build": _build,
    "args": sequence,
    "kwargs": mapping,
    "stmt": text,
    "setup": text,
    "global_setup": text,
    "language": choice("language", LANGUAGES, LANGUAGE_ALIASES),
}
VARIANT_CHECKS: dict[str, FieldCheck] = {
    "direction": choice("direction", DIRECTIONS),
    "runtime": choice("runtime", RUNTIMES),
    "device": device,
    "num_threads": integer(1, MOST_THREADS),
    "seed": integer(0, LARGEST_SEED),
}
LABEL_CHECKS: dict[str, FieldCheck] = {
    "label": text,
    "sub_label": text,
    "description": text,
    "tags": _tags,
    "weight": number(above=0, what="a positive number"),
}
_WHAT = {"op": "the name of an operator", "stmt": "a statement"}
CALL_FIELDS = ("build", "args", "kwargs")
SNIPPET_FIELDS = ("setup", "global_setup", "language")

_DEFAULTS = dict(zip(reversed(Case.__struct_fields__), reversed(Case.__struct_defaults__), strict=False))
_CASE_CHECKS = {
    name: optional(check) for name, check in (WORK_CHECKS | VARIANT_CHECKS | LABEL_CHECKS).items()
}
# What a suite may say once for all its cases. What a call is called with is its own.
_DEFAULT_CHECKS = {name: optional(check) for name, check in (VARIANT_CHECKS | LABEL_CHECKS).items()} | {
    name: optional(WORK_CHECKS[name]) for name in SNIPPET_FIELDS
}


def check_case(
    document: Any,
    *,
    file: str = "",
    place: str = "",
    defaults: Any = None,
    folder: str | None = None,
    allow_snippets: bool = False,
) -> Case:
    """The case that a document describes, in canonical form; DocumentError with all that is wrong.

    `file` and `place` say in messages where the document is from. `folder` has the files that fills name;
    None leaves them unread. A snippet is code, and refused unless `allow_snippets`.
    """
    problems = Problems(file, FileHasher(folder) if folder is not None else None)
    settled = check_defaults(defaults, (place, "defaults"), problems) if defaults is not None else {}
    case = collect_case(document, place, problems, defaults=settled, allow_snippets=allow_snippets)
    if case is None:
        raise problems.error()
    problems.raise_any()
    return case


def check_defaults(document: Any, place: Place, problems: Problems) -> dict[str, Any]:
    """The canonical fields that a suite gives to all cases without their own."""
    found = check_object(document, place, problems, _DEFAULT_CHECKS) or {}
    return {name: value for name, value in found.items() if value is not None}


def collect_case(
    document: Any,
    place: Place,
    problems: Problems,
    *,
    defaults: Mapping[str, Any] | None = None,
    allow_snippets: bool = False,
) -> Case | None:
    """The case that a document describes, or None when something is wrong with it: `problems` has it all.

    `defaults` are from `check_defaults`.
    """
    before = problems.count
    found = check_object(document, place, problems, _CASE_CHECKS)
    if found is None:
        return None
    _check_work(document, found, place, problems, allow_snippets)
    if problems.count != before:
        return None
    fields = {name: value for name, value in found.items() if value is not None}
    if defaults:
        others = () if fields.get("stmt") else SNIPPET_FIELDS
        for name, value in defaults.items():
            if name not in others:
                fields.setdefault(name, value)
        if fields.get("stmt") and fields.get("direction", "forward") != "forward":
            _refuse_backward(fields["direction"], place, problems)
            return None
    return Case(**fields)


def _check_work(
    document: dict[str, Any], found: dict[str, Any], place: Place, problems: Problems, allow_snippets: bool
) -> None:
    has_op, has_stmt = (document.get(name) not in (None, "") for name in ("op", "stmt"))
    if has_op and has_stmt:
        problems.add(
            place,
            "op and stmt exclude each other",
            found=describe(document),
            expected="an operator, or a snippet",
        )
    elif has_op:
        _refuse(SNIPPET_FIELDS, "for snippets", "the call of an operator", document, found, place, problems)
    elif has_stmt:
        _refuse(CALL_FIELDS, "for calls of operators", "a snippet", document, found, place, problems)
        if found.get("direction") in ("backward", "forward_backward"):
            _refuse_backward(found["direction"], place, problems)
        if not allow_snippets:
            problems.add(
                (place, "stmt"),
                "a snippet is code, and code in a suite does not run unless you allow it",
                found=describe(document["stmt"]),
                expected="an operator, or --allow-snippets (allow_snippets=True) if you trust the suite",
            )
    elif empty := [name for name in ("op", "stmt") if document.get(name) == ""]:
        problems.add((place, empty[0]), "must not be empty", found='""', expected=_WHAT[empty[0]])
    else:
        problems.missing(place, "op", document, 'a field "op" (or "stmt", for a snippet)')


def _refuse(
    names: tuple[str, ...],
    whose: str,
    this: str,
    document: dict[str, Any],
    found: Mapping[str, Any],
    place: Place,
    problems: Problems,
) -> None:
    for name in names:
        # A default that is spelled out says nothing.
        if found.get(name) and found[name] != _DEFAULTS.get(name):
            problems.add(
                (place, name),
                f"{name} is {whose}, and this is {this}",
                found=describe(document[name]),
                expected="nothing",
            )


def _refuse_backward(direction: str, place: Place, problems: Problems) -> None:
    problems.add(
        (place, "direction"),
        "a snippet has no backward of its own: write it into the statement",
        found=describe(direction),
        expected='"forward"',
    )
