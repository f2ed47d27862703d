"""Checks of a tensor: its fields, and whether they go together."""

from __future__ import annotations

import math
from typing import Any

from opbench.cases import values
from opbench.cases.check_fields import (
    INVALID,
    FieldCheck,
    boolean,
    check_object,
    choice,
    dtype,
    integer,
    items,
    number,
    optional,
    pair,
    tag,
)
from opbench.cases.check_fills import check_fill_suits, fill
from opbench.cases.check_names import device
from opbench.cases.collect import Place, Problems, describe
from opbench.cases.dtypes import DTYPES, DTypeInfo
from opbench.cases.layouts import (
    FORMAT_RANKS,
    channels_last_strides,
    contiguous_strides,
    default_fill,
    storage_elements,
)
from opbench.cases.names import LAYOUT_NAMES, LAYOUTS, MEMORY_FORMAT_NAMES, MEMORY_FORMATS

INT64_MAX = 2**63 - 1
# What torch's iterators over tensors take.
MOST_DIMENSIONS = 64
# A scale is a float32.
LARGEST_SCALE = 3.4e38
BLOCKED = ("sparse_bsr", "sparse_bsc")

_size = integer(0, INT64_MAX)
_sizes = items(_size, "a list of whole numbers", MOST_DIMENSIONS)


def _shape(value: Any, place: Place, problems: Problems) -> Any:
    if type(value) is list and len(value) <= MOST_DIMENSIONS:
        # What nearly every shape is, without a call for each size.
        for size in value:
            if type(size) is not int or not 0 <= size <= INT64_MAX:
                break
        else:
            return tuple(value)
    return _sizes(value, place, problems)


_SCHEMES: dict[str, tuple[type[values.Quantization], dict[str, FieldCheck]]] = {
    "per_tensor": (values.PerTensor, {}),
    "per_channel": (values.PerChannel, {"axis": integer(-MOST_DIMENSIONS, MOST_DIMENSIONS - 1)}),
}
for _, _fields in _SCHEMES.values():
    _fields |= {
        "scheme": tag,
        "scale": number(above=0, most=LARGEST_SCALE, what="a positive number"),
        "zero_point": integer(-(2**31), 2**31 - 1),
    }


def _quantization(document: Any, place: Place, problems: Problems) -> Any:
    if isinstance(document, str):
        document = {"scheme": document}
    scheme = document.get("scheme") if isinstance(document, dict) else None
    if not isinstance(scheme, str):
        problems.wrong_type(place, document, 'an object with a scheme, such as {"scheme": "per_tensor"}')
        return INVALID
    if scheme not in _SCHEMES:
        problems.unknown((place, "scheme"), "scheme", scheme, _SCHEMES)
        return INVALID
    make, fields = _SCHEMES[scheme]
    before = problems.count
    found = check_object(document, place, problems, fields)
    if found is None or problems.count != before:
        return INVALID
    del found["scheme"]
    return make(**found)


TENSOR_FIELDS: dict[str, FieldCheck] = {
    "type": tag,
    "shape": _shape,
    "dtype": dtype,
    "fill": optional(fill),
    "strides": optional(_shape),
    "storage_offset": _size,
    "memory_format": optional(choice("memory format", MEMORY_FORMATS, MEMORY_FORMAT_NAMES)),
    "layout": choice("layout", LAYOUTS, LAYOUT_NAMES),
    "density": number(0, 1),
    "block_shape": optional(pair(integer(1, INT64_MAX), "a list of two whole numbers")),
    "requires_grad": optional(boolean),
    "quantization": optional(_quantization),
    "device": optional(device),
}


def tensor(document: Any, place: Place, problems: Problems) -> Any:
    """A tensor, in its one canonical form: what is left to None and what says the same are one."""
    before = problems.count
    found = check_object(document, place, problems, TENSOR_FIELDS, ("shape",))
    if found is None:
        return INVALID
    del found["type"]
    shape = found.get("shape")
    info = DTYPES[found.get("dtype", "float32")] if "dtype" in found or "dtype" not in document else None
    if len(found) > ("shape" in found) + ("dtype" in found):
        found = {name: value for name, value in found.items() if value is not None}
        _check_layout(found, place, problems)
        if info is not None:
            _check_dtype(found, info, place, problems)
        if shape is not None:
            _check_shape(found, shape, place, problems)
        if info is not None and shape is not None:
            _check_together(found, info, shape, place, problems)
    if shape is not None and info is not None:
        _check_size(found, info, shape, place, problems)
    if problems.count != before:
        return INVALID
    if info is not None and info.kind == "quantised":
        found.setdefault("quantization", values.PerTensor())
    return values.Tensor(**found)


def _check_layout(found: dict[str, Any], place: Place, problems: Problems) -> None:
    layout = found.get("layout", "strided")
    if layout == "strided":
        for name, usual in (("density", values.Tensor(()).density), ("block_shape", None)):
            if found.get(name, usual) != usual:
                problems.add(
                    (place, name),
                    f"{name} is for sparse layouts",
                    found='layout "strided"',
                    expected="a sparse layout",
                )
    else:
        for name in ("strides", "storage_offset", "memory_format"):
            if found.get(name):
                problems.add(
                    (place, name),
                    f"a tensor of layout {layout} has no {name}",
                    found=describe(found[name]),
                    expected=f'no {name}, or layout "strided"',
                )
        if layout not in BLOCKED and "block_shape" in found:
            problems.add(
                (place, "block_shape"),
                f"layout {layout} has no blocks",
                found=describe(found["block_shape"]),
                expected="layout " + " or ".join(BLOCKED),
            )
        if layout in BLOCKED and "block_shape" not in found:
            problems.missing(place, "block_shape", found, f"the size of a block of layout {layout}")
    if "strides" in found and "memory_format" in found:
        problems.add(
            (place, "memory_format"),
            "strides and memory_format exclude each other",
            found=describe(found["memory_format"]),
            expected="one of them",
        )


