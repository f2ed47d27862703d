"""One argument of an operator call, as data.

Every Value is a frozen struct with a JSON form `{"type": ..., ...}`. A field that equals its
default is left out of the JSON, so that a field added later does not change existing case ids.
Nothing in here carries code, and nothing in here imports a framework.
"""

from __future__ import annotations

import math
from typing import Annotated, Any, TypeAlias

import msgspec
from msgspec.structs import force_setattr

Number: TypeAlias = int | float
# JSON has no infinities: "inf", "-inf" and "nan" stand in wherever a float is expected.
FloatText: TypeAlias = float | str
# A number of a tensor of any dtype. Whole numbers stay exact, which a float would not above 2 ** 53.
AnyNumber: TypeAlias = int | float | str | bool
Dimension: TypeAlias = Annotated[int, msgspec.Meta(ge=0)]
Shape: TypeAlias = tuple[Dimension, ...]

_DEFAULTS: dict[type[msgspec.Struct], tuple[tuple[str, str | float], ...]] = {}
# Up to here every whole number has a float of its own; up to the second there is a float near it.
_EXACT = 2**53
_FLOAT_MAX = 2**1023


def settle(struct: msgspec.Struct) -> None:
    """Give equal structs equal JSON: whole numbers in float fields become floats, and whatever equals its
    default becomes the very default, because msgspec leaves a field out by identity."""
    kind = type(struct)
    if kind not in _DEFAULTS:
        pairs = zip(reversed(kind.__struct_fields__), reversed(kind.__struct_defaults__), strict=False)
        _DEFAULTS[kind] = tuple((name, default) for name, default in pairs if type(default) in (str, float))
    for name, default in _DEFAULTS[kind]:
        value = getattr(struct, name)
        if value is default:
            continue
        if type(value) is int and type(default) is float and abs(value) <= _FLOAT_MAX:
            value = float(value)
        # Minus zero equals zero, but is another input.
        same = value == default and (value or not isinstance(value, float) or math.copysign(1.0, value) > 0)
        force_setattr(struct, name, default if same else value)


def settled_number(value: Any) -> Any:
    """The one way to write a number of any type: whole numbers as int, infinities and NaN as text."""
    if type(value) is float:
        if value.is_integer() and abs(value) <= _EXACT and (value or math.copysign(1.0, value) > 0):
            return int(value)
        if not math.isfinite(value):
            return str(value)
    return int(value) if type(value) is bool else value


def settled_float(value: Any) -> Any:
    """A number as float, infinities and NaN as text."""
    if type(value) is int and abs(value) <= _FLOAT_MAX:
        return float(value)
    if type(value) is float and not math.isfinite(value):
        return str(value)
    return value


class Base(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="type"):
    """What all values share."""

    def __post_init__(self) -> None:
        settle(self)


class Quantization(
    msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="scheme"
):
    """How a quantised tensor maps integers to numbers."""

    def __post_init__(self) -> None:
        settle(self)


class PerTensor(Quantization, frozen=True, tag="per_tensor"):
    """One scale and zero point for the whole tensor."""

    scale: float = 0.1
    zero_point: int = 0


class PerChannel(Quantization, frozen=True, tag="per_channel"):
    """One scale and zero point for each index of `axis`, all equal."""

    axis: int = 0
    scale: float = 0.1
    zero_point: int = 0


class Fill(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True, tag_field="kind"):
    """How the numbers of a tensor are drawn."""

    def __post_init__(self) -> None:
        settle(self)


class Normal(Fill, frozen=True, tag="normal"):
    """Gaussian numbers."""

    mean: float = 0.0
    std: float = 1.0


class Uniform(Fill, frozen=True, tag="uniform"):
    """Numbers in [low, high)."""

    low: float = 0.0
    high: float = 1.0


class Integers(Fill, frozen=True, tag="integers"):
    """Whole numbers in [low, high), each equally likely."""

    low: int
    high: int


class Indices(Fill, frozen=True, tag="indices"):
    """Indices into something of size `bound`: whole numbers in [0, bound)."""

    bound: int


class Zipf(Fill, frozen=True, tag="zipf"):
    """Indices in [0, bound) with P(rank k) proportional to k ** -alpha.

    Rank 1 is index 0 unless `scatter` spreads the ranks over the indices.
    """

    bound: int
    alpha: float = 1.0
    scatter: bool = False


class Offsets(Fill, frozen=True, tag="offsets"):
    """Sorted offsets into `total` entries, the first one 0: where each bag or row begins.

    With `include_last` the last offset is `total` (the form of CSR row pointers).
    """

    total: int
    include_last: bool = False


class Permutation(Fill, frozen=True, tag="permutation"):
    """Along the last dimension, each row is a random permutation of 0..n-1."""


class Sorted(Fill, frozen=True, tag="sorted"):
    """Along the last dimension, uniform numbers in [low, high) in ascending order."""

    low: float = 0.0
    high: float = 1.0


class Mask(Fill, frozen=True, tag="mask"):
    """One with probability `density`, else zero."""

    density: float = 0.5


