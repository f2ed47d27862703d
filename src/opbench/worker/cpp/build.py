"""Snippets to machine code: found where they were kept, else compiled, as many together as can be."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from opbench.worker.cpp.cache import Cache, digest
from opbench.worker.cpp.compiler import NO_SPACE_ERRORS, CompileFailed, files_in, run_compiler
from opbench.worker.cpp.diagnostics import by_snippet, diagnostics, error_of, may_clash
from opbench.worker.cpp.errors import CppError, HeaderError
from opbench.worker.cpp.folders import cache_to_write, caches
from opbench.worker.cpp.header import HEADER, precompiled, write_header
from opbench.worker.cpp.library import Built, Library
from opbench.worker.cpp.snippet import CppSnippet, units
from opbench.worker.cpp.source import TEMPLATE, translation_unit
from opbench.worker.cpp.toolchain import Toolchain, toolchain

# For one run of the compiler: on a busy machine the header alone takes minutes.
TIMEOUT_S = 600.0
_SOURCE, _LIBRARY, _MADE_FROM = "snippets.cpp", "snippets.so", "made_from.d"

Results = dict[CppSnippet, "Built | CppError"]


def build(snippets: Iterable[CppSnippet], *, timeout_s: float = TIMEOUT_S) -> list[Built | CppError]:
    """Each snippet, ready to run, or why it is not. What one of them does wrong does not stop the others.

    Raises `NoCompilerError` where nothing can be compiled.
    """
    asked = list(snippets)
    builder = _Builder(toolchain(), timeout_s)
    done: Results = {}
    missing = []
    for snippet in dict.fromkeys(asked):
        kept = builder.kept(snippet)
        if kept is None:
            missing.append(snippet)
        else:
            done[snippet] = kept
    for unit in units(missing):
        done.update(builder.unit(unit))
    return [done[snippet] for snippet in asked]


class _Builder:
    """Builds with one compiler."""

    def __init__(self, tools: Toolchain, timeout_s: float) -> None:
        self._tools = tools
        self._timeout_s = timeout_s
        # Why the user's own cache is not to be used, once that is known.
        self._full = ""
        self._header_error: HeaderError | None = None

    def kept(self, snippet: CppSnippet) -> Built | None:
        """A snippet that was compiled before."""
        name = self._name(snippet)
        for cache in caches():
            found = cache.find_named(name)
            if found is not None:
                folder, place = found
                try:
                    return Built(snippet, Library(folder / _LIBRARY), place)
                except OSError:
                    # Removed since it was found, or made for something that is not here any more.
                    continue
        return None

    def unit(self, snippets: Sequence[CppSnippet]) -> Results:
        """Compile snippets together, without those that are wrong."""
        wrong: dict[int, CppError] = {}
        try:
            library = self._loaded(snippets)
        except HeaderError as error:
            self._header_error = error
            return dict.fromkeys(snippets, error)
        except CompileFailed as failure:
            if len(snippets) == 1:
                return {snippets[0]: error_of(failure.output, diagnostics(failure.output))}
            wrong = by_snippet(failure.output, len(snippets))
        except CppError as error:
            if len(snippets) == 1:
                return {snippets[0]: error}
        else:
            return {snippet: Built(snippet, library, place) for place, snippet in enumerate(snippets)}
        return self._parted(snippets, {snippets[place]: error for place, error in wrong.items()})

    def _parted(self, snippets: Sequence[CppSnippet], wrong: Mapping[CppSnippet, CppError]) -> Results:
        """Compile the rest together; alone what may be its neighbours' fault, or all if nobody is known."""
        done: Results = {snippet: error for snippet, error in wrong.items() if not may_clash(error)}
        for snippet in wrong or snippets:
            if snippet not in done:
                done.update(self.unit([snippet]))
        rest = [snippet for snippet in snippets if wrong and snippet not in wrong]
        return done | self.unit(rest) if rest else done

    def _loaded(self, snippets: Sequence[CppSnippet]) -> Library:
        path = self._compiled(snippets) / _LIBRARY
        try:
            return Library(path)
        except OSError as error:
            text = str(error).removeprefix(f"{path}: ")
            raise CppError(f"the compiled snippet does not load: {text}", str(error)) from error

    def _compiled(self, snippets: Sequence[CppSnippet]) -> Path:
        try:
            return self._compile(cache_to_write(full=self._full), snippets)
        except OSError as error:
            if self._full or error.errno not in NO_SPACE_ERRORS:
                raise
            self._full = os.strerror(error.errno)
            return self._compile(cache_to_write(full=self._full), snippets)

    def _compile(self, cache: Cache, snippets: Sequence[CppSnippet]) -> Path:
        names = [self._name(snippet) for snippet in snippets]
        key = digest(["library", *names])
        tools = self._tools
        header = None
        if snippets[0].uses_python:
            # Few snippets do, and a precompiled header is large.
            tools = tools.with_python()
        elif self._header_error is not None:
            raise self._header_error
        elif not self._full:
            header = precompiled(tools, caches(), cache, self._timeout_s)

        def fill(folder: Path) -> Sequence[str]:
            front = write_header(tools, folder) if header is None else header / HEADER
            source, made_from = folder / _SOURCE, folder / _MADE_FROM
            source.write_text(translation_unit(snippets), encoding="utf-8", errors="surrogatepass")
            command = [*tools.compiler, *tools.flags, "-shared", "-MMD", "-MF", str(made_from)]
            command += ["-include", str(front), *_include_folder(snippets)]
            command += [str(source), "-o", str(folder / _LIBRARY), *tools.libraries]
            run_compiler(command, folder, self._timeout_s)
            return files_in(made_from, without=(folder, front.parent))

        try:
            return cache.make(key, fill, names)
        except CompileFailed as failure:
            if header is None or not failure.crashed:
                raise
        # A compiler that does not even refuse may have stumbled over what it had precompiled itself.
        Cache(header.parent.parent).drop(header.name)
        header = None
        return cache.make(key, fill, names)

    def _name(self, snippet: CppSnippet) -> str:
        """A hash of all that the machine code of a snippet depends on, but the files that it includes."""
        tools = self._tools
        front = (
            tools.prologue() if not snippet.uses_python else [tools.prologue(), sysconfig.get_path("include")]
        )
        made_of = [front, *tools.compiler, tools.version, *tools.flags, *tools.libraries, *tools.identity]
        return digest([made_of, *_include_folder([snippet]), TEMPLATE, *snippet])


def _include_folder(snippets: Iterable[CppSnippet]) -> list[str]:
    """Where a snippet looks for files of its own: where the user is."""
    return ["-iquote", str(Path.cwd())] if any(snippet.includes for snippet in snippets) else []
