"""The loop that is timed: generated and compiled for the call, with an empty twin to subtract."""

from __future__ import annotations

import ast
from collections.abc import Callable, Generator, Iterable
from functools import lru_cache
from types import CodeType
from typing import Any, Literal, TypeAlias

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.prepared import Body, Native

# Send it the operands of each call (or `repeat(None, n)`), and it answers how long the block took, in ns.
Loop: TypeAlias = Generator[int, Iterable[Any], None]
# How single calls are marked inside a block: not at all, or before and after each.
Marks: TypeAlias = Literal["none", "clock", "device"]

# A generator, so that set-up runs once and its variables stay local, which is how fast code has them.
# Everything has a prefix that a snippet would not use.
_TEMPLATE = """
def _opbench_block(_opbench_clock, _opbench_mark, _opbench_between{names}):
    _OPBENCH_SETUP
    _opbench_elapsed = None
    while True:
        _opbench_operands = yield _opbench_elapsed
        _opbench_start = _opbench_clock()
        for {target} in _opbench_operands:
            {before}
            _OPBENCH_BODY
            {after}
        _opbench_elapsed = _opbench_clock() - _opbench_start
"""
_MARK = {
    "none": "",
    "clock": "_opbench_mark(_opbench_clock())",
    "device": "_opbench_mark()",
}


def compiled(
    body: Body,
    clock: Callable[[], int],
    *,
    marks: Marks = "none",
    mark: Callable[..., Any] | None = None,
    between: Callable[[], Any] | None = None,
) -> Loop:
    """A loop around the body, set up and waiting for operands.

    With marks, `mark` is called before and after each call (with the time, for "clock"), and `between`,
    if given, in front of that.
    """
    return maker(body, clock, marks=marks, mark=mark, between=between)()


def maker(
    body: Body,
    clock: Callable[[], int],
    *,
    marks: Marks = "none",
    mark: Callable[..., Any] | None = None,
    between: Callable[[], Any] | None = None,
) -> Callable[[], Loop]:
    """What `compiled` gives, again and again: compiled once, set up each time."""
    if body.native is not None:
        return _native_maker(body.native, marks)
    namespace: dict[str, Any] = {} if body.globals is None else body.globals
    code = _code_of(body, marks, between is not None)
    block = _function(code, namespace)
    names = body.names
    if body.globals is not None:
        # A name that the code binds is local to the loop; the global of that name is what it starts from.
        local = {*block.__code__.co_varnames, *block.__code__.co_cellvars}.difference(names)
        shadowed = {name: namespace[name] for name in sorted(local) if name in namespace}
        if shadowed:
            names = {**names, **shadowed}
            block = _function(_kept(body, tuple(names), marks, between is not None), namespace)

    def start() -> Loop:
        loop: Loop = block(clock, mark, between, **names)
        next(loop)
        return loop

    return start


def _native_maker(native: Native, marks: Marks) -> Callable[[], Loop]:
    if marks != "none":
        raise Unsupported(
            "single calls of a C++ statement are not timed: choose another mode than continuous_events"
        )

    def start() -> Loop:
        loop = native.loop()
        next(loop)
        return loop

    return start


def _function(code: CodeType, namespace: dict[str, Any]) -> Any:
    exec(code, namespace)
    return namespace.pop("_opbench_block")


def empty(body: Body) -> Body:
    """The same loop around nothing."""
    if body.native is not None:
        return Body(native=body.native.empty)
    return Body("pass", fresh=body.fresh)


def _code_of(body: Body, marks: Marks, between: bool) -> CodeType:
    if body.source:
        return _of_source(body.source, tuple(body.names), body.fresh, marks, between)
    return _kept(body, tuple(body.names), marks, between)


def _kept(body: Body, names: tuple[str, ...], marks: Marks, between: bool) -> CodeType:
    if (names, marks, between) not in body.codes:
        body.codes[names, marks, between] = _compile(body, names, marks, between)
    return body.codes[names, marks, between]


@lru_cache(maxsize=256)
def _of_source(
    source: str, names: tuple[str, ...], fresh: tuple[str, ...], marks: Marks, between: bool
) -> CodeType:
    # What opbench writes itself is the same for many cases, so it is kept compiled.
    statements = tuple(ast.parse(source).body)
    return _compile(Body(statements=statements, fresh=fresh), names, marks, between)


def _compile(body: Body, names: tuple[str, ...], marks: Marks, between: bool) -> CodeType:
    mark = _MARK[marks]
    text = _TEMPLATE.format(
        names="".join(f", {name}" for name in names),
        target=", ".join(body.fresh) or "_opbench_item",
        before=f"_opbench_between(); {mark}" if between else mark,
        after=mark,
    )
    module = ast.parse(text)
    block = module.body[0]
    assert isinstance(block, ast.FunctionDef)
    _fill(block, body)
    return compile(ast.fix_missing_locations(module), body.filename, "exec", dont_inherit=True)


def _fill(node: ast.AST, body: Body) -> None:
    """Put the statements where their placeholders are."""
    statements = {"_OPBENCH_SETUP": body.setup, "_OPBENCH_BODY": body.statements}
    for child in ast.walk(node):
        lines = getattr(child, "body", None)
        if not isinstance(lines, list):
            continue
        filled: list[ast.stmt] = []
        for line in lines:
            place = line.value.id if isinstance(line, ast.Expr) and isinstance(line.value, ast.Name) else ""
            filled += statements.get(place, (line,))
        child.body = filled  # type: ignore[attr-defined]
