"""Finding the tensors in whatever an operator returns."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

# Results nest two or three deep; a deeper one is a mistake or a trap.
DEEPEST = 8


def tensors_in(value: Any) -> list[tuple[str, Any]]:
    """Every tensor in a nest of tuples, lists, dicts and dataclasses, with its path as source (`[0].x`)."""
    import torch

    return [(path, leaf) for path, leaf in _leaves(value, "", 0) if isinstance(leaf, torch.Tensor)]


def _leaves(value: Any, path: str, depth: int) -> Iterator[tuple[str, Any]]:
    if depth > DEEPEST:
        return
    if isinstance(value, tuple | list):
        for position, item in enumerate(value):
            yield from _leaves(item, f"{path}[{position}]", depth + 1)
    elif isinstance(value, Mapping):
        for key, item in value.items():
            if isinstance(key, str | int):
                yield from _leaves(item, f"{path}[{key!r}]", depth + 1)
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        for field in dataclasses.fields(value):
            # A field that was never set is no output.
            yield from _leaves(getattr(value, field.name, None), f"{path}.{field.name}", depth + 1)
    else:
        yield path, value


def distinct(tensors: list[Any]) -> tuple[Any, ...]:
    """The same tensors without repetitions, in order."""
    seen: dict[int, Any] = {}
    for tensor in tensors:
        seen.setdefault(id(tensor), tensor)
    return tuple(seen.values())