def _check_dtype(found: dict[str, Any], info: DTypeInfo, place: Place, problems: Problems) -> None:
    if info.kind not in ("float", "complex") and "requires_grad" in found:
        if found["requires_grad"]:
            problems.add(
                (place, "requires_grad"),
                f"a tensor of dtype {info.name} has no gradient",
                found="true",
                expected="a floating-point or complex dtype",
            )
        else:
            del found["requires_grad"]
    if info.kind != "quantised" and "quantization" in found:
        problems.add(
            (place, "quantization"),
            f"dtype {info.name} is not quantised",
            found="a quantization",
            expected="qint8, quint8 or another quantised dtype",
        )


def _check_shape(found: dict[str, Any], shape: tuple[int, ...], place: Place, problems: Problems) -> None:
    strides, name = found.get("strides"), found.get("memory_format")
    if strides is not None:
        if len(strides) != len(shape):
            problems.add(
                (place, "strides"),
                "there must be one stride for each dimension",
                found=describe(strides),
                expected=f"{len(shape)} strides",
            )
        elif strides == contiguous_strides(shape):
            del found["strides"]
        else:
            _name_strides(found, shape, strides)
    if name == "preserve_format":
        problems.add(
            (place, "memory_format"),
            "a new tensor has no format to preserve",
            found='"preserve_format"',
            expected="another memory format",
        )
    elif name == "contiguous_format":
        del found["memory_format"]
    elif name is not None and len(shape) != FORMAT_RANKS[name]:
        problems.add(
            (place, "memory_format"),
            f"{name} is for tensors of {FORMAT_RANKS[name]} dimensions",
            found=f"shape {describe(shape)}",
            expected=f"{FORMAT_RANKS[name]} dimensions, or strides",
        )
    elif name is not None and channels_last_strides(shape) == contiguous_strides(shape):
        del found["memory_format"]
    layout = found.get("layout", "strided")
    if layout not in ("strided", "sparse_coo") and len(shape) < 2:
        problems.add(
            (place, "layout"),
            f"{layout} is for tensors of at least 2 dimensions",
            found=f"shape {describe(shape)}",
            expected="2 dimensions or more",
        )
    elif "block_shape" in found and len(shape) >= 2:
        for size, block in zip(shape[-2:], found["block_shape"], strict=True):
            if size % block:
                problems.add(
                    (place, "block_shape"),
                    f"blocks of {block} do not divide a dimension of {size}",
                    found=describe(found["block_shape"]),
                    expected="divisors of the last two dimensions",
                )


def _name_strides(found: dict[str, Any], shape: tuple[int, ...], strides: tuple[int, ...]) -> None:
    """Strides that a memory format has too are written as that."""
    for name, rank in FORMAT_RANKS.items():
        if len(shape) == rank and all(shape) and strides == channels_last_strides(shape):
            del found["strides"]
            found["memory_format"] = name


def _check_together(
    found: dict[str, Any], info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    chosen = found.get("fill")
    if chosen is not None:
        check_fill_suits(chosen, info, shape, (place, "fill"), problems)
        if chosen == default_fill(info):
            del found["fill"]
        elif isinstance(chosen, values.FromFile):
            found["fill"] = _with_content(chosen, ((place, "fill"), "path"), problems)
    quantization = found.get("quantization")
    if isinstance(quantization, values.PerChannel):
        if not -len(shape) <= quantization.axis < len(shape):
            problems.add(
                ((place, "quantization"), "axis"),
                f"there is no dimension {quantization.axis}",
                found=f"shape {describe(shape)}",
                expected="one of the tensor's dimensions",
            )
        elif quantization.axis < 0:
            found["quantization"] = values.PerChannel(
                quantization.axis + len(shape), quantization.scale, quantization.zero_point
            )


def _with_content(chosen: values.FromFile, place: Place, problems: Problems) -> values.FromFile:
    if problems.hash_file is None:
        return chosen
    try:
        content = problems.hash_file(chosen.path)
    except ValueError as error:
        problems.add(
            place, str(error), found=describe(chosen.path), expected="a .npy file in the suite's folder"
        )
        return chosen
    if chosen.sha256 and chosen.sha256 != content:
        problems.add(
            place, "the file has changed", found=f"sha256 {content}", expected=f"sha256 {chosen.sha256}"
        )
    return values.FromFile(chosen.path, content)


def _check_size(
    found: dict[str, Any], info: DTypeInfo, shape: tuple[int, ...], place: Place, problems: Problems
) -> None:
    strides = found.get("strides")
    if strides is not None and len(strides) != len(shape):
        return
    # Sizes of zero do not help: torch multiplies the others all the same.
    elements = max(
        math.prod(max(size, 1) for size in shape),
        storage_elements(shape, strides, found.get("storage_offset", 0)),
    )
    if elements * max(info.bits // 8, 1) > INT64_MAX:
        problems.add(
            (place, "shape"),
            "the tensor is larger than any memory",
            found=f"about {float(elements):.3g} elements"
            if elements < 2**1000
            else "more elements than a number can say",
            expected="at most 2**63 - 1 bytes",
        )
