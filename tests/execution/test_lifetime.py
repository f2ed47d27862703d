"""Workers end with their client, however it ends and whatever they are doing."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from opbench.execution.environments import TOKEN_VARIABLE

HERE = Path(__file__).parent
MARK = "OPBENCH_TEST_MARK"


def carriers(mark: str) -> list[int]:
    """The client's workers, and everything they started."""
    found = []
    for entry in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = entry.read_bytes().split(b"\0")
        except OSError:
            continue
        is_worker = any(variable.startswith(f"{TOKEN_VARIABLE}=".encode()) for variable in variables)
        if is_worker and f"{MARK}={mark}".encode() in variables:
            found.append(int(entry.parent.name))
    return found


def wait_for(condition: Callable[[], bool], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[[str, str], subprocess.Popen[bytes]]]:
    clients: list[subprocess.Popen[bytes]] = []

    def run(name: str, isolation: str) -> subprocess.Popen[bytes]:
        arguments = [str(HERE / "hostile_operators.py"), f"hostile.{name}", isolation]
        client = subprocess.Popen(
            [sys.executable, str(HERE / "client.py"), *arguments],
            env={**os.environ, MARK: str(tmp_path)},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        clients.append(client)
        return client

    yield run
    for client in clients:
        client.kill()
        client.wait()


@pytest.mark.parametrize("isolation", ["fork", "none", "spawn"])
def test_a_killed_client_takes_a_hanging_case_with_it(
    start: Callable[[str, str], subprocess.Popen[bytes]], tmp_path: Path, isolation: str
) -> None:
    client = start("announce_and_hang", isolation)
    announced = tmp_path / "announced"
    assert wait_for(announced.exists, 60)
    assert carriers(str(tmp_path))
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert wait_for(lambda: not carriers(str(tmp_path)), 5)


@pytest.mark.parametrize("delay_s", [0.0, 0.3, 1.0])
def test_a_client_killed_while_the_framework_is_imported(
    start: Callable[[str, str], subprocess.Popen[bytes]], tmp_path: Path, delay_s: float
) -> None:
    client = start("announce_and_hang", "fork")
    assert wait_for(lambda: bool(carriers(str(tmp_path))), 60)
    time.sleep(delay_s)
    client.send_signal(signal.SIGKILL)
    client.wait()
    assert wait_for(lambda: not carriers(str(tmp_path)), 5)


def test_a_terminated_client_leaves_nothing(
    start: Callable[[str, str], subprocess.Popen[bytes]], tmp_path: Path
) -> None:
    client = start("announce_and_hang", "fork")
    assert wait_for((tmp_path / "announced").exists, 60)
    client.terminate()
    client.wait()
    assert wait_for(lambda: not carriers(str(tmp_path)), 5)
