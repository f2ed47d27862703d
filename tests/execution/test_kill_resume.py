"""kill -9 of the client at random moments, then --resume: each case exactly once, nothing left over."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from opbench.results.store import Store

CASES = 40
# More rounds by hand: OPBENCH_KILLS=50 pytest tests/execution/test_kill_resume.py
KILLS = int(os.environ.get("OPBENCH_KILLS", "8"))
PLAN = ["--samples", "2", "--calls-per-sample", "1", "--warmup-calls", "1", "--no-memory", "--no-flops"]


def worker_processes(store: Path) -> list[int]:
    """Processes whose environment names this test's store: the client's workers and their children."""
    needle = f"OPBENCH_STORE={store}".encode()
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            if needle in entry.read_bytes().split(b"\0"):
                found.append(int(entry.parent.name))
        except OSError:
            continue
    return found


def gone_within(store: Path, seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while worker_processes(store):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.mark.timeout(1200)
def test_killed_again_and_again(tmp_path: Path) -> None:
    suite, path = tmp_path / "suite.jsonl", tmp_path / "store.sqlite"
    tensor = {"type": "tensor", "shape": [8, 8]}
    lines = [json.dumps({"op": "torch.mm", "args": [tensor, tensor], "seed": seed}) for seed in range(CASES)]
    suite.write_text("\n".join(lines))
    environment = {**os.environ, "OPBENCH_STORE": str(path)}
    command = [sys.executable, "-m", "opbench", "run"]
    chance = random.Random(0)
    started = False
    finished = False
    rounds = 0
    while not finished:
        arguments = ["--resume", "last"] if started else [str(suite), *PLAN]
        client = subprocess.Popen(
            [*command, *arguments], env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        try:
            _, stderr = client.communicate(timeout=chance.uniform(0.2, 6) if rounds < KILLS else 300)
            assert client.returncode == 0, stderr.decode()
            finished = True
        except subprocess.TimeoutExpired:
            client.send_signal(signal.SIGKILL)
            client.communicate()
        rounds += 1
        assert gone_within(path, 5), "workers outlived their client"
        if path.exists():
            with Store.open(path) as store:
                started = bool(store.runs())
    with Store.open(path) as store:
        (run,) = store.runs()
        rows = list(store.measurements(run.run_id, latest_attempts=False))
    assert Counter(row.case.seed for row in rows) == Counter(range(CASES))
    assert {row.status for row in rows} == {"ok"}
    assert rounds >= 2
