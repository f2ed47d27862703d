"""Documents of cases as people write them: a list of examples, and hypothesis strategies for any others."""

from __future__ import annotations

import math
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from opbench.cases.dtypes import DTYPES

Document = dict[str, Any]


def tensor(*shape: int, **fields: Any) -> Document:
    return {"type": "tensor", "shape": list(shape), **fields}


CALLS: tuple[Document, ...] = (
    {"op": "torch.mm", "args": [tensor(64, 64), tensor(64, 64)]},
    {"op": "F.gelu", "args": [tensor(8, dtype="bf16")], "kwargs": {"approximate": "tanh"}},
    {"op": "aten::add.Tensor", "args": [tensor(3), 1.5], "kwargs": {"alpha": {"type": "long", "value": 2}}},
    {"op": "nn.Linear", "build": [3, 4], "args": [tensor(2, 3)], "direction": "backward"},
    {
        "op": "torch.nn.Conv2d",
        "build": {"args": [3, 8], "kwargs": {"kernel_size": {"type": "tuple", "value": [3, 3]}}},
        "args": [tensor(2, 3, 8, 8, memory_format="torch.channels_last")],
        "direction": "forward_backward",
        "num_threads": 2,
        "seed": 7,
        "label": "convolution",
        "sub_label": "channels last",
        "description": "größer ist besser",
        "tags": ["convolution", "module"],
        "weight": 2.5,
    },
    {
        "op": "F.embedding_bag",
        "args": [
            tensor(64, dtype="long", fill={"kind": "zipf", "bound": 100, "alpha": 1.1, "scatter": True}),
            tensor(100, 8, requires_grad=True),
            tensor(4, dtype="int64", fill={"kind": "offsets", "total": 64}),
        ],
        "kwargs": {"mode": "sum"},
    },
    {"op": "torch.take", "args": [tensor(9), tensor(4, dtype="int64", fill={"kind": "indices", "bound": 9})]},
    {"op": "torch.argsort", "args": [tensor(5, dtype="int32", fill="permutation")]},
    {"op": "torch.searchsorted", "args": [tensor(9, fill={"kind": "sorted", "low": -1, "high": 1}), 0.5]},
    {"op": "torch.where", "args": [tensor(4, dtype="bool", fill={"kind": "mask", "density": 0.1}), 1, 0]},
    {"op": "torch.abs", "args": [tensor(3, fill=-2)]},
    {"op": "torch.abs", "args": [tensor(3, dtype="int8", fill={"kind": "arange", "start": -5, "step": 5})]},
    {"op": "torch.abs", "args": [tensor(3, fill={"kind": "literal", "values": [1, "nan", -0.0]})]},
    {"op": "torch.linalg.cholesky", "args": [tensor(4, 4, dtype="complex64", fill="positive_definite")]},
    {"op": "torch.multinomial", "args": [tensor(2, 9, fill="probabilities"), 3]},
    {"op": "torch.exp", "args": [tensor(3, fill={"kind": "file", "path": "data/x.npy"})]},
    {"op": "torch.exp", "args": [tensor(3, fill={"kind": "normal", "mean": 3, "std": 0.5})]},
    {"op": "torch.exp", "args": [tensor(0, 3, fill={"kind": "uniform", "low": -1, "high": 2})]},
    {"op": "torch.neg", "args": [tensor(2, 3, strides=[1, 2], storage_offset=5)]},
    {"op": "torch.neg", "args": [tensor(4, 4, layout="torch.sparse_csr", density=0.5)]},
    {"op": "torch.neg", "args": [tensor(4, 4, layout="sparse_bsr", block_shape=[2, 2])]},
    {"op": "torch.dequantize", "args": [tensor(4, dtype="qint8", quantization="per_channel")]},
    {
        "op": "torch.dequantize",
        "args": [
            tensor(4, dtype="quint8", quantization={"scheme": "per_tensor", "scale": 2, "zero_point": 3})
        ],
    },
    {
        "op": "torch.full",
        "args": [[2, 2], {"type": "complex", "real": 1, "imag": "-inf"}],
        "kwargs": {
            "dtype": {"type": "dtype", "value": "torch.complex64"},
            "device": {"type": "device"},
            "layout": {"type": "layout", "value": "strided"},
            "memory_format": {"type": "memory_format", "value": "contiguous_format"},
            "generator": {"type": "generator"},
        },
    },
    {
        "op": "operator.getitem",
        "args": [
            tensor(9, 9),
            {
                "type": "tuple",
                "value": [{"type": "ellipsis"}, {"type": "slice", "start": 1, "step": 2}, None],
            },
        ],
    },
    {
        "op": "my.op",
        "args": [
            {"type": "int", "value_range": [1, 8]},
            {"type": "double", "value_range": [0, 1]},
            {"type": "float", "value": "nan"},
            {"type": "genericlist", "value": [1, [2, {"type": "bool", "value": True}]]},
            {"type": "dict", "value": {"a": None, "b": {"type": "str", "value": "\N{SNOWMAN}"}}},
            {"type": "none"},
            2**64 - 1,
            -(2**63),
            -0.0,
        ],
        "device": "cuda:1",
    },
)
SNIPPETS: tuple[Document, ...] = (
    {"stmt": "x + 1", "setup": "x = torch.ones(3)", "global_setup": "import math", "label": "one"},
    {"stmt": "at::add(x, x);", "language": "c++"},
)

