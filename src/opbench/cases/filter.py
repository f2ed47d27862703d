"""Expressions that choose cases: `torch.nn.*`, `dtype:float16 and not direction:backward`, `threads>=2`.

    torch.nn.*          a glob on the operator (long, short as in F.gelu, or its last part), or the label
    op:torch.add*       on the operator alone           label:small*        on the label or sub-label
    tag:matmul          has this tag                    category:pointwise  the same: categories are tags
    dtype:float16       a tensor has this dtype         device:cuda*        runs there
    direction:backward  runtime:compile                 id:1bb8             the case id begins so
    language:cpp        is a snippet in C++             threads>=2          also seed, weight; = != < <= > >=

Commas separate alternatives of one term (`op:torch.mm,torch.bmm`). Terms are combined with `and`, `or`, `not`
and parentheses; `not` binds closest, then `and`. Text with spaces goes in quotes (`label:"two words"`).
"""

from __future__ import annotations

import fnmatch
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeAlias

from opbench.cases.collect import quote
from opbench.cases.dtypes import DTYPES, canonical_dtype
from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import Case, tensors_of
from opbench.cases.names import (
    DIRECTIONS,
    LANGUAGE_ALIASES,
    LANGUAGES,
    RUNTIMES,
    canonical_device,
    canonical_operator,
    device_suggestion,
    operator_spellings,
)
from opbench.cases.suggest import nearest

Keep: TypeAlias = Callable[[Case], bool]

LONGEST_FILTER = 10_000
DEEPEST = 50

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<bracket>[()])
    | (?P<term>(?:[A-Za-z_]+\s*(?P<sign><=|>=|!=|==|[:=<>])\s*)?
        (?:"[^"]*"|'[^']*'|[^\s()"',:=<>]+(?:::?[^\s()"',:=<>]+)*)
        (?:,(?:"[^"]*"|'[^']*'|[^\s()"',]+))*)
    )""",
    re.VERBOSE,
)
_KEYED = re.compile(r"([A-Za-z_]+)\s*(<=|>=|!=|==|[=<>]|:(?!:))\s*(.*)", re.DOTALL)
_ALTERNATIVE = re.compile(r"""\s*(?:"([^"]*)"|'([^']*)'|([^,]*))\s*(?:,|$)""")
_COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    ":": operator.eq,
    "=": operator.eq,
    "==": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_NUMBERS: dict[str, Callable[[Case], float]] = {
    "threads": lambda case: case.num_threads,
    "num_threads": lambda case: case.num_threads,
    "seed": lambda case: case.seed,
    "weight": lambda case: case.weight,
}


def compile_filter(text: str) -> Keep:
    """The test of a case that an expression stands for; UsageError with the place when it stands for none."""
    if len(text) > LONGEST_FILTER:
        raise UsageError(f"a filter of {len(text)} characters is too long")
    return _Parser(text).whole()


def dtypes_of(case: Case) -> set[str]:
    """The dtypes of all tensors that a case is built or called with."""
    return {tensor.dtype for tensor in tensors_of(case)}


