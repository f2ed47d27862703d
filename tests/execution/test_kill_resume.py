"""kill -9 of the client at random moments, then --resume: each case exactly once, nothing left over."""

from __future__ import annotations

import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import closing
from pathlib import Path

import pytest

from opbench.results.store import Store

# More rounds by hand: OPBENCH_KILLS=50 pytest tests/execution/test_kill_resume.py
KILLS = int(os.environ.get("OPBENCH_KILLS", "8"))
# So many more than a client does before it is killed that there is always something left to do.
CASES = 20 * KILLS
MOST_ROWS = 6
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


def start(arguments: list[str], store: Path) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "opbench", "run", *arguments, "--json"],
        env={**os.environ, "OPBENCH_STORE": str(store)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def kill_in_the_middle(client: subprocess.Popen[bytes], chance: random.Random) -> None:
    """Kill a client while its worker starts, or after some rows and somewhere in the next case."""
    assert client.stdout is not None
    rows = chance.randint(0, MOST_ROWS)
    for _ in range(rows):
        assert client.stdout.readline(), "the client ended by itself"
    time.sleep(chance.uniform(0, 0.05) if rows else chance.uniform(0, 1))
    assert client.poll() is None, "the client ended by itself"
    client.send_signal(signal.SIGKILL)
    client.communicate()


@pytest.mark.timeout(1200)
def test_killed_again_and_again(tmp_path: Path) -> None:
    suite, path = tmp_path / "suite.jsonl", tmp_path / "store.sqlite"
    tensor = {"type": "tensor", "shape": [8, 8]}
    lines = [json.dumps({"op": "torch.mm", "args": [tensor, tensor], "seed": seed}) for seed in range(CASES)]
    suite.write_text("\n".join(lines))
    chance = random.Random(0)
    arguments = [str(suite), *PLAN]
    for _ in range(KILLS):
        kill_in_the_middle(start(arguments, path), chance)
        assert gone_within(path, 5), "workers outlived their client"
        if path.exists():
            with Store.open(path) as store:
                arguments = ["--resume", "last"] if store.runs() else arguments
    client = start(arguments, path)
    _, stderr = client.communicate(timeout=300)
    assert client.returncode == 0, stderr.decode()
    with Store.open(path) as store:
        (run,) = store.runs()
        rows = list(store.measurements(run.run_id, latest_attempts=False))
    assert Counter(row.case.seed for row in rows) == Counter(range(CASES))
    assert {row.status for row in rows} == {"ok"}
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    assert sorted(file.name for file in tmp_path.iterdir()) == ["store.sqlite", "suite.jsonl"]
