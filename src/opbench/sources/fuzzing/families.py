"""Which fuzzer and which arguments an operator gets: a table of families, by the names of operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.item import Item
from opbench.sources.fuzzing.ready import (
    BinaryOpFuzzer,
    ConvolutionOpFuzzer,
    IndexingOpFuzzer,
    MatmulOpFuzzer,
    ReductionOpFuzzer,
    SparseMatrixFuzzer,
    SpectralOpFuzzer,
    UnaryOpFuzzer,
)

# (seed, dtype) -> the fuzzer
Make: TypeAlias = Callable[[int | None, str], Fuzzer]
Arguments: TypeAlias = tuple[list[Any], dict[str, Any]]


@dataclass(frozen=True)
class Recipe:
    """How an item becomes the arguments of a call. `args` names tensors and parameters of the item, or is
    what makes them; `make` is the fuzzer, `dtype` what it draws unless somebody says."""

    make: Make
    args: tuple[str, ...] | Callable[[Item], Arguments]
    dtype: str = "float32"

    def arguments(self, item: Item) -> Arguments:
        """Positional and keyword arguments, as `opbench.call` takes them."""
        if callable(self.args):
            return self.args(item)
        tensors = item.tensors
        return [tensors[name] if name in tensors else item.params[name] for name in self.args], {}


@dataclass(frozen=True)
class Family:
    """Operators that take the same kind of inputs, by their whole name or its last part. `usual` is for those
    that the table does not know."""

    name: str
    what: str
    usual: Recipe
    operators: Mapping[str, Recipe] = field(default_factory=dict)
    # What their whole names begin with, where the last part says too little.
    namespaces: tuple[str, ...] = ()


def _named(recipe: Recipe, names: str) -> dict[str, Recipe]:
    return dict.fromkeys(names.split(), recipe)


def _axis(item: Item) -> int:
    return int(item.params["axis"]) % len(item.drawn["x"].size)


def _reduced(item: Item) -> Arguments:
    return [item.tensors["x"], _axis(item)], {"keepdim": item.params["keepdim"]}


def _along(item: Item) -> Arguments:
    return [item.tensors["x"], _axis(item)], {}


def _normalized(item: Item) -> Arguments:
    return [item.tensors["x"]], {"dim": _axis(item)}


def _window(item: Item) -> dict[str, Any]:
    padding = item.params["kernel"] // 2 if item.params["is_padded"] else 0
    return {"stride": item.params["stride"], "padding": padding}


def _convolved(weight: str) -> Callable[[Item], Arguments]:
    def arguments(item: Item) -> Arguments:
        tensors = item.tensors
        return [tensors["x"], tensors[weight], tensors["bias"]], _window(item)

    return arguments


def _pooled(item: Item) -> Arguments:
    return [item.tensors["x"], item.params["kernel"]], _window(item)


def _from_rows(*names: str) -> Callable[[Item], Arguments]:
    """x, the dimension 0, and these."""

    def arguments(item: Item) -> Arguments:
        tensors = item.tensors
        return [tensors["x"], 0, *(tensors[name] for name in names)], {}

    return arguments


def _filled(item: Item) -> Arguments:
    return [item.tensors["x"], item.tensors["mask"], 0.5], {}


def _taken_along(item: Item) -> Arguments:
    return [item.tensors["x"], item.tensors["places"], 0], {}


_UNARY = Recipe(UnaryOpFuzzer, ("x",))
_BINARY = Recipe(BinaryOpFuzzer, ("x", "y"))
_REDUCED = Recipe(ReductionOpFuzzer, _reduced)
_ALONG = Recipe(ReductionOpFuzzer, _along)
_SPARSE = Recipe(SparseMatrixFuzzer, ("x", "w"))
# For what torch does with this layout only.
_COO = Recipe(lambda seed, dtype: SparseMatrixFuzzer(seed, dtype, layout="sparse_coo"), ("x",))
_SPECTRAL = Recipe(lambda seed, dtype: SpectralOpFuzzer(seed=seed, dtype=dtype), ("x",))


def _matrices(*args: str) -> Recipe:
    return Recipe(MatmulOpFuzzer, args)


def _batches(*args: str) -> Recipe:
    return Recipe(lambda seed, dtype: MatmulOpFuzzer(seed, dtype, batch=True), args)


def _images(dims: int, arguments: Callable[[Item], Arguments]) -> Recipe:
    return Recipe(lambda seed, dtype: ConvolutionOpFuzzer(seed, dtype, dims=dims), arguments)


def _rows(arguments: tuple[str, ...] | Callable[[Item], Arguments]) -> Recipe:
    return Recipe(IndexingOpFuzzer, arguments)


FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Family(
            "unary",
            "one tensor",
            _UNARY,
            _named(
                _UNARY,
                "abs absolute acos acosh angle asin asinh atan atanh ceil clone conj_physical contiguous"
                " cos cosh deg2rad digamma elu erf erfc erfinv exp exp2 expm1 fix floor frac gelu hardshrink"
                " hardsigmoid hardswish hardtanh i0 isfinite isinf isnan isneginf isposinf leaky_relu lgamma"
                " log log10 log1p log2 logical_not logit logsigmoid mish nan_to_num neg negative positive"
                " rad2deg reciprocal relu relu6 round rsqrt selu sgn sigmoid sign signbit silu sin sinc sinh"
                " softplus softshrink softsign sqrt square tan tanh tanhshrink trunc",
            )
            | _named(Recipe(UnaryOpFuzzer, ("x",), "int64"), "bitwise_not"),
        ),
        Family(
            "binary",
            "two tensors that broadcast",
            _BINARY,
            _named(
                _BINARY,
                "add arctan2 atan2 copysign div divide eq float_power floor_divide fmax fmin fmod ge"
                " greater gt heaviside hypot le less logaddexp logaddexp2 logical_and logical_or logical_xor"
                " lt maximum minimum mul multiply ne nextafter not_equal pow remainder rsub sub subtract"
                " true_divide xlogy",
            )
            | _named(
                Recipe(BinaryOpFuzzer, ("x", "y"), "int64"),
                "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm",
            ),
        ),
        Family(
            "reduction",
            "a tensor and a dimension",
            _REDUCED,
            _named(
                _REDUCED,
                "all amax amin any argmax argmin logsumexp mean median mode nanmean nanmedian"
                " nansum prod std sum var",
            )
            | _named(
                _ALONG, "argsort cummax cummin cumprod cumsum logcumsumexp log_softmax softmax softmin sort"
            )
            | _named(Recipe(ReductionOpFuzzer, _normalized), "aminmax count_nonzero normalize"),
        ),
        Family(
            "matmul",
            "matrices",
            _matrices("x", "y"),
            _named(_matrices("x", "y"), "mm matmul")
            | _named(_matrices("z", "x", "y"), "addmm")
            | _named(_matrices("x", "vector"), "mv")
            | _named(_matrices("x", "weight", "bias"), "linear")
            | _named(_matrices("vector", "bias"), "outer ger")
            | _named(_matrices("vector", "vector"), "dot inner vdot")
            | _named(_batches("x", "y"), "bmm")
            | _named(_batches("z", "x", "y"), "baddbmm"),
        ),
        Family(
            "convolution",
            "images and a kernel",
            _images(2, _convolved("weight")),
            {f"conv{dims}d": _images(dims, _convolved("weight")) for dims in (1, 2, 3)}
            | {f"conv_transpose{dims}d": _images(dims, _convolved("transposed_weight")) for dims in (1, 2, 3)}
            | {
                f"{kind}_pool{dims}d": _images(dims, _pooled) for kind in ("avg", "max") for dims in (1, 2, 3)
            },
        ),
        Family(
            "indexing",
            "a table and indices into it",
            _rows(_from_rows("index")),
            _named(_rows(_from_rows("index")), "index_select")
            | _named(_rows(_from_rows("places")), "gather")
            | _named(_rows(_from_rows("index", "source")), "index_add index_copy")
            | _named(_rows(_from_rows("places", "source")), "scatter scatter_add")
            | _named(_rows(("index", "x")), "embedding")
            # The same by another name takes its arguments the other way round.
            | _named(_rows(("x", "index")), "torch.embedding torch.ops.aten.embedding")
            | _named(_rows(("x", "index")), "take")
            | _named(_rows(("x", "mask")), "masked_select")
            | _named(_rows(_filled), "masked_fill")
            | _named(_rows(_taken_along), "take_along_dim"),
        ),
        Family(
            "spectral",
            "a tensor whose sizes are products of 2, 3 and 5",
            _SPECTRAL,
            _named(_SPECTRAL, "fft ifft rfft irfft hfft ihfft fftn ifftn rfftn irfftn"),
            ("torch.fft.",),
        ),
        Family(
            "sparse",
            "a sparse matrix, and a dense one",
            _SPARSE,
            _named(_SPARSE, "mm")
            | _named(Recipe(SparseMatrixFuzzer, ("x",)), "to_dense")
            | _named(_COO, "sum")
            | _named(Recipe(SparseMatrixFuzzer, ("y", "x")), "sparse_mask"),
            ("torch.sparse.",),
        ),
    )
}
