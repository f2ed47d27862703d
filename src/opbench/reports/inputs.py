"""What a case is called with, in one short line: `f32[64,64] f32[64,64] alpha=2`."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import msgspec

from opbench.cases import values
from opbench.cases.model import Arguments, Build, Case
from opbench.reports.text import printable

_SHORT_NAMES = (
    ("torch.nn.functional.", "F."),
    ("torch.nn.", "nn."),
    ("torch.Tensor.", "Tensor."),
    ("torch.ops.", ""),
)
_SHORT_DTYPES = (("bfloat", "bf"), ("float", "f"), ("uint", "u"), ("int", "i"), ("complex", "c"))
# So many equal values in a row are written out; more become one with a count.
_MOST_REPEATED = 3


def short_op(name: str) -> str:
    """The operator's name as people write it (`F.gelu`); it is understood on the command line too."""
    for prefix, short in _SHORT_NAMES:
        if name.startswith(prefix):
            return short + name[len(prefix) :]
    return name


def short_dtype(name: str) -> str:
    """The usual abbreviation of a dtype: `f32`, `bf16`, `i64`, `f8_e4m3fn`."""
    for prefix, short in _SHORT_DTYPES:
        if name.startswith(prefix):
            return short + name[len(prefix) :]
    return name


def describe_inputs(case: Case) -> str:
    """The arguments of a case, those of its constructor first in brackets."""
    parts = [_built(case.build)] if case.build is not None else []
    parts.append(_arguments(Arguments(case.args, case.kwargs), " "))
    return " ".join(part for part in parts if part)


def describe_variant(case: Case) -> str:
    """How the case is run, as far as it is not the usual way: `compile, 4 threads`."""
    parts = [
        "" if case.runtime == "eager" else case.runtime,
        "" if case.device == "cpu" else case.device,
        "" if case.num_threads == 1 else f"{case.num_threads} threads",
        "" if case.seed == 0 else f"seed {case.seed}",
    ]
    return ", ".join(part for part in parts if part)


def describe_row(
    case: Case, environment: str = "this", repeat: int = 0, attempt: int = 0, *, short: bool = False
) -> tuple[str, str]:
    """Name and inputs of a row, with all that tells it from others of the same case; safe to print."""
    name = short_op(case.name) if short else case.name
    variant = [
        describe_variant(case),
        "" if environment == "this" else environment,
        f"repeat {repeat}" if repeat else "",
        f"attempt {attempt}" if attempt else "",
    ]
    parts = [case.sub_label, ", ".join(part for part in variant if part), describe_inputs(case)]
    return printable(name), printable(" · ".join(part for part in parts if part))


def _built(build: Build) -> str:
    dtype = f":{short_dtype(build.dtype)}" if build.dtype else ""
    return f"({_arguments(build, ', ')}){dtype}"


def _arguments(arguments: Arguments, separator: str) -> str:
    named = [f"{name}={describe_value(value)}" for name, value in arguments.kwargs.items()]
    return separator.join([*_collapsed(arguments.args), *named])


def _collapsed(items: Iterable[values.AnyValue]) -> list[str]:
    parts: list[str] = []
    for text, equal in groupby(describe_value(item) for item in items):
        times = sum(1 for _ in equal)
        parts += [text] * times if times <= _MOST_REPEATED else [f"{text} ×{times}"]
    return parts


def describe_value(value: values.AnyValue) -> str:
    """One value, as short as it can be told."""
    if isinstance(value, values.Tensor):
        return _tensor(value)
    if isinstance(value, (values.Int, values.Float)):
        if value.value is None and value.value_range is not None:
            return f"{value.value_range[0]}..{value.value_range[1]}"
        return str(value.value)
    if isinstance(value, values.Complex):
        imag = str(value.imag)
        return f"{value.real}{'' if imag.startswith('-') else '+'}{imag}j"
    if isinstance(value, values.Str):
        return repr(value.value)
    if isinstance(value, values.DType):
        return short_dtype(value.value)
    if isinstance(value, values.Null):
        return "None"
    if isinstance(value, values.Slice):
        ends = ["" if end is None else str(end) for end in (value.start, value.stop)]
        return ":".join(ends if value.step is None else [*ends, str(value.step)])
    if isinstance(value, values.Ellipsis):
        return "..."
    if isinstance(value, values.Generator):
        return "generator"
    if isinstance(value, values.List):
        return f"[{', '.join(_collapsed(value.value))}]"
    if isinstance(value, values.Tuple):
        return f"({', '.join(_collapsed(value.value))})"
    if isinstance(value, values.Dict):
        items = (f"{key}: {describe_value(item)}" for key, item in value.value.items())
        return f"{{{', '.join(items)}}}"
    return "device" if value.value is None else str(value.value)


def _tensor(tensor: values.Tensor) -> str:
    text = f"{short_dtype(tensor.dtype)}[{','.join(map(str, tensor.shape))}]"
    if tensor.strides is not None:
        text += f"/{','.join(map(str, tensor.strides))}"
    if tensor.layout != "strided":
        text += f":{tensor.layout}"
    if tensor.memory_format is not None:
        text += f":{tensor.memory_format}"
    if tensor.fill is not None:
        text += f"~{_fill(tensor.fill)}"
    return text


def _fill(fill: values.AnyFill) -> str:
    document = msgspec.to_builtins(fill)
    kind = document.pop("kind")
    if isinstance(fill, values.Literal):
        return "literal"
    return f"{kind}({','.join(map(str, document.values()))})" if document else str(kind)
