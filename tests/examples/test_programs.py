"""Each example as a person starts it, at its smallest."""

from __future__ import annotations

import subprocess
import sys

import pytest

SMALLEST = {
    "simple_timeit": (
        ["--size", "16", "-n", "20", "--min-run-time", "0.05"],
        ["IQR", "medians are", "WARNING", "growing"],
    ),
    "compare": (
        ["--rows", "1", "8", "--columns", "16", "--threads", "1", "--min-run-time", "0.005"],
        ["built in", "by hand", "through log", "1 x 16", "8 x 16", "Slowest of all"],
    ),
    "fuzzer": (["-n", "2", "--min-run-time", "0.001"], ["per element", "times as much"]),
    "end_to_end": (["-n", "1", "--min-run-time", "0.001"], ["channels_last", "1    32", "verdict"]),
    # The first inputs of this seed are small.
    "op_benchmark": (
        ["-n", "1", "--seed", "14", "--min-run-time", "0.001"],
        ["torch.sort(x, -1)", "differ most in"],
    ),
    "sparse": (
        ["--size", "32", "--width", "2", "--min-run-time", "0.001"],
        ["density 0.001", "dense", "sparse_csr", "sparse_coo "],
    ),
    "spectral": (["7", "97", "--min-run-time", "0.001"], ["97", "100", "times as much as"]),
}


def start(*words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False, timeout=120
    )


@pytest.mark.parametrize("name", SMALLEST)
def test_an_example_says_what_to_read_off(name: str) -> None:
    flags, shown = SMALLEST[name]
    ended = start(f"opbench.examples.{name}", *flags)
    assert (ended.returncode, ended.stderr) == (0, "")
    before, found, after = ended.stdout.partition("What to read off\n")
    assert found
    assert before.strip()
    assert after.strip()
    assert all(words in ended.stdout for words in shown), ended.stdout
    assert max(map(len, ended.stdout.splitlines()[-6:])) <= 120


def test_examples_are_listed() -> None:
    ended = start("opbench.examples")
    assert (ended.returncode, ended.stderr) == (0, "")
    listed = {line.split()[0] for line in ended.stdout.splitlines() if line.startswith("  ")}
    assert listed == set(SMALLEST)


@pytest.mark.parametrize("name", SMALLEST)
def test_help_needs_no_framework(name: str) -> None:
    script = (
        "import importlib, sys\n"
        f"module = importlib.import_module('opbench.examples.{name}')\n"
        "sys.argv = ['x', '--help']\n"
        "try: module.main()\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert 'torch' not in sys.modules\n"
    )
    ended = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert f"python -m opbench.examples.{name}" in ended.stdout


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["fuzzer", "-n", "0"], "argument -n/--number: it must be 1 or more, not 0"),
        (["compare", "--min-run-time", "-1"], "argument --min-run-time: it must be above 0 s, not -1"),
        (["fuzzer", "x.smu()", "-n", "1"], "x.smu() on input 0: 'Tensor' object has no attribute 'smu'"),
        (["fuzzer", "x.sum(", "-n", "1"], "stmt is not Python"),
        (["spectral", "many"], "invalid count value: 'many'"),
    ],
)
def test_wrong_flags_are_told(words: list[str], message: str) -> None:
    ended = start(f"opbench.examples.{words[0]}", *words[1:])
    assert ended.returncode == 2
    assert message in ended.stderr
    assert "Traceback" not in ended.stderr
