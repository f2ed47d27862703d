"""The JSON Schema: whatever opbench takes is valid by it; most of what opbench refuses is not."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given

from opbench.cases import check, check_fills, check_tensors, check_values
from opbench.cases.check import check_case
from opbench.cases.errors import UsageError
from opbench.cases.identity import case_document
from opbench.cases.model import Case
from opbench.cases.plan import PRESETS, Plan
from opbench.cli.main import main
from opbench.results.encoding import encode
from opbench.results.records import Interval, Measurement, Metric, Run
from opbench.results.schema import KINDS, json_schema
from opbench.sources.suite_document import HEADER_CHECKS

from .documents import CALLS, SNIPPETS, Document, any_case, tensor

SUITE = json_schema("suite")
VALIDATOR = jsonschema.Draft202012Validator(SUITE)
BUILT_IN = Path(check.__file__).parents[1] / "sources" / "suites"


def suite(*cases: Any, **fields: Any) -> Document:
    return {"opbench": 1, "cases": list(cases), **fields}


def is_valid(document: Any) -> bool:
    return VALIDATOR.is_valid(document)


@pytest.mark.parametrize("kind", KINDS)
def test_the_schema_is_a_schema(kind: str) -> None:
    schema = json_schema(kind)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    jsonschema.Draft202012Validator.check_schema(schema)


@pytest.mark.parametrize("kind", KINDS)
def test_the_command_prints_the_schema(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", kind]) == 0
    assert json.loads(capsys.readouterr().out) == json_schema(kind)


def test_an_unknown_kind_of_document_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(UsageError, match="did you mean suite"):
        json_schema("suit")
    assert main(["schema", "suit"]) == 2
    assert "did you mean suite" in capsys.readouterr().err


@pytest.mark.parametrize("document", [*CALLS, *SNIPPETS], ids=lambda item: item.get("op") or item["stmt"])
def test_an_example_is_valid(document: Document) -> None:
    VALIDATOR.validate(suite(document))
    canonical = json.dumps(case_document(check_case(document, allow_snippets=True)))
    VALIDATOR.validate(suite(json.loads(canonical)))


@given(any_case())
def test_whatever_is_accepted_is_valid(document: Document) -> None:
    assert is_valid(suite(document))
    assert is_valid(suite(dict.fromkeys(Case.__struct_fields__) | document))


@pytest.mark.parametrize("file", sorted(BUILT_IN.glob("*.json")), ids=lambda file: file.name)
def test_a_built_in_suite_is_valid(file: Path) -> None:
    VALIDATOR.validate(json.loads(file.read_text(encoding="utf-8")))


def test_a_header_is_valid() -> None:
    defaults = {"device": "cuda", "seed": 3, "tags": "mine", "setup": "x = 1", "weight": None}
    VALIDATOR.validate(suite(CALLS[0], name="a", description="b", defaults=defaults) | {"$schema": "x.json"})


@pytest.mark.parametrize(
    "document",
    [
        [],
        {"cases": [CALLS[0]]},
        {"opbench": 2, "cases": [CALLS[0]]},
        {"opbench": 1},
        suite(),
        suite(CALLS[0], nmae="x"),
        suite({}),
        suite({"op": None}),
        suite({"op": ""}),
        suite({"op": "not a name"}),
        suite({"op": "torch.mm", "stmt": "x"}),
        suite({"op": "torch.mm", "setup": "x"}),
        suite({"op": "torch.mm", "language": "cpp"}),
        suite({"stmt": "x", "args": [1]}),
        suite({"stmt": "x", "kwargs": {"a": 1}}),
        suite({"stmt": "x", "build": [1]}),
        suite({"stmt": "x", "build": {"dtype": "half"}}),
        suite({"op": "nn.Linear", "build": {"dtype": "int8"}}),
        suite({"stmt": ""}),
        suite({"op": "torch.mm", "arsg": []}),
        suite({"op": "torch.mm", "seed": -1}),
        suite({"op": "torch.mm", "seed": "1"}),
        suite({"op": "torch.mm", "num_threads": 0}),
        suite({"op": "torch.mm", "device": "gpu"}),
        suite({"op": "torch.mm", "direction": "backwards"}),
        suite({"op": "torch.mm", "weight": 0}),
        suite({"op": "torch.mm", "tags": [""]}),
        suite({"op": "torch.mm", "args": [{}]}),
        suite({"op": "torch.mm", "args": [{"type": "tenser", "shape": []}]}),
        suite({"op": "torch.mm", "args": [{"type": "tensor"}]}),
        suite({"op": "torch.mm", "args": [tensor(-1)]}),
        suite({"op": "torch.mm", "args": [tensor(1, dtype="flaot32")]}),
        suite({"op": "torch.mm", "args": [tensor(1, fill="norml")]}),
        suite({"op": "torch.mm", "args": [tensor(1, fill={"kind": "indices"})]}),
        suite({"op": "torch.mm", "args": [tensor(1, fill={"kind": "file", "path": "../x.npy"})]}),
        suite({"op": "torch.mm", "args": [tensor(1, fill={"kind": "file", "path": "/x.npy"})]}),
        suite({"op": "torch.mm", "args": [tensor(1, shpe=1)]}),
        suite({"op": "torch.mm", "args": [{"type": "slice", "step": 0}]}),
        suite({"op": "torch.mm", "args": [[[{"type": "float", "value": "many"}]]]}),
        suite({"op": "torch.mm", "defaults": {"op": "torch.mm"}}),
    ],
    ids=repr,
)
def test_what_is_wrong_is_not_valid(document: Any) -> None:
    assert not is_valid(document)


def test_the_schema_names_every_field_there_is() -> None:
    definitions = SUITE["$defs"]
    assert set(SUITE["properties"]) == {*HEADER_CHECKS, "cases"}
    assert set(definitions["case"]["properties"]) == set(check._CASE_CHECKS) == set(Case.__struct_fields__)
    assert set(definitions["defaults"]["properties"]) == set(check._DEFAULT_CHECKS)
    by_type = {
        part["if"]["properties"]["type"]["enum"][0]: part for part in definitions["typed_value"]["allOf"]
    }
    assert list(by_type) == list(check_values.VALUE_TYPES)
    assert set(definitions["typed_value"]["properties"]["type"]["enum"]) == set(check_values.TYPES)
    assert set(by_type["tensor"]["then"]["properties"]) == set(check_tensors.TENSOR_FIELDS)
    fills = definitions["fill"]["anyOf"][-1]["allOf"]
    for part in fills:
        properties = part["then"]["properties"]
        assert set(properties) == {
            "kind",
            *check_fills.FILL_FIELDS[part["if"]["properties"]["kind"]["enum"][0]],
        }
    assert len(fills) == len(check_fills.FILL_KINDS)


@pytest.mark.parametrize("plan", PRESETS.values(), ids=lambda plan: plan.name)
def test_a_plan_is_valid(plan: Plan) -> None:
    document = json.loads(encode(Run(run_id="a", plan=plan)))["plan"]
    jsonschema.validate(document, json_schema("plan"))


def test_records_are_valid() -> None:
    case = check_case(CALLS[4])
    row = Measurement(
        run_id="r",
        case_id="0123456789abcdef",
        case=case,
        status="ok",
        metrics=(
            Metric("time", 1e-6, "s", "duration", samples=(1e-6, float("inf")), flags=(0, 1)),
            Metric("odd", float("nan"), "", "ratio", interval=Interval(0.0, float("inf"), 0.95)),
            Metric("none", None, "", "count"),
        ),
        drawn={"args[0]": 3, "args[1]": float("nan")},
    )
    line = {"kind": "measurement", **json.loads(encode(row))}
    jsonschema.validate(line, json_schema("result"))
    assert not jsonschema.Draft202012Validator(json_schema("result")).is_valid(line | {"status": "okay"})
    assert not jsonschema.Draft202012Validator(json_schema("result")).is_valid(line | {"kind": "run"})
    run = {"kind": "run", **json.loads(encode(Run(run_id="r", suites=("a",), expected=3)))}
    jsonschema.validate(run, json_schema("run"))
