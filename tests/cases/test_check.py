"""What is wrong with a document: all of it, each with place, found, expected and the nearest valid name."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy
import pytest

from opbench.cases.check import check_case
from opbench.cases.dtypes import DTYPES
from opbench.cases.errors import DocumentError, Problem
from opbench.cases.identity import case_id
from opbench.cases.layouts import storage_elements
from opbench.cases.model import Case, tensors_of
from opbench.cases.values import FromFile, Tensor
from opbench.sources.suite_file import open_suite

from .documents import tensor


def problems(document: Any, **options: Any) -> dict[str, Problem]:
    with pytest.raises(DocumentError) as caught:
        check_case(document, file="mine.json", **options)
    return {problem.path: problem for problem in caught.value.problems}


def test_all_problems_are_told_at_once(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    cases = [
        {"op": "torch.mm", "args": [tensor(64, -1, dtype="flaot32")], "directoin": "forward"},
        {"op": "torch.mm", "seed": -1, "device": "gpu", "tags": [""], "kwargs": {"a b": {"type": "tensro"}}},
        {"op": "torch.mm", "args": [1]},
    ]
    file.write_text(json.dumps({"opbench": 1, "nmae": "x", "cases": cases}), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        open_suite(file)
    found = {problem.path: problem for problem in caught.value.problems}
    assert list(found) == [
        "nmae",
        "cases[0].args[0].shape[1]",
        "cases[0].args[0].dtype",
        "cases[0].directoin",
        "cases[1].seed",
        "cases[1].device",
        "cases[1].tags[0]",
        'cases[1].kwargs["a b"].type',
    ]
    assert found["nmae"].suggestion == "name"
    assert found["cases[0].args[0].dtype"].suggestion == "float32"
    assert found["cases[0].args[0].dtype"].found == '"flaot32"'
    assert found["cases[0].directoin"].suggestion == "direction"
    assert found["cases[1].device"].suggestion == "cuda"
    assert found['cases[1].kwargs["a b"].type'].suggestion == "tensor"
    assert all(problem.file == str(file) for problem in found.values())
    assert str(found["cases[1].seed"]) == (
        f"{file}: cases[1].seed: must not be below 0; found -1; "
        "expected a whole number from 0 to 9223372036854775807"
    )


def test_a_thousand_problems_are_counted_and_a_hundred_shown(tmp_path: Path) -> None:
    file = tmp_path / "wrong.json"
    file.write_text(json.dumps({"opbench": 1, "cases": [{}] * 5_000}), encoding="utf-8")
    with pytest.raises(DocumentError) as caught:
        open_suite(file)
    assert caught.value.count == 5_000
    assert len(caught.value.problems) == 1_000
    assert str(caught.value).splitlines()[100:] == ["... and 4900 more problems (5000 in all)"]


@pytest.mark.parametrize(
    ("item", "place"),
    [
        (tensor(3, fill="permutation"), "args[0].fill"),
        (tensor(3, dtype="int64", fill="normal"), "args[0].fill"),
        (tensor(3, dtype="int8", fill={"kind": "indices", "bound": 200}), "args[0].fill.bound"),
        (tensor(3, dtype="uint8", fill=-1), "args[0].fill.value"),
        (tensor(3, dtype="int8", fill=1.5), "args[0].fill.value"),
        (tensor(3, fill={"kind": "literal", "values": [1, 2]}), "args[0].fill.values"),
        (tensor(2, 3, fill="positive_definite"), "args[0].fill"),
        (tensor(fill="sorted"), "args[0].fill"),
        (tensor(300, dtype="int8", fill="arange"), "args[0].fill"),
        (tensor(300, dtype="uint8", fill="permutation"), "args[0].fill"),
        (tensor(3, fill={"kind": "uniform", "low": 2, "high": 1}), "args[0].fill"),
        (
            tensor(1, dtype="int64", fill={"kind": "offsets", "total": 3, "include_last": True}),
            "args[0].fill",
        ),
        (tensor(2, 3, strides=[1]), "args[0].strides"),
        (tensor(2, 3, memory_format="channels_last"), "args[0].memory_format"),
        (tensor(4, 4, layout="sparse_bsr"), "args[0]"),
        (tensor(4, layout="sparse_csr"), "args[0].layout"),
        (tensor(4, 4, layout="sparse_bsr", block_shape=[3, 2]), "args[0].block_shape"),
        (tensor(4, 4, density=0.5), "args[0].density"),
        (tensor(4, 4, layout="sparse_coo", strides=[4, 1]), "args[0].strides"),
        (tensor(3, dtype="int64", requires_grad=True), "args[0].requires_grad"),
        (tensor(3, quantization="per_tensor"), "args[0].quantization"),
        (
            tensor(3, dtype="qint8", quantization={"scheme": "per_channel", "axis": 1}),
            "args[0].quantization.axis",
        ),
        (tensor(2**40, 2**40), "args[0].shape"),
        (tensor(0, 2**40, 2**40), "args[0].shape"),
        (tensor(2, 2, strides=[2**62, 2**62]), "args[0].shape"),
    ],
    ids=repr,
)
def test_fields_that_do_not_go_together_are_refused(item: Any, place: str) -> None:
    found = problems({"op": "my.op", "args": [item]})
    assert list(found) == [place]
    assert found[place].found
    assert found[place].expected


def test_a_snippet_needs_permission() -> None:
    found = problems({"stmt": "x + 1"})
    assert "--allow-snippets" in found["stmt"].expected
    assert check_case({"stmt": "x + 1"}, allow_snippets=True).is_snippet
    backward = problems({"stmt": "x + 1", "direction": "backward"}, allow_snippets=True)
    assert "write it into the statement" in backward["direction"].message


def test_defaults_do_not_reach_where_they_mean_nothing() -> None:
    defaults = {"setup": "x = 1", "seed": 3}
    assert check_case({"op": "my.op"}, defaults=defaults) == Case("my.op", seed=3)
    case = check_case({"stmt": "x", "seed": 4}, defaults=defaults, allow_snippets=True)
    assert (case.setup, case.seed) == ("x = 1", 4)


# Files that fills name.


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "suite" / "data").mkdir(parents=True)
    numpy.save(tmp_path / "suite" / "data" / "x.npy", numpy.arange(3.0, dtype="float32"))
    numpy.save(tmp_path / "secret.npy", numpy.arange(3.0, dtype="float32"))
    return tmp_path / "suite"


def with_file(path: str, **fields: Any) -> dict[str, Any]:
    return {"op": "my.op", "args": [tensor(3, fill={"kind": "file", "path": path, **fields})]}


def test_the_content_of_a_file_is_part_of_the_case(folder: Path) -> None:
    before = check_case(with_file("data/x.npy"), folder=str(folder))
    made = before.args[0]
    assert isinstance(made, Tensor)
    assert isinstance(made.fill, FromFile)
    assert len(made.fill.sha256) == 64
    assert check_case(with_file("./data/x.npy"), folder=str(folder)) == before
    numpy.save(folder / "data" / "x.npy", numpy.arange(3.0, dtype="float32") + 1)
    assert case_id(check_case(with_file("data/x.npy"), folder=str(folder))) != case_id(before)
    changed = problems(with_file("data/x.npy", sha256=made.fill.sha256), folder=str(folder))
    assert changed["args[0].fill.path"].message == "the file has changed"


@pytest.mark.parametrize(
    "path",
    [
        "../secret.npy",
        "data/../../secret.npy",
        "/etc/passwd",
        "link.npy",
        "folder.npy",
        "gone.npy",
        "C:/x.npy",
    ],
)
def test_no_path_leads_out_of_the_folder(path: str, folder: Path) -> None:
    (folder / "link.npy").symlink_to(folder.parent / "secret.npy")
    (folder / "folder.npy").mkdir()
    assert "args[0].fill.path" in problems(with_file(path), folder=str(folder))


def test_a_link_that_leads_to_itself_is_refused(folder: Path) -> None:
    (folder / "loop.npy").symlink_to(folder / "loop.npy")
    assert (
        "cannot be read" in problems(with_file("loop.npy"), folder=str(folder))["args[0].fill.path"].message
    )


# Against what NumPy makes of the same shapes and strides.


@pytest.mark.parametrize(
    ("shape", "strides"),
    [((2, 3), (5, 1)), ((2, 3), (0, 0)), ((4,), (3,)), ((), ()), ((1, 1), (9, 9)), ((0, 3), (1, 1))],
)
def test_the_size_of_a_storage_is_what_numpy_would_touch(
    shape: tuple[int, ...], strides: tuple[int, ...]
) -> None:
    touched = {
        sum(index * stride for index, stride in zip(indices, strides, strict=True))
        for indices in numpy.ndindex(*shape)
    }
    assert storage_elements(shape, strides, 7) == max(touched, default=-1) + 1 + 7


def test_every_dtype_of_torch_is_known() -> None:
    torch = pytest.importorskip("torch")
    there = {name: item for name in dir(torch) if isinstance(item := getattr(torch, name), torch.dtype)}
    assert {str(item).removeprefix("torch.") for item in there.values()} <= set(DTYPES)
    for name, dtype in there.items():
        checked = check_case({"op": "my.op", "args": [{"type": "dtype", "value": f"torch.{str(dtype)[6:]}"}]})
        assert checked.args[0].value == str(dtype)[6:]  # type: ignore[union-attr]
        info = DTYPES[str(dtype)[6:]]
        if info.kind != "int" or info.high >= 127:
            assert dtype.itemsize * 8 == info.bits, name


def test_nested_tensors_are_found_in_their_order() -> None:
    nested = {"type": "dict", "value": {"a": [tensor(3)], "b": {"type": "tuple", "value": [tensor(4)]}}}
    case = check_case(
        {"op": "my.Op", "build": [tensor(1)], "args": [tensor(2), nested], "kwargs": {"x": tensor(5)}}
    )
    assert [found.shape for found in tensors_of(case)] == [(1,), (2,), (3,), (4,), (5,)]


@pytest.mark.parametrize(("field", "expected"), [("op", "the name of an operator"), ("stmt", "a statement")])
def test_an_empty_name_is_called_empty(field: str, expected: str) -> None:
    with pytest.raises(DocumentError) as caught:
        check_case({field: ""})
    (problem,) = caught.value.problems
    assert (problem.path, problem.found, problem.expected) == (field, '""', expected)
