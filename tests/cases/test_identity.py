"""Ids: equal for whatever executes the same, different as soon as something else is executed."""

from __future__ import annotations

import hashlib
import json
import math
import os
import random
import subprocess
import sys
import unicodedata
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.cases.builders import call
from opbench.cases.check import check_case
from opbench.cases.identity import case_document, case_id, suite_fingerprint, work_id
from opbench.cases.model import Case, suite_of
from opbench.cases.values import Base, Dict, Fill, Quantization

from .documents import CALLS, LABELS, SNIPPETS, Document, any_case, calls, exact, tensor, texts

# Whoever changes one of these breaks every comparison with earlier results: raise IDENTITY_VERSION then.
# In the order of CALLS and SNIPPETS.
GOLDEN = (
    "2f608850136e5442",  # torch.mm
    "19f7004d8bdedc96",  # F.gelu
    "3aa29f5cd75709e0",  # aten::add.Tensor
    "0f9509df325d4729",  # nn.Linear
    "52c1dadc7cd8d145",  # torch.nn.Conv2d
    "3cfcefe214bb1de1",  # F.embedding_bag
    "143fa3a88f375ee9",  # torch.take
    "af721ea77a6dc4ef",  # torch.argsort
    "72b6c7a40c2b0f22",  # torch.searchsorted
    "911d51520a588a8e",  # torch.where
    "55bdb0b0c79159e5",  # torch.abs
    "e924675d3649b057",  # torch.abs
    "2c0935a00c95f22a",  # torch.abs
    "3966347be394b928",  # torch.linalg.cholesky
    "25c548b3a58c020d",  # torch.multinomial
    "f66280a1bfd6fd99",  # torch.exp
    "22797317ebf00aad",  # torch.exp
    "2b9a826824dfd12e",  # torch.exp
    "0d51aa7279a6eceb",  # torch.neg
    "46311719b6cbd58e",  # torch.neg
    "8a0025c509f9f0cf",  # torch.neg
    "89e716389b105c6e",  # torch.dequantize
    "068c6e337a00c351",  # torch.dequantize
    "f9384562facbc16e",  # torch.full
    "192627ea7aed41dc",  # operator.getitem
    "0a18528d7e307445",  # my.op
    "0960aea873aa6ac4",  # x + 1
    "08d0b397cca020f1",  # at::add(x, x);
)


def checked(document: Document, **options: Any) -> Case:
    return check_case(document, allow_snippets=True, **options)


def reordered(item: Any, order: random.Random) -> Any:
    if isinstance(item, dict):
        names = list(item)
        order.shuffle(names)
        return {name: reordered(item[name], order) for name in names}
    return [reordered(part, order) for part in item] if isinstance(item, list) else item


def spelled_out(item: Any) -> Any:
    """A case or value as JSON data with every default in it."""
    if isinstance(item, msgspec.Struct):
        fields = {name: spelled_out(getattr(item, name)) for name in item.__struct_fields__}
        if isinstance(item, Base | Fill | Quantization):
            config = item.__struct_config__
            return {config.tag_field: config.tag, **fields}
        return fields
    if isinstance(item, dict):
        return {name: spelled_out(part) for name, part in item.items()}
    return [spelled_out(part) for part in item] if isinstance(item, tuple) else item


@given(any_case(), st.randoms(use_true_random=False))
def test_the_order_of_keys_plays_no_part(document: Document, order: random.Random) -> None:
    assert case_id(checked(reordered(document, order))) == case_id(checked(document))


@given(any_case())
def test_a_default_may_be_spelled_out(document: Document) -> None:
    case = checked(document)
    again = checked(spelled_out(case))
    assert again == case
    assert case_id(again) == case_id(case)


@given(any_case())
def test_a_null_where_a_field_is_optional_says_nothing(document: Document) -> None:
    nothing = dict.fromkeys(Case.__struct_fields__)
    assert case_id(checked(nothing | document)) == case_id(checked(document))


@given(any_case())
def test_the_canonical_document_is_the_same_case(document: Document) -> None:
    case = checked(document)
    through_text = json.loads(json.dumps(case_document(case)))
    assert checked(through_text) == case
    assert case_id(checked(through_text)) == case_id(case)


@given(any_case(), st.fixed_dictionaries({}, optional=LABELS))
def test_labels_play_no_part(document: Document, labels: Document) -> None:
    assert case_id(checked(document | labels)) == case_id(checked(document))


