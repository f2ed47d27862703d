"""Inputs in one short line."""

from __future__ import annotations

import pytest

from opbench.cases import values
from opbench.cases.model import Build, Case
from opbench.reports.inputs import describe_inputs, describe_value, describe_variant, short_dtype, short_op


def tensor(*shape: int, **fields: object) -> values.Tensor:
    return values.Tensor(shape=shape, **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (tensor(2, 3), "f32[2,3]"),
        (tensor(dtype="bfloat16"), "bf16[]"),
        (tensor(4, dtype="float8_e4m3fn"), "f8_e4m3fn[4]"),
        (tensor(2, 3, strides=(1, 2)), "f32[2,3]/1,2"),
        (tensor(2, 3, layout="sparse_coo"), "f32[2,3]:sparse_coo"),
        (tensor(1, 2, 3, 4, memory_format="channels_last"), "f32[1,2,3,4]:channels_last"),
        (tensor(5, dtype="int64", fill=values.Indices(bound=9)), "i64[5]~indices(9)"),
        (tensor(5, fill=values.Literal(values=(1, 2))), "f32[5]~literal"),
        (values.Int(value=3), "3"),
        (values.Int(value_range=(1, 5)), "1..5"),
        (values.Float(value=0.5), "0.5"),
        (values.Bool(value=True), "True"),
        (values.Str(value="sum"), "'sum'"),
        (values.Null(), "None"),
        (values.DType(value="float16"), "f16"),
        (values.Slice(start=1, stop=None), "1:"),
        (values.Slice(start=None, stop=4, step=2), ":4:2"),
        (values.Ellipsis(), "..."),
        (values.Complex(real=1.0, imag=2.0), "1.0+2.0j"),
        (values.Complex(real=1.0, imag=-2.0), "1.0-2.0j"),
        (values.List((tensor(1),) * 4), "[f32[1] ×4]"),
        (values.Tuple((values.Int(value=1), values.Int(value=2))), "(1, 2)"),
        (values.Dict({"a": values.Int(value=1)}), "{a: 1}"),
        (values.Device(), "device"),
        (values.Device(value="cuda:0"), "cuda:0"),
    ],
)
def test_values(value: values.AnyValue, text: str) -> None:
    assert describe_value(value) == text


def test_inputs() -> None:
    build = Build((values.Int(value=4),), {"bias": values.Bool(value=False)})
    case = Case(op="torch.nn.Linear", build=build, args=(tensor(2, 4),), kwargs={"x": values.Null()})
    assert describe_inputs(case) == "(4, bias=False) f32[2,4] x=None"
    case = Case(op="torch.nn.Linear", build=Build((values.Int(value=4),), dtype="bfloat16"))
    assert describe_inputs(case) == "(4):bf16"
    assert describe_inputs(Case(stmt="pass")) == ""


def test_variant_is_what_is_not_usual() -> None:
    assert describe_variant(Case(op="torch.add")) == ""
    case = Case(op="torch.add", runtime="compile", device="cuda", num_threads=4, seed=7)
    assert describe_variant(case) == "compile, cuda, 4 threads, seed 7"


def test_short_names() -> None:
    assert short_op("torch.nn.functional.gelu") == "F.gelu"
    assert short_op("torch.nn.Linear") == "nn.Linear"
    assert short_op("torch.ops.aten.add.Tensor") == "aten.add.Tensor"
    assert short_op("my.op") == "my.op"
    assert [short_dtype(name) for name in ("float32", "uint8", "complex64", "bool")] == [
        "f32",
        "u8",
        "c64",
        "bool",
    ]
