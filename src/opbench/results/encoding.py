"""Records as JSON text and back, without loss.

JSON has no infinities and no NaN. In fields that are numbers (`value`, `samples`, `interval`, `drawn`,
`duration_s`, ...) they are the texts "inf", "-inf" and "nan", as in cases. In free-form data (`provenance`,
`facts`, `request`), where a text would be taken for a text, they are `{"$float": "nan"}`; an object that
really looks like that is wrapped: `{"$object": {...}}`.

Nor has it half a surrogate pair (many readers refuse `"\\ud800"`), which programs that print garbage may
leave in a text. It becomes U+FDD0, a code point that stands for no character, and its four hex digits; so
does U+FDD0 itself.

Every document names the version of its schema.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

import msgspec

from opbench.cases.errors import OpbenchError
from opbench.cases.plan import Plan
from opbench.results.records import SCHEMA_VERSION, Environment, Measurement, Run
from opbench.results.upgrade import upgrade_record

Record: TypeAlias = Measurement | Run | Environment
RecordType = TypeVar("RecordType", Measurement, Run, Environment)
Document: TypeAlias = dict[str, Any]

_NOT_FINITE = {"inf": math.inf, "-inf": -math.inf, "nan": math.nan}
_FLOAT, _OBJECT = "$float", "$object"
_MARK = "\ufdd0"
_UNWRITABLE = re.compile(f"[\ud800-\udfff{_MARK}]")
_WRITTEN = re.compile(f"{_MARK}([0-9a-f]{{4}})")
_SCHEMA = f'"schema":{SCHEMA_VERSION}'
_PLAN_NUMBERS = tuple(field.name for field in msgspec.structs.fields(Plan) if field.type is float)
_encoder = msgspec.json.Encoder()
_decoders: dict[type[Any], msgspec.json.Decoder[Any]] = {
    kind: msgspec.json.Decoder(kind) for kind in (Measurement, Run, Environment)
}


class RecordError(OpbenchError):
    """A document that is no record, or a record that cannot be kept."""

    def __init__(self, message: str, is_no_json: bool = False) -> None:
        super().__init__(message)
        self.is_no_json = is_no_json


def encode(record: Record) -> str:
    """The record as JSON text on one line."""
    try:
        text = _encoder.encode(record).decode()
    except (ValueError, TypeError, OverflowError, RecursionError):
        # Half of a surrogate pair, a whole number of more than 64 bits, or what is no data at all.
        text = _encode_exactly(record)
    else:
        # msgspec writes null for numbers that JSON lacks. Looking for it costs nothing beside a walk
        # through all samples.
        if "null" in text or '"$' in text or _MARK in text:
            text = _encode_exactly(record)
    # The version equals its default, so it is left out by `omit_defaults`.
    return f"{{{_SCHEMA},{text[1:]}"


def decode(text: str, kind: type[RecordType]) -> RecordType:
    """The record that `encode` made this text from, whichever version wrote it."""
    # Another program may have written the mark as an escape.
    if text.startswith(f"{{{_SCHEMA},") and not any(sign in text for sign in ('"$', "\\u", _MARK)):
        try:
            record: RecordType = _decoders[kind].decode(text)
            return record
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            pass  # texts in place of numbers: read it the slow way
    return from_document(parse(text), kind)


def parse(text: str) -> Document:
    """The JSON object in a text, or say what is wrong with it."""
    try:
        document = json.loads(text, parse_constant=_refuse_constant, parse_float=_parse_float)
    except RecursionError:
        raise RecordError("is nested too deeply") from None
    except ValueError as error:
        raise RecordError(f"is not JSON: {error}", is_no_json=True) from None
    if not isinstance(document, dict):
        raise RecordError(f"must be a JSON object, not {type(document).__name__}")
    return document


def from_document(document: Document, kind: type[RecordType]) -> RecordType:
    """The record that a JSON object stands for. The object is changed."""
    document = upgrade_record(kind.__name__.lower(), document)
    try:
        document = _with_texts(document, _WRITTEN, lambda found: chr(int(found[1], 16)))
        _transform(document, _number_back, _free_back)
        return msgspec.convert(document, kind)
    except msgspec.MsgspecError as error:
        raise RecordError(f"is no {kind.__name__.lower()}: {error}") from None
    except UnicodeError:
        # Half of a surrogate pair where msgspec looks for one of a few words.
        raise RecordError(f"is no {kind.__name__.lower()}: it has a name that is no text") from None
    except RecursionError:
        raise RecordError("is nested too deeply") from None


def _encode_exactly(record: Record) -> str:
    try:
        document = msgspec.to_builtins(record)
        _transform(document, _number_out, _free_out)
        document = _with_texts(document, _UNWRITABLE, lambda found: f"{_MARK}{ord(found[0]):04x}")
        return json.dumps(document, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    except (ValueError, TypeError, RecursionError) as error:
        raise RecordError(f"a {type(record).__name__.lower()} cannot be written as JSON: {error}") from error


def _transform(document: Document, number: Callable[[Any], Any], free: Callable[[Any], Any]) -> None:
    """Apply `number` to every field that is a number, and `free` to free-form data, in place.

    What is not shaped like a record is passed over; the conversion that follows says what is wrong.
    """
    _apply(document, ("duration_s",), number)
    _apply(document, ("facts", "request"), free)
    _apply(document.get("plan"), _PLAN_NUMBERS, number)
    _apply_all(document.get("drawn"), number)
    _apply(document.get("case"), ("weight",), number)
    for metric in _list(document.get("metrics")):
        _apply(metric, ("value",), number)
        _apply(metric, ("provenance",), free)
        _apply(
            metric,
            ("samples",),
            lambda samples: [number(sample) for sample in _list(samples) or ()] or samples,
        )
        if isinstance(metric, dict):
            _apply_all(metric.get("interval"), number)
    for environment in _list(document.get("environments")):
        _apply(environment, ("facts",), free)


def _with_texts(value: Any, pattern: re.Pattern[str], change: Callable[[re.Match[str]], str]) -> Any:
    """The same data with all matches in its texts and names replaced."""
    if isinstance(value, str):
        return pattern.sub(change, value)
    if isinstance(value, list | tuple):
        return [_with_texts(item, pattern, change) for item in value]
    if isinstance(value, dict):
        return {
            _with_texts(key, pattern, change): _with_texts(item, pattern, change)
            for key, item in value.items()
        }
    return value


def _list(value: Any) -> list[Any] | tuple[Any, ...]:
    return value if isinstance(value, list | tuple) else ()


def _apply(place: Any, keys: tuple[str, ...], change: Callable[[Any], Any]) -> None:
    if isinstance(place, dict):
        place.update({key: change(place[key]) for key in keys if key in place})


def _apply_all(place: Any, change: Callable[[Any], Any]) -> None:
    if isinstance(place, dict):
        _apply(place, tuple(place), change)


def _number_out(value: Any) -> Any:
    return str(value) if isinstance(value, float) and not math.isfinite(value) else value


def _number_back(value: Any) -> Any:
    return _NOT_FINITE.get(value, value) if isinstance(value, str) else value


def _free_out(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else {_FLOAT: str(value)}
    if isinstance(value, list | tuple):
        return [_free_out(item) for item in value]
    if isinstance(value, dict):
        inner = {key: _free_out(item) for key, item in value.items()}
        return {_OBJECT: inner} if len(inner) == 1 and next(iter(inner)) in (_FLOAT, _OBJECT) else inner
    return value


def _free_back(value: Any) -> Any:
    if isinstance(value, list):
        return [_free_back(item) for item in value]
    if not isinstance(value, dict):
        return value
    if len(value) == 1:
        key, inner = next(iter(value.items()))
        if key == _FLOAT and isinstance(inner, str) and inner in _NOT_FINITE:
            return _NOT_FINITE[inner]
        if key == _OBJECT and isinstance(inner, dict):
            value = inner
    return {key: _free_back(item) for key, item in value.items()}


def _parse_float(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{text[:40]} is beyond the range of numbers")
    return value


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not a JSON number")
