"""Whatever is wrong with a command line: one clear message on stderr, exit code 2, and nothing is done."""

from __future__ import annotations

import contextlib
import io
import shlex
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from opbench.cli.main import main
from opbench.cli.parser import VERBS

from .conftest import Bench, Command

# A command line, and what its message must hold.
WRONG = [
    ("rnu quick", "did you mean run?"),
    ("--frob", "no flag '--frob'"),
    ("''", "no command ''"),
    ("help frob", "no command 'frob'"),
    ("run", "say what to measure"),
    ("run nosuch.json", "nosuch.json: there is no such file"),
    ("run quikc", "did you mean quick?"),
    ("list ~nobody0", 'no suite is called "~nobody0"'),
    ("run ~nobody0/suite.json", "there is no such file"),
    ("run quick --env a=~nobody0", "environment 'a'"),
    ("run .", "this is a folder, not a suite"),
    ("run /dev/null", "files that end in"),
    ("run empty.json", "empty.json"),
    ("run half.jsonl", "half.jsonl"),
    ("run binary.json", "binary.json"),
    ("run quick --plan qiuck", "did you mean quick?"),
    ("run quick --plan-file nosuch.toml", "nosuch.toml: the plan file cannot be read"),
    ("run quick --plan-file half.jsonl", "half.jsonl"),
    ("run quick --plan-file wrong.toml", "did you mean budget_s?"),
    ("run quick --budegt 1s", "did you mean --budget?"),
    ("run quick --bud 1s", "no flag --bud"),
    ("run quick --budget", "expected one argument"),
    ("run quick --budget 1parsec", "the unit 'parsec'"),
    ("run quick --budget -1", "budget_s must be above 0"),
    ("run quick --budget nan", "not a duration"),
    ("run quick --budget 1e999", "not a duration"),
    ("run quick --samples 0", "samples must be at least 1"),
    ("run quick --samples 1.5", "not a whole number"),
    ("run quick --mode contnuous", "did you mean continuous?"),
    ("run quick --flush-cache", "flush_cache needs mode"),
    ("run quick --memory-cap 3parsecs", "sizes are in"),
    ("run quick --filter 'op:('", "at character 3"),
    ("run quick --filter 'torch.nosuch'", "no case matches"),
    ("run quick --filter 'frob:x'", "frob"),
    ("run quick --shard 5/4", "not i/n"),
    ("run quick --shard 0/4", "not i/n"),
    ("run quick --shard x", "not i/n"),
    ("run quick --shuffle x", "not a whole number"),
    ("run quick --repeat 0", "not above 0"),
    ("run quick --repeat 1e3", "not a whole number"),
    ("run quick --jobs 100000", "jobs need 100000 cores"),
    ("run quick --num-threads 0", "not above 0"),
    ("run quick --retries frob=1", "no status is called 'frob'"),
    ("run quick --retries timeout=-1", "not above 0"),
    ("run quick --retries timeout=x", "not a whole number"),
    ("run quick --isolation frok", "did you mean fork?"),
    ("run quick --env foo", "not NAME=SPEC"),
    ("run quick --env foo=/nosuch/venv", "neither a folder, an interpreter nor a command"),
    ("run quick --env foo=folder", "a folder without bin/python"),
    ("run quick --device quda", "did you mean cuda?"),
    ("run quick --dtype flaot16", "no dtype is called 'flaot16'"),
    ("run quick --runtime egaer", "did you mean eager?"),
    ("run quick -o /nosuch/folder/file", "cannot be written"),
    ("run quick -o folder", "cannot be written"),
    ("run quick -o -", "-o needs the name of a file"),
    ("run six.jsonl -o six.jsonl", "would overwrite"),
    ("run quick --store folder", "this is a folder"),
    ("run quick --store half.jsonl", "half.jsonl"),
    ("run quick --store /proc/self/nosuch/store", "/proc/self/nosuch"),
    ("run quick --store ftp://host/db", "not ftp://"),
    ("run quick --resume nosuch", "no run 'nosuch'"),
    ("run --resume last", "the store has no runs yet"),
    ("run --rerun-failed last --resume last", "exclude each other"),
    ("run --resume last --no-store", "leave it out"),
    ("run --resume last --name x", "--name is for new runs"),
    ("run --op torch.mm 'f32[2'", "at character"),
    ("run --op torch.mm --kwarg x", "not NAME=VALUE"),
    ("run --op torch.mm --kwarg x=1 --kwarg x=2", "gives x twice"),
    ("run --op torch.mm --stmt 1", "exclude each other"),
    ("run --op torch.mm --setup 1", "belong to --stmt"),
    ("run --op torch.mm 1 --arg 2", "one way"),
    ("run quick --arg 1", "belong to --op"),
    ("run quick --direction forward", "--filter"),
    ("run --op torch.mm --direction froward", "did you mean forward?"),
    ("run --stmt 1 --language rust", "no language is called 'rust'"),
    ("run quick --json=1", "ignored explicit argument"),
    ("run quick --color sometimes", "no way of colouring"),
    ("list nosuch", 'no suite is called "nosuch"'),
    ("list --filter x", "name the suite"),
    ("list quick --budget 1s", "no flag --budget"),
    ("show nosuch", "no run 'nosuch'"),
    ("show nosuch.jsonl", "nosuch.jsonl: there is no such file"),
    ("show six.jsonl", 'six.jsonl: line 1: must have a "kind"'),
    ("show binary.json", "binary.json: line 1"),
    ("show a b", "'b' is one argument too many"),
    ("show ''", "found an empty text"),
    ("show --status frob", "no status is called 'frob'"),
    ("schema frob", "no schema is called 'frob'"),
    ("store", "the following arguments are required: ACTION"),
    ("store frob", "no action is called 'frob'"),
    ("store list x", "takes no names"),
    ("store delete", "name at least one"),
    ("store delete nosuch", "opbench run makes one"),
    ("store import nosuch", "nosuch cannot be read"),
    ("store import half.jsonl", "half.jsonl: line 1"),
    ("store export nosuch", "opbench run makes one"),
    ("store list -o x", "--output belongs to"),
    ("doctor --frob", "no flag --frob"),
]


