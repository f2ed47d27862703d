"""Timers of C++ statements: the same ones as in `test_compiled.py`, so that they are compiled once."""

from __future__ import annotations

import pytest

from opbench.cases.errors import OpbenchError
from opbench.execution import host_time, statement
from opbench.execution.timer import Timer
from opbench.worker.cpp.errors import CppError, CppException, NoCompilerError

from .test_compiled import GOOD, WRONG, in_the_sessions_cache

__all__ = ["in_the_sessions_cache"]


def timer_of(name: str, **more: str) -> Timer:
    stmt, setup, global_setup = {**GOOD, **WRONG}[name]
    return Timer(stmt, setup, global_setup, language="c++", **more)


def test_times_are_those_of_the_statement() -> None:
    timers = [timer_of("mm"), timer_of("empty"), timer_of("undeclared")]
    Timer.compile_all(timers)
    product, nothing, wrong = timers
    found = product.blocked_autorange(min_run_time=0.02)
    assert len(found.times) + len(found.disturbed_times) > 1
    assert found.language == "cpp"
    assert found.setup == "auto x = torch::ones({64, 64});"
    assert product.timeit(50).median > 5 * nothing.timeit(50).median
    with pytest.raises(CppError, match="line 2 of stmt: 'foo'"):
        wrong.timeit(3)


def test_the_setup_runs_in_front_of_every_block() -> None:
    # It throws when it was called more than twelve times since its set-up.
    timer_of("counted").timeit(10)
    with pytest.raises(CppException, match="stmt threw std::runtime_error: 13 calls"):
        timer_of("counted").timeit(10_000)


def test_an_exception_is_raised() -> None:
    with pytest.raises(CppException, match="setup threw std::out_of_range: far away"):
        timer_of("setup throws").blocked_autorange()


def test_a_plan_gives_a_row() -> None:
    row = timer_of("mm", label="product").measure("quick").row
    assert row is not None
    assert row.case.language == "cpp"
    assert row.case.label == "product"
    peak = row.metric("memory.peak")
    assert peak is not None
    assert peak.value == 64 * 64 * 4


def test_an_accelerator_that_is_used_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[int] = []
    monkeypatch.setattr(host_time, "synchroniser", lambda: lambda: waits.append(1))
    assert statement.waiting is host_time.waiting
    timer_of("mm").timeit(3)
    assert len(waits) >= 3


def test_without_a_compiler_it_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def nothing_there(snippets: object) -> None:
        raise NoCompilerError("no C++ compiler")

    monkeypatch.setattr("opbench.worker.runtimes.cpp.build_many", nothing_there)
    with pytest.raises(OpbenchError, match="no C\\+\\+ compiler"):
        timer_of("mm").timeit(3)
