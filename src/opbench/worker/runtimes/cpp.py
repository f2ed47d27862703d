"""C++ snippets as the sampler times them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from time import perf_counter
from typing import Any

from opbench.worker.cpp.build import TIMEOUT_S, build
from opbench.worker.cpp.errors import CppError
from opbench.worker.cpp.library import Built
from opbench.worker.cpp.snippet import CppSnippet
from opbench.worker.runtimes.prepared import Body, Prepared
from opbench.worker.runtimes.snippet import Once


def prepare_cpp(
    stmt: str,
    setup: str = "",
    global_setup: str = "",
    *,
    num_threads: int = 1,
    timeout_s: float = TIMEOUT_S,
) -> Prepared:
    """Compile a statement, or find it compiled; its set-up runs in front of every loop, as in Python.

    Raises `CppError` for what does not compile, and `NoCompilerError` where nothing can. Importing torch
    and setting its threads is for the caller.
    """
    start = perf_counter()
    (built,) = build([CppSnippet(stmt, setup, global_setup)], timeout_s=timeout_s)
    if isinstance(built, CppError):
        raise built
    prepared = _prepared(built, num_threads)
    prepared.provenance["build_s"] = perf_counter() - start
    return prepared


def build_many(
    snippets: Sequence[CppSnippet], *, num_threads: int = 1, timeout_s: float = TIMEOUT_S
) -> list[Prepared | CppError]:
    """Compile many statements, those with the same global set-up together; what is wrong has its error."""
    return [
        built if isinstance(built, CppError) else _prepared(built, num_threads)
        for built in build(snippets, timeout_s=timeout_s)
    ]


def prepare(case: Mapping[str, Any]) -> Prepared:
    """Compile the snippet of a case."""
    return prepare_cpp(case["stmt"], case.get("setup", ""), case.get("global_setup", ""))


def _prepared(built: Built, num_threads: int) -> Prepared:
    body = Body(native=built)
    provenance: dict[str, Any] = {"language": "cpp"}
    return Prepared(body=body, once=Once(body), num_threads=num_threads, provenance=provenance)
