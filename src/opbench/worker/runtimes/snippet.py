"""Python snippets: compiled into the timing loop, as if someone had written the loop around them."""

from __future__ import annotations

import ast
import builtins
import linecache
import textwrap
from collections.abc import Mapping
from itertools import repeat
from time import perf_counter_ns
from typing import Any

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.prepared import Body, Prepared

FILENAME = "<snippet>"
# Where set-up ends and the statement begins, kept among the snippet's globals for tracebacks.
SETUP_LINES = "__opbench_setup_lines__"


def prepare(case: Mapping[str, Any]) -> Prepared:
    """Compile a snippet; its global set-up runs now, its set-up once in front of every loop."""
    if case.get("direction", "forward") != "forward":
        raise Unsupported("a snippet has no backward of its own: write it into the statement")
    if case.get("language", "python") != "python":
        from opbench.worker.runtimes import cpp

        return cpp.prepare(case)
    import torch

    namespace: dict[str, Any] = {"__builtins__": builtins, "__name__": "__snippet__", "torch": torch}
    global_setup = _parsed(case.get("global_setup", ""), "global_setup")
    _remember("<global_setup>", case.get("global_setup", ""))
    body = body_of_snippet(case["stmt"], case.get("setup", ""), namespace)
    if global_setup.body:
        exec(compile(global_setup, "<global_setup>", "exec", dont_inherit=True), namespace)
    return Prepared(body=body, once=Once(body))


def body_of_snippet(stmt: str, setup: str, namespace: dict[str, Any], filename: str = FILENAME) -> Body:
    """The loop's body from source, with the names that it sees. What it cannot be raises a SyntaxError.

    Tracebacks call it by its file name, so a process that has several snippets gives each its own.
    """
    parsed_setup, statements = _inside_a_loop(setup, "setup"), _inside_a_loop(stmt, "stmt")
    setup_lines = setup.count("\n") + 1
    ast.increment_lineno(statements, setup_lines)
    _remember(filename, setup + "\n" + stmt)
    namespace[SETUP_LINES] = setup_lines
    return Body(
        statements=tuple(statements.body) or (ast.Pass(),),
        setup=tuple(parsed_setup.body),
        globals=namespace,
        filename=filename,
    )


class Once:
    """Runs the statement once; the set-up runs before the first time."""

    def __init__(self, body: Body) -> None:
        self._body = body
        self._loop: Any = None

    def __call__(self) -> None:
        """Run it."""
        from opbench.worker.probes.loop import compiled

        if self._loop is None:
            self._loop = compiled(self._body, perf_counter_ns)
        self._loop.send(repeat(None, 1))


def _inside_a_loop(source: str, part: str) -> ast.Module:
    """What stands inside a function later on, where one thing is not allowed that is so on its own."""
    module = _parsed(source, part)
    for node in ast.walk(module):
        if isinstance(node, ast.ImportFrom) and any(alias.name == "*" for alias in node.names):
            raise SyntaxError(
                "import * is not possible in front of a loop: name what to import",
                (f"<{part}>", node.lineno, node.col_offset, None),
            )
    return module


def _parsed(source: str, part: str) -> ast.Module:
    # Compiled alone first: a `return` or `yield` would be legal inside the loop's function, and break it.
    try:
        compile(source, f"<{part}>", "exec", dont_inherit=True)
    except IndentationError:
        source = textwrap.dedent(source)
        compile(source, f"<{part}>", "exec", dont_inherit=True)
    return ast.parse(source, f"<{part}>")


def _remember(filename: str, source: str) -> None:
    """Let tracebacks show the lines of a snippet."""
    lines = source.splitlines(keepends=True)
    linecache.cache[filename] = (len(source), None, lines, filename)


def place_of(error: BaseException) -> str:
    """Where in a snippet an error comes from (`line 2 of stmt`); empty if from elsewhere."""
    place = ""
    traceback = error.__traceback__
    while traceback is not None:
        code, line = traceback.tb_frame.f_code, traceback.tb_lineno
        if code.co_filename == FILENAME:
            setup_lines = traceback.tb_frame.f_globals.get(SETUP_LINES, 0)
            in_setup = line <= setup_lines
            place = f"line {line} of setup" if in_setup else f"line {line - setup_lines} of stmt"
        elif code.co_filename == "<global_setup>":
            place = f"line {line} of global_setup"
        traceback = traceback.tb_next
    return place
