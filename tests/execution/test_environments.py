"""Environments: other interpreters, virtual environments, shell commands; opbench is not installed there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from opbench.cases.errors import UsageError
from opbench.execution.environments import parse_environment, worker_variables
from opbench.execution.worker import Worker, WorkerError

# What the client needs and a worker must not.
OURS = ("opbench", "msgspec", "rich", "sqlalchemy", "_opbench", "__editable__")


def site_packages(prefix: Path) -> Path:
    return prefix / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}" / "site-packages"


@pytest.fixture(scope="module")
def foreign(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A virtual environment that has the framework and nothing of opbench."""
    folder = tmp_path_factory.mktemp("foreign") / "env with a space"
    venv.create(folder, symlinks=True)
    spec = importlib.util.find_spec("torch")
    assert spec is not None
    assert spec.origin is not None
    here = Path(spec.origin).parent.parent
    for entry in here.iterdir():
        if not entry.name.lower().startswith(OURS) and entry.suffix != ".pth":
            (site_packages(folder) / entry.name).symlink_to(entry)
    return folder


def test_a_virtual_environment_without_opbench(foreign: Path) -> None:
    python = str(foreign / "bin" / "python")
    missing = (
        "import importlib.util as u, sys; sys.exit(any(map(u.find_spec, ('opbench', 'msgspec', 'rich'))))"
    )
    assert subprocess.run([python, "-c", missing], check=False).returncode == 0
    with Worker(parse_environment("foreign", str(foreign)), num_threads=1) as worker:
        hello = worker.start()
        assert Path(hello["python"]["prefix"]) == foreign
        assert hello["framework"]["name"] == "torch"
        assert hello["framework"]["num_interop_threads"] == 1
        assert hello["threads"] == {
            "alive": 1,
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }


def test_a_shell_command_that_activates_one(foreign: Path) -> None:
    activate = f"source '{foreign}/bin/activate'"
    with Worker(parse_environment("foreign", activate), num_threads=1) as worker:
        assert Path(worker.start()["python"]["prefix"]) == foreign


def test_a_command_that_fails_is_quoted() -> None:
    worker = Worker(parse_environment("broken", "echo no such thing >&2; false"), num_threads=1)
    with pytest.raises(WorkerError, match="exit code 1: no such thing"):
        worker.start()


def test_an_interpreter_without_the_framework(tmp_path: Path) -> None:
    venv.create(tmp_path / "empty", symlinks=True)
    worker = Worker(parse_environment("empty", str(tmp_path / "empty")), num_threads=1)
    with pytest.raises(
        WorkerError, match=r"torch cannot be imported by .*empty/bin/python: ModuleNotFoundError"
    ):
        worker.start()


@pytest.mark.parametrize("script", ["echo hello", "echo hello >&2; exit 3", "exit 3", "kill -9 $$"])
def test_a_program_that_is_no_worker(tmp_path: Path, script: str) -> None:
    program = tmp_path / "program"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    worker = Worker(parse_environment("odd", str(program)), num_threads=1)
    with pytest.raises(WorkerError, match=r"(exit code [03]: hello|exit code 3: it said nothing|signal 9)"):
        worker.start()


def test_specs_that_cannot_be(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for spec, message in {
        str(tmp_path): "a folder without bin/python",
        str(tmp_path / "file"): "not executable",
        "no-such-python": "neither a folder, an interpreter nor a command",
    }.items():
        with pytest.raises(UsageError, match=message):
            parse_environment("main", spec)


def test_threads_are_set_for_every_pool() -> None:
    variables = worker_variables(3, "token", {"OMP_NUM_THREADS": "64", "PATH": "/bin"})
    assert variables["OMP_NUM_THREADS"] == variables["MKL_NUM_THREADS"] == "3"
    assert variables["PATH"] == "/bin"
    assert variables["PYTHONHASHSEED"] == "0"