class _Parser:
    """Turns one expression into nested tests, by recursive descent."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._depth = 0
        self._tokens = list(self._tokenised())
        self._next = 0

    def _tokenised(self) -> Iterator[tuple[str, int]]:
        place = 0
        end = len(self._text.rstrip())
        while place < end:
            match = _TOKEN.match(self._text, place)
            if match is None:
                place += len(self._text[place:]) - len(self._text[place:].lstrip())
                rest = self._text[place:]
                what = (
                    "the closing quote is missing" if rest[0] in "\"'" else f"{rest[0]!r} means nothing here"
                )
                raise self._error(what, place)
            token = match["bracket"] or match["term"]
            yield token, match.end() - len(token)
            place = match.end()

    def whole(self) -> Keep:
        keep = self._either()
        if self._next < len(self._tokens):
            token, place = self._tokens[self._next]
            what = (
                "this ) closes nothing"
                if token == ")"
                else f"there is neither and nor or before {quote(token)}"
            )
            raise self._error(what, place)
        return keep

    def _either(self) -> Keep:
        alternatives = [self._both()]
        while self._take("or"):
            alternatives.append(self._both())
        return alternatives[0] if len(alternatives) == 1 else _any_of(alternatives)

    def _both(self) -> Keep:
        conditions = [self._single()]
        while self._take("and"):
            conditions.append(self._single())
        return conditions[0] if len(conditions) == 1 else lambda case: all(test(case) for test in conditions)

    def _single(self) -> Keep:
        self._depth += 1
        if self._next >= len(self._tokens):
            raise self._error("a condition is missing at the end", len(self._text))
        token, place = self._tokens[self._next]
        if self._depth > DEEPEST:
            raise self._error(f"conditions are nested more than {DEEPEST} deep", place)
        self._next += 1
        keep = self._inner(token, place)
        self._depth -= 1
        return keep

    def _inner(self, token: str, place: int) -> Keep:
        if token.lower() == "not":
            inner = self._single()
            return lambda case: not inner(case)
        if token == "(":
            inner = self._either()
            if not self._take(")"):
                raise self._error("this ( is not closed", place)
            return inner
        if token == ")" or token.lower() in ("and", "or"):
            raise self._error(f"a condition is missing before {token}", place)
        return self._term(token, place)

    def _take(self, word: str) -> bool:
        if self._next < len(self._tokens) and self._tokens[self._next][0].lower() == word:
            self._next += 1
            return True
        return False

    def _term(self, token: str, place: int) -> Keep:
        keyed = _KEYED.fullmatch(token)
        if keyed is None:
            return _any_of([_name_test(text) for text in _alternatives(token)])
        key, sign, rest = keyed[1].lower(), keyed[2], keyed[3]
        texts = _alternatives(rest)
        if key in _NUMBERS:
            return _any_of([self._number_test(key, sign, text, place) for text in texts])
        if key not in _TESTS:
            keys = [*_TESTS, *_NUMBERS]
            near = nearest(key, keys)
            hint = f"; did you mean {near}?" if near else f" (there are {', '.join(keys)})"
            raise self._error(f"a filter knows no {quote(key)}{hint}", place)
        if sign not in (":", "=", "==", "!="):
            raise self._error(f"{key} is text, which {sign} does not compare; use {key}:...", place)
        try:
            keep = _any_of([_TESTS[key](text) for text in texts])
        except ValueError as error:
            raise self._error(str(error), place) from None
        return (lambda case: not keep(case)) if sign == "!=" else keep

    def _number_test(self, key: str, sign: str, text: str, place: int) -> Keep:
        if not re.fullmatch(r"[+-]?(\d{1,19}(\.\d{0,19})?|\.\d{1,19})", text, re.ASCII):
            raise self._error(f"{key} is compared with a number, not with {quote(text)}", place)
        number = float(text) if "." in text else int(text)
        compare, get = _COMPARE[sign], _NUMBERS[key]
        return lambda case: compare(get(case), number)

    def _error(self, message: str, place: int) -> UsageError:
        return UsageError(f"filter {quote(self._text)}, at character {place + 1}: {message}")


def _alternatives(text: str) -> list[str]:
    return [
        next(part for part in (*match.groups(), "") if part is not None)
        for match in _ALTERNATIVE.finditer(text)
        if match[0]
    ] or [""]


def _any_of(tests: list[Keep]) -> Keep:
    return tests[0] if len(tests) == 1 else lambda case: any(test(case) for test in tests)


def _glob(pattern: str) -> Callable[[str], bool]:
    if not any(mark in pattern for mark in "*?["):
        return pattern.__eq__
    match = re.compile(fnmatch.translate(pattern)).match
    return lambda text: match(text) is not None


def _operator_test(pattern: str) -> Keep:
    full = f"torch.ops.{pattern.replace('::', '.')}" if "::" in pattern else pattern
    patterns = {full, canonical_operator(pattern) or full}
    globs = [_glob(text) for text in patterns]
    return lambda case: any(matches(name) for name in operator_spellings(case.op) for matches in globs)


def _name_test(pattern: str) -> Keep:
    operator_matches, label_matches = _operator_test(pattern), _glob(pattern)
    return lambda case: operator_matches(case) or (bool(case.label) and label_matches(case.label))


def _label_test(pattern: str) -> Keep:
    matches = _glob(pattern)
    return lambda case: matches(case.label) or (bool(case.sub_label) and matches(case.sub_label))


def _tag_test(pattern: str) -> Keep:
    matches = _glob(pattern)
    return lambda case: any(map(matches, case.tags))


def _dtype_test(pattern: str) -> Keep:
    matches = _glob(_known(pattern, "dtype", canonical_dtype(pattern), DTYPES))
    return lambda case: any(map(matches, dtypes_of(case)))


def _device_test(pattern: str) -> Keep:
    if canonical_device(pattern) is None and not _is_glob(pattern):
        near = device_suggestion(pattern)
        raise ValueError(f"there is no device {quote(pattern)}" + (f"; did you mean {near}?" if near else ""))
    name = canonical_device(pattern) or pattern
    matches = _glob(name)
    # A kind of device stands for all of them.
    return lambda case: matches(case.device) or matches(case.device.partition(":")[0])


def _choice_test(field: str, names: Iterable[str], aliases: dict[str, str]) -> Callable[[str], Keep]:
    def test(pattern: str) -> Keep:
        known = {name: name for name in names} | aliases
        matches = _glob(_known(pattern, field, known.get(pattern), known))
        return lambda case: matches(getattr(case, field))

    return test


def _language_test(pattern: str) -> Keep:
    test = _choice_test("language", LANGUAGES, LANGUAGE_ALIASES)(pattern)
    return lambda case: case.is_snippet and test(case)


def _id_test(pattern: str) -> Keep:
    if _is_glob(pattern):
        matches = _glob(pattern)
        return lambda case: matches(case_id(case))
    if not re.fullmatch(r"[0-9a-f]{1,16}", pattern):
        raise ValueError(
            f"{quote(pattern)} is not the beginning of an id: those are 16 hexadecimal digits in lower case"
        )
    return lambda case: case_id(case).startswith(pattern)


def _is_glob(pattern: str) -> bool:
    return any(mark in pattern for mark in "*?[")


def _known(pattern: str, what: str, name: str | None, names: Iterable[str]) -> str:
    """The canonical name, or the pattern if it is a glob; ValueError for a name that cannot match."""
    if name is not None or _is_glob(pattern):
        return name or pattern
    near = nearest(pattern, names)
    raise ValueError(f"there is no {what} {quote(pattern)}" + (f"; did you mean {near}?" if near else ""))


_TESTS: dict[str, Callable[[str], Keep]] = {
    "op": _operator_test,
    "label": _label_test,
    "tag": _tag_test,
    "category": _tag_test,
    "dtype": _dtype_test,
    "device": _device_test,
    "direction": _choice_test("direction", DIRECTIONS, {}),
    "runtime": _choice_test("runtime", RUNTIMES, {}),
    "language": _language_test,
    "id": _id_test,
}
