"""Whatever the checks accept is built as asked for, or refused in words that a stranger understands."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from opbench.cases.dtypes import DTYPES
from opbench.cases.errors import DocumentError
from opbench.cases.names import LAYOUTS
from opbench.worker.errors import Unsupported

from .makers import built, checked

SHAPE = [4, 4]
FILLS: tuple[Any, ...] = (
    None,
    "normal",
    {"kind": "normal", "mean": 3, "std": 1e6},
    {"kind": "uniform", "low": -1, "high": 3},
    {"kind": "uniform", "low": 0.3, "high": 0.301},
    {"kind": "integers", "low": 0, "high": 1},
    {"kind": "integers", "low": -3, "high": 5},
    {"kind": "integers", "low": 0, "high": 2**62},
    {"kind": "indices", "bound": 3},
    {"kind": "indices", "bound": 1},
    {"kind": "zipf", "bound": 7},
    {"kind": "zipf", "bound": 1000, "scatter": True},
    {"kind": "offsets", "total": 3},
    {"kind": "offsets", "total": 100, "include_last": True},
    "permutation",
    "sorted",
    {"kind": "sorted", "low": -2, "high": 100},
    "mask",
    {"kind": "mask", "density": 1},
    {"kind": "constant", "value": 1},
    {"kind": "constant", "value": -1.5},
    {"kind": "constant", "value": 1e300},
    {"kind": "constant", "value": 2**64 - 1},
    {"kind": "constant", "value": "inf"},
    {"kind": "constant", "value": "nan"},
    "arange",
    {"kind": "arange", "start": 1, "step": 0.5},
    {"kind": "arange", "start": -7, "step": 1},
    {"kind": "literal", "values": [0, 1] * 8},
    {"kind": "literal", "values": [0.25, -2.5, "inf", "nan"] * 4},
    "positive_definite",
    "probabilities",
    *({"kind": "file", "path": f"{name}.npy"} for name in ("floats", "wholes", "truths", "complexes")),
)
SPARSE = tuple(
    {"layout": layout, "density": 0.5} | ({"block_shape": [2, 2]} if layout[:8] == "sparse_b" else {})
    for layout in LAYOUTS
    if layout != "strided"
)
PLACES: tuple[dict[str, Any], ...] = (
    {},
    *SPARSE,
    *({"strides": strides} for strides in ([1, 4], [0, 1], [1, 0], [0, 0], [1, 1], [9, 2])),
    {"storage_offset": 3},
    {"device": "meta"},
    *({"device": "meta", **sparse} for sparse in SPARSE),
    {"device": "meta", "strides": [0, 1], "storage_offset": 2},
    {"quantization": "per_channel"},
    {"quantization": {"scheme": "per_tensor", "scale": 1e-30, "zero_point": 1}},
    {"requires_grad": True},
    {"requires_grad": False},
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    home = tmp_path_factory.mktemp("suite")
    np.save(home / "floats.npy", np.linspace(-1, 300, 16).reshape(4, 4).astype(np.float32))
    np.save(home / "wholes.npy", np.arange(-3, 13).reshape(4, 4))
    np.save(home / "truths.npy", np.eye(4, dtype=bool))
    np.save(home / "complexes.npy", np.full((4, 4), 1 + 2j, np.complex64))
    return home


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_combination_that_is_accepted_is_built_or_refused_in_plain_words(
    dtype: str, folder: Path
) -> None:
    count = 0
    for fill, place, direction in itertools.product(FILLS, PLACES, ("forward", "backward")):
        document = {"type": "tensor", "shape": SHAPE, "dtype": dtype, "fill": fill, **place}
        try:
            case = checked(document, direction=direction, folder=folder)
        except DocumentError:
            continue
        try:
            (tensor,), _ = built(case, folder=folder)
        except Unsupported as refusal:
            assert_understandable(str(refusal))
            continue
        assert_as_asked(tensor, document, direction)
        count += 1
    assert count


def assert_understandable(text: str) -> None:
    assert len(text) < 300
    assert "\n" not in text
    assert text[0].islower() or text[0].isdigit() or text.startswith("'")
    for internal in ("torch.float", "torch.int", "at::", "Expected", "dispatch", "not implemented"):
        assert internal not in text


def assert_as_asked(tensor: torch.Tensor, document: dict[str, Any], direction: str) -> None:
    assert list(tensor.shape) == SHAPE
    assert str(tensor.dtype) == f"torch.{document['dtype']}"
    assert str(tensor.layout) == f"torch.{document.get('layout', 'strided')}"
    assert str(tensor.device) == document.get("device", "cpu")
    assert tensor.is_leaf
    if tensor.layout == torch.strided:
        assert list(tensor.stride()) == document.get("strides", [4, 1])
        assert tensor.storage_offset() == document.get("storage_offset", 0)
    wants = document.get("requires_grad", direction == "backward")
    assert tensor.requires_grad == (wants and DTYPES[document["dtype"]].kind in ("float", "complex"))
