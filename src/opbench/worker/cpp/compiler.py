"""Runs the compiler: output as text, an end in time, and nothing of it left behind."""

from __future__ import annotations

import contextlib
import errno
import os
import re
import resource
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from opbench.worker.cpp.errors import NoCompilerError

NO_SPACE_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NO_SPACE = tuple(os.strerror(code) for code in NO_SPACE_ERRORS)

# File names in a rule, where a space and a few other signs have a backslash in front.
_NAME = re.compile(r"(?:\\.|[^\s\\])+")
_ESCAPED = re.compile(r"\\(.)|\$(?=\$)")


class CompileFailed(Exception):  # noqa: N818 (it carries an answer, and is always caught)
    """The compiler refused, with this output. `crashed`: it did not end as a compiler does that refuses."""

    def __init__(self, output: str, *, crashed: bool = False) -> None:
        super().__init__(output)
        self.output = output
        self.crashed = crashed


def run_compiler(command: Sequence[str], temporary: Path, timeout_s: float) -> None:
    """Run a compiler for the files that it writes, with a folder for its temporary ones."""
    try:
        process = subprocess.Popen(
            [*_unlimited(), *command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            # Its words are searched, and its temporary files are large.
            env={**os.environ, "LC_ALL": "C", "TMPDIR": str(temporary)},
        )
    except OSError as error:
        raise NoCompilerError(f"the C++ compiler does not start: {command[0]}: {error}") from error
    with process:
        try:
            output, _ = process.communicate(timeout=timeout_s)
        except subprocess.TimeoutExpired:
            _end(process)
            text = f"error: compiling takes longer than {timeout_s:g} s, and was given up"
            raise CompileFailed(text) from None
        except BaseException:
            _end(process)
            raise
    if process.returncode == 0:
        return
    if any(sign in output for sign in _NO_SPACE):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(temporary))
    if process.returncode < 0:
        output += f"\nerror: the compiler was ended by signal {-process.returncode}"
    crashed = process.returncode not in (0, 1) or "internal compiler error" in output
    raise CompileFailed(output, crashed=crashed)


def _unlimited() -> Sequence[str]:
    """What to put in front of a command that the limit on the memory of a case is not meant for."""
    soft, hard = resource.getrlimit(resource.RLIMIT_AS)
    if soft == hard or not Path("/bin/sh").exists():
        return ()
    return ("/bin/sh", "-c", 'ulimit -S -v "$(ulimit -H -v)"; exec "$@"', "sh")


def _end(process: subprocess.Popen[str]) -> None:
    """End the compiler and the programs that it has started: it does not see to them itself."""
    for pid in [*_children(process.pid), process.pid]:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def _children(pid: int) -> list[int]:
    try:
        return [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []


def files_in(rule: Path, *, without: Sequence[Path]) -> list[str]:
    """The files that a rule for `make` says something was made from, but those in some folders."""
    text = rule.read_text(encoding="utf-8", errors="surrogateescape").replace("\\\n", " ")
    names = [_ESCAPED.sub(r"\1", name) for name in _NAME.findall(text.partition(": ")[2])]
    paths = [Path(name).absolute() for name in names]
    return [str(path) for path in paths if not any(folder in path.parents for folder in without)]
