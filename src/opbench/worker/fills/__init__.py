"""Fills: how the numbers of a tensor are drawn. `filled(spec, target)` draws them."""

from __future__ import annotations

from opbench.worker.fills import file, normal, numbers, rows, zipf
from opbench.worker.fills.registry import FILLS, Target, default_fill, fill, filled

__all__ = [
    "FILLS",
    "Target",
    "default_fill",
    "file",
    "fill",
    "filled",
    "normal",
    "numbers",
    "rows",
    "zipf",
]