names = st.from_regex(r"[a-z_][a-z0-9_]{0,8}", fullmatch=True)
texts = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=8)
int64s = st.integers(-(2**63), 2**63 - 1)
floats = st.floats(allow_nan=False, allow_infinity=False)
not_finite = st.sampled_from(["nan", "inf", "-inf", "Infinity", "NaN"])


def _kind(kind: str, required: dict[str, Any], optional: dict[str, Any]) -> SearchStrategy[Document]:
    return st.fixed_dictionaries({"kind": st.just(kind), **required}, optional=optional)


def _range(strategy: SearchStrategy[Any]) -> SearchStrategy[list[Any]]:
    return st.lists(strategy, min_size=2, max_size=2).map(sorted)


_FLOAT_FILLS = st.one_of(
    st.none(),
    floats,
    st.booleans(),
    not_finite.map(lambda text: {"kind": "constant", "value": text}),
    st.sampled_from(["normal", "uniform", "mask", "constant"]),
    _kind("normal", {}, {"mean": floats, "std": st.floats(0, 1e9)}),
    _kind("uniform", {}, {"high": st.floats(1, 2), "low": st.floats(-5, 0)}),
    _kind("mask", {}, {"density": st.floats(0, 1)}),
)
_INT_FILLS = st.one_of(
    st.none(),
    st.integers(0, 9),
    st.sampled_from(["mask", "constant"]),
    _kind("integers", {"low": st.integers(0, 3), "high": st.integers(4, 9)}, {}),
    _kind("indices", {"bound": st.integers(1, 100)}, {}),
    _kind("zipf", {"bound": st.integers(1, 100)}, {"alpha": st.floats(0, 9), "scatter": st.booleans()}),
)
_FLOATS = [info.name for info in DTYPES.values() if info.kind in ("float", "complex")]
_INTS = [info.name for info in DTYPES.values() if info.kind == "int" and info.high >= 127]
_SHAPES = st.lists(st.integers(0, 9), max_size=5)


@st.composite
def tensors(draw: st.DrawFn) -> Document:
    """A tensor of any shape; strides, formats and layouts where they are possible."""
    floating = draw(st.booleans())
    shape = draw(_SHAPES)
    made: Document = {"type": "tensor", "shape": shape}
    dtype = draw(st.sampled_from(_FLOATS if floating else _INTS))
    if dtype != "float32" or draw(st.booleans()):
        made["dtype"] = draw(st.sampled_from([dtype, f"torch.{dtype}", *DTYPES[dtype].aliases]))
    optional = {
        "fill": _FLOAT_FILLS if floating else _INT_FILLS,
        "device": st.sampled_from([None, "cpu", "cpu:0", "cuda:1"]),
    }
    if floating:
        optional["requires_grad"] = st.sampled_from([None, True, False])
    form = draw(st.sampled_from(["plain", "strided", "format", "sparse"]))
    if form == "strided":
        optional |= {
            "strides": st.lists(st.integers(0, 50), min_size=len(shape), max_size=len(shape)),
            "storage_offset": st.integers(0, 9),
        }
    elif form == "format" and len(shape) == 4:
        optional["memory_format"] = st.sampled_from([None, "channels_last", "torch.contiguous_format"])
    elif form == "sparse" and len(shape) >= 2:
        made["layout"] = draw(st.sampled_from(["sparse_coo", "sparse_csr"]))
        optional["density"] = st.floats(0, 1)
    return made | draw(st.fixed_dictionaries({}, optional=optional))


