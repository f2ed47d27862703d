"""Operators by name, measured in a real worker: what runs, what is refused, and what a person reads then."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, TypeAlias

import msgspec
import pytest

import opbench
from opbench.cases.arguments import parse_argument
from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.results.records import Measurement

OWN = str(Path(__file__).with_name("own_operators.py"))
FLOATS, SMALL = "float32[4,4]", "float32[4]"

# Name, arguments, keyword arguments, build arguments; each is measured in all its directions.
RUNS: list[tuple[str, list[str], dict[str, str], list[str]]] = [
    ("torch.mm", [FLOATS, FLOATS], {}, []),
    ("torch.add", [SMALL, "3"], {"alpha": "2"}, []),
    ("torch.einsum", ["'ij,jk->ik'", FLOATS, FLOATS], {}, []),
    ("torch.cat", [f"[{SMALL}, {SMALL}]"], {"dim": "0"}, []),
    ("torch.split", [SMALL, "2"], {}, []),
    ("torch.sort", [SMALL], {"descending": "true"}, []),
    ("torch.std_mean", [FLOATS, "1"], {}, []),
    ("torch.nn.functional.gelu", [SMALL], {"approximate": "'tanh'"}, []),
    ("F.cross_entropy", [FLOATS, "int64[4]:indices(4)"], {"reduction": "'none'"}, []),
    ("F.embedding", ["int64[4]:indices(9)", "float32[9,3]"], {"max_norm": "1.0"}, []),
    ("F.scaled_dot_product_attention", ["float32[1,2,4,8]"] * 3, {"is_causal": "true"}, []),
    ("torch.Tensor.add_", [SMALL, SMALL], {}, []),
    (
        "torch.Tensor.index_put_",
        [FLOATS, "[int64[2]:indices(4)]", "float32[2,4]"],
        {"accumulate": "true"},
        [],
    ),
    ("torch.Tensor.__getitem__", [FLOATS, "(..., 1:3)"], {}, []),
    ("torch.Tensor.__setitem__", [FLOATS, "0", SMALL], {}, []),
    ("torch.Tensor.T", [FLOATS], {}, []),
    ("nn.Linear", [FLOATS], {}, ["4", "3"]),
    ("nn.LSTM", ["float32[3,2,4]", "(float32[1,2,5], float32[1,2,5])"], {}, ["4", "5"]),
    ("aten::add.Tensor", [SMALL, SMALL], {}, []),
    ("torch.ops.aten.mm", [FLOATS, FLOATS], {}, []),
    ("torch._foreach_add", [f"[{SMALL}, {FLOATS}]", "1.0"], {}, []),
    ("torch.sparse.mm", ["float32[4,4]:sparse_coo", FLOATS], {}, []),
]
FORWARD: list[tuple[str, list[str], dict[str, str], list[str]]] = [
    ("torch.arange", ["10"], {}, []),
    ("torch.zeros", ["(4, 4)"], {"dtype": "torch.int64"}, []),
    ("torch.rand", ["4", "4"], {"generator": "generator"}, []),
    ("torch.unique", ["int64[8]:integers(0, 3)"], {"return_counts": "true"}, []),
    ("torch.equal", [SMALL, SMALL], {}, []),
    ("torch.Tensor.item", ["float32[]"], {}, []),
    ("torch.Tensor.resize_", [SMALL, "[8]"], {}, []),
    ("torch.mm", [FLOATS, FLOATS], {"out": FLOATS}, []),
    ("torch.sort", [SMALL], {"out": "(float32[4], int64[4])"}, []),
    ("aten::add.out", [SMALL, SMALL], {"out": SMALL}, []),
    ("torch._foreach_mul_", [f"[{SMALL}]", f"[{SMALL}]"], {}, []),
    ("torch.quantize_per_tensor", [SMALL, "0.1", "0", "torch.qint8"], {}, []),
    ("torch.ops.quantized.add", ["qint8[4]", "qint8[4]", "0.1", "0"], {}, []),
    ("nn.ReLU", [SMALL], {}, ["true"]),
]
# What a person reads when a call cannot be made.
REFUSED: list[tuple[str, list[str], dict[str, str], list[str], str, str, str]] = [
    ("torch.mmm", [FLOATS], {}, [], "forward", "unsupported", "did you mean torch.mm?"),
    ("torch.mm", [FLOATS], {}, [], "forward", "failed", "invalid combination of arguments"),
    (
        "torch.mm",
        [FLOATS, "float64[4,4]"],
        {},
        [],
        "forward",
        "failed",
        "same dtype, but got: float != double",
    ),
    ("torch.relu", [SMALL], {"foo": "1"}, [], "forward", "failed", "unexpected keyword argument 'foo'"),
    (
        "torch.relu",
        [SMALL],
        {},
        ["3"],
        "forward",
        "unsupported",
        "torch.relu is a function: it is called, not built",
    ),
    ("nn.Linear", [FLOATS], {}, [], "forward", "failed", "are given in `build` (--build-arg, --build-kwarg)"),
    (
        "nn.Linear",
        ["bfloat16[2,3]"],
        {},
        ["3", "4"],
        "forward",
        "failed",
        "(--build-kwarg dtype=torch.bfloat16)",
    ),
    (
        "F.embedding",
        ["int64[64]", FLOATS],
        {},
        [],
        "forward",
        "failed",
        "give indices a bound (int64[8]:indices(100))",
    ),
    ("torch.gather", [SMALL, "0", "int64[64]"], {}, [], "forward", "failed", "give indices a bound"),
    ("torch.multinomial", [SMALL, "2"], {}, [], "forward", "failed", "float32[8]:probabilities"),
    (
        "torch.linalg.cholesky",
        ["float32[9,9]"],
        {},
        [],
        "forward",
        "failed",
        "float32[8,8]:positive_definite",
    ),
    ("torch.argmax", [SMALL], {}, [], "backward", "unsupported", "there is no backward"),
    ("torch.mm", ["int64[4,4]", "int64[4,4]"], {}, [], "backward", "unsupported", "there is no backward"),
    ("torch.Tensor.item", ["float32[]"], {}, [], "backward", "unsupported", "the call gives no tensor"),
    ("torch.add", [SMALL, SMALL], {"out": SMALL}, [], "backward", "unsupported", "that writes to `out`"),
    ("torch.optim.Adam", [SMALL], {}, [], "forward", "unsupported", "torch._fused_adam_"),
    ("os.system", ["'true'"], {}, [], "forward", "unsupported", "--allow"),
    ("torch.load", ["'x'"], {}, [], "forward", "unsupported", "it reads or writes files"),
]


# Two samples of a few calls: these tests ask whether a time can be had, not what it is.
SHORT = msgspec.structs.replace(
    opbench.preset("quick"), warmup_calls=1, calls_per_sample=3, samples=2, baseline=False
)
DIRECTIONS = ("forward", "backward", "forward_backward")


def case_of(
    name: str, args: list[str], kwargs: dict[str, str], build: list[str], direction: str = "forward"
) -> Case:
    return opbench.call(
        name,
        *(parse_argument(text) for text in args),
        kwargs={key: parse_argument(text) for key, text in kwargs.items()},
        build=[parse_argument(text) for text in build] or None,
        direction=direction,
    )


def measured(cases: Iterable[Case], **options: Any) -> dict[str, Measurement]:
    """Rows by the id of their case."""
    return {row.case_id: row for row in opbench.run(cases, SHORT, **options)}


@pytest.fixture(scope="module")
def rows() -> dict[str, Measurement]:
    """Everything that needs nothing of one's own, measured in one run."""
    cases = [case_of(*one, direction) for one in RUNS for direction in DIRECTIONS]
    cases += [case_of(*one) for one in FORWARD]
    cases += [case_of(*one[:5]) for one in REFUSED]
    return measured(cases)


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("one", RUNS, ids=lambda one: one[0])
def test_operators_of_every_kind_are_measured(rows: dict[str, Measurement], one: Any, direction: str) -> None:
    row = rows[case_id(case_of(*one, direction))]
    assert (row.status, row.reason) == ("ok", "")
    time = row.metric("time")
    assert time is not None
    assert len(time.samples) == 2


