"""A worker without a process: it answers from a script, at once."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from opbench.cases.model import Case
from opbench.execution.environments import EnvironmentSpec
from opbench.execution.worker import Exit, Outcome, WorkerError

Script = Callable[[dict[str, Any]], dict[str, Any] | Exit]

OK: dict[str, Any] = {
    "status": "ok",
    "metrics": [{"tag": "time", "value": 1e-6, "unit": "s", "hint": "duration", "samples": [1e-6, 2e-6]}],
}


def always_ok(request: dict[str, Any]) -> dict[str, Any]:
    return OK


class FakeWorker:
    """Counts what is asked of it. An Exit in the script stands for a process that died."""

    def __init__(self, script: Script = always_ok, *, broken: bool = False) -> None:
        self.script = script
        self.broken = broken
        self.alive = False
        self.requests: list[dict[str, Any]] = []
        self.closed = 0

    def launch(self) -> None:
        self.alive = True

    def start(self) -> dict[str, Any]:
        if self.broken:
            raise WorkerError("torch cannot be imported")
        self.alive = True
        return {"python": {"version": "3.11.0"}, "framework": {"name": "torch", "version": "2.13.0"}}

    def measure(self, request: dict[str, Any], timeout_s: float) -> Outcome:
        self.requests.append(request)
        answer = self.script(request)
        if isinstance(answer, Exit):
            self.alive = not answer.lost
            return Outcome(answer, b"", "", "", 0)
        return Outcome(Exit(), json.dumps(answer).encode(), "", "", 0)

    def close(self) -> None:
        self.closed += 1
        self.alive = False

    kill = close


class Workshop:
    """Makes fake workers and remembers them."""

    def __init__(self, script: Script = always_ok) -> None:
        self.script = script
        self.made: list[tuple[str, int, FakeWorker]] = []

    def __call__(self, environment: EnvironmentSpec, num_threads: int) -> FakeWorker:
        worker = FakeWorker(self.script)
        self.made.append((environment.name, num_threads, worker))
        return worker


def cases(count: int, **fields: Any) -> list[Case]:
    return [Case(op="torch.add", seed=seed, **fields) for seed in range(count)]
