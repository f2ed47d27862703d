"""Arguments as people type them: the same values as in documents, and a clear refusal of the rest."""

from __future__ import annotations

import contextlib
import json
import math
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from opbench.cases.arguments import parse_argument
from opbench.cases.builders import checked_value
from opbench.cases.errors import UsageError
from opbench.cases.values import Complex, Float, Int, List, Slice, Str, Tuple

from .documents import tensor, tensors


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("3", 3),
        ("-3", -3),
        ("1.5", 1.5),
        ("-.5e-3", -0.0005),
        ("inf", {"type": "float", "value": "inf"}),
        ("-inf", {"type": "float", "value": "-inf"}),
        ("nan", {"type": "float", "value": "nan"}),
        ("2+3j", {"type": "complex", "real": 2, "imag": 3}),
        ("2 - .5j", {"type": "complex", "real": 2, "imag": -0.5}),
        ("-3j", {"type": "complex", "imag": -3}),
        ("true", True),
        ("False", False),
        ("None", None),
        ("...", {"type": "ellipsis"}),
        ("generator", {"type": "generator"}),
        ("'two words'", "two words"),
        ('"it\'s"', "it's"),
        (r"'a\n\'b\\'", "a\n'b\\"),
        ("[1, 2]", [1, 2]),
        ("[1, [2.5, 'x'],]", [1, [2.5, "x"]]),
        ("[]", []),
        ("()", {"type": "tuple"}),
        ("(2, 2)", {"type": "tuple", "value": [2, 2]}),
        ("(2,)", {"type": "tuple", "value": [2]}),
        ("(2)", 2),
        ("1:10:2", {"type": "slice", "start": 1, "stop": 10, "step": 2}),
        ("::-1", {"type": "slice", "step": -1}),
        (":", {"type": "slice"}),
        ("[:, 1:, ...]", [{"type": "slice"}, {"type": "slice", "start": 1}, {"type": "ellipsis"}]),
        ("float32", {"type": "dtype", "value": "float32"}),
        ("torch.int", {"type": "dtype", "value": "int32"}),
        ("torch.channels_last", {"type": "memory_format", "value": "channels_last"}),
        ("sparse_coo", {"type": "layout", "value": "sparse_coo"}),
        ("cpu", {"type": "device", "value": "cpu"}),
        ("cuda:1", {"type": "device", "value": "cuda:1"}),
        ('{"type": "int", "value_range": [1, 8]}', {"type": "int", "value_range": [1, 8]}),
        ("float32[64,64]", tensor(64, 64)),
        ("f16[]", tensor(dtype="float16")),
        ("torch.int64 [2, 3]", tensor(2, 3, dtype="int64")),
        ("float32[2,3]:strides(1,2):offset(3)", tensor(2, 3, strides=[1, 2], storage_offset=3)),
        ("float32[2,3]/1,2~uniform", tensor(2, 3, strides=[1, 2], fill="uniform")),
        ("float32[8,3,4,4]:channels_last", tensor(8, 3, 4, 4, memory_format="channels_last")),
        ("float32[9,9]:sparse_csr", tensor(9, 9, layout="sparse_csr")),
        ("float32[3]:requires_grad", tensor(3, requires_grad=True)),
        ("float32[3]:constant(-inf)", tensor(3, fill={"kind": "constant", "value": "-inf"})),
        ("int64[9]:indices(5)", tensor(9, dtype="int64", fill={"kind": "indices", "bound": 5})),
        ("int64[2]:literal(4, -1)", tensor(2, dtype="int64", fill={"kind": "literal", "values": [4, -1]})),
        (
            "int64[9]:zipf(100, alpha=2, scatter=true)",
            tensor(9, dtype="int64", fill={"kind": "zipf", "bound": 100, "alpha": 2, "scatter": True}),
        ),
        ("float32[3]:file('a/b.npy')", tensor(3, fill={"kind": "file", "path": "a/b.npy"})),
    ],
)
def test_a_text_stands_for_a_value(text: str, document: Any) -> None:
    assert parse_argument(text) == checked_value(document)
    assert parse_argument(f"  {text} ") == checked_value(document)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a value is missing"),
        ("mean", "text keeps its quotes"),
        ("flaot32[2]", "did you mean float32"),
        ("float", "did you mean torch.float"),
        ("channels_lst", "did you mean channels_last"),
        ("float32[2,-1]", "shape[1]: must not be below 0"),
        ("float32[2,1.5]", "expected a whole number"),
        ("float32[2", "at character 10: a comma or ] is missing"),
        ("float32[2]:", "the name of a fill"),
        ("float32[2]:norml", "did you mean normal"),
        ("float32[2]:normal:uniform", "the tensor has a fill already"),
        ("float32[2]:normal(std=1,2)", "a number without a name"),
        ("float32[2]:normal(std=1,std=2)", "std is given twice"),
        ("float32[2]:normal(1,2,3)", "at most 2 numbers (mean, std)"),
        ("float32[2]:indices(3)", "does not suit dtype float32"),
        ("float32[2]:offset(1,2)", "not written like this"),
        ("float32[2]:file('../x.npy')", "must stay in the suite's folder"),
        ("1:2:3:4", "a slice has at most three parts"),
        ("::0", "a step must not be 0"),
        ("1 2", "something after the value"),
        ("[1, 2", "a comma or ] is missing"),
        ("'open", "the closing quote is missing"),
        ("1e999", "the number is too large"),
        ("1+1e999j", "the number is too large"),
        ("9" * 40, "the number is too large"),
        (str(2**64), "must not be above"),
        ("0x10", '"0" means nothing here'),
        ("{", "not JSON"),
        ('{"type": "int", "type": "int"}', "a key stands twice"),
        ('{"type": "float", "value": NaN}', "NaN is not a number"),
        ('{"type": "float", "value": 1e999}', "1e999 is not a number"),
        ("[" * 1000, "nested more than"),
        ("{" * 1000, "not JSON"),
        ("x" * 200_000, "too long"),
    ],
)
def test_what_stands_for_nothing_is_refused_with_the_reason(text: str, message: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_argument(text)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 500


@given(st.text(max_size=30) | st.text("[](){}:,.'\"+-0123456789ejnafloti32 ", max_size=40))
@example("1e999")
@example("float32[2]:normal(")
def test_any_text_is_a_value_or_refused(text: str) -> None:
    with contextlib.suppress(UsageError):
        parse_argument(text)


@given(st.integers(-(2**63), 2**64 - 1))
def test_whole_numbers_stay_exact(number: int) -> None:
    assert parse_argument(str(number)) == Int(number)


@given(st.floats(allow_nan=False))
def test_numbers_stay_exact(number: float) -> None:
    text = "-inf" if number == -math.inf else repr(number)
    assert repr(parse_argument(text)) == repr(Float(number))


@given(st.complex_numbers(allow_nan=False, allow_infinity=False))
def test_complex_numbers_stay_exact(number: complex) -> None:
    text = f"{number.real!r}{number.imag:+}j"
    assert repr(parse_argument(text)) == repr(Complex(float(repr(number.real)), float(f"{number.imag}")))


@given(tensors())
def test_any_value_may_be_written_as_json(document: dict[str, Any]) -> None:
    assert parse_argument(json.dumps(document)) == checked_value(document)


literals = st.recursive(
    st.integers(-(2**63), 2**64 - 1) | st.sampled_from([True, False, None, "a", "it's", 'say "x"', "a\\b"]),
    lambda inner: st.lists(inner, max_size=3) | st.lists(inner, max_size=3).map(tuple),
    max_leaves=8,
)


def as_value(item: Any) -> Any:
    if isinstance(item, list):
        return List(tuple(map(as_value, item)))
    if isinstance(item, tuple):
        return Tuple(tuple(map(as_value, item)))
    return checked_value(item)


@given(literals)
def test_what_python_writes_is_read_back(item: Any) -> None:
    assert parse_argument(repr(item)) == as_value(item)


def test_a_slice_and_a_text_are_what_they_are_in_a_list() -> None:
    assert parse_argument("['1:2', 1:2]") == List((Str("1:2"), Slice(1, 2)))
