"""What can go wrong with a C++ snippet."""

from __future__ import annotations

from opbench.worker.errors import Unsupported


class CppError(RuntimeError):
    """A snippet that does not compile or load. `output` is all that the compiler said."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class HeaderError(CppError):
    """Torch's own headers do not compile here, so nothing does."""


class CppException(RuntimeError):  # noqa: N818 (it stands for a C++ exception)
    """What a running snippet threw; the message says in which part, and what type it had."""


class NoCompilerError(Unsupported):
    """There is no compiler here, or nothing to compile against."""
