"""Every file in examples/ does what it says."""

from __future__ import annotations

import contextlib
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from opbench.cases.identity import case_id
from opbench.cli.main import main
from opbench.sources import open_sources

EXAMPLES = Path(__file__).resolve().parents[1] / "examples"
SUITES = sorted((EXAMPLES / "suites").iterdir())
OPERATORS = EXAMPLES / "operators.py"
SCRIPTS = {"measure.py", "operators.py", "read_results.py"}
# Whether it runs is tested, not how fast: as little as gives an interval.
BARELY = ("--samples", "6", "--warmup-calls", "1", "--calls-per-sample", "1")


def opbench(*arguments: object) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def script(name: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, EXAMPLES / name, *map(str, arguments)], capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, list[dict[str, object]]]:
    """All the suites, measured once: the file of records and the rows that --json printed."""
    records = tmp_path_factory.mktemp("examples") / "results.jsonl"
    code, out, err = opbench(
        "run", *SUITES, "--operators", OPERATORS, *BARELY, "--json", "--no-store", "-q", "-o", records
    )
    assert code == 0, out + err
    return records, [json.loads(line) for line in out.splitlines()]


def test_every_script_is_tested() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == SCRIPTS
    assert {path.suffix for path in SUITES} == {".json", ".toml", ".yaml"}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.name)
def test_a_suite_opens_and_describes_itself(path: Path) -> None:
    suite = open_sources((str(path),))
    ids = [case_id(case) for case in suite]
    assert suite.name == path.stem
    assert len(ids) == len(set(ids)) == suite.count


def test_every_case_of_the_suites_is_measured(
    results: tuple[Path, list[dict[str, object]]],
) -> None:
    _, rows = results
    expected = [case_id(case) for path in SUITES for case in open_sources((str(path),))]
    assert [row["case_id"] for row in rows] == expected
    assert {row["status"] for row in rows} == {"ok"}


def test_an_operator_counts_what_it_says_it_does(
    results: tuple[Path, list[dict[str, object]]],
) -> None:
    _, rows = results
    metrics = {row["op"]: row["metrics"] for row in rows}
    saxpy = metrics["my.saxpy"]
    assert isinstance(saxpy, dict)
    assert saxpy["flops"] == 2 * 65536
    assert saxpy["bytes.moved"] == 3 * 65536 * 4
    assert saxpy["memory.peak"] == 0


def test_results_are_read_with_the_standard_library_alone(
    results: tuple[Path, list[dict[str, object]]],
) -> None:
    records, rows = results
    ended = subprocess.run(
        # -S: no installed package can be imported.
        [sys.executable, "-S", EXAMPLES / "read_results.py", records],
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    lines = ended.stdout.splitlines()
    assert len(lines) == len(rows)
    assert all("us (quartiles)" in line and "of 6 undisturbed" in line for line in lines)
    assert "embedding_bag forward: " in lines[0]


def test_a_table_is_drawn_as_a_picture_that_needs_nothing_else(
    results: tuple[Path, list[dict[str, object]]], tmp_path: Path
) -> None:
    records, rows = results
    program, picture = EXAMPLES.parent / "docs" / "images" / "draw_table.py", tmp_path / "table.svg"
    ended = subprocess.run(
        [sys.executable, program, records, picture], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    drawn = ElementTree.parse(picture)
    text = "".join(drawn.getroot().itertext())
    assert text.count("fwd") + text.count("bwd") == len(rows)
    assert set(re.findall(r"https?:[^\"'<)]+", picture.read_text(encoding="utf-8"))) == {
        "http://www.w3.org/2000/svg"
    }


def test_the_reader_says_how_it_is_used() -> None:
    assert script("read_results.py").returncode == 2


def test_measuring_from_python_prints_a_line_for_each_size() -> None:
    ended = script("measure.py")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    assert [line.split()[0] for line in ended.stdout.splitlines()] == ["4", "16", "64", "256"]
    assert ended.stdout.count("GFLOP/s") == 4