class Constant(Fill, frozen=True, tag="constant"):
    """The same number everywhere."""

    value: AnyNumber = 0

    def __post_init__(self) -> None:
        force_setattr(self, "value", settled_number(self.value))


class Arange(Fill, frozen=True, tag="arange"):
    """start, start + step, ... in row-major order, whatever the strides."""

    start: Number = 0
    step: Number = 1

    def __post_init__(self) -> None:
        force_setattr(self, "start", settled_number(self.start))
        force_setattr(self, "step", settled_number(self.step))


class Literal(Fill, frozen=True, tag="literal"):
    """The numbers themselves, in row-major order, whatever the strides."""

    values: tuple[AnyNumber, ...]

    def __post_init__(self) -> None:
        force_setattr(self, "values", tuple(map(settled_number, self.values)))


class PositiveDefinite(Fill, frozen=True, tag="positive_definite"):
    """Along the last two dimensions, symmetric positive-definite matrices."""


class Probabilities(Fill, frozen=True, tag="probabilities"):
    """Along the last dimension, positive numbers that sum to one."""


class FromFile(Fill, frozen=True, tag="file"):
    """Numbers from a `.npy` file beside the suite. `sha256` makes its content part of the case."""

    path: str
    sha256: str = ""


AnyFill: TypeAlias = (
    Normal
    | Uniform
    | Integers
    | Indices
    | Zipf
    | Offsets
    | Permutation
    | Sorted
    | Mask
    | Constant
    | Arange
    | Literal
    | PositiveDefinite
    | Probabilities
    | FromFile
)


class Tensor(Base, frozen=True, tag="tensor"):
    """A tensor to be built.

    Left to None, `strides` are contiguous (or follow `memory_format`), `fill` is the usual one for
    the dtype, and `requires_grad` is what the direction needs.
    """

    shape: Shape
    dtype: str = "float32"
    fill: AnyFill | None = None
    strides: tuple[Dimension, ...] | None = None
    storage_offset: Dimension = 0
    memory_format: str | None = None
    layout: str = "strided"
    # Share of entries that are stored, for sparse layouts.
    density: float = 0.1
    # Block shape, for the blocked sparse layouts.
    block_shape: tuple[Dimension, Dimension] | None = None
    requires_grad: bool | None = None
    quantization: PerTensor | PerChannel | None = None
    device: str | None = None


class Int(Base, frozen=True, tag="int"):
    """A whole number, given or drawn from `value_range` (both ends included)."""

    value: int | None = None
    value_range: tuple[int, int] | None = None


class Float(Base, frozen=True, tag="float"):
    """A number, given or drawn uniformly from `value_range`."""

    value: FloatText | None = None
    value_range: tuple[float, float] | None = None

    def __post_init__(self) -> None:
        force_setattr(self, "value", settled_float(self.value))
        if self.value_range is not None:
            force_setattr(self, "value_range", tuple(map(settled_float, self.value_range)))


class Complex(Base, frozen=True, tag="complex"):
    """A complex number."""

    real: FloatText = 0.0
    imag: FloatText = 0.0

    def __post_init__(self) -> None:
        force_setattr(self, "real", settled_float(self.real))
        force_setattr(self, "imag", settled_float(self.imag))
        settle(self)


class Bool(Base, frozen=True, tag="bool"):
    """True or false."""

    value: bool


class Str(Base, frozen=True, tag="str"):
    """A string."""

    value: str


class Null(Base, frozen=True, tag="none"):
    """None."""


class Device(Base, frozen=True, tag="device"):
    """A device; without a value, the one that the case runs on."""

    value: str | None = None


class DType(Base, frozen=True, tag="dtype"):
    """A dtype."""

    value: str


class Layout(Base, frozen=True, tag="layout"):
    """A tensor layout such as `strided` or `sparse_coo`."""

    value: str


class MemoryFormat(Base, frozen=True, tag="memory_format"):
    """A memory format such as `channels_last`."""

    value: str


class Generator(Base, frozen=True, tag="generator"):
    """A random number generator, seeded from the case."""


class Slice(Base, frozen=True, tag="slice"):
    """slice(start, stop, step)."""

    start: int | None = None
    stop: int | None = None
    step: int | None = None


class Ellipsis(Base, frozen=True, tag="ellipsis"):
    """`...`, in an index."""


class List(Base, frozen=True, tag="list"):
    """A list of values."""

    value: tuple[AnyValue, ...] = ()


class Tuple(Base, frozen=True, tag="tuple"):
    """A tuple of values."""

    value: tuple[AnyValue, ...] = ()


class Dict(Base, frozen=True, tag="dict"):
    """A dictionary with string keys."""

    value: dict[str, AnyValue] = {}


AnyValue: TypeAlias = (
    Tensor
    | Int
    | Float
    | Complex
    | Bool
    | Str
    | Null
    | Device
    | DType
    | Layout
    | MemoryFormat
    | Generator
    | Slice
    | Ellipsis
    | List
    | Tuple
    | Dict
)
