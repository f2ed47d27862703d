from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opbench.worker.cpp.snippet import CppSnippet
from opbench.worker.cpp.source import translation_unit

TEXT = st.text(st.sampled_from("ab \\{}%$\"'\n;1g<>"), max_size=20)


@given(stmt=TEXT, setup=TEXT, global_setup=TEXT)
def test_the_users_text_is_in_it_as_it_is(stmt: str, setup: str, global_setup: str) -> None:
    source = translation_unit([CppSnippet(stmt, setup, global_setup)])
    for name, text in (("0.stmt", stmt), ("0.setup", setup), ("global_setup", global_setup)):
        assert f'#line 1 "opbench.{name}"\n{text}\n#line 1 "opbench.{name}_end"\n' in source


def test_a_backslash_is_a_backslash() -> None:
    assert r'auto s = "\1\n\g<0>";' in translation_unit([CppSnippet(r'auto s = "\1\n\g<0>";')])


def test_each_snippet_is_a_function_in_the_order_of_the_snippets() -> None:
    source = translation_unit(
        [CppSnippet("first();", "", "common();"), CppSnippet("second();", "", "common();")]
    )
    assert source.count("common();") == 1
    assert source.index("opbench_snippet_0(") < source.index("first();") < source.index("opbench_snippet_1(")
    assert "{opbench_empty, opbench_snippet_0, opbench_snippet_1}" in source
