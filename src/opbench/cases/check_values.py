"""Checks of values: the arguments of a call, nested or not, as objects with a type or as plain JSON."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from opbench.cases import values
from opbench.cases.check_fields import (
    INVALID,
    FieldCheck,
    boolean,
    check_object,
    choice,
    dtype,
    finite,
    float_or_text,
    integer,
    optional,
    pair,
    tag,
    text,
)
from opbench.cases.check_names import device
from opbench.cases.check_tensors import tensor
from opbench.cases.collect import Place, Problems, describe
from opbench.cases.names import LAYOUT_NAMES, LAYOUTS, MEMORY_FORMAT_NAMES, MEMORY_FORMATS

# Deeper than any call; a document that nests further is broken or hostile.
DEEPEST = 24
# More arguments, or longer lists, than a call can have any use for.
MOST_ITEMS = 10_000
LONGEST_NAME = 200

ValueCheck: TypeAlias = Callable[[dict[str, Any], Place, Problems], Any]

_int64 = integer(-(2**63), 2**63 - 1)
# Operators take what fits into 64 bits, signed or not.
_whole = integer(-(2**63), 2**64 - 1)


def value(document: Any, place: Place, problems: Problems) -> Any:
    """A value of any type. Plain numbers, text, true, false, null and lists stand for themselves."""
    kind = type(document)
    if kind is dict:
        return _typed(document, place, problems)
    if kind is int:
        checked = _whole(document, place, problems)
        return checked if checked is INVALID else values.Int(checked)
    if kind is bool:
        return values.Bool(document)
    if kind is float:
        return values.Float(document)
    if kind is str:
        checked = text(document, place, problems)
        return checked if checked is INVALID else values.Str(checked)
    if document is None:
        return values.Null()
    if kind is list:
        checked = sequence(document, place, problems)
        return checked if checked is INVALID else values.List(checked)
    problems.wrong_type(place, document, "a value: plain JSON, or an object with a type")
    return INVALID


def _typed(document: dict[str, Any], place: Place, problems: Problems) -> Any:
    name = document.get("type")
    check = TYPES.get(name) if isinstance(name, str) else None
    if check is not None:
        return check(document, place, problems)
    if isinstance(name, str):
        problems.unknown((place, "type"), "type", name, TYPES, "one of " + ", ".join(VALUE_TYPES))
    elif "type" in document:
        problems.wrong_type((place, "type"), name, "one of " + ", ".join(VALUE_TYPES))
    else:
        suggestion = '"type": "tensor"' if "shape" in document else ""
        problems.add(
            place,
            "type is missing",
            found=describe(document),
            expected='an object with a type ({"type": "dict", "value": {...}} for a dictionary)',
            suggestion=suggestion,
        )
    return INVALID


def sequence(document: Any, place: Place, problems: Problems) -> Any:
    """A list of values, as tuple."""
    if not isinstance(document, (list, tuple)):
        problems.wrong_type(place, document, "a list of values")
        return INVALID
    if len(document) > MOST_ITEMS:
        problems.too_many(place, document, MOST_ITEMS)
        return INVALID
    if _too_deep(document, place, problems):
        return INVALID
    before = problems.count
    problems.depth += 1
    result = tuple([value(item, (place, index), problems) for index, item in enumerate(document)])
    problems.depth -= 1
    return result if problems.count == before else INVALID


def _too_deep(document: Any, place: Place, problems: Problems) -> bool:
    if problems.depth >= DEEPEST:
        problems.add(
            place,
            "values are nested too deep",
            found=describe(document),
            expected=f"values at most {DEEPEST} deep",
        )
    return problems.depth >= DEEPEST


def mapping(document: Any, place: Place, problems: Problems) -> Any:
    """An object whose fields are values, in the order of their names."""
    if not isinstance(document, dict):
        problems.wrong_type(place, document, "an object of names and values")
        return INVALID
    if len(document) > MOST_ITEMS:
        problems.too_many(place, document, MOST_ITEMS)
        return INVALID
    if _too_deep(document, place, problems):
        return INVALID
    before = problems.count
    problems.depth += 1
    result = {}
    for name, item in document.items():
        if not isinstance(name, str) or not name or len(name) > LONGEST_NAME:
            problems.add(
                place, "not a name", found=describe(name), expected=f"text of 1 to {LONGEST_NAME} characters"
            )
        elif text(name, place, problems) is not INVALID:
            result[name] = value(item, (place, name), problems)
    problems.depth -= 1
    # It reaches the operator in its order, and the id of a case knows none.
    return dict(sorted(result.items())) if problems.count == before else INVALID


def _numeric(make: Any, single: FieldCheck, bound: FieldCheck) -> ValueCheck:
    """A number that is given, or drawn from a range."""
    fields: dict[str, FieldCheck] = {
        "type": tag,
        "value": optional(single),
        "value_range": optional(pair(bound, "a list of two numbers, the lower first")),
    }

    def check(document: dict[str, Any], place: Place, problems: Problems) -> Any:
        before = problems.count
        found = check_object(document, place, problems, fields) or {}
        given, drawn = found.get("value"), found.get("value_range")
        if drawn is not None and drawn[0] > drawn[1]:
            problems.add(
                (place, "value_range"),
                "the lower number comes first",
                found=f"{drawn[0]} and {drawn[1]}",
                expected=f"{drawn[1]} and {drawn[0]}",
            )
        if given is not None and drawn is not None:
            problems.add(
                place,
                "value and value_range exclude each other",
                found=describe(document),
                expected="one of them",
            )
        if given is None and drawn is None and problems.count == before:
            problems.missing(place, "value", document, "a value or a value_range")
        if problems.count != before:
            return INVALID
        if drawn is not None and drawn[0] == drawn[1]:
            return make(drawn[0])
        return make(given, drawn)

    return check


def _struct(make: Any, fields: dict[str, FieldCheck], required: tuple[str, ...] = ()) -> ValueCheck:
    """A value that is its checked fields."""
    fields = {"type": tag, **fields}

    def check(document: dict[str, Any], place: Place, problems: Problems) -> Any:
        before = problems.count
        found = check_object(document, place, problems, fields, required)
        if found is None or problems.count != before:
            return INVALID
        del found["type"]
        return make(**found)

    return check


def _nonzero(document: Any, place: Place, problems: Problems) -> Any:
    checked = _int64(document, place, problems)
    if checked == 0:
        problems.add(place, "a step must not be 0", found="0", expected="another number")
        return INVALID
    return checked


_one = ("value",)
VALUE_CHECKS: dict[str, ValueCheck] = {
    "tensor": tensor,
    "int": _numeric(values.Int, _whole, _int64),
    "float": _numeric(values.Float, float_or_text, finite),
    "complex": _struct(values.Complex, {"real": float_or_text, "imag": float_or_text}),
    "bool": _struct(values.Bool, {"value": boolean}, _one),
    "str": _struct(values.Str, {"value": text}, _one),
    "none": _struct(values.Null, {}),
    "device": _struct(values.Device, {"value": optional(device)}),
    "dtype": _struct(values.DType, {"value": dtype}, _one),
    "layout": _struct(values.Layout, {"value": choice("layout", LAYOUTS, LAYOUT_NAMES)}, _one),
    "memory_format": _struct(
        values.MemoryFormat, {"value": choice("memory format", MEMORY_FORMATS, MEMORY_FORMAT_NAMES)}, _one
    ),
    "generator": _struct(values.Generator, {}),
    "slice": _struct(
        values.Slice, {"start": optional(_int64), "stop": optional(_int64), "step": optional(_nonzero)}
    ),
    "ellipsis": _struct(values.Ellipsis, {}),
    "list": _struct(values.List, {"value": sequence}),
    "tuple": _struct(values.Tuple, {"value": sequence}),
    "dict": _struct(values.Dict, {"value": mapping}),
}
VALUE_TYPES = tuple(VALUE_CHECKS)
# Names that PARAM and Python have for them.
TYPE_ALIASES = {
    "long": "int",
    "double": "float",
    "genericlist": "list",
    "string": "str",
    "boolean": "bool",
    "null": "none",
    "None": "none",
    "object": "dict",
}
TYPES: dict[str, ValueCheck] = VALUE_CHECKS | {
    alias: VALUE_CHECKS[name] for alias, name in TYPE_ALIASES.items()
}
