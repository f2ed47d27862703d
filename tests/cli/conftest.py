"""The command line in this process, on workers that answer at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opbench.cli.main import main
from opbench.execution import api
from opbench.execution.environments import EnvironmentSpec

from ..execution.fakes import FakeWorker, Script, always_ok


@dataclass
class Ended:
    """How a command ended and what it wrote."""

    code: int
    out: str
    err: str

    @property
    def rows(self) -> list[dict[str, Any]]:
        """stdout as JSON Lines: nothing else may be there."""
        return [json.loads(line) for line in self.out.splitlines()]

    @property
    def last(self) -> str:
        """The last line on stderr."""
        return self.err.splitlines()[-1]


Command = Callable[..., Ended]


@dataclass
class Bench:
    """What stands in for all workers: its script may be changed, and it knows what was asked of it."""

    script: Script = always_ok
    workers: list[FakeWorker] = field(default_factory=list)
    environments: list[str] = field(default_factory=list)
    options: list[dict[str, Any]] = field(default_factory=list)

    def __call__(self, environment: EnvironmentSpec, **options: Any) -> FakeWorker:
        worker = FakeWorker(lambda request: self.script(request))
        self.workers.append(worker)
        self.environments.append(environment.name)
        self.options.append(options)
        return worker

    @property
    def ops(self) -> list[str]:
        """The operators of all requests, in their order."""
        return [request["case"]["op"] for worker in self.workers for request in worker.requests]


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Bench:
    stand_in = Bench()
    monkeypatch.setattr(api, "Worker", stand_in)
    return stand_in


@pytest.fixture(autouse=True)
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A store of its own for each test, and a folder of its own to be in."""
    path = tmp_path / "store.sqlite"
    monkeypatch.setenv("OPBENCH_STORE", str(path))
    monkeypatch.chdir(tmp_path)
    return path


@pytest.fixture
def opbench(capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs a command line in this process."""

    def command(*words: str) -> Ended:
        capsys.readouterr()
        code = main(list(words))
        captured = capsys.readouterr()
        assert "Traceback" not in captured.out + captured.err
        return Ended(code, captured.out, captured.err)

    return command


@pytest.fixture
def suite(tmp_path: Path) -> str:
    """A suite of six cases."""
    ops = ("torch.add", "torch.mul", "torch.sub", "torch.div", "torch.neg", "torch.abs")
    unary = ("torch.neg", "torch.abs")
    tensor = {"type": "tensor", "shape": [8]}
    cases = [
        {
            "op": op,
            "args": [tensor] * (1 if op in unary else 2),
            "tags": ["unary" if op in unary else "binary"],
        }
        for op in ops
    ]
    path = tmp_path / "six.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases), encoding="utf-8")
    return str(path)
