"""Builds the arguments of a call from their specs: the canonical JSON forms of values.

All numbers are drawn on the CPU from (seed, work id, argument path) and then moved, so they are the
same on every machine and device, and whatever ran before.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeAlias

import torch

from opbench.worker.dtypes import dtype_named
from opbench.worker.errors import Unsupported
from opbench.worker.layouts import layout_named, memory_format_named
from opbench.worker.streams import Stream, stream_for
from opbench.worker.tensors import available_device, tensor

Spec: TypeAlias = dict[str, Any]


class Builder:
    """Builds values for one case. What was drawn from a `value_range` is in `drawn`, by argument path."""

    def __init__(self, *, seed: int, work_id: str, device: str, direction: str, folder: str = "") -> None:
        self.seed = seed
        self.work_id = work_id
        self.device = device
        self.direction = direction
        self.folder = folder
        self.drawn: dict[str, float | int] = {}

    def arguments(
        self, args: list[Spec], kwargs: dict[str, Spec], path: str = ""
    ) -> tuple[list[Any], dict[str, Any]]:
        """The positional and the keyword arguments of a call, in the order they are given."""
        prefix = f"{path}." if path else ""
        positional = [self.value(spec, f"{prefix}args[{index}]") for index, spec in enumerate(args)]
        keyword = {name: self.value(spec, _inside(f"{prefix}kwargs", name)) for name, spec in kwargs.items()}
        return positional, keyword

    def value(self, spec: Spec, path: str) -> Any:
        """One value. `path` names its random stream, and no other value's."""
        build = BUILDERS.get(spec["type"])
        if build is None:
            raise Unsupported(
                f"no value has the type {spec['type']!r}; there are {', '.join(sorted(BUILDERS))}"
            )
        return build(self, spec, path)

    def stream(self, path: str) -> Stream:
        """The random words of one value."""
        return stream_for(self.seed, self.work_id, path)


def _tensor(builder: Builder, spec: Spec, path: str) -> torch.Tensor:
    return tensor(
        spec,
        stream=builder.stream(path),
        device=available_device(spec.get("device") or builder.device),
        with_gradient=builder.direction != "forward",
        folder=builder.folder,
    )


def _int(builder: Builder, spec: Spec, path: str) -> int:
    if spec.get("value_range") is None:
        return int(spec.get("value") or 0)
    low, high = spec["value_range"]
    drawn = int(low) + builder.stream(path).integer(int(high) - int(low) + 1)
    builder.drawn[path] = drawn
    return drawn


def _float(builder: Builder, spec: Spec, path: str) -> float:
    if spec.get("value_range") is None:
        return float(spec.get("value") or 0.0)
    low, high = map(float, spec["value_range"])
    share = builder.stream(path).integer(1 << 53) / (1 << 53)
    # Not low + share * (high - low): the difference may be more than a float holds.
    drawn = min(max(low * (1.0 - share) + high * share, low), high)
    builder.drawn[path] = drawn
    return drawn


def _generator(builder: Builder, spec: Spec, path: str) -> torch.Generator:
    try:
        generator = torch.Generator(available_device(builder.device))
    except RuntimeError as error:
        raise Unsupported(f"torch has no random number generator for {builder.device}: {error}") from None
    return generator.manual_seed(builder.stream(path).integer(1 << 63))


def _items(builder: Builder, spec: Spec, path: str) -> list[Any]:
    return [builder.value(item, f"{path}[{index}]") for index, item in enumerate(spec.get("value", ()))]


def _dict(builder: Builder, spec: Spec, path: str) -> dict[str, Any]:
    return {name: builder.value(item, _inside(path, name)) for name, item in spec.get("value", {}).items()}


def _inside(path: str, name: str) -> str:
    """The path of a named value; quoted names are never those of another value further inside."""
    plain = name.isascii() and name.isidentifier()
    return f"{path}.{name}" if plain else f"{path}[{json.dumps(name)}]"


def _complex(builder: Builder, spec: Spec, path: str) -> complex:
    return complex(float(spec.get("real", 0.0)), float(spec.get("imag", 0.0)))


BUILDERS: dict[str, Callable[[Builder, Spec, str], Any]] = {
    "tensor": _tensor,
    "int": _int,
    "float": _float,
    "complex": _complex,
    "bool": lambda builder, spec, path: bool(spec["value"]),
    "str": lambda builder, spec, path: str(spec["value"]),
    "none": lambda builder, spec, path: None,
    "device": lambda builder, spec, path: available_device(spec.get("value") or builder.device),
    "dtype": lambda builder, spec, path: dtype_named(spec["value"]),
    "layout": lambda builder, spec, path: layout_named(spec["value"]),
    "memory_format": lambda builder, spec, path: memory_format_named(spec["value"]),
    "generator": _generator,
    "slice": lambda builder, spec, path: slice(spec.get("start"), spec.get("stop"), spec.get("step")),
    "ellipsis": lambda builder, spec, path: ...,
    "list": _items,
    "tuple": lambda builder, spec, path: tuple(_items(builder, spec, path)),
    "dict": _dict,
}
