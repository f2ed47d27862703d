"""Every dtype by its canonical name (torch's), with its kind, its size and the other names people use."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["float", "int", "bool", "complex", "quantised", "bits"]


@dataclass(frozen=True)
class DTypeInfo:
    """What can be known about a dtype without a framework.

    `bits` is what one element occupies in memory. `low` and `high` bound the whole numbers that fit
    into an int or bool dtype; they are 0 for the others.
    """

    name: str
    kind: Kind
    bits: int
    aliases: tuple[str, ...] = ()
    low: int = 0
    high: int = 0


def _signed(name: str, width: int, *aliases: str) -> DTypeInfo:
    return DTypeInfo(name, "int", max(width, 8), aliases, -(2 ** (width - 1)), 2 ** (width - 1) - 1)


def _unsigned(name: str, width: int, *aliases: str) -> DTypeInfo:
    return DTypeInfo(name, "int", max(width, 8), aliases, 0, 2**width - 1)


_ALL = (
    DTypeInfo("float16", "float", 16, ("half", "f16", "fp16")),
    DTypeInfo("bfloat16", "float", 16, ("bf16",)),
    DTypeInfo("float32", "float", 32, ("float", "f32", "fp32")),
    DTypeInfo("float64", "float", 64, ("double", "f64", "fp64")),
    DTypeInfo("float8_e4m3fn", "float", 8, ("f8e4m3fn", "f8e4m3", "fp8_e4m3", "e4m3fn")),
    DTypeInfo("float8_e5m2", "float", 8, ("f8e5m2", "fp8_e5m2", "e5m2")),
    DTypeInfo("float8_e4m3fnuz", "float", 8, ("f8e4m3fnuz", "e4m3fnuz")),
    DTypeInfo("float8_e5m2fnuz", "float", 8, ("f8e5m2fnuz", "e5m2fnuz")),
    DTypeInfo("float8_e8m0fnu", "float", 8, ("f8e8m0fnu", "e8m0fnu")),
    DTypeInfo("float4_e2m1fn_x2", "bits", 8, ("f4e2m1fn_x2",)),
    DTypeInfo("complex32", "complex", 32, ("chalf", "c32", "complexhalf")),
    DTypeInfo("complex64", "complex", 64, ("cfloat", "c64", "complexfloat")),
    DTypeInfo("complex128", "complex", 128, ("cdouble", "c128", "complexdouble")),
    DTypeInfo("bool", "bool", 8, ("b8", "boolean"), 0, 1),
    _signed("int8", 8, "char", "i8"),
    _signed("int16", 16, "short", "i16"),
    _signed("int32", 32, "int", "i32"),
    _signed("int64", 64, "long", "i64"),
    _unsigned("uint8", 8, "byte", "u8", "uchar"),
    _unsigned("uint16", 16, "u16", "ushort"),
    _unsigned("uint32", 32, "u32", "uint"),
    _unsigned("uint64", 64, "u64", "ulong"),
    *(_signed(f"int{width}", width) for width in range(1, 8)),
    _unsigned("uint1", 1, "bit"),
    *(_unsigned(f"uint{width}", width) for width in range(2, 8)),
    DTypeInfo("qint8", "quantised", 8, ("qi8",)),
    DTypeInfo("quint8", "quantised", 8, ("qu8",)),
    DTypeInfo("qint32", "quantised", 32, ("qi32",)),
    DTypeInfo("quint4x2", "quantised", 8),
    DTypeInfo("quint2x4", "quantised", 8),
    DTypeInfo("bits8", "bits", 8),
    DTypeInfo("bits16", "bits", 16),
    DTypeInfo("bits1x8", "bits", 8),
    DTypeInfo("bits2x4", "bits", 8),
    DTypeInfo("bits4x2", "bits", 8),
)

DTYPES: dict[str, DTypeInfo] = {info.name: info for info in _ALL}
# Every accepted spelling, canonical names included.
DTYPE_NAMES: dict[str, str] = {
    spelling: info.name for info in _ALL for spelling in (info.name, *info.aliases)
} | {f"torch.{info.name}": info.name for info in _ALL}

# What the parameters of a module can be.
PARAMETER_DTYPES = tuple(info.name for info in _ALL if info.kind in ("float", "complex"))


def canonical_dtype(name: str) -> str | None:
    """The canonical name behind any accepted spelling, or None."""
    return DTYPE_NAMES.get(name)


def dtype_info(name: str) -> DTypeInfo:
    """What is known about a dtype, by any accepted spelling; KeyError for an unknown one."""
    return DTYPES[canonical_dtype(name) or name]
