"""A suite as one document: `{"opbench": 1, "name": ..., "defaults": {...}, "cases": [...]}`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from opbench.cases.check import check_defaults, collect_case
from opbench.cases.check_fields import FieldCheck, check_object, text
from opbench.cases.collect import Place, Problems, describe
from opbench.cases.identity import case_id
from opbench.cases.model import Case

VERSION = 1


@dataclass(frozen=True)
class Header:
    """What a suite says of itself and gives to all its cases."""

    name: str = ""
    description: str = ""
    defaults: Mapping[str, Any] = field(default_factory=dict)


def _version(value: Any, place: Place, problems: Problems) -> Any:
    if type(value) is not int or value != VERSION:
        problems.add(
            place, "suites of this version cannot be read", found=describe(value), expected=str(VERSION)
        )
    return VERSION


def _anything(value: Any, place: Place, problems: Problems) -> Any:
    return value


HEADER_CHECKS: dict[str, FieldCheck] = {
    "opbench": _version,
    "name": text,
    "description": text,
    "defaults": check_defaults,
    # Editors find the schema of a document by this.
    "$schema": _anything,
}


def check_header(document: Any, place: Place, problems: Problems) -> Header:
    """The header of a suite of one case per line."""
    return _header(check_object(document, place, problems, HEADER_CHECKS, ("opbench",)))


def check_suite(
    document: Any, problems: Problems, *, allow_snippets: bool = False
) -> tuple[Header, tuple[Case, ...]]:
    """Header and cases of a whole suite. What is wrong is in `problems`, all of it."""
    if isinstance(document, list):
        problems.add(
            "",
            "a list is no suite",
            found=describe(document),
            expected='an object: {"opbench": 1, "cases": [...]}',
        )
        return Header(), ()
    checks = HEADER_CHECKS | {"cases": _anything}
    found = check_object(document, "", problems, checks, ("opbench", "cases"))
    header = _header(found)
    documents = (found or {}).get("cases", [])
    if not isinstance(documents, list):
        problems.wrong_type("cases", documents, "a list of cases")
        return header, ()
    if found and "cases" in found and not documents:
        problems.add("cases", "a suite must have cases", found="an empty list", expected="a case")
    cases: list[Case] = []
    first = FirstPlaces()
    for index, item in enumerate(documents):
        place = ("cases", index)
        case = collect_case(item, place, problems, defaults=header.defaults, allow_snippets=allow_snippets)
        if case is not None:
            first.note(case, place, index, problems)
            cases.append(case)
    return header, tuple(cases)


class FirstPlaces:
    """Finds cases that would execute the same thing."""

    def __init__(self, describe_place: str = "cases[{}]") -> None:
        self._describe = describe_place
        # Ids as numbers, to where they were first: a few megabytes for 100,000 cases.
        self._first: dict[int, int] = {}

    @property
    def count(self) -> int:
        """How many different cases there were."""
        return len(self._first)

    def note(self, case: Case, place: Place, number: int, problems: Problems) -> None:
        """Note a problem if this case was there before."""
        identity = case_id(case)
        first = self._first.setdefault(int(identity, 16), number)
        if first != number:
            problems.add(
                place,
                f"this is the same case as {self._describe.format(first)}: only labels differ, if anything",
                found=f"{case.name} (id {identity})",
                expected="another seed, or each case once (--repeat measures cases more than once)",
            )


def _header(found: Mapping[str, Any] | None) -> Header:
    found = found or {}
    return Header(found.get("name") or "", found.get("description") or "", found.get("defaults") or {})
