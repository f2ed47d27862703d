"""Arguments as people type them: `float32[64,64]`, `int64[100]:indices(1000)`, `3`, `true`, `[1, 2]`.

float32[64,64]              a tensor; then, in any order:
  :channels_last              a memory format           :sparse_csr       a layout
  :strides(1,64)              strides                   :offset(3)        a storage offset
  :requires_grad              with a gradient           :indices(1000)    a fill, as in its fields' order
  :zipf(bound=1000,alpha=2)   a fill, by field names
3  1.5  inf  2+3j           numbers
true  false  none  ...      and what Python writes: True, False, None
'text'  "text"              text
[1, 2]  (2, 2)              a list, a tuple
1:10:2                      a slice
torch.float32  float32      a dtype; torch.channels_last, torch.strided likewise
cpu  cuda:1                 a device
{"type": "tensor", ...}     any value, as JSON
"""

from __future__ import annotations

import json
import math
import re
from typing import Any

from opbench.cases.check_fields import INVALID
from opbench.cases.check_fills import FILL_FIELDS
from opbench.cases.check_values import DEEPEST, value
from opbench.cases.collect import LONGEST_QUOTE, Problems, quote
from opbench.cases.dtypes import DTYPES, canonical_dtype
from opbench.cases.errors import UsageError
from opbench.cases.names import LAYOUTS, MEMORY_FORMATS, canonical_device
from opbench.cases.suggest import nearest
from opbench.cases.values import AnyValue

