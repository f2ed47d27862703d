"""Checks of a tensor's fill: its fields, and whether it suits the tensor's dtype and shape."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from pathlib import PurePosixPath
from typing import Any

from opbench.cases import values
from opbench.cases.check_fields import (
    INVALID,
    FieldCheck,
    any_number,
    boolean,
    check_object,
    finite,
    integer,
    items,
    number,
    tag,
    text,
)
from opbench.cases.collect import Place, Problems, describe
from opbench.cases.dtypes import DTypeInfo
from opbench.cases.values import AnyFill, Fill

INT64 = (-(2**63), 2**63 - 1)
# Numbers written out one by one; more of them belong in a file.
MOST_LITERALS = 1_000_000

_SHA256 = re.compile(r"[0-9a-f]{64}")


def _path(value: Any, place: Place, problems: Problems) -> Any:
    checked = text(value, place, problems)
    if not isinstance(checked, str):
        return INVALID
    path = PurePosixPath(checked)
    expected = "the path of a .npy file in the suite's folder, with forward slashes"
    if not checked or path.is_absolute() or ".." in path.parts or "\\" in checked or ":" in checked:
        problems.add(
            place, "the path must stay in the suite's folder", found=describe(checked), expected=expected
        )
        return INVALID
    if path.suffix != ".npy":
        problems.add(place, "not a .npy file", found=describe(checked), expected=expected)
        return INVALID
    return str(path)


def _sha256(value: Any, place: Place, problems: Problems) -> Any:
    if isinstance(value, str) and (not value or _SHA256.fullmatch(value)):
        return value
    problems.wrong_type(place, value, "64 hexadecimal digits in lower case")
    return INVALID


_whole = integer(*INT64)
_bound = integer(1, INT64[1])
_FILLS: dict[str, tuple[type[Fill], dict[str, FieldCheck], tuple[str, ...]]] = {
    "normal": (values.Normal, {"mean": finite, "std": number(0)}, ()),
    "uniform": (values.Uniform, {"low": finite, "high": finite}, ()),
    "integers": (values.Integers, {"low": _whole, "high": integer(INT64[0], 2**64)}, ("low", "high")),
    "indices": (values.Indices, {"bound": _bound}, ("bound",)),
    "zipf": (values.Zipf, {"bound": _bound, "alpha": number(0), "scatter": boolean}, ("bound",)),
    "offsets": (values.Offsets, {"total": integer(0, INT64[1]), "include_last": boolean}, ("total",)),
    "permutation": (values.Permutation, {}, ()),
    "sorted": (values.Sorted, {"low": finite, "high": finite}, ()),
    "mask": (values.Mask, {"density": number(0, 1)}, ()),
    "constant": (values.Constant, {"value": any_number}, ()),
    "arange": (values.Arange, {"start": any_number, "step": any_number}, ()),
    "literal": (
        values.Literal,
        {"values": items(any_number, "a list of numbers", MOST_LITERALS)},
        ("values",),
    ),
    "positive_definite": (values.PositiveDefinite, {}, ()),
    "probabilities": (values.Probabilities, {}, ()),
    "file": (values.FromFile, {"path": _path, "sha256": _sha256}, ("path",)),
}
# The fields of each kind, in their order.
FILL_FIELDS = {kind: tuple(fields) for kind, (_, fields, _) in _FILLS.items()}
FILL_KINDS = tuple(_FILLS)
for _type, _fields, _required in _FILLS.values():
    _fields["kind"] = tag


def fill(document: Any, place: Place, problems: Problems) -> Any:
    """A fill: an object with a kind, the kind alone when it needs no more, or a number for a constant."""
    if isinstance(document, str):
        document = {"kind": document}
    elif isinstance(document, (int, float)):
        document = {"kind": "constant", "value": document}
    elif not isinstance(document, dict):
        problems.wrong_type(place, document, "an object with a kind")
        return INVALID
    kind = document.get("kind")
    if not isinstance(kind, str):
        expected = "one of " + ", ".join(FILL_KINDS)
        if kind is None:
            problems.missing(place, "kind", document, expected)
        else:
            problems.wrong_type((place, "kind"), kind, expected)
        return INVALID
    if kind not in _FILLS:
        problems.unknown((place, "kind"), "fill", kind, FILL_KINDS)
        return INVALID
    make, fields, required = _FILLS[kind]
    before = problems.count
    found = check_object(document, place, problems, fields, required)
    if found is None or problems.count != before:
        return INVALID
    del found["kind"]
    return make(**found)


def check_fill_suits(
    fill: AnyFill, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    """Note what is wrong with this fill for a tensor of this dtype and shape."""
    kinds = _KINDS[type(fill)]
    if info.kind not in kinds:
        name = fill.__struct_config__.tag
        problems.add(
            place,
            f"fill {name} does not suit dtype {info.name}",
            found=f"dtype {info.name}",
            expected=f"a dtype of kind {' or '.join(kinds)}, or another fill",
        )
        return
    suits = _SUITS.get(type(fill))
    if suits is not None:
        suits(fill, info, shape, place, problems)


def _fits(value: Any, info: DTypeInfo, place: Place, problems: Problems, what: str = "the number") -> None:
    """Note a number that a whole-number dtype cannot hold."""
    if info.kind not in ("int", "bool"):
        return
    if type(value) is not int:
        problems.add(
            place,
            f"{what} must be whole for dtype {info.name}",
            found=describe(value),
            expected="a whole number",
        )
    elif not info.low <= value <= info.high:
        problems.add(
            place,
            f"{what} does not fit into dtype {info.name}",
            found=describe(value),
            expected=f"{info.low} to {info.high}",
        )


def _rank(least: int, shape: tuple[int, ...], place: Place, problems: Problems) -> bool:
    if len(shape) < least:
        problems.add(
            place,
            "the shape has too few dimensions for this fill",
            found=f"shape {describe(shape)}",
            expected=f"{least} or more",
        )
    return len(shape) >= least


def _range(fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    if fill.low >= fill.high:
        problems.add(
            place,
            "low must be below high",
            found=f"{fill.low} and {fill.high}",
            expected="the lower number first",
        )
    elif isinstance(fill, values.Integers):
        _fits(fill.low, info, (place, "low"), problems, "low")
        _fits(fill.high - 1, info, (place, "high"), problems, "high - 1")
        if info.kind not in ("int", "bool") and fill.high > 2**63:
            problems.add(
                (place, "high"),
                "does not fit into 64 bits",
                found=describe(fill.high),
                expected=f"at most {2**63}",
            )


def _bounded(fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    _fits(fill.bound - 1, info, (place, "bound"), problems, "bound - 1")


def _offsets(
    fill: values.Offsets, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    _fits(fill.total, info, (place, "total"), problems, "total")
    if not _rank(1, shape, place, problems):
        return
    if fill.include_last and fill.total and shape[-1] == 1:
        problems.add(
            place,
            "one offset cannot be both 0 and the total",
            found="shape " + describe(shape),
            expected="two or more",
        )


def _permutation(
    fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    if _rank(1, shape, place, problems) and shape[-1]:
        _fits(shape[-1] - 1, info, place, problems, "the last index")


def _sorted(fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    _rank(1, shape, place, problems)
    _range(fill, info, shape, place, problems)
    _fits(math.floor(fill.low), info, (place, "low"), problems, "low")
    _fits(math.ceil(fill.high) - 1, info, (place, "high"), problems, "high")


def _constant(
    fill: values.Constant, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    _fits(fill.value, info, (place, "value"), problems)


def _arange(
    fill: values.Arange, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    for name in ("start", "step"):
        if isinstance(getattr(fill, name), str):
            problems.add(
                (place, name),
                "must be finite",
                found=describe(getattr(fill, name)),
                expected="a finite number",
            )
            return
    _fits(fill.start, info, (place, "start"), problems, "start")
    count = math.prod(shape)
    if info.kind != "int" or not count:
        return
    if type(fill.step) is not int:
        problems.add(
            (place, "step"),
            f"step must be whole for dtype {info.name}",
            found=describe(fill.step),
            expected="a whole number",
        )
    elif type(fill.start) is int:
        _fits(fill.start + (count - 1) * fill.step, info, place, problems, "the last number")


def _literal(
    fill: values.Literal, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    count = math.prod(shape)
    if len(fill.values) != count:
        problems.add(
            (place, "values"),
            f"a tensor of this shape has {count} element{'s' * (count != 1)}",
            found=f"{len(fill.values)} numbers",
            expected=str(count),
        )
    if info.kind in ("int", "bool"):
        for index, value in enumerate(fill.values):
            _fits(value, info, ((place, "values"), index), problems)


def _square(fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    if _rank(2, shape, place, problems) and shape[-1] != shape[-2]:
        problems.add(
            place,
            "the matrices must be square",
            found=f"shape {describe(shape)}",
            expected="equal last dimensions",
        )


def _rows(fill: Any, info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    _rank(1, shape, place, problems)


_NUMBERS = ("float", "int", "bool", "complex", "quantised")
_KINDS: dict[type[Fill], tuple[str, ...]] = {
    values.Normal: ("float", "complex", "quantised"),
    values.Uniform: ("float", "complex", "quantised"),
    values.Integers: ("int", "bool", "float", "complex", "quantised"),
    values.Indices: ("int",),
    values.Zipf: ("int",),
    values.Offsets: ("int",),
    values.Permutation: ("int",),
    values.Sorted: ("float", "int"),
    values.Mask: _NUMBERS,
    values.Constant: _NUMBERS,
    values.Arange: ("float", "int"),
    values.Literal: _NUMBERS,
    values.PositiveDefinite: ("float", "complex"),
    values.Probabilities: ("float",),
    values.FromFile: _NUMBERS,
}
_SUITS: dict[type[Fill], Callable[[Any, DTypeInfo, tuple[int, ...], Place, Problems], None]] = {
    values.Uniform: _range,
    values.Integers: _range,
    values.Indices: _bounded,
    values.Zipf: _bounded,
    values.Offsets: _offsets,
    values.Permutation: _permutation,
    values.Sorted: _sorted,
    values.Constant: _constant,
    values.Arange: _arange,
    values.Literal: _literal,
    values.PositiveDefinite: _square,
    values.Probabilities: _rows,
}
