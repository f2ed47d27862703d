"""What a person sees on a terminal, and what Ctrl-C does there. Workers are real ones."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from rich.cells import cell_len

from opbench.cases.model import Case
from opbench.cases.plan import preset
from opbench.execution.api import new_run
from opbench.execution.worker import TOKEN_VARIABLE
from opbench.results.records import Measurement, Metric
from opbench.results.store import Store

from .conftest import Command
from .terminal import CTRL_C, Terminal


@pytest.fixture
def waiting(tmp_path: Path) -> Iterator[str]:
    """A suite of three cases; the second says that it has begun, and waits for a file called `go`."""
    wait = (
        "import os, time\n"
        f"open({str(tmp_path / 'begun')!r}, 'w').close()\n"
        f"while not os.path.exists({str(tmp_path / 'go')!r}): time.sleep(0.01)"
    )
    cases = [{"stmt": "1"}, {"stmt": "2", "setup": wait}, {"stmt": "3"}]
    path = tmp_path / "waiting.jsonl"
    path.write_text("".join(json.dumps(case) + "\n" for case in cases))
    yield str(path)
    (tmp_path / "go").touch()


FAST = (
    "--allow-snippets",
    "--samples",
    "1",
    "--calls-per-sample",
    "1",
    "-w",
    "0",
    "--no-memory",
    "--no-flops",
)


def test_ctrl_c_finishes_the_case_in_flight_and_keeps_all(
    waiting: str, opbench: Command, tmp_path: Path
) -> None:
    with Terminal("run", waiting, *FAST) as terminal:
        terminal.wait_for("1/3")
        until_begun(terminal, tmp_path)
        terminal.send(CTRL_C)
        terminal.wait_for("finishing the case in flight")
        (tmp_path / "go").touch()
        assert terminal.end() == 130
    assert "2 measured" in terminal.text
    assert "interrupted" in terminal.text
    assert "opbench run --resume" in terminal.text
    assert "Traceback" not in terminal.text
    assert [row["stmt"] for row in opbench("show", "--json").rows] == ["1", "2"]
    ended = opbench("run", "--resume", "last", "--json")
    assert [row["stmt"] for row in ended.rows] == ["3"]
    assert ended.code == 0


def test_ctrl_c_twice_stops_now_and_keeps_what_is_done(
    waiting: str, opbench: Command, tmp_path: Path
) -> None:
    with Terminal("run", waiting, *FAST, "-o", "out.jsonl") as terminal:
        terminal.wait_for("1/3")
        until_begun(terminal, tmp_path)
        terminal.send(CTRL_C)
        terminal.wait_for("finishing the case in flight")
        terminal.send(CTRL_C)
        terminal.wait_for("stopping now")
        # The case still waits for its file, and nobody waits for the case.
        assert terminal.end() == 130
    assert "Traceback" not in terminal.text
    assert [row["stmt"] for row in opbench("show", "--json").rows] == ["1"]
    assert [row["stmt"] for row in opbench("show", "out.jsonl", "--json").rows] == ["1"]
    assert not workers_of(tmp_path)


def test_a_termination_signal_stops_now_too(waiting: str, opbench: Command, tmp_path: Path) -> None:
    with Terminal("run", waiting, *FAST) as terminal:
        terminal.wait_for("1/3")
        until_begun(terminal, tmp_path)
        os.kill(terminal.pid, signal.SIGTERM)
        assert terminal.end() == 143
    assert [row["stmt"] for row in opbench("show", "--json").rows] == ["1"]


def until_begun(terminal: Terminal, folder: Path) -> None:
    terminal.wait_until(lambda: (folder / "begun").exists())


def workers_of(folder: Path) -> list[str]:
    """Processes that a worker has left behind, told by the folder that they are in."""
    found = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            if (entry / "cwd").resolve() == folder and TOKEN_VARIABLE in (entry / "environ").read_text():
                found.append(entry.name)
        except (OSError, ValueError):
            continue
    return found


@pytest.fixture
def stored(store: Path) -> str:
    """A run with long names and long inputs."""
    names = ("torch.nn.functional.scaled_dot_product_attention", "torch.add", "my.own.operator." + "x" * 80)
    run = new_run(preset("quick"), ["six.jsonl"])
    metric = Metric("time", 1.5e-6, "s", "duration", samples=(1.5e-6,) * 3)
    with Store.open(str(store)) as opened:
        opened.add_run(run)
        for number, name in enumerate(names):
            case = Case(op=name, sub_label="words " * 30 * (number % 2))
            status = "failed" if number == 2 else "ok"
            opened.add(
                Measurement(
                    run_id=run.run_id,
                    case_id=f"{number:016x}",
                    case=case,
                    status=status,  # type: ignore[arg-type]
                    reason="it did not work for a reason that takes many words to tell " * 3,
                    metrics=(metric,) if status == "ok" else (),
                )
            )
    return run.run_id


@pytest.mark.parametrize("columns", [60, 80, 120, 200])
def test_no_line_of_a_table_is_wider_than_the_terminal(stored: str, columns: int) -> None:
    for words in (["show"], ["show", "--case", "0000"], ["list", "quick"], ["store", "list"]):
        with Terminal(*words, columns=columns) as terminal:
            assert terminal.end() == 0
        wide = [line for line in terminal.lines if cell_len(line) > columns]
        # What is to be copied is never cut or broken.
        assert all(re.search(r"opbench show|/", line) for line in wide), wide


def test_colours_are_for_terminals_and_can_be_had_or_not(stored: str) -> None:
    for words, env, coloured in (
        (["show"], {}, True),
        (["show"], {"NO_COLOR": "1"}, False),
        (["show", "--color", "never"], {}, False),
        (["show", "--color", "always"], {"NO_COLOR": "1"}, True),
        (["show"], {"TERM": "dumb"}, False),
    ):
        with Terminal(*words, env=env) as terminal:
            assert terminal.end() == 0
        assert bool(re.search(r"\x1b\[[0-9;]*3[0-9]m", terminal.raw)) == coloured, (words, env)


def test_a_dumb_terminal_gets_no_moving_parts(waiting: str, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    with Terminal("run", waiting, *FAST, env={"TERM": "dumb"}) as terminal:
        assert terminal.end() == 0
    assert "\x1b" not in terminal.raw
    assert "3 measured" in terminal.text


def test_json_on_a_terminal_is_json_still(waiting: str, tmp_path: Path) -> None:
    (tmp_path / "go").touch()
    ended = subprocess.run(
        [sys.executable, "-m", "opbench", "run", waiting, *FAST, "--json"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert [json.loads(line)["stmt"] for line in ended.stdout.splitlines()] == ["1", "2", "3"]