LONGEST_ARGUMENT = 100_000

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<json>\{)
    | (?P<text>'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*")
    | (?P<number>[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?(?![\w.]))
    | (?P<word>[+-]?[A-Za-z_][\w.]*)
    | (?P<dots>\.\.\.)
    | (?P<mark>[\[\](),:=~/+-])
    )""",
    re.VERBOSE | re.ASCII,
)
_SPACE = re.compile(r"\s*")
_WORDS: dict[str, Any] = {
    "true": True,
    "false": False,
    "none": None,
    "null": None,
    "inf": {"type": "float", "value": "inf"},
    "nan": {"type": "float", "value": "nan"},
    "generator": {"type": "generator"},
    "ellipsis": {"type": "ellipsis"},
}
_SUFFIXES = (*MEMORY_FORMATS, *LAYOUTS, *FILL_FIELDS, "strides", "offset", "requires_grad")


def parse_argument(text: str) -> AnyValue:
    """The value that a text of the command line stands for; UsageError when it stands for none."""
    if len(text) > LONGEST_ARGUMENT:
        raise UsageError(f"an argument of {len(text)} characters is too long; put it into a suite")
    document = _Parser(text).whole()
    problems = Problems()
    checked = value(document, "", problems)
    if checked is INVALID or problems.count:
        raise UsageError("\n".join(f"argument {quote(text)}: {problem}" for problem in problems.kept))
    made: AnyValue = checked
    return made


class _Parser:
    """Turns one text into the JSON form of a value, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._place = 0
        self._depth = 0

    def whole(self) -> Any:
        document = self._value()
        if self._rest():
            raise self._error("there is something after the value")
        return document

    def _value(self) -> Any:
        self._depth += 1
        if self._depth > DEEPEST:
            raise self._error(f"values are nested more than {DEEPEST} deep")
        document = self._colon_or(self._single())
        self._depth -= 1
        return document

    def _single(self) -> Any:
        kind, token = self._next()
        if kind == "json":
            return self._json()
        if kind == "text":
            return _unquoted(token)
        if kind == "number":
            return self._number(token)
        if kind == "word":
            return self._word(token)
        if kind == "dots":
            return {"type": "ellipsis"}
        if token == "[":
            return self._items("]")
        if token == "(":
            return self._tuple()
        if token == ":":
            self._place -= 1
            return None
        raise self._error("a value is missing" if not token else f"a value cannot begin with {token}", token)

    def _json(self) -> Any:
        start = self._place - 1
        try:
            document, end = _JSON.raw_decode(self._text, start)
        except (ValueError, RecursionError) as error:
            reason = str(error).partition(" while ")[0].partition(": line ")[0]
            raise UsageError(f"argument {quote(self._text)}: this is not JSON ({reason})") from None
        self._place = end
        return document

    def _number(self, token: str) -> Any:
        if token.endswith("j"):
            return {"type": "complex", "imag": self._float(token[:-1], token)}
        if not re.fullmatch(r"[+-]?\d+", token):
            number: Any = self._float(token, token)
        elif len(token) > 30:
            raise self._error("the number is too large", token)
        else:
            number = int(token)
        imaginary = re.compile(r"\s*([+-]\s*(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)j").match(
            self._text, self._place
        )
        if imaginary:
            self._place = imaginary.end()
            imag = self._float("".join(imaginary[1].split()), imaginary[0])
            return {"type": "complex", "real": number, "imag": imag}
        return number

    def _float(self, text: str, token: str) -> float:
        number = float(text)
        if math.isinf(number):
            raise self._error("the number is too large; infinity is inf", token)
        return number

    def _word(self, token: str) -> Any:
        if self._take("["):
            return self._tensor(token)
        plain = token.lstrip("+-")
        if plain.lower() in _WORDS and (plain == token or plain.lower() == "inf"):
            document = _WORDS[plain.lower()]
            return {"type": "float", "value": "-inf"} if token.startswith("-") else document
        name = token.removeprefix("torch.")
        if name in MEMORY_FORMATS:
            return {"type": "memory_format", "value": name}
        if name in LAYOUTS:
            return {"type": "layout", "value": name}
        if canonical_dtype(name) and (token != name or canonical_dtype(name) == name):
            return {"type": "dtype", "value": name}
        index = re.compile(r":\d+(?!\s*[:\d])").match(self._text, self._place)
        device = canonical_device(token + index[0] if index else token)
        if device:
            self._place = index.end() if index else self._place
            return {"type": "device", "value": device}
        if canonical_dtype(name):
            near = f"torch.{name}"  # without torch, int and float are types of Python
        else:
            near = nearest(name, [*_WORDS, *DTYPES, *MEMORY_FORMATS, *LAYOUTS])
        hint = f"; did you mean {near}?" if near else ""
        raise self._error(
            f"unknown word {quote(token)}; text keeps its quotes, as in \"'mean'\"{hint}", token
        )

    def _tensor(self, dtype: str) -> dict[str, Any]:
        document: dict[str, Any] = {"type": "tensor", "dtype": dtype, "shape": self._items("]")}
        if self._take("/"):
            document["strides"] = self._numbers()
        while self._take(":") or self._take("~"):
            kind, name = self._next()
            if kind != "word":
                raise self._error("the name of a fill, a layout or a memory format is missing", name)
            self._suffix(document, name)
        return document

    def _suffix(self, document: dict[str, Any], name: str) -> None:
        given, named = self._parameters() if self._take("(") else ([], {})
        content: Any
        if name in MEMORY_FORMATS and not (given or named):
            field, content = "memory_format", name
        elif name in LAYOUTS and not (given or named):
            field, content = "layout", name
        elif name == "requires_grad" and not (given or named):
            field, content = "requires_grad", True
        elif name == "strides" and not named:
            field, content = "strides", given
        elif name == "offset" and len(given) == 1 and not named:
            field, content = "storage_offset", given[0]
        elif name in FILL_FIELDS:
            fields = FILL_FIELDS[name]
            if name == "literal" and not named:
                given = [given]
            if len(given) > len(fields):
                raise self._error(
                    f"{name} takes at most {len(fields)} numbers ({', '.join(fields) or 'none'})", name
                )
            field, content = "fill", {"kind": name, **dict(zip(fields, given, strict=False)), **named}
        elif name in _SUFFIXES:
            raise self._error(f"{name} is not written like this (see opbench run --help)", name)
        else:
            near = nearest(name, _SUFFIXES)
            hint = f"; did you mean {near}?" if near else f" (there are {', '.join(_SUFFIXES)})"
            raise self._error(f"a tensor has no fill, layout or memory format {quote(name)}{hint}", name)
        if field in document:
            raise self._error(f"the tensor has a {field} already", name)
        document[field] = content

    def _parameters(self) -> tuple[list[Any], dict[str, Any]]:
        given: list[Any] = []
        named: dict[str, Any] = {}
        while not self._take(")"):
            match = re.compile(r"\s*([a-z_][a-z0-9_]*)\s*=").match(self._text, self._place)
            if match:
                self._place = match.end()
                if match[1] in named:
                    raise self._error(f"{match[1]} is given twice", match[1])
                named[match[1]] = _untyped(self._value())
            elif named:
                raise self._error("a number without a name follows one with a name")
            else:
                given.append(_untyped(self._value()))
            if not self._take(",") and not self._sees(")"):
                raise self._error("a comma or ) is missing")
        return given, named

    def _numbers(self) -> list[Any]:
        numbers = [self._single()]
        while self._take(","):
            numbers.append(self._single())
        return numbers

    def _items(self, end: str) -> list[Any]:
        items: list[Any] = []
        while not self._take(end):
            items.append(self._value())
            if not self._take(",") and not self._sees(end):
                raise self._error(f"a comma or {end} is missing")
        return items

    def _tuple(self) -> Any:
        items: list[Any] = []
        comma = False
        while not self._take(")"):
            items.append(self._value())
            if self._take(","):
                comma = True
            elif not self._sees(")"):
                raise self._error("a comma or ) is missing")
        return items[0] if len(items) == 1 and not comma else {"type": "tuple", "value": items}

    def _colon_or(self, first: Any) -> Any:
        """A slice, if a colon follows a number or nothing."""
        if not self._sees(":") or not (first is None or type(first) is int):
            return first
        parts = [first]
        while self._take(":"):
            absent = self._skipped() == len(self._text) or any(map(self._sees, ":,])"))
            parts.append(None if absent else self._single())
        if len(parts) > 3:
            raise self._error("a slice has at most three parts")
        return {"type": "slice", **dict(zip(("start", "stop", "step"), parts, strict=False))}

    def _rest(self) -> str:
        return self._text[self._skipped() :]

    def _next(self) -> tuple[str, str]:
        match = _TOKEN.match(self._text, self._place)
        if match is None:
            rest = self._rest()
            if rest[:1] in ("'", '"'):
                raise self._error("the closing quote is missing", rest)
            if rest:
                raise self._error(f"{quote(rest[0])} means nothing here", rest)
            return "", ""
        self._place = match.end()
        kind = match.lastgroup or ""
        return kind, match[kind]

    def _sees(self, mark: str) -> bool:
        return self._text.startswith(mark, self._skipped())

    def _take(self, mark: str) -> bool:
        start = self._skipped()
        if not self._text.startswith(mark, start):
            return False
        self._place = start + len(mark)
        return True

    def _skipped(self) -> int:
        """The place of the next character that is no space."""
        space = _SPACE.match(self._text, self._place)
        return space.end() if space else self._place

    def _error(self, message: str, token: str = "") -> UsageError:
        # One character of the place is enough to find it, counted as people count.
        place = max(0, self._place - len(token))
        return UsageError(f"argument {quote(self._text)}, at character {place + 1}: {message}")


def _each_key_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return made


def _no_number(name: str) -> Any:
    raise ValueError(f"{name[:LONGEST_QUOTE]} is not a number that JSON has")


def _finite(text: str) -> float:
    number = float(text)
    return number if math.isfinite(number) else _no_number(text)


_JSON = json.JSONDecoder(object_pairs_hook=_each_key_once, parse_constant=_no_number, parse_float=_finite)


def _untyped(document: Any) -> Any:
    """Infinities and NaN, as fills write them."""
    if isinstance(document, dict) and document.get("type") == "float":
        return document["value"]
    return document


def _unquoted(token: str) -> str:
    escapes = {"n": "\n", "t": "\t", "\\": "\\", "'": "'", '"': '"'}
    return re.sub(r"\\(.)", lambda match: escapes.get(match[1], match[0]), token[1:-1], flags=re.DOTALL)
