"""How to start a worker in an environment: this interpreter, another one, or after a shell command."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from opbench.cases.errors import UsageError
from opbench.cases.paths import user_path

# Found by path, not imported: the client never runs worker code.
WORKER_PROGRAM = Path(__file__).resolve().parent.parent / "worker" / "__main__.py"
# Set in each worker and inherited by whatever a case starts, so that strays can be found by it.
TOKEN_VARIABLE = "OPBENCH_WORKER"


@dataclass(frozen=True)
class EnvironmentSpec:
    """A name and the command that starts Python there (the worker's path and arguments are appended)."""

    name: str
    command: tuple[str, ...]


def parse_environment(name: str, spec: str) -> EnvironmentSpec:
    """Understand SPEC: empty (this interpreter), a virtual environment folder, an interpreter, or a shell
    command after which `python` is the right one."""
    if not spec:
        return EnvironmentSpec(name, (sys.executable,))
    path = user_path(spec)
    if path.is_dir():
        interpreter = path / "bin" / "python"
        if not interpreter.exists():
            raise UsageError(f"environment {name!r}: {spec} is a folder without bin/python")
        return EnvironmentSpec(name, (str(interpreter),))
    if path.is_file():
        if not os.access(path, os.X_OK):
            raise UsageError(f"environment {name!r}: {spec} is not executable")
        return EnvironmentSpec(name, (str(path),))
    if " " not in spec.strip():
        found = shutil.which(spec)
        if found is None:
            raise UsageError(
                f"environment {name!r}: {spec} is neither a folder, an interpreter nor a command on PATH"
            )
        return EnvironmentSpec(name, (found,))
    shell = shutil.which("bash") or "/bin/sh"
    return EnvironmentSpec(name, (shell, "-c", f'{spec} && exec python "$@"', "opbench"))


def worker_variables(num_threads: int, token: str, base: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment variables of a worker: threads of every pool, and a fixed hash seed."""
    variables = dict(os.environ if base is None else base)
    for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS", "NUMEXPR_NUM_THREADS"):
        variables[name] = str(num_threads)
    # OpenBLAS (inside NumPy) starts its threads when it is loaded, and a process with threads cannot
    # fork safely. The framework's own matrix products do not use it.
    variables["OPENBLAS_NUM_THREADS"] = "1"
    variables.setdefault("PYTHONHASHSEED", "0")
    variables[TOKEN_VARIABLE] = token
    return variables
