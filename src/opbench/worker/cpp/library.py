"""A compiled snippet in this process, as the loop that the sampler sends operands to."""

from __future__ import annotations

import ctypes
from collections.abc import Generator, Iterable
from functools import cached_property
from operator import length_hint
from pathlib import Path
from typing import Any

from opbench.worker.cpp.errors import CppException
from opbench.worker.cpp.snippet import CppSnippet

# Where a library has its loop around nothing.
EMPTY = -1


class Library:
    """A loaded library of snippets. Loading it runs what the global set-up has at file scope."""

    def __init__(self, path: Path) -> None:
        loaded = ctypes.CDLL(str(path))
        self.start = _function(loaded.opbench_start, ctypes.c_void_p, ctypes.c_int64)
        self.run = _function(loaded.opbench_run, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)
        self.error = _function(loaded.opbench_error, ctypes.c_char_p, ctypes.c_void_p)
        self.end = _function(loaded.opbench_end, None, ctypes.c_void_p)


class Built:
    """A snippet that can run: machine code with its own clock, for `Body.native`."""

    def __init__(self, snippet: CppSnippet, library: Library, place: int) -> None:
        self.snippet = snippet
        self._library = library
        self._place = place

    @cached_property
    def empty(self) -> Built:
        """The same loop around nothing."""
        return Built(CppSnippet(""), self._library, EMPTY)

    def loop(self) -> Generator[int, Iterable[Any], None]:
        """Run the set-up; then answer operands with how long so many calls took, in ns."""
        library = self._library
        handle = library.start(self._place)
        if handle is None:
            raise MemoryError("there is no memory for the stack of a C++ snippet")
        try:
            _raise_for(library.error(handle))
            elapsed_ns = 0
            while True:
                operands = yield elapsed_ns
                elapsed_ns = library.run(handle, length_hint(operands))
                if elapsed_ns < 0:
                    _raise_for(library.error(handle))
        finally:
            library.end(handle)


def _raise_for(error: bytes | None) -> None:
    if error is not None:
        raise CppException(error.decode("utf-8", errors="replace"))


def _function(function: Any, result: Any, *arguments: Any) -> Any:
    function.restype = result
    function.argtypes = arguments
    return function