@pytest.fixture(autouse=True)
def files(suite: str, tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "empty.json").write_text("")
    (tmp_path / "half.jsonl").write_text('{"op": "torch.add", "args": [')
    (tmp_path / "binary.json").write_bytes(bytes(range(256)))
    (tmp_path / "wrong.toml").write_text("bugdet_s = 1\n")


@pytest.mark.parametrize(("line", "message"), WRONG, ids=[line for line, _ in WRONG])
def test_what_is_wrong_is_told_and_ends_with_two(
    line: str, message: str, opbench: Command, bench: Bench
) -> None:
    ended = opbench(*shlex.split(line))
    assert ended.code == 2, ended
    assert message in ended.err
    assert ended.err.startswith("opbench: ")
    assert ended.out == ""
    assert bench.ops == []


@pytest.mark.parametrize(
    "line", ["run quick --filter torch.nosuch", "run quick -o folder", "run quick --jobs 999"]
)
def test_wrong_usage_leaves_no_run(line: str, opbench: Command, bench: Bench) -> None:
    assert opbench(*line.split()).code == 2
    assert opbench("store", "list", "--json").rows == []


def test_no_row_begins_like_this(opbench: Command, bench: Bench, suite: str) -> None:
    opbench("run", suite)
    ended = opbench("show", "--case", "zzz")
    assert (ended.code, ended.out) == (2, "")
    assert "begins with 'zzz'" in ended.err


def test_what_is_wrong_in_the_middle_of_a_suite_keeps_what_came_before(
    opbench: Command, bench: Bench, suite: str
) -> None:
    ended = opbench("run", suite, suite, "--json")
    assert ended.code == 2
    assert len(ended.rows) == 6
    assert "already" in ended.last
    assert "6 measured" in ended.err
    assert "opbench run --resume" in ended.err
    assert len(opbench("show", "--json").rows) == 6


def test_everything_wrong_with_a_suite_is_told_in_lines_of_their_own(
    opbench: Command, tmp_path: Path
) -> None:
    (tmp_path / "bad.jsonl").write_text('{"op": 3}\n{"op": "torch.add", "agrs": []}\n')
    ended = opbench("run", "bad.jsonl")
    assert ended.code == 2
    assert len(ended.err.splitlines()) >= 2
    assert "did you mean" in ended.err


FLAGS = [
    "--filter", "--shard", "--shuffle", "--plan", "--budget", "--env", "--repeat", "--retries", "--isolation",
    "--resume", "--json", "-o", "--store", "--op", "--kwarg", "--stmt", "--dry-run", "--case", "--status",
    "-q", "--limit", "--color", "--", "-", "--device", "--dtype", "--num-threads", "--oversubscribe",
    "--no-store",
]  # fmt: skip
WORDS = st.sampled_from([*VERBS, *FLAGS, "quick", "last", "1", "1/2", "torch.mm", "float32[2]", "x=1"])


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=300, deadline=None)
@given(
    verb=st.sampled_from(sorted(set(VERBS) - {"doctor"})),
    words=st.lists(WORDS | st.text(max_size=6), max_size=5),
)
def test_no_command_line_is_a_bug(bench: Bench, verb: str, words: list[str]) -> None:
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([verb, *words])
    assert code in (0, 1, 2), err.getvalue()
    assert "Traceback" not in err.getvalue()
    if code == 2:
        assert err.getvalue().startswith("opbench: ")
    if code == 0 and "--json" in words and "--help" not in words and "-h" not in words:
        assert all(line.startswith("{") for line in out.getvalue().splitlines()) or verb == "store"
