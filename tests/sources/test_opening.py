"""What people name: built-in suites and files, one or several."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.sources import builtin_suites, open_sources


def write(file: Path, *cases: dict[str, Any]) -> str:
    file.parent.mkdir(exist_ok=True)
    file.write_text(json.dumps({"opbench": 1, "cases": list(cases)}), encoding="utf-8")
    return str(file)


@pytest.mark.parametrize("name", builtin_suites())
def test_a_built_in_suite_opens_by_name(name: str) -> None:
    suite = open_sources([name])
    cases = list(suite)
    assert suite.name == name
    assert suite.count == len(cases) == len({case_id(case) for case in cases})
    assert builtin_suites()[name].endswith(".")
    assert not any(case.is_snippet for case in cases)


def test_the_suite_quick_is_varied() -> None:
    cases = list(open_sources(["quick"]))
    assert len({case.op for case in cases}) >= 15
    assert {case.direction for case in cases} >= {"forward", "backward"}
    assert all(case.tags for case in cases)


def test_several_suites_run_one_after_the_other(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", {"op": "a.b"}, {"op": "a.c"})
    two = write(tmp_path / "two.json", {"op": "a.d"})
    suite = open_sources([one, two])
    assert (suite.name, suite.count) == ("one+two", 3)
    assert [case.op for case in suite] == ["a.b", "a.c", "a.d"]
    assert [case.op for case in suite] == ["a.b", "a.c", "a.d"]


def test_a_case_in_two_suites_is_an_error(tmp_path: Path) -> None:
    one = write(tmp_path / "one.json", {"op": "F.gelu"})
    two = write(tmp_path / "two.json", {"op": "a.d"}, {"op": "torch.nn.functional.gelu", "label": "x"})
    with pytest.raises(UsageError, match=r"two\.json: x \(id .*\) is in .*one\.json already"):
        list(open_sources([one, two]))
    with pytest.raises(UsageError, match="already"):
        list(open_sources([one, one]))


def test_files_of_two_folders_are_not_mixed_up(tmp_path: Path) -> None:
    fill = {"kind": "file", "path": "x.npy"}
    case = {"op": "a.b", "args": [{"type": "tensor", "shape": [3], "fill": fill}]}
    one, two = write(tmp_path / "one" / "a.json", case), write(tmp_path / "two" / "b.json", {"op": "a.c"})
    numpy.save(tmp_path / "one" / "x.npy", numpy.zeros(3, dtype="float32"))
    with pytest.raises(UsageError, match="run one by one"):
        list(open_sources([one, two]))
    beside = write(tmp_path / "one" / "c.json", {"op": "a.c"})
    assert open_sources([one, beside]).folder == str((tmp_path / "one").resolve())
    assert len(list(open_sources([one, beside]))) == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("quik", "did you mean quick"),
        ("nothing like it", "no suite is called"),
        ("smal.json", "did you mean .*small.json"),
        ("gone/small.json", "there is no such file"),
        ("small", "did you mean small.json"),
        ("x" * 5_000, "no suite is called"),
        ("x" * 5_000 + ".json", "there is no such file"),
        ("nul\0.json", "there is no such file"),
        ("", "folder|no suite"),
        (".", "folder|no suite|files that end in"),
    ],
)
def test_what_is_no_suite_is_refused(
    name: str, message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "small.json", {"op": "a.b"})
    with pytest.raises(UsageError, match=message) as caught:
        open_sources([name])
    assert len(str(caught.value)) < 7_000


def test_a_suite_must_be_named() -> None:
    with pytest.raises(UsageError, match="name a suite: a file, or one of"):
        open_sources([])