@given(calls())
def test_a_suites_defaults_are_as_good_as_the_fields_themselves(document: Document) -> None:
    defaults = {name: document[name] for name in ("device", "seed", "num_threads") if name in document}
    rest = {name: value for name, value in document.items() if name not in defaults}
    assert checked(rest, defaults=defaults) == checked(document)


plain = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.complex_numbers(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: st.lists(inner, max_size=2) | st.lists(inner, max_size=2).map(tuple),
    max_leaves=4,
)
alike = st.sampled_from(
    (0, 0.0, -0.0, False, "0", None, "", 1, 1.0, True, "1", [], (), [1], (1,), [1.0], 1 + 0j, 0j, -0j)
)


@given(st.one_of(plain, alike), st.one_of(plain, alike))
def test_arguments_have_one_id_exactly_if_python_cannot_tell_them_apart(one: Any, other: Any) -> None:
    same = exact(one) == exact(other)
    assert (case_id(call("my.op", one)) == case_id(call("my.op", other))) == same


def differ(*documents: Document) -> None:
    ids = [case_id(checked(document)) for document in documents]
    assert len(set(ids)) == len(ids), ids


def arguments(*args: Any) -> list[Document]:
    return [{"op": "my.op", "args": [argument]} for argument in args]


def test_numbers_that_python_calls_equal_are_different_arguments() -> None:
    differ(*arguments(1, 1.0, True, "1", 2**53, 2**53 + 1, float(2**53), 2**64 - 1, -(2**63), -1))
    differ(*arguments(0, 0.0, -0.0, False, None, "", [], {"type": "tuple"}, {"type": "dict"}))


def test_infinities_and_nan_are_different_arguments() -> None:
    numbers = [{"type": "float", "value": text} for text in ("nan", "inf", "-inf")]
    differ(*arguments(*numbers, "nan", "inf", "-inf", 0.0))
    assert case_id(call("my.op", math.nan)) == case_id(call("my.op", -math.nan))
    assert case_id(call("my.op", math.inf)) == case_id(checked(*arguments(numbers[1])))


def test_texts_that_look_alike_are_different_arguments() -> None:
    name = "\N{LATIN SMALL LETTER E WITH ACUTE}"
    differ(*arguments(name, unicodedata.normalize("NFD", name), "e", "E", "e ", "\N{GRINNING FACE}"))


def test_whatever_is_executed_is_in_the_id() -> None:
    base = {"op": "torch.add", "args": [tensor(4, 4, 4, 4)]}
    tensors = [
        tensor(4, 4, 4, 4, **{name: value})
        for name, several in {
            "dtype": ("float64", "int64", "bool"),
            "fill": (0, 1, "nan-free", "uniform", "mask"),
            "strides": ([1, 1, 1, 1],),
            "storage_offset": (1,),
            "memory_format": ("channels_last",),
            "layout": ("sparse_coo", "sparse_csr"),
            "requires_grad": (True, False),
            "device": ("cpu", "cuda", "cuda:1"),
        }.items()
        for value in several
        if value != "nan-free"
    ]
    differ(
        base,
        *({**base, "args": [item]} for item in tensors),
        {**base, "args": [tensor(4, 4, 4, 4), tensor(4, 4, 4, 4)]},
        {**base, "args": [tensor(4, 4, 4)]},
        {**base, "args": [], "kwargs": {"input": tensor(4, 4, 4, 4)}},
        {**base, "args": [], "build": [tensor(4, 4, 4, 4)]},
        {**base, "build": [1]},
        {**base, "build": {"kwargs": {"a": 1}}},
        {**base, "build": {"args": [1], "dtype": "half"}},
        {**base, "build": {"dtype": "half"}},
        {**base, "op": "torch.mul"},
        {**base, "direction": "backward"},
        {**base, "direction": "forward_backward"},
        {**base, "runtime": "compile"},
        {**base, "device": "cuda"},
        {**base, "num_threads": 2},
        {**base, "seed": 1},
        {"stmt": "torch.add"},
        {"stmt": "torch.add", "setup": "x = 1"},
        {"stmt": "torch.add", "global_setup": "x = 1"},
        {"stmt": "torch.add", "language": "cpp"},
    )