@pytest.mark.parametrize("one", FORWARD, ids=lambda one: one[0])
def test_operators_without_a_backward_are_measured_forward(rows: dict[str, Measurement], one: Any) -> None:
    row = rows[case_id(case_of(*one))]
    assert (row.status, row.reason) == ("ok", "")


@pytest.mark.parametrize("one", REFUSED, ids=lambda one: f"{one[0]}-{one[4]}-{one[6][:20]}")
def test_what_cannot_be_measured_is_told_so_that_a_stranger_understands(
    rows: dict[str, Measurement], one: Any
) -> None:
    row = rows[case_id(case_of(*one[:5]))]
    assert row.status == one[5]
    assert one[6] in row.reason
    assert "Traceback" not in row.reason


OWN_CASES = [
    *(case_of("own.plain", [FLOATS], {}, [], direction) for direction in DIRECTIONS),
    *(case_of("own.Scale", [FLOATS], {}, ["4"], direction) for direction in DIRECTIONS),
    *(case_of("own.gradient", [FLOATS, "float32[3,4]"], {}, [], direction) for direction in DIRECTIONS),
    *(case_of("own.sneaky", [SMALL], {}, [], direction) for direction in DIRECTIONS),
    case_of("own.filled", [SMALL, "int64[50]"], {}, []),
    *(
        case_of(f"own.{name}", [SMALL], {}, [])
        for name in ("counted", "set_up", "random", "honest", "bad_count", "bad_setup")
    ),
]


