"""Fuzzed cases: which inputs an operator gets, and that they are cases like any others."""

from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from opbench.cases.errors import ArgumentError
from opbench.cases.identity import case_document, case_id, suite_fingerprint
from opbench.cases.model import Case, tensors_of
from opbench.execution.tasks import make_tasks
from opbench.sources.fuzzing import (
    FuzzedOperator,
    FuzzedParameter,
    FuzzedSparseTensor,
    FuzzedTensor,
    Fuzzer,
    fuzzed_cases,
)
from opbench.sources.fuzzing.families import FAMILIES
from opbench.sources.fuzzing.operators import family_of
from opbench.worker.materialize import Builder

NAMESPACES = ("torch.", "torch.nn.functional.", "torch.Tensor.")


def found_in_torch(name: str) -> Any:
    found: Any = torch
    for part in name.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
    return found


def whole_name(family: str, name: str) -> str:
    """Under which name torch has an operator of the table."""
    if name.startswith("torch."):
        return name
    candidates = [space + name for space in (*FAMILIES[family].namespaces, *NAMESPACES)]
    return next(candidate for candidate in candidates if found_in_torch(candidate) is not None)


EVERY = [(family.name, name) for family in FAMILIES.values() for name in family.operators]


@pytest.mark.parametrize(("family", "name"), EVERY)
def test_every_operator_of_the_table_takes_what_it_gets(family: str, name: str) -> None:
    op = whole_name(family, name)
    assert family_of(op) == family
    made = FuzzedOperator(op)
    smallest = min(
        made.fuzzer.described(30),
        key=lambda item: sum(math.prod(drawn.size) for drawn in item.drawn.values()),
    )
    document = case_document(made.case(smallest))
    builder = Builder(seed=0, work_id="test", device="cpu", direction="forward")
    args, kwargs = builder.arguments(list(document["args"]), document.get("kwargs", {}))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert found_in_torch(op)(*args, **kwargs) is not None


def test_a_name_is_in_one_family() -> None:
    for (family, name), (other, again) in itertools.combinations(EVERY, 2):
        # `torch.sparse.mm` and the like are told by their namespace.
        assert name != again or FAMILIES[family].namespaces or FAMILIES[other].namespaces


@pytest.mark.parametrize(
    ("op", "family"),
    [
        ("torch.add", "binary"),
        ("aten::add.Tensor", "binary"),
        ("torch.ops.aten.add", "binary"),
        ("torch.Tensor.mul_", "binary"),
        ("F.gelu", "unary"),
        ("F.softmax", "reduction"),
        ("torch.sum", "reduction"),
        ("torch.sparse.sum", "sparse"),
        ("torch.mm", "matmul"),
        ("torch.sparse.mm", "sparse"),
        ("torch.fft.fftn", "spectral"),
        ("F.conv2d", "convolution"),
        ("F.embedding", "indexing"),
    ],
)
def test_operators_are_known_by_any_of_their_names(op: str, family: str) -> None:
    assert family_of(op) == family


def test_the_two_that_look_up_rows_take_their_arguments_in_their_own_order() -> None:
    functional, plain = (
        [tensor.dtype for tensor in tensors_of(next(iter(fuzzed_cases(op, 1, 0))))]
        for op in ("F.embedding", "torch.embedding")
    )
    assert functional == ["int64", "float32"]
    assert plain == ["float32", "int64"]


def test_the_same_seed_gives_the_same_suite_wherever_it_is_opened() -> None:
    suite = fuzzed_cases("torch.add", 30, 7)
    assert suite.count == 30
    assert suite_fingerprint(suite) == suite_fingerprint(suite)
    assert suite_fingerprint(suite) == suite_fingerprint(fuzzed_cases("torch.add", 30, 7))
    assert suite_fingerprint(suite) != suite_fingerprint(fuzzed_cases("torch.add", 30, 8))
    more = [case_id(case) for case in fuzzed_cases("torch.add", 60, 7)]
    assert more[:30] == [case_id(case) for case in suite]


