"""Checks of single fields: a raw value becomes a canonical one, or INVALID with a problem noted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from opbench.cases.collect import Place, Problems, describe, quote
from opbench.cases.dtypes import DTYPE_NAMES, canonical_dtype

FieldCheck: TypeAlias = Callable[[Any, Place, Problems], Any]


class Invalid:
    """Stands for a value that was refused and noted."""

    __slots__ = ()


INVALID = Invalid()

INFINITIES_AND_NAN = {
    **dict.fromkeys(("inf", "+inf", "Infinity", "+Infinity"), "inf"),
    **dict.fromkeys(("-inf", "-Infinity"), "-inf"),
    **dict.fromkeys(("nan", "NaN"), "nan"),
}


def check_object(
    document: Any,
    place: Place,
    problems: Problems,
    fields: Mapping[str, FieldCheck],
    required: Sequence[str] = (),
) -> dict[str, Any] | None:
    """The fields of an object that are right; None when it is no object. Everything wrong is noted."""
    if not isinstance(document, dict):
        problems.wrong_type(place, document, "an object")
        return None
    result: dict[str, Any] = {}
    for key, value in document.items():
        check = fields.get(key)
        if check is not None:
            checked = check(value, (place, key), problems)
            if checked is not INVALID:
                result[key] = checked
        elif isinstance(key, str):
            problems.unknown((place, key), "field", key, fields)
        else:
            problems.add(place, "not the name of a field", found=describe(key), expected="text")
    for name in required:
        if name not in document:
            problems.missing(place, name, document)
    return result


def tag(value: Any, place: Place, problems: Problems) -> Any:
    """The field that chose the check: nothing is left to say about it."""
    return value


def optional(check: FieldCheck) -> FieldCheck:
    """The same check, with null for "left to the default"."""

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        return None if value is None else check(value, place, problems)

    return checked


def text(value: Any, place: Place, problems: Problems) -> Any:
    """Text that every store and terminal can keep."""
    if not isinstance(value, str):
        problems.wrong_type(place, value, "text")
        return INVALID
    if value.isascii():
        if "\0" not in value:
            return value
    else:
        try:
            value.encode()
        except UnicodeEncodeError:
            problems.add(place, "half of a surrogate pair is no text", found=quote(value), expected="text")
            return INVALID
        if "\0" not in value:
            return value
    problems.add(place, "text with a NUL character", found=quote(value), expected="text without it")
    return INVALID


def choice(what: str, names: Sequence[str], aliases: Mapping[str, str] | None = None) -> FieldCheck:
    """One of a few names."""
    spellings = {name: name for name in names} | dict(aliases or {})

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, str):
            problems.wrong_type(place, value, "one of " + ", ".join(names))
            return INVALID
        name = spellings.get(value)
        if name is None:
            problems.unknown(place, what, value, names)
            return INVALID
        return name

    return checked


def dtype(value: Any, place: Place, problems: Problems) -> Any:
    """A dtype, by any of its names."""
    if not isinstance(value, str):
        problems.wrong_type(place, value, 'the name of a dtype such as "float32"')
        return INVALID
    name = canonical_dtype(value)
    if name is None:
        problems.unknown(place, "dtype", value, DTYPE_NAMES, 'a dtype of torch such as "float32"')
        return INVALID
    return name


def boolean(value: Any, place: Place, problems: Problems) -> Any:
    """True or false."""
    if isinstance(value, bool):
        return value
    problems.wrong_type(place, value, "true or false")
    return INVALID


def integer(least: int, most: int) -> FieldCheck:
    """A whole number from `least` to `most`, both included."""

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        if type(value) is not int:
            problems.wrong_type(place, value, "a whole number")
            return INVALID
        if least <= value <= most:
            return value
        message = f"must not be below {least}" if value < least else f"must not be above {most}"
        problems.add(place, message, found=describe(value), expected=f"a whole number from {least} to {most}")
        return INVALID

    return checked


def number(
    least: float = -math.inf, most: float = math.inf, *, above: float = -math.inf, what: str = "a number"
) -> FieldCheck:
    """A finite number in [least, most] and, where `above` is given, greater than that."""

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        converted = finite(value, place, problems, what)
        if converted is INVALID:
            return INVALID
        if converted < least:
            problems.add(place, f"must not be below {least:g}", found=describe(value), expected=what)
        elif converted > most:
            problems.add(place, f"must not be above {most:g}", found=describe(value), expected=what)
        elif converted <= above:
            problems.add(place, f"must be above {above:g}", found=describe(value), expected=what)
        else:
            return converted
        return INVALID

    return checked


def finite(value: Any, place: Place, problems: Problems, what: str = "a number") -> Any:
    """A finite number, as float."""
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        problems.wrong_type(place, value, what)
        return INVALID
    try:
        converted = float(value)
    except OverflowError:
        converted = math.inf
    if not math.isfinite(converted):
        problems.add(place, "must be finite", found=describe(value), expected=what)
        return INVALID
    return converted


def float_or_text(value: Any, place: Place, problems: Problems) -> Any:
    """A number as float; "inf", "-inf" and "nan" stay text."""
    if isinstance(value, str):
        name = INFINITIES_AND_NAN.get(value)
        if name is None:
            problems.wrong_type(place, value, 'a number, "inf", "-inf" or "nan"')
            return INVALID
        return name
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return finite(value, place, problems, 'a number, "inf", "-inf" or "nan"')


def any_number(value: Any, place: Place, problems: Problems) -> Any:
    """A number of any dtype: whole numbers stay exact."""
    if isinstance(value, bool):
        return int(value)
    if type(value) is int and value.bit_length() <= 64:
        return value
    return float_or_text(value, place, problems)


def pair(check: FieldCheck, what: str) -> FieldCheck:
    """A list of two."""

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, (list, tuple)) or len(value) != 2:
            problems.wrong_type(place, value, what)
            return INVALID
        first, second = (check(item, (place, index), problems) for index, item in enumerate(value))
        return INVALID if first is INVALID or second is INVALID else (first, second)

    return checked


def items(check: FieldCheck, what: str, most: int) -> FieldCheck:
    """A list of at most `most`, as tuple."""

    def checked(value: Any, place: Place, problems: Problems) -> Any:
        if not isinstance(value, (list, tuple)):
            problems.wrong_type(place, value, what)
            return INVALID
        if len(value) > most:
            problems.too_many(place, value, most)
            return INVALID
        before = problems.count
        result = tuple([check(item, (place, index), problems) for index, item in enumerate(value)])
        return result if problems.count == before else INVALID

    return checked
