"""Where in memory the numbers of a tensor lie: strides, offsets, memory formats.

A tensor has the same numbers at the same indices whatever its strides. Where several indices share a
place in memory that cannot be: an expanded dimension (stride 0) counts as having size 1, and any other
shared place holds the number of the first index that reaches it.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch

from opbench.worker.errors import Unsupported

MEMORY_FORMATS = ("contiguous_format", "preserve_format", "channels_last", "channels_last_3d")
# Whole-number dtypes by the size of an element.
BITS = {1: torch.int8, 2: torch.int16, 4: torch.int32, 8: torch.int64}
# More than any memory holds, and few enough that torch can count their bytes.
MOST_NUMBERS = 1 << 56
# With swap space. Some systems lend any address space, and end the process that uses it.
MOST_TIMES_PHYSICAL = 4
MakeNumbers = Callable[[tuple[int, ...]], torch.Tensor]


def memory_format_named(name: str) -> torch.memory_format:
    """The torch memory format of that name."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.memory_format):
        raise Unsupported(
            f"torch has no memory format called {name!r}; there are {', '.join(MEMORY_FORMATS)}"
        )
    return found


def layout_named(name: str) -> torch.layout:
    """The torch layout of that name."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.layout):
        raise Unsupported(f"torch {torch.__version__} has no layout called {name!r}")
    return found


def contiguous_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides of a row-major tensor."""
    strides: list[int] = []
    step = 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))


def wanted_strides(spec: dict[str, Any], shape: tuple[int, ...]) -> tuple[int, ...]:
    """The strides that a tensor spec asks for."""
    if spec.get("strides") is not None:
        strides = tuple(spec["strides"])
        if len(strides) != len(shape):
            raise Unsupported(f"{len(strides)} strides were given for a tensor of {len(shape)} dimensions")
        return strides
    name = spec.get("memory_format")
    if name is None or name in ("contiguous_format", "preserve_format"):
        return contiguous_strides(shape)
    ranks = {"channels_last": 4, "channels_last_3d": 5}
    if len(shape) != ranks.get(name, len(shape)):
        raise Unsupported(f"{name} is for tensors of {ranks[name]} dimensions, not of {len(shape)}")
    return tuple(torch.empty(shape, device="meta", memory_format=memory_format_named(name)).stride())


def strided(
    make: MakeNumbers, shape: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: torch.dtype
) -> torch.Tensor:
    """Memory (one-dimensional, on the CPU) that holds, seen through strides and offset, what `make` gives."""
    if not offset and strides == contiguous_strides(shape):
        return make(shape).view(-1)
    memory = torch.zeros(offset + span(shape, strides), dtype=dtype, device="cpu")
    if not math.prod(shape):
        return memory
    once = tuple(1 if stride == 0 else size for size, stride in zip(shape, strides, strict=True))
    numbers = make(once)
    if places_are_distinct(once, strides):
        memory.as_strided(once, strides, offset).copy_(numbers)
    else:
        _scatter_first(memory, numbers.view(-1), once, strides, offset)
    return memory


def seen_through(
    memory: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> torch.Tensor:
    """The tensor of these strides in `memory`: no view, so that it can be a leaf that is written to."""
    return torch.empty(0, dtype=memory.dtype, device=memory.device).set_(
        memory.untyped_storage(), offset, shape, strides
    )


def as_bits(numbers: torch.Tensor) -> torch.Tensor:
    """The same memory as whole numbers: torch indexes those of any size, but not all dtypes."""
    return numbers.view(BITS.get(numbers.element_size(), numbers.dtype))


def span(shape: tuple[int, ...], strides: tuple[int, ...]) -> int:
    """How many elements of memory a tensor reaches over, from its first on."""
    if not math.prod(shape):
        return 0
    return 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))


def require_memory(count: int, shape: tuple[int, ...]) -> None:
    """Say that there is no memory for so many numbers, where no allocator is sure to say it."""
    if count >= _most_numbers():
        raise MemoryError(f"out of memory: a tensor of shape {list(shape)} takes {count} numbers")


@lru_cache(maxsize=1)
def _most_numbers() -> int:
    try:
        physical_bytes = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):  # a system that does not tell
        return MOST_NUMBERS
    return min(MOST_NUMBERS, MOST_TIMES_PHYSICAL * physical_bytes)


def places_are_distinct(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """True when no two elements share a place in memory."""
    reach = 0
    for stride, size in sorted(zip(strides, shape, strict=True)):
        if size > 1:
            if stride <= reach:
                # Not as usual, where each stride steps over all that the smaller ones reach.
                places = _places(shape, strides, 0)
                return len(places.unique()) == len(places)
            reach += (size - 1) * stride
    return True


def _places(shape: tuple[int, ...], strides: tuple[int, ...], offset: int) -> torch.Tensor:
    """Where in memory each element lies."""
    places = torch.full((1,) * len(shape), offset, dtype=torch.int64, device="cpu")
    for dim, (size, stride) in enumerate(zip(shape, strides, strict=True)):
        steps = torch.arange(size, dtype=torch.int64, device="cpu").mul_(stride)
        places = places + steps.view([-1 if other == dim else 1 for other in range(len(shape))])
    return places.reshape(-1)


def _scatter_first(
    memory: torch.Tensor, numbers: torch.Tensor, shape: tuple[int, ...], strides: tuple[int, ...], offset: int
) -> None:
    sorted_places, order = _places(shape, strides, offset).sort(stable=True)
    is_first = torch.ones_like(sorted_places, dtype=torch.bool)
    is_first[1:] = sorted_places[1:] != sorted_places[:-1]
    as_bits(memory)[sorted_places[is_first]] = as_bits(numbers)[order[is_first]]
