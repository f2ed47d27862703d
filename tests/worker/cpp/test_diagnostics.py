from __future__ import annotations

from opbench.worker.cpp.diagnostics import MOST_SHOWN, by_snippet, diagnostics, error_of

GCC = """\
opbench.1.stmt: In function 'void opbench_snippet_1(opbench::frame::Loop&)':
opbench.1.stmt:2:1: error: 'foo' was not declared in this scope
opbench.3.setup:1:9: error: invalid conversion from 'const char*' to 'int' [-fpermissive]
"""
GCC_IN_A_HEADER = """\
In file included from /usr/include/c++/12/map:60,
                 from /include/torch/all.h:3:
/usr/include/c++/12/bits/stl_function.h: In instantiation of 'bool std::less<T>::operator()(...)':
/usr/include/c++/12/bits/stl_map.h:511:32:   required from 'T& std::map<T>::operator[](key_type&&)'
opbench.2.stmt:1:33:   required from here
/usr/include/c++/12/bits/stl_function.h:408:20: error: no match for 'operator<'
"""
CLANG_IN_A_HEADER = """\
In file included from <built-in>:1:
/usr/include/c++/12/bits/stl_function.h:408:20: error: invalid operands to binary expression
/usr/include/c++/12/bits/stl_map.h:511:32: note: in instantiation of member function 'std::less<T>' here
opbench.2.stmt:1:33: note: in instantiation of member function 'std::map<T>::operator[]' requested here
/usr/include/c++/12/bits/stl_map.h:1:1: note: candidate template ignored
opbench.4.stmt:1:2: error: use of undeclared identifier 'y'
2 errors generated.
"""


def test_an_error_belongs_to_the_snippet_that_it_is_in() -> None:
    wrong = by_snippet(GCC, 4)
    assert {place: str(error) for place, error in wrong.items()} == {
        1: "line 2 of stmt: 'foo' was not declared in this scope",
        3: "line 1 of setup: invalid conversion from 'const char*' to 'int' [-fpermissive]",
    }
    assert all(error.output == GCC for error in wrong.values())


def test_an_error_in_a_header_belongs_to_the_snippet_that_led_there() -> None:
    assert str(by_snippet(GCC_IN_A_HEADER, 4)[2]) == "line 1 of stmt: no match for 'operator<'"
    assert {place: str(error) for place, error in by_snippet(CLANG_IN_A_HEADER, 5).items()} == {
        2: "line 1 of stmt: invalid operands to binary expression",
        4: "line 1 of stmt: use of undeclared identifier 'y'",
    }


def test_what_is_missing_at_the_end_is_said_to_be_there() -> None:
    output = "opbench.0.stmt_end:1:1: error: expected ')' before ';' token\n"
    assert str(by_snippet(output, 1)[0]) == "the end of stmt: expected ')' before ';' token"


def test_an_error_in_the_global_setup_is_everybodys() -> None:
    output = "opbench.global_setup:3:10: fatal error: mine.h: No such file or directory\n"
    expected = "line 3 of global_setup: mine.h: No such file or directory"
    assert [str(error) for error in by_snippet(output, 3).values()] == [expected] * 3


def test_what_names_no_place_is_nobodys() -> None:
    output = "/tmp/x.s:12: Error: no such instruction: `hop'\nin opbench.stmt and front.hpp:3\n"
    assert by_snippet(output, 2) == {}
    assert str(error_of(output, diagnostics(output))) == "no such instruction: `hop'"


def test_a_place_that_no_snippet_has_is_left_out() -> None:
    assert by_snippet("opbench.7.stmt:1:1: error: from the text of a user\n", 2) == {}


def test_the_first_errors_are_shown_and_the_others_counted() -> None:
    output = "".join(f"opbench.0.stmt:{line}:1: error: number {line}\n" for line in range(1, 10))
    lines = str(by_snippet(output, 1)[0]).splitlines()
    assert lines[0] == "line 1 of stmt: number 1"
    assert len(lines) == MOST_SHOWN + 1
    assert lines[-1] == f"(and {9 - MOST_SHOWN} more)"


def test_a_long_message_is_cut_and_no_message_is_said_to_be_none() -> None:
    assert len(str(error_of("", diagnostics(f"opbench.0.stmt:1:1: error: {'x' * 10_000}")))) < 1000
    assert str(error_of("", [])) == "the compiler gave no reason"
    assert str(error_of("\nsomething else\nand more", [])) == "something else"
