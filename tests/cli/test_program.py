"""opbench as a program among others: its imports, its pipes, its locale, and who lacks a framework."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from opbench.cli.parser import VERBS

HEAVY = ("torch", "numpy", "scipy", "sqlalchemy", "rich", "msgspec")


def program(
    *words: str, env: Mapping[str, str] | None = None, stdout: int = subprocess.PIPE
) -> subprocess.CompletedProcess[str]:
    ended = subprocess.run(
        [sys.executable, "-m", "opbench", *words],
        stdin=subprocess.DEVNULL,
        stdout=stdout,
        stderr=subprocess.PIPE,
        env={**os.environ, **(env or {})},
        encoding="utf-8",
        check=False,
    )
    assert "Traceback" not in ended.stderr
    return ended


def imported_by(*words: str) -> set[str]:
    code = (
        "import json, sys; from opbench.cli.main import main; "
        "code = main(json.loads(sys.argv[1])); "
        "print(json.dumps([code, *sys.modules]), file=sys.stderr)"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code, json.dumps(words)], capture_output=True, text=True, check=True
    )
    code_and_modules = json.loads(ended.stderr.splitlines()[-1])
    assert code_and_modules[0] == 0
    return set(code_and_modules)


@pytest.mark.parametrize("words", [["--help"], [], ["--version"]])
def test_what_is_asked_most_often_imports_next_to_nothing(words: list[str]) -> None:
    assert not imported_by(*words) & set(HEAVY)


@pytest.mark.parametrize("verb", VERBS)
def test_no_help_imports_a_framework(verb: str) -> None:
    assert not imported_by(verb, "--help") & {"torch", "scipy"}


def test_cases_are_listed_without_a_framework() -> None:
    assert not imported_by("list", "quick") & {"torch", "scipy", "sqlalchemy"}


def test_importing_opbench_imports_next_to_nothing() -> None:
    code = f"import opbench, sys; assert not set(sys.modules) & {set(HEAVY)!r}"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def many(tmp_path: Path) -> str:
    """A suite whose list is longer than any pipe's buffer."""
    path = tmp_path / "many.jsonl"
    path.write_text("".join(f'{{"op": "torch.add", "seed": {seed}}}\n' for seed in range(5000)))
    return str(path)


@pytest.mark.parametrize(
    "words", [["list", "{many}"], ["list", "{many}", "--json"], ["run", "{many}", "--dry-run"]]
)
def test_a_reader_that_goes_away_is_no_error_worth_telling(words: list[str], many: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = program(*(word.format(many=many) for word in words), stdout=writer)
    finally:
        os.close(writer)
    assert (ended.returncode, ended.stderr) == (141, "")


def test_a_run_whose_reader_goes_away_ends_and_says_how_to_go_on(suite: str) -> None:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        ended = program("run", suite, "--plan", "quick", "--samples", "1", "--json", stdout=writer)
    finally:
        os.close(writer)
    assert ended.returncode == 141
    assert "nobody reads the output any more" in ended.stderr
    run_id = ended.stderr.split()[-1]
    assert program("store", "list", "--json").stdout.count(run_id) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
@pytest.mark.parametrize("words", [["--help"], ["list", "quick"], ["list", "quick", "--json"], ["schema"]])
def test_a_full_disk_is_told_plainly(words: list[str]) -> None:
    with open("/dev/full", "w") as full:
        ended = program(*words, stdout=full.fileno())
    assert ended.returncode == 2
    assert ended.stderr == "opbench: the output cannot be written: No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_under_the_records_is_told_plainly(suite: str) -> None:
    ended = program("run", suite, "--no-store", "-o", "/dev/full")
    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr == "opbench: /dev/full cannot be written: No space left on device\n"


@pytest.mark.parametrize(
    "words", [["--help"], ["list", "quick"], ["list", "{odd}"], ["run", "{odd}", "--dry-run"]]
)
def test_no_locale_is_too_poor(words: list[str], tmp_path: Path) -> None:
    odd = tmp_path / "odd.json"
    case = {"op": "torch.add", "label": "größe µ ± 数 \u202e \x1b[2J", "sub_label": "×"}
    odd.write_text(json.dumps({"opbench": 1, "cases": [case]}, ensure_ascii=False), "utf-8")
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    ended = program(*(word.format(odd=odd) for word in words), env=plain)
    assert ended.returncode == 0, ended.stderr
    assert (ended.stdout + ended.stderr).isascii()
    assert "\x1b" not in ended.stdout


def test_without_stdout_or_stdin_nothing_breaks() -> None:
    ended = subprocess.run(
        ["/bin/sh", "-c", f"exec {sys.executable} -m opbench list quick <&- >&- 2>&-"], check=False
    )
    assert ended.returncode == 0


def test_an_environment_without_torch_is_a_clean_message(suite: str, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.write_text(f'#!/bin/sh\nexec {sys.executable} -I -S "$@"\n')
    bare.chmod(0o755)
    ended = program("run", suite, "--env", f"bare={bare}")
    assert ended.returncode == 2
    assert ended.stdout == ""
    assert "environment 'bare'" in ended.stderr
    assert "torch" in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_an_activation_that_fails_is_a_clean_message(suite: str) -> None:
    ended = program("run", suite, "--env", "main=echo no such thing >&2; false && true")
    assert ended.returncode == 2
    assert "environment 'main'" in ended.stderr
    assert "no such thing" in ended.stderr


def test_what_is_shown_can_be_done_in_a_shell(suite: str) -> None:
    ended = program("run", suite, "--plan", "quick", "--samples", "1")
    assert ended.returncode == 0
    command = (
        next(line for line in ended.stdout.splitlines() if "opbench show" in line).split(": ")[1].split()
    )
    assert program(*command[1:]).stdout.splitlines()[0].startswith("torch.abs")