def test_other_spellings_of_the_same_have_the_same_id() -> None:
    for one, other in (
        ({"op": "F.gelu"}, {"op": "torch.nn.functional.gelu"}),
        ({"op": "aten::add.Tensor"}, {"op": "torch.ops.aten.add.Tensor"}),
        ({"op": "my.op", "device": "cpu:0"}, {"op": "my.op"}),
        ({"op": "my.op", "build": []}, {"op": "my.op"}),
        *zip(
            arguments(
                1,
                [1],
                None,
                tensor(2, 3, strides=[3, 1]),
                tensor(2, 3, dtype="half"),
                tensor(2, 3, 4, 5, strides=[60, 1, 15, 3]),
                tensor(2, fill={"kind": "normal", "mean": 0, "std": 1}),
                tensor(2, fill={"kind": "constant", "value": 1.0}),
                tensor(2, 3, dtype="qint8"),
                {"type": "int", "value_range": [2, 2]},
                {"type": "dict", "value": {"b": 1, "a": 2}},
            ),
            arguments(
                {"type": "long", "value": 1},
                {"type": "genericlist", "value": [1]},
                {"type": "none"},
                tensor(2, 3),
                tensor(2, 3, dtype="torch.float16"),
                tensor(2, 3, 4, 5, memory_format="channels_last"),
                tensor(2, fill="normal"),
                tensor(2, fill=1),
                tensor(2, 3, dtype="qint8", quantization="per_tensor"),
                2,
                {"type": "dict", "value": {"a": 2, "b": 1}},
            ),
            strict=True,
        ),
    ):
        assert case_id(checked(one)) == case_id(checked(other)), (one, other)


def test_the_order_of_keyword_arguments_is_that_of_their_names() -> None:
    one, other = (
        checked({"op": "my.op", "kwargs": kwargs}) for kwargs in ({"b": 1, "a": 2}, {"a": 2, "b": 1})
    )
    assert list(one.kwargs) == list(other.kwargs) == ["a", "b"]
    one, other = (
        checked({"op": "my.op", "build": {"kwargs": kwargs}})
        for kwargs in ({"b": 1, "a": 2}, {"a": 2, "b": 1})
    )
    assert one.build is not None
    assert other.build is not None
    assert list(one.build.kwargs) == list(other.build.kwargs) == ["a", "b"]
    value = checked(*arguments({"type": "dict", "value": {"b": 1, "a": 2}})).args[0]
    assert isinstance(value, Dict)
    assert list(value.value) == ["a", "b"]


def test_inputs_are_drawn_alike_in_each_variant_of_a_call() -> None:
    base = {"op": "torch.add", "args": [tensor(4)]}
    variants = [{}, {"direction": "backward"}, {"runtime": "compile"}, {"device": "cuda"}, {"num_threads": 2}]
    cases = [checked(base | variant) for variant in variants]
    assert len({work_id(case) for case in cases}) == 1
    assert len({case_id(case) for case in cases}) == len(cases)


def test_the_order_of_cases_is_in_the_fingerprint_of_a_suite() -> None:
    one, other = (checked({"op": "my.op", "seed": seed}) for seed in (1, 2))
    assert suite_fingerprint(suite_of("a", [one, other])) == suite_fingerprint(suite_of("b", [one, other]))
    assert suite_fingerprint(suite_of("a", [one, other])) != suite_fingerprint(suite_of("a", [other, one]))


def all_ids() -> dict[str, str]:
    return {
        json.dumps(document, sort_keys=True): case_id(checked(document)) for document in (*CALLS, *SNIPPETS)
    }


@pytest.mark.parametrize("seed", ["1", "random"])
def test_another_process_gives_the_same_ids(seed: str) -> None:
    script = (
        "import json, sys\n"
        "from opbench.cases.check import check_case\n"
        "from opbench.cases.identity import case_id\n"
        "print(json.dumps([case_id(check_case(item, allow_snippets=True)) for item in json.load(sys.stdin)]))"
    )
    documents = [json.loads(text) for text in all_ids()]
    ended = subprocess.run(
        [sys.executable, "-c", script],
        input=json.dumps(documents),
        env=os.environ | {"PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(ended.stdout) == list(all_ids().values())


def test_ids_are_those_of_earlier_versions() -> None:
    assert tuple(all_ids().values()) == GOLDEN


def test_an_id_is_a_hash_that_anyone_can_compute() -> None:
    case = checked({"op": "F.gelu", "args": [tensor(2, 3)], "kwargs": {"approximate": "tanh"}, "label": "x"})
    text = (
        '[1,{"args":[{"shape":[2,3],"type":"tensor"}],"kwargs":{"approximate":{"type":"str","value":"tanh"}},'
        '"op":"torch.nn.functional.gelu"}]'
    )
    assert case_id(case) == hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