@pytest.fixture(scope="module")
def own() -> Callable[..., Measurement]:
    """The row of an operator of one's own, all of which are measured in one run."""
    found = {(row.case.op, row.case.direction): row for row in measured(OWN_CASES, operators=(OWN,)).values()}
    return lambda name, direction="forward": found[name, direction]


Own: TypeAlias = Callable[..., Measurement]


@pytest.mark.parametrize("direction", DIRECTIONS)
@pytest.mark.parametrize("name", ["own.plain", "own.Scale", "own.gradient"])
def test_an_operator_of_ones_own_is_measured_in_all_directions(own: Own, name: str, direction: str) -> None:
    assert (own(name, direction).status, own(name, direction).reason) == ("ok", "")


def test_registered_counts_are_believed(own: Own) -> None:
    row = own("own.counted")
    flops, moved = row.metric("flops"), row.metric("bytes.moved")
    assert flops is not None
    assert moved is not None
    assert (flops.value, moved.value) == (7 * 4, 1000)


def test_category_and_tags_come_with_the_row_and_can_be_filtered_by(own: Own) -> None:
    assert own("own.counted").case.tags == ("pointwise", "mine", "quick")
    assert own("own.counted").case_id == case_id(case_of("own.counted", [SMALL], {}, []))
    for expression in ("category:pointwise", "tag:mine and op:own.*"):
        rows = measured(OWN_CASES, operators=(OWN,), filter=expression)
        assert [row.case.op for row in rows.values()] == ["own.counted"]


def test_fill_and_set_up_reach_the_call(own: Own) -> None:
    assert own("own.filled").reason.startswith("ToldError: [3.0] True True")
    assert own("own.set_up").reason.startswith("ToldError: [20.0] packed")


def test_random_numbers_of_a_set_up_are_the_same_in_every_process(own: Own) -> None:
    reason = own("own.random").reason
    assert reason.startswith("ToldError: ")
    again = measured([case_of("own.random", [SMALL], {}, [])], operators=(OWN,), isolation="none")
    assert [row.reason for row in again.values()] == [reason]


def test_declared_writes_get_fresh_arguments_and_undeclared_ones_a_warning(own: Own) -> None:
    honest, sneaky = own("own.honest"), own("own.sneaky")
    assert honest.status == sneaky.status == "ok"
    assert "undeclared_writes" not in {warning.code for warning in honest.warnings}
    (warning,) = [warning for warning in sneaky.warnings if warning.code == "undeclared_writes"]
    assert "mutates=(0,)" in warning.message
    assert "mutates=(0,)" in own("own.sneaky", "forward_backward").reason


def test_a_count_that_is_none_costs_no_time(own: Own) -> None:
    row = own("own.bad_count")
    assert row.status == "ok"
    assert any("must be a number" in warning.message for warning in row.warnings)


def test_a_set_up_that_fails_is_told_with_its_line(own: Own) -> None:
    row = own("own.bad_setup")
    assert row.status == "failed"
    assert row.reason.startswith("ZeroDivisionError: division by zero")
    assert "own_operators.py" in row.output.stderr


def test_a_file_of_operators_that_is_not_there_is_wrong_usage() -> None:
    with pytest.raises(opbench.UsageError, match="there is no such file"):
        list(opbench.run([case_of("own.plain", [SMALL], {}, [])], SHORT, operators=("missing.py",)))


def test_names_are_allowed_by_their_prefix() -> None:
    case = case_of("operator.add", ["3", "4"], {}, [])
    (refused,) = measured([case]).values()
    assert (refused.status, "--allow" in refused.reason) == ("unsupported", True)
    (allowed,) = measured([case], allow=("operator", "_operator")).values()
    assert allowed.status == "ok"
