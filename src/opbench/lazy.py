"""Names that a module offers without importing what they come from before somebody asks."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def offer(
    module: str, homes: Mapping[str, str], space: dict[str, Any]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` for a module whose names are at home elsewhere; `space` is its globals."""

    def get(name: str) -> Any:
        home = homes.get(name)
        if home is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        found = getattr(importlib.import_module(home), name)
        space[name] = found
        return found

    def names() -> list[str]:
        return sorted({*space, *homes})

    return get, names
