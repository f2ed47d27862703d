"""Suites in files: one meaning in every format, and clear words for what is none."""

from __future__ import annotations

import json
import os
import tracemalloc
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.errors import DocumentError, UsageError
from opbench.cases.identity import case_id, suite_fingerprint
from opbench.cases.model import Case
from opbench.sources.suite_file import open_suite
from opbench.sources.suite_lines import SHORT_BYTES

CASES = [
    {"op": "torch.mm", "args": [{"type": "tensor", "shape": [2, 3]}, {"type": "tensor", "shape": [3, 2]}]},
    {"op": "F.gelu", "args": [{"type": "tensor", "shape": [4]}], "seed": 5, "label": "größer"},
]
SUITE: dict[str, Any] = {
    "opbench": 1,
    "name": "mine",
    "description": "two cases",
    "defaults": {"seed": 3, "tags": ["some"]},
    "cases": CASES,
}
HEADER = {name: value for name, value in SUITE.items() if name != "cases"}
TOML = """
opbench = 1
name = "mine"
description = "two cases"
defaults = { seed = 3, tags = ["some"] }

[[cases]]
op = "torch.mm"
args = [{ type = "tensor", shape = [2, 3] }, { type = "tensor", shape = [3, 2] }]

[[cases]]
op = "F.gelu"
args = [{ type = "tensor", shape = [4] }]
seed = 5
label = "größer"
"""
TEXTS = {
    ".json": json.dumps(SUITE),
    ".jsonl": "\n".join(map(json.dumps, (HEADER, *CASES))),
    ".toml": TOML,
    ".yaml": yaml.safe_dump(SUITE, allow_unicode=True),
    ".yml": json.dumps(SUITE),
    ".JSON": json.dumps(SUITE, ensure_ascii=False, indent=2),
}


def write(folder: Path, name: str, content: str | bytes) -> Path:
    file = folder / name
    file.write_bytes(content.encode() if isinstance(content, str) else content)
    return file


def problems(file: Path) -> list[tuple[str, str]]:
    with pytest.raises(DocumentError) as caught:
        list(open_suite(file))
    return [(problem.path, problem.message) for problem in caught.value.problems]


@pytest.mark.parametrize("suffix", TEXTS)
def test_every_format_has_the_same_cases(suffix: str, tmp_path: Path) -> None:
    suite = open_suite(write(tmp_path, f"a{suffix}", TEXTS[suffix]))
    reference = open_suite(write(tmp_path, "b.json", TEXTS[".json"]))
    assert (suite.name, suite.count, suite.folder) == ("mine", 2, str(tmp_path.resolve()))
    assert list(suite) == list(reference)
    assert list(suite) == list(suite), "a suite can be opened again"
    assert suite_fingerprint(suite) == suite_fingerprint(reference)
    first, second = suite
    assert (first.seed, first.tags, second.seed, second.label) == (3, ("some",), 5, "größer")


def test_a_suite_without_a_name_has_that_of_its_file(tmp_path: Path) -> None:
    assert open_suite(write(tmp_path, "nameless.jsonl", json.dumps(CASES[0]))).name == "nameless"
    assert open_suite(write(tmp_path, "bare.json", json.dumps({"opbench": 1, "cases": CASES}))).name == "bare"


def test_blank_lines_and_windows_line_ends_say_nothing(tmp_path: Path) -> None:
    text = "\r\n\r\n".join(map(json.dumps, (HEADER, *CASES))) + "\r\n\r\n"
    assert list(open_suite(write(tmp_path, "a.jsonl", text))) == list(
        open_suite(write(tmp_path, "b.json", TEXTS[".json"]))
    )


def test_the_problems_of_all_lines_are_told(tmp_path: Path) -> None:
    lines = [
        json.dumps(HEADER | {"nmae": 1}),
        json.dumps(CASES[0]),
        "{",
        '{"op": 3, "seed": -1}',
        "[]",
        TEXTS[".json"],
    ]
    assert problems(write(tmp_path, "a.jsonl", "\n".join(lines))) == [
        ("line 1.nmae", "unknown field"),
        ("line 3", "not JSON: Expecting property name enclosed in double quotes at column 2"),
        ("line 4.op", "wrong type"),
        ("line 4.seed", "must not be below 0"),
        ("line 5", "wrong type"),
        *[(f"line 6.{name}", "unknown field") for name in ("opbench", "name", "defaults", "cases")],
        ("line 6", "op is missing"),
    ]


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".yaml", ".toml"])
def test_the_same_case_twice_is_an_error(suffix: str, tmp_path: Path) -> None:
    again = {**CASES[1], "label": "another name", "op": "torch.nn.functional.gelu"}
    texts = {
        ".json": json.dumps(SUITE | {"cases": [*CASES, again]}),
        ".jsonl": "\n".join(map(json.dumps, (HEADER, *CASES, again))),
        ".yaml": yaml.safe_dump(SUITE | {"cases": [*CASES, again]}),
        ".toml": TOML + '[[cases]]\nop = "F.gelu"\nargs = [{ type = "tensor", shape = [4] }]\nseed = 5\n',
    }
    ((path, message),) = problems(write(tmp_path, f"a{suffix}", texts[suffix]))
    assert path == ("line 4" if suffix == ".jsonl" else "cases[2]")
    assert message.startswith(f"this is the same case as {'line 3' if suffix == '.jsonl' else 'cases[1]'}")


