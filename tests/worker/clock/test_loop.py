"""The loop that is timed: what is inside, what is around, and what a snippet's names mean in it."""

from __future__ import annotations

import ast
import dis
from itertools import repeat
from time import perf_counter_ns

from opbench.worker.probes.loop import compiled, empty
from opbench.worker.runtimes.prepared import Body, body_of


def test_a_block_runs_the_statement_so_often_and_gives_the_time() -> None:
    ticks = iter(range(0, 1000, 7))
    calls: list[int] = []
    loop = compiled(body_of("f(1)", {"f": calls.append}), lambda: next(ticks))
    assert loop.send(repeat(None, 5)) == 7
    assert loop.send(repeat(None, 0)) == 7
    assert calls == [1] * 5


def test_names_are_locals_of_the_loop() -> None:
    loop = compiled(body_of("f(a0, name=k0)", {"f": dict, "a0": [], "k0": 1}), perf_counter_ns)
    code = loop.gi_code  # type: ignore[attr-defined]
    assert {"f", "a0", "k0"} <= set(code.co_varnames)
    assert not any(instruction.opname.startswith("LOAD_GLOBAL") for instruction in dis.get_instructions(code))


def test_there_is_no_unpacking_and_no_wrapper_in_a_call() -> None:
    loop = compiled(body_of("f(a0, a1)", {"f": max, "a0": 1, "a1": 2}), perf_counter_ns)
    names = {instruction.opname for instruction in dis.get_instructions(loop.gi_code)}  # type: ignore[attr-defined]
    assert "CALL_FUNCTION_EX" not in names


def test_fresh_operands_are_bound_for_each_call() -> None:
    seen: list[object] = []
    body = body_of("f(a0)", {"f": seen.append, "a0": "none of these"}, fresh=("a0",))
    compiled(body, perf_counter_ns).send(["x", "y", "z"])
    assert seen == ["x", "y", "z"]


def test_several_fresh_operands_come_together() -> None:
    seen: list[object] = []
    body = body_of("f((a0, k0))", {"f": seen.append, "a0": None, "k0": None}, fresh=("a0", "k0"))
    compiled(body, perf_counter_ns).send([(1, 2), (3, 4)])
    assert seen == [(1, 2), (3, 4)]


def test_the_empty_twin_binds_the_same_operands_and_does_nothing() -> None:
    body = body_of("f(a0)", {"f": None, "a0": None}, fresh=("a0",))
    assert compiled(empty(body), perf_counter_ns).send(["x", "y"]) >= 0


def test_set_up_runs_once_and_its_names_are_kept_between_blocks() -> None:
    counts: list[int] = []
    body = Body(
        statements=tuple(ast.parse("total += step\nseen(total)").body),
        setup=tuple(ast.parse("total, step = 0, 2").body),
        globals={"seen": counts.append, "__builtins__": {}},
    )
    loop = compiled(body, perf_counter_ns)
    loop.send(repeat(None, 2))
    loop.send(repeat(None, 2))
    assert counts == [2, 4, 6, 8]


def test_marks_surround_each_call_and_what_is_between_comes_first() -> None:
    order: list[str] = []
    body = body_of("f()", {"f": lambda: order.append("call")})
    loop = compiled(
        body,
        lambda: 0,
        marks="device",
        mark=lambda: order.append("mark"),
        between=lambda: order.append("between"),
    )
    loop.send(repeat(None, 2))
    assert order == ["between", "mark", "call", "mark"] * 2


def test_the_clock_is_read_for_each_mark() -> None:
    ticks = iter(range(100))
    stamps: list[int] = []
    loop = compiled(body_of("pass", {}), lambda: next(ticks), marks="clock", mark=stamps.append)
    assert loop.send(repeat(None, 3)) == 7
    assert stamps == [1, 2, 3, 4, 5, 6]


def test_statements_inside_a_statement_stay_where_they_are() -> None:
    # The bodies of the snippet's own blocks are searched for placeholders as well.
    out: list[int] = []
    source = "for i in range(2):\n    if i:\n        out(i)\n    else:\n        out(-1)"
    body = Body(statements=tuple(ast.parse(source).body), globals={"out": out.append, "range": range})
    compiled(body, perf_counter_ns).send(repeat(None, 1))
    assert out == [-1, 1]
