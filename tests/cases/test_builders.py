"""Cases made in Python, and the same cases changed: checked like documents."""

from __future__ import annotations

from typing import Any

import pytest

from opbench.cases.builders import call, snippet, tensor
from opbench.cases.change import change_case, change_suite
from opbench.cases.check import check_case
from opbench.cases.errors import DocumentError, UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import suite_of
from opbench.cases.plan import PRESETS, Plan, check_plan, preset
from opbench.cases.values import Int


def test_a_call_in_python_is_the_case_of_the_document() -> None:
    made = call(
        "nn.Linear",
        tensor(2, 3, dtype="half", fill={"kind": "uniform", "low": -1}),
        [1, (2.5, None)],
        {"a": slice(1, None)},
        kwargs={"flag": True, "value": 2 + 3j, "rest": ...},
        build=[3, tensor([4, 4])],
        direction="backward",
        tags=("a", "b"),
    )
    document = {
        "op": "torch.nn.Linear",
        "build": [3, {"type": "tensor", "shape": [4, 4]}],
        "args": [
            {"type": "tensor", "shape": [2, 3], "dtype": "float16", "fill": {"kind": "uniform", "low": -1}},
            [1, {"type": "tuple", "value": [2.5, None]}],
            {"type": "dict", "value": {"a": {"type": "slice", "start": 1}}},
        ],
        "kwargs": {
            "flag": True,
            "value": {"type": "complex", "real": 2, "imag": 3},
            "rest": {"type": "ellipsis"},
        },
        "direction": "backward",
        "tags": ["a", "b"],
    }
    assert made == check_case(document)
    assert call("my.op", Int(3)) == call("my.op", 3) == call("my.op", {"type": "int", "value": 3})


def test_objects_of_torch_stand_for_themselves() -> None:
    torch = pytest.importorskip("torch")
    made = call("my.op", torch.float16, torch.channels_last, torch.strided, torch.device("cuda:1"))
    assert [item.value for item in made.args] == ["float16", "channels_last", "strided", "cuda:1"]  # type: ignore[union-attr]
    assert tensor(2, dtype=torch.int8) == tensor(2, dtype="int8")
    with pytest.raises(UsageError, match="describe it with tensor"):
        call("my.op", [torch.zeros(2)])


@pytest.mark.parametrize("item", [object(), b"bytes", {1, 2}, print, range(3), Exception()])
def test_what_is_no_data_is_refused(item: Any) -> None:
    with pytest.raises(UsageError, match="a case cannot hold a"):
        call("my.op", item)


@pytest.mark.parametrize(
    ("arguments", "fields", "place"),
    [
        (("torch.mm", 2**64), {}, "args[0]"),
        (("torch mm",), {}, "op"),
        (("torch.mm",), {"seeed": 1}, "seeed"),
        (("torch.mm",), {"num_threads": 0}, "num_threads"),
        (("torch.mm",), {"build": {"arg": 1}}, "build.arg"),
    ],
)
def test_a_wrong_call_is_a_wrong_document(arguments: Any, fields: Any, place: str) -> None:
    with pytest.raises(DocumentError) as caught:
        call(*arguments, **fields)
    assert [problem.path for problem in caught.value.problems] == [place]


def test_a_wrong_tensor_is_refused_where_it_is_made() -> None:
    with pytest.raises(DocumentError, match="did you mean float32"):
        tensor(2, dtype="flaot32")
    with pytest.raises(DocumentError, match="must not be below 0"):
        tensor(-2)


def test_a_snippet_written_in_python_is_trusted() -> None:
    assert snippet("x + 1", setup="x = 1", label="a").is_snippet
    with pytest.raises(DocumentError):
        snippet("")


def test_a_changed_case_is_the_case_of_the_changed_document() -> None:
    case = call("my.op", tensor(2), tensor(3, dtype="int64"), [tensor(4, dtype="bfloat16")], label="x")
    changed = change_case(case, {"device": "cuda", "seed": 3}, "float16")
    expected = call(
        "my.op",
        tensor(2, dtype="float16"),
        tensor(3, dtype="int64"),
        [tensor(4, dtype="float16")],
        label="x",
        device="cuda",
        seed=3,
    )
    assert changed == expected
    assert case_id(change_case(changed, {"device": "cpu", "seed": 0})) == case_id(
        change_case(case, {}, "float16")
    )
    code = snippet("x + 1")
    assert change_case(code, {"seed": 3}) == snippet("x + 1", seed=3)


def test_a_dtype_for_all_is_also_that_of_a_module() -> None:
    case = call("nn.Linear", tensor(2, 3), build=[3, 4])
    expected = call("nn.Linear", tensor(2, 3, dtype="half"), build={"args": [3, 4], "dtype": "half"})
    assert change_case(case, {}, "float16") == expected
    assert change_case(case, {}, "int8").build == case.build
    assert change_case(call("nn.ReLU", tensor(2)), {}, "float16").build is None


def test_a_change_that_a_case_does_not_bear_is_refused() -> None:
    case = call("my.op", tensor(2))
    with pytest.raises(DocumentError):
        change_case(case, {"num_threads": -1})
    with pytest.raises(UsageError, match="no dtype is called"):
        change_suite(suite_of("a", [case]), {}, "flaot32")
    suite = suite_of("a", [case])
    assert change_suite(suite, {}) is suite
    assert [item.seed for item in change_suite(suite, {"seed": 5})] == [5]


def test_plans_have_names_and_limits() -> None:
    assert all(preset(name) is plan and check_plan(plan) is plan for name, plan in PRESETS.items())
    with pytest.raises(UsageError, match="did you mean quick"):
        preset("quik")
    with pytest.raises(UsageError) as caught:
        check_plan(Plan(budget_s=0, confidence=1, samples=0, min_samples=9, max_samples=3, flush_cache=True))
    for name in ("budget_s", "confidence", "samples", "max_samples", "flush_cache"):
        assert name in str(caught.value)
    with pytest.raises(UsageError, match="budget_s"):
        check_plan(Plan(budget_s=float("nan")))