_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**64 - 1),
    floats,
    texts,
    st.builds(lambda value: {"type": "int", "value": value}, int64s),
    st.builds(lambda ends: {"type": "int", "value_range": ends}, _range(int64s)),
    st.builds(lambda value: {"type": "float", "value": value}, floats | not_finite),
    st.builds(lambda ends: {"type": "float", "value_range": ends}, _range(floats)),
    st.builds(lambda a, b: {"type": "complex", "real": a, "imag": b}, floats | not_finite, floats),
    st.sampled_from([{"type": name} for name in ("none", "device", "generator", "ellipsis", "list", "dict")]),
    st.fixed_dictionaries(
        {"type": st.just("slice")},
        optional={"start": st.none() | int64s, "step": st.none() | st.integers(1, 9)},
    ),
    st.sampled_from(sorted(DTYPES)).map(lambda name: {"type": "dtype", "value": name}),
)


def _nested(inner: SearchStrategy[Any]) -> SearchStrategy[Any]:
    several = st.lists(inner, max_size=3)
    return st.one_of(
        several,
        several.map(lambda items: {"type": "tuple", "value": items}),
        st.dictionaries(names, inner, max_size=3).map(lambda items: {"type": "dict", "value": items}),
    )


values = st.recursive(_SCALARS | tensors(), _nested, max_leaves=6)
_ARGUMENTS = st.lists(values, max_size=3)
_NAMED = st.dictionaries(names, values, max_size=2)
BUILD = {
    "args": _ARGUMENTS,
    "kwargs": _NAMED,
    "dtype": st.sampled_from(["", "bfloat16", "half", "torch.complex64"]),
}
VARIANTS = {
    "direction": st.sampled_from([None, "forward", "backward", "forward_backward"]),
    "runtime": st.sampled_from(["eager", "compile", "numpy"]),
    "device": st.sampled_from([None, "cpu", "cpu:0", "cuda", "cuda:3"]),
    "num_threads": st.integers(1, 64),
    "seed": st.integers(0, 2**63 - 1),
}
LABELS = {
    "label": texts,
    "sub_label": texts,
    "description": st.none() | texts,
    "tags": st.lists(texts.filter(bool), max_size=3) | texts.filter(bool),
    "weight": st.floats(1e-9, 1e9) | st.integers(1, 10**9),
}


def calls() -> SearchStrategy[Document]:
    """The call of an operator, with any arguments."""
    return st.fixed_dictionaries(
        {"op": st.sampled_from(["torch.mm", "F.gelu", "aten::add.Tensor", "my.own.op"])},
        optional={
            "args": _ARGUMENTS,
            "kwargs": _NAMED,
            "build": st.one_of(
                st.none(),
                _ARGUMENTS,
                st.fixed_dictionaries({}, optional=BUILD),
            ),
            **VARIANTS,
            **LABELS,
        },
    )


def snippets() -> SearchStrategy[Document]:
    """A piece of code."""
    return st.fixed_dictionaries(
        {"stmt": texts.filter(bool)},
        optional={
            "setup": texts,
            "global_setup": texts,
            "language": st.sampled_from(["python", "c++", "cpp"]),
            **(VARIANTS | {"direction": st.sampled_from([None, "forward"])}),
            **LABELS,
        },
    )


def any_case() -> SearchStrategy[Document]:
    return calls() | snippets()


def exact(item: Any) -> Any:
    """What Python makes of plain data, types and signs of zeros included: an id of its own kind."""
    if isinstance(item, dict):
        return ("dict", sorted((name, exact(part)) for name, part in item.items()))
    if isinstance(item, (list, tuple)):
        return (type(item).__name__, [exact(part) for part in item])
    if isinstance(item, float) and math.isnan(item):
        return ("float", "nan")
    return (type(item).__name__, repr(item))
