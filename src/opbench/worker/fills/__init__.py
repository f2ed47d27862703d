"""Fills: how the numbers of a tensor are drawn. `filled(spec, target)` draws them."""

from __future__ import annotations

from opbench.worker.fills import file, matrices, normal, numbers, rows, zipf
from opbench.worker.fills.registry import FILLS, Target, default_fill, fill, filled

__all__ = [
    "FILLS",
    "Target",
    "default_fill",
    "file",
    "fill",
    "filled",
    "matrices",
    "normal",
    "numbers",
    "rows",
    "zipf",
]
