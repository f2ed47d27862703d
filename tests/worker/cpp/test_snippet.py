from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.worker.cpp.snippet import MOST_IN_A_UNIT, CppSnippet, is_closed, units

CLOSED = [
    "",
    "torch::add(x, y);",
    "{ f(a[1]); }",
    'auto s = "}";',
    'auto s = "\\"}";',
    "char c = '\"';",
    "char c = '\\'';",
    "int x = 1'000'000;",
    "int x = 0xFF'FFu;",
    "// it's } not closed",
    "/* { \" ' */",
    'auto s = R"({)";',
    'auto s = R"x( )" } )x";',
    'auto s = u8R"({)";',
    "auto p = L'a';",
    "f(); // a \\\n { still a comment",
]
OPEN = [
    "{",
    "}",
    "} {",
    "(]",
    "f(",
    "[)]",
    "/* never closed",
    '"never closed',
    "char c = 'a",
    'auto s = R"(never closed',
    'auto s = R"x( )"',
    "#define A",
    "x; # pragma once",
    "%:define A",
    "??=define A",
    "/**/ #define A",
    '_Pragma("once")',
    "<% %>",
    "x \\",
    "// the next line is mine \\",
]


@pytest.mark.parametrize("text", CLOSED)
def test_what_is_closed_may_have_code_behind_it(text: str) -> None:
    assert is_closed(text)


@pytest.mark.parametrize("text", OPEN)
def test_what_is_open_may_not(text: str) -> None:
    assert not is_closed(text)


@given(st.lists(st.sampled_from(CLOSED)))
def test_closed_parts_are_closed_together(parts: list[str]) -> None:
    assert is_closed("\n".join(parts))


@given(st.lists(st.sampled_from(CLOSED)), st.sampled_from(OPEN))
def test_an_open_end_is_seen_behind_whatever_is_closed(parts: list[str], last: str) -> None:
    assert not is_closed("\n".join([*parts, last]))


@given(st.text())
def test_any_text_gets_an_answer(text: str) -> None:
    assert is_closed(text) in (True, False)


def test_a_long_text_takes_no_time() -> None:
    assert is_closed("f(a[1], '\\n', \"x\"); // it\n" * 20_000)
    assert not is_closed('"' + "\\" * 100_001)


def test_snippets_with_the_same_global_setup_share_a_unit() -> None:
    first, second = CppSnippet("f();", "", "void f() {}"), CppSnippet("f(); f();", "", "void f() {}")
    other, plain = CppSnippet("f();", "", "int f();"), CppSnippet("g();")
    assert units([first, plain, other, second]) == [[first, second], [plain], [other]]


def test_what_could_reach_into_its_neighbours_is_alone() -> None:
    one, odd, two, open_setup = (
        CppSnippet("1;"),
        CppSnippet("}"),
        CppSnippet("2;"),
        CppSnippet("", "#define A"),
    )
    assert units([one, odd, two, open_setup]) == [[one, two], [odd], [open_setup]]


def test_the_global_setup_may_be_whatever_it_likes() -> None:
    directive = "#include <map>\n#define A {"
    assert units([CppSnippet("1;", "", directive), CppSnippet("2;", "", directive)]) == [
        [CppSnippet("1;", "", directive), CppSnippet("2;", "", directive)]
    ]


@pytest.mark.parametrize(
    "text", ["py::object o;", "PyObject* o;", "pybind11::gil_scoped_acquire g;", "THPVariable_Wrap(x)"]
)
def test_what_names_python_is_compiled_with_it(text: str) -> None:
    assert CppSnippet(text).uses_python
    assert CppSnippet("", text).uses_python
    assert len(units([CppSnippet(text), CppSnippet("1;")])) == 2


@pytest.mark.parametrize("text", ["happy::f();", "int copy;", "Pyx", "copyPy_x"])
def test_what_only_looks_like_it_is_not(text: str) -> None:
    assert not CppSnippet(text).uses_python


def test_a_unit_has_an_end() -> None:
    many = [CppSnippet(f"{number};") for number in range(MOST_IN_A_UNIT + 1)]
    assert [len(unit) for unit in units(many)] == [MOST_IN_A_UNIT, 1]