def test_a_repeated_key_is_told_with_its_place(tmp_path: Path) -> None:
    value = '{"type": "int", "value": 1, "value": 2}'
    text = f'{{"opbench": 1, "cases": [{{"op": "a.b", "args": [{value}]}}], "cases": []}}'
    with pytest.raises(DocumentError) as caught:
        open_suite(write(tmp_path, "a.json", text))
    assert {(problem.path, problem.found) for problem in caught.value.problems} == {
        ("", '"cases"'),
        ("", '"value"'),
    }
    inner = text.replace(', "cases": []', "")
    assert problems(write(tmp_path, "b.json", inner)) == [
        ("cases[0].args[0]", "a key stands twice in one object")
    ]


def test_numbers_beyond_all_numbers_are_refused(tmp_path: Path) -> None:
    text = '{"opbench": 1, "cases": [{"op": "a.b", "args": [1e999, [-1e999], NaN]}]}'
    assert [path for path, _ in problems(write(tmp_path, "a.json", text))] == [
        "cases[0].args[0]",
        "cases[0].args[1][0]",
        "cases[0].args[2]",
    ]
    toml = 'opbench = 1\n[[cases]]\nop = "a.b"\nargs = [1e999]\n'
    assert [path for path, _ in problems(write(tmp_path, "a.toml", toml))] == [""]
    named = open_suite(write(tmp_path, "b.toml", toml.replace("1e999", "inf, -inf, nan")))
    assert [item.value for item in next(iter(named)).args] == ["inf", "-inf", "nan"]  # type: ignore[union-attr]


def test_yaml_is_data_and_bounded(tmp_path: Path) -> None:
    bomb = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
        for before, name in zip("abcdefgh", "bcdefghi", strict=True)
    )
    assert problems(write(tmp_path, "a.yaml", bomb)) == [("", "its aliases stand for too many values")]
    assert problems(write(tmp_path, "b.yaml", "opbench: 1\ncases: &c [*c]\n")) == [
        ("", "its aliases stand for too many values")
    ]
    merges = "a0: &a0 {x: 1}\n" + "".join(
        f"a{level}: &a{level} {{<<: [{', '.join([f'*a{level - 1}'] * 9)}]}}\n" for level in range(1, 12)
    )
    assert ("", "fields cannot be merged, at line 2") in problems(write(tmp_path, "m.yaml", merges))
    code = "opbench: 1\ncases: [{op: !!python/object/apply:os.system ['true']}]\n"
    assert problems(write(tmp_path, "c.yaml", code))[0][1].startswith("not YAML")
    alias = "opbench: 1\ncases:\n- {op: a.b, args: [&t {type: tensor, shape: [2]}, *t]}\n"
    assert len(next(iter(open_suite(write(tmp_path, "d.yaml", alias)))).args) == 2


@pytest.mark.parametrize("suffix", [".json", ".jsonl", ".toml", ".yaml"])
@pytest.mark.parametrize(
    "change",
    [
        lambda data: data.decode().encode("utf-16"),
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data + b"\xff",
    ],
    ids=["utf-16", "byte order mark", "not utf-8"],
)
def test_text_is_utf_8(suffix: str, change: Callable[[bytes], bytes], tmp_path: Path) -> None:
    found = problems(write(tmp_path, f"a{suffix}", change(TEXTS[suffix].encode())))
    assert "UTF-8" in found[0][1]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("gone.json", "cannot be read"),
        ("folder.json", "this is a folder"),
        ("a.jsn", "did you mean .json"),
        ("a.txt", "files that end in"),
        ("pipe.jsonl", "not a regular file"),
    ],
)
def test_what_is_no_file_of_a_suite_is_refused(name: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "folder.json").mkdir()
    os.mkfifo(tmp_path / "pipe.jsonl")
    with pytest.raises(UsageError, match=message):
        open_suite(tmp_path / name)


@given(st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=20, unique=True))
def test_cases_keep_their_order(tmp_path_factory: pytest.TempPathFactory, seeds: list[int]) -> None:
    folder = tmp_path_factory.mktemp("order")
    lines = [json.dumps({"op": "my.op", "seed": seed}) for seed in seeds]
    assert [case.seed for case in open_suite(write(folder, "a.jsonl", "\n".join(lines)))] == seeds


# Suites that are long.


def long_suite(folder: Path, extra: str = "") -> Path:
    line = '{{"op": "torch.mm", "args": [{{"type": "tensor", "shape": [{0}]}}], "seed": {0}}}\n'
    file = folder / "long.jsonl"
    with file.open("w") as stream:
        stream.writelines(line.format(number) for number in range(20_000))
        stream.write(extra)
    assert file.stat().st_size > SHORT_BYTES
    return file


def test_a_long_suite_is_read_as_it_is_used_and_never_kept(tmp_path: Path) -> None:
    suite = open_suite(long_suite(tmp_path))
    assert suite.count is None
    tracemalloc.start()
    try:
        count = sum(1 for _ in suite)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert count == 20_000
    # Their ids, to find those that come twice; the cases themselves would be some 20 MB.
    assert peak < 6_000_000
    assert [case.seed for case in islice(suite, 3)] == [0, 1, 2]


def test_a_long_suite_says_what_is_wrong_with_it_where_that_is(tmp_path: Path) -> None:
    suite = open_suite(long_suite(tmp_path, '{"op": "torch.mm", "sed": 1}\n{\n'))
    seen: list[Case] = []
    with pytest.raises(DocumentError) as caught:
        seen.extend(suite)
    assert len(seen) == 20_000
    assert [problem.path for problem in caught.value.problems] == ["line 20001.sed", "line 20002"]


def test_ids_do_not_depend_on_the_form_of_the_suite(tmp_path: Path) -> None:
    ids = {
        suffix: [case_id(case) for case in open_suite(write(tmp_path, f"a{suffix}", text))]
        for suffix, text in TEXTS.items()
    }
    assert len({tuple(found) for found in ids.values()}) == 1
