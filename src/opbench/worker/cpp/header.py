"""Torch's headers and the frame of snippets, precompiled: what takes longest, and is the same for all."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from opbench.worker.cpp.cache import Cache, digest
from opbench.worker.cpp.compiler import CompileFailed, run_compiler
from opbench.worker.cpp.diagnostics import diagnostics, error_of
from opbench.worker.cpp.errors import HeaderError
from opbench.worker.cpp.toolchain import Toolchain

HEADER = "front.hpp"


def precompiled(tools: Toolchain, readable: Sequence[Cache], cache: Cache, timeout_s: float) -> Path:
    """A folder with the header and its compiled form, found where it may be read or made in the cache."""
    key = digest(
        ["header", HEADER, tools.prologue(), *tools.compiler, tools.version, *tools.flags, *tools.identity]
    )
    for kept in readable:
        found = kept.find(key)
        if found is not None:
            return found

    def fill(folder: Path) -> Sequence[str]:
        header = write_header(tools, folder)
        compiled = header.with_name(HEADER + (".pch" if tools.is_clang else ".gch"))
        command = [*tools.compiler, *tools.flags, "-x", "c++-header", str(header), "-o", str(compiled)]
        run_compiler(command, folder, timeout_s)
        return ()

    try:
        return cache.make(key, fill)
    except CompileFailed as failure:
        error = error_of(failure.output, diagnostics(failure.output))
        raise HeaderError(
            f"torch's headers do not compile with {tools.compiler[0]}: {error}", error.output
        ) from None


def write_header(tools: Toolchain, folder: Path) -> Path:
    """What every translation unit begins with, as a file."""
    path = folder / HEADER
    path.write_text(tools.prologue(), encoding="utf-8")
    return path
