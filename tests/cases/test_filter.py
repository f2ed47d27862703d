"""Filter expressions, against Python's own and, or and not; and against those who mean no good."""

from __future__ import annotations

import contextlib
import fnmatch
import re
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.check import check_case
from opbench.cases.errors import UsageError
from opbench.cases.filter import compile_filter
from opbench.cases.identity import case_id
from opbench.cases.model import Case

from .documents import any_case, tensor

GELU = check_case(
    {
        "op": "F.gelu",
        "args": [tensor(4, dtype="bf16")],
        "direction": "backward",
        "device": "cuda:1",
        "num_threads": 2,
        "seed": 3,
        "weight": 2.5,
        "label": "two words",
        "sub_label": "small",
        "tags": ["activation", "pointwise"],
    }
)
LINEAR = check_case({"op": "nn.Linear", "build": [3, 4], "args": [[tensor(2, 3, dtype="half")]]})
ADD = check_case({"op": "aten::add.Tensor", "args": [tensor(2), 1], "runtime": "compile"})
CODE = check_case({"stmt": "x + 1", "label": "sum"}, allow_snippets=True)
CASES = {"gelu": GELU, "linear": LINEAR, "add": ADD, "code": CODE}


def kept(text: str) -> set[str]:
    keep = compile_filter(text)
    return {name for name, case in CASES.items() if keep(case)}


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("torch.nn.*", {"gelu", "linear"}),
        ("F.gelu", {"gelu"}),
        ("gelu", {"gelu"}),
        ("nn.Linear", {"linear"}),
        ("aten::add", set()),
        ("aten::add.*", {"add"}),
        ("torch.ops.aten.add.Tensor", {"add"}),
        ("add", {"add"}),
        ('"two words"', {"gelu"}),
        ("sum", {"code"}),
        ("op:sum", set()),
        ("op:F.gelu,nn.Linear", {"gelu", "linear"}),
        ("op!=F.gelu", {"linear", "add", "code"}),
        ("label:small", {"gelu"}),
        ('label:"two words"', {"gelu"}),
        ("label:two*", {"gelu"}),
        ("tag:pointwise", {"gelu"}),
        ("category:act*", {"gelu"}),
        ("dtype:bfloat16", {"gelu"}),
        ("dtype:half", {"linear"}),
        ("dtype:*float*", {"gelu", "linear", "add"}),
        ("device:cuda", {"gelu"}),
        ("device:cuda:1", {"gelu"}),
        ("device:cuda:0", set()),
        ("device:c*", {"gelu", "linear", "add", "code"}),
        ("direction:backward", {"gelu"}),
        ("runtime:compile", {"add"}),
        ("language:python", {"code"}),
        ("threads>=2", {"gelu"}),
        ("threads < 2", {"linear", "add", "code"}),
        ("seed=3", {"gelu"}),
        ("seed!=3", {"linear", "add", "code"}),
        ("weight>2.4", {"gelu"}),
        ("threads:1,2", {"gelu", "linear", "add", "code"}),
        ("not gelu", {"linear", "add", "code"}),
        ("not not gelu", {"gelu"}),
        ("gelu or add and direction:backward", {"gelu"}),
        ("(gelu or add) and not direction:backward", {"add"}),
        ("NOT gelu AND threads=1", {"linear", "add", "code"}),
        (f"id:{case_id(ADD)[:6]}", {"add"}),
        (f"id:{case_id(ADD)}", {"add"}),
        (f"id:{case_id(ADD)[:3]}*", {"add"}),
        ("[", set()),
        ("[b-a]", set()),
    ],
)
def test_a_filter_keeps(text: str, names: set[str]) -> None:
    assert kept(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a condition is missing at the end"),
        ("gelu and", "a condition is missing at the end"),
        ("or gelu", "a condition is missing before"),
        ("()", "a condition is missing before )"),
        ("(gelu", "this ( is not closed"),
        ("gelu)", "this ) closes nothing"),
        ("gelu add", "neither and nor or"),
        ("sed=1", "did you mean seed"),
        ("dtype:flaot32", "did you mean float32"),
        ("device:gpu", "did you mean cuda"),
        ("direction:backwards", "did you mean backward"),
        ("runtime:eagre", "did you mean eager"),
        ("threads>=many", "compared with a number"),
        ("seed>1e5", "compared with a number"),
        ("op>torch", "which > does not compare"),
        ("id:xyz", "not the beginning of an id"),
        ("'open", "the closing quote is missing"),
        ("a $ (", "neither and nor or"),
        ("label:", "means nothing here"),
        ("(" * 60, "nested more than"),
        ("not " * 60 + "a", "nested more than"),
        ("a" * 20_000, "too long"),
    ],
)
def test_what_is_no_filter_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        compile_filter(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@given(st.text(max_size=30) | st.text("ab*?[]()!\"',:=<> notdr", max_size=40))
def test_any_text_is_a_filter_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        compile_filter(text)(GELU)


TERMS: dict[str, Callable[[Case], bool]] = {
    "direction:backward": lambda case: case.direction == "backward",
    "runtime:eager": lambda case: case.runtime == "eager",
    "threads>=8": lambda case: case.num_threads >= 8,
    "seed<=1000": lambda case: case.seed <= 1000,
    "weight > 1": lambda case: case.weight > 1,
    "device:cpu": lambda case: case.device == "cpu",
    "op:torch.mm": lambda case: case.op == "torch.mm",
    "op != my.*": lambda case: not case.op.startswith("my."),
    "language:python": lambda case: case.is_snippet and case.language == "python",
}
expressions = st.recursive(
    st.sampled_from(sorted(TERMS)).map(lambda term: (term, f"TERMS[{term!r}](case)")),
    lambda inner: st.one_of(
        inner.map(lambda pair: (f"not ({pair[0]})", f"not ({pair[1]})")),
        inner.map(lambda pair: (f"({pair[0]})", f"({pair[1]})")),
        st.tuples(inner, st.sampled_from(["and", "or"]), inner).map(
            lambda parts: (
                f"{parts[0][0]} {parts[1]} {parts[2][0]}",
                f"{parts[0][1]} {parts[1]} {parts[2][1]}",
            )
        ),
    ),
    max_leaves=8,
)


@given(expressions, any_case())
def test_conditions_combine_as_in_python(expression: tuple[str, str], document: dict[str, Any]) -> None:
    case = check_case(document, allow_snippets=True)
    text, same_in_python = expression
    assert compile_filter(text)(case) == eval(same_in_python, {"TERMS": TERMS, "case": case})


@given(st.text("ab*?[]!-^", min_size=1, max_size=12), st.text("ab-^!", max_size=8))
def test_patterns_are_those_of_a_shell(pattern: str, label: str) -> None:
    case = check_case({"op": "my.op", "label": label, "sub_label": "zzz"})
    expected = fnmatch.fnmatchcase(label, pattern) or fnmatch.fnmatchcase("zzz", pattern)
    assert compile_filter(f'label:"{pattern}"')(case) == expected


def test_no_pattern_takes_long() -> None:
    # What is quadratic here takes milliseconds; what is exponential would not end.
    case = check_case({"op": "my.op", "label": "a" * 5_000})
    started = time.process_time()
    for pattern in (
        "a*" * 40 + "b",
        "*a" * 40 + "*b",
        "[!b]*" * 40 + "b",
        "?*" * 40 + "b",
        "a*" * 2_000 + "b",
    ):
        assert not compile_filter(f"label:{pattern}")(case)
    assert time.process_time() - started < 30


def test_a_place_is_counted_as_people_count() -> None:
    with pytest.raises(
        UsageError, match=re.escape('filter "gelu and xx:y", at character 10: a filter knows no')
    ):
        compile_filter("gelu and xx:y")