def test_cases_carry_what_was_asked_for() -> None:
    suite = fuzzed_cases(
        "torch.mm", 3, 0, dtype=torch.float16, directions=("forward", "backward"), device="cuda", label="mine"
    )
    cases = list(suite)
    assert suite.count == len(cases) == 6
    assert suite.name == "mine"
    assert [case.direction for case in cases] == ["forward", "backward"] * 3
    for case in cases:
        assert {tensor.dtype for tensor in tensors_of(case)} == {"float16"}
        assert (case.device, case.label, case.tags) == ("cuda", "mine", ("fuzzed", "matmul"))


def test_inputs_that_come_again_have_other_numbers() -> None:
    fuzzer = Fuzzer([FuzzedParameter("n", 1, 3, "uniform")], [FuzzedTensor("x", ("n",))], seed=0)
    cases = list(fuzzed_cases("torch.abs", 50, fuzzer=fuzzer, directions=("forward", "backward")))
    assert len(list(make_tasks(cases, ["this"], 1))) == 100
    assert {tensor.shape for case in cases for tensor in tensors_of(case)} == {(1,), (2,), (3,)}
    assert max(case.seed for case in cases) >= 15


def test_a_fuzzer_of_ones_own_gives_arguments_in_its_order() -> None:
    fuzzer = Fuzzer(
        [FuzzedParameter("n", 1, 100, "loguniform")],
        [FuzzedTensor("weight", ("n", 3)), FuzzedTensor("x", (3, "n"))],
        seed=4,
    )
    case = next(iter(fuzzed_cases("my.own", 1, fuzzer=fuzzer)))
    assert isinstance(case, Case)
    assert [tensor.shape[1] == 3 for tensor in tensors_of(case)] == [True, False]
    assert case.tags == ("fuzzed", "own")


def test_a_family_may_be_chosen_for_any_operator() -> None:
    case = next(iter(fuzzed_cases("my.own", 1, 0, fuzzer="convolution")))
    assert len(list(tensors_of(case))) == 3
    assert set(case.kwargs) == {"stride", "padding"}


def test_nothing_is_drawn_before_it_is_asked_for() -> None:
    suite = fuzzed_cases("torch.add", 10**12, 0)
    assert len(list(itertools.islice(suite, 3))) == 3


HYBRID = Fuzzer([], [FuzzedSparseTensor("x", (8, 8), sparse_dim=1)], seed=0)
WRONG: list[tuple[Callable[[], Any], str]] = [
    (
        lambda: fuzzed_cases("torch.frobnicate", 1),
        r"op: no family of inputs is known .* unary \(one tensor\), binary",
    ),
    (lambda: fuzzed_cases("torch.ad", 1), "did you mean add"),
    (lambda: fuzzed_cases("not a name", 1), "op must be the name of an operator, not 'not a name'"),
    (lambda: fuzzed_cases(3, 1), "op must be the name of an operator, not 3"),  # type: ignore[arg-type]
    (lambda: fuzzed_cases("torch.add", 0), "n must be at least 1"),
    (lambda: fuzzed_cases("torch.add", -1), "n must be a whole number"),
    (lambda: fuzzed_cases("torch.add", 1, "x"), "seed must be"),  # type: ignore[arg-type]
    (lambda: fuzzed_cases("torch.add", 1, fuzzer="unry"), "fuzzer has no family 'unry' .*did you mean unary"),
    (lambda: fuzzed_cases("torch.add", 1, fuzzer=3), "fuzzer must be a Fuzzer or the name of a family"),  # type: ignore[arg-type]
    (
        lambda: fuzzed_cases("torch.add", 1, dtype="flot32"),
        "no dtype is called 'flot32'; did you mean float32",
    ),
    (lambda: fuzzed_cases("torch.add", 1, fuzzer=HYBRID, dtype="float64"), "dtype must be left out"),
    (lambda: fuzzed_cases("torch.add", 1, 3, fuzzer=HYBRID), "seed must be left out"),
    (lambda: fuzzed_cases("torch.add", 1, directions=()), "directions must name at least one"),
    (
        lambda: list(fuzzed_cases("torch.add", 1, fuzzer=HYBRID)),
        "a hybrid sparse tensor, which a case cannot hold",
    ),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_a_wrong_argument_is_named(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        make()
