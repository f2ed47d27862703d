"""JSON as the standard has it: no key twice in an object, no NaN, valid UTF-8, of bounded depth."""

from __future__ import annotations

import codecs
import json
import math
from collections.abc import Iterator
from typing import Any

from opbench.cases.check_fields import INVALID
from opbench.cases.collect import LONGEST_QUOTE, Place, Problems, quote

TOO_DEEP = "values are nested too deep"

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "UTF-8 with a byte order mark"),
    (codecs.BOM_UTF16_LE, "UTF-16"),
    (codecs.BOM_UTF16_BE, "UTF-16"),
)


def decode_text(data: bytes, place: Place, problems: Problems) -> str | None:
    """The text of a document, or None (noted) when it is not plain UTF-8."""
    try:
        if not data.startswith((codecs.BOM_UTF8, b"\xff", b"\xfe")):
            return data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        found = f"byte 0x{data[error.start]:02x} at offset {error.start} (line {line})"
        problems.add(place, "not UTF-8", found=found, expected="text in UTF-8")
        return None
    found = next((name for mark, name in _BYTE_ORDER_MARKS if data.startswith(mark)), f"byte 0x{data[0]:02x}")
    problems.add(place, "not plain UTF-8", found=found, expected="text in UTF-8 without a byte order mark")
    return None


class JsonReader:
    """Decodes documents one after the other; it keeps nothing of them."""

    def __init__(self) -> None:
        # What the decoder met and may not raise about, because it does not know where it is.
        self._repeated: list[tuple[dict[str, Any], str]] = []
        self._constants: list[_Constant] = []
        self._decoder = json.JSONDecoder(
            object_pairs_hook=self._object, parse_constant=self._constant, parse_float=self._float
        )

    def read(self, text: str, place: Place, problems: Problems) -> Any:
        """The data that a text holds, or INVALID with all problems noted."""
        before = problems.count
        try:
            document = self._decoder.decode(text)
        except RecursionError:
            problems.add(place, TOO_DEEP, found="thousands of levels", expected="a few")
            return self._dropped()
        except json.JSONDecodeError as error:
            self._note_syntax(text, error, place, problems)
            return self._dropped()
        except ValueError as error:  # a number with more digits than Python takes
            problems.add(
                place,
                "a number is too long",
                found=str(error).partition(";")[0],
                expected="a number of usual length",
            )
            return self._dropped()
        if self._repeated or self._constants:
            self._note_found(document, place, problems)
            self._dropped()
        return document if problems.count == before else INVALID

    def _dropped(self) -> Any:
        self._repeated.clear()
        self._constants.clear()
        return INVALID

    def _object(self, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        made = dict(pairs)
        if len(made) != len(pairs):
            seen: set[str] = set()
            for key, _ in pairs:
                if key in seen:
                    self._repeated.append((made, key))
                seen.add(key)
        return made

    def _float(self, text: str) -> float | _Constant:
        number = float(text)
        return number if math.isfinite(number) else self._constant(text)

    def _constant(self, name: str) -> _Constant:
        self._constants.append(_Constant(name))
        return self._constants[-1]

    def _note_syntax(self, text: str, error: json.JSONDecodeError, place: Place, problems: Problems) -> None:
        where = (
            f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        )
        rest = text[error.pos : error.pos + 20].strip()
        problems.add(
            place,
            f"not JSON: {error.msg} at {where}",
            found=quote(rest) if rest else "the end of the text",
            expected="JSON",
        )

    def _note_found(self, document: Any, place: Place, problems: Problems) -> None:
        repeated: dict[int, list[str]] = {}
        for made, key in self._repeated:
            repeated.setdefault(id(made), []).append(key)
        for item, where in _walk(document, place):
            if isinstance(item, _Constant):
                problems.add(
                    where,
                    "not a number that JSON has",
                    found=item.name[:LONGEST_QUOTE],
                    expected='a finite number, or text such as "nan" or "inf"',
                )
            elif isinstance(item, dict) and id(item) in repeated:
                for key in repeated.pop(id(item)):
                    _note_repeated(key, where, problems)
        # An object that a repeated key hides is nowhere in the document.
        for keys in repeated.values():
            for key in keys:
                _note_repeated(key, place, problems)


def _note_repeated(key: str, place: Place, problems: Problems) -> None:
    problems.add(place, "a key stands twice in one object", found=quote(key), expected="each key once")


class _Constant:
    """Stands for a NaN or an infinity in the text, or for a number too large."""

    def __init__(self, name: str) -> None:
        self.name = name


def _walk(document: Any, place: Place) -> Iterator[tuple[Any, Place]]:
    pending: list[tuple[Any, Place]] = [(document, place)]
    while pending:
        item, where = pending.pop()
        yield item, where
        if isinstance(item, dict):
            pending.extend((part, (where, key)) for key, part in reversed(item.items()))
        elif isinstance(item, list):
            pending.extend((part, (where, index)) for index, part in reversed(list(enumerate(item))))
