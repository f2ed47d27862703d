"""Fills: how the numbers of a tensor are drawn. `filled(spec, target)` draws them."""

from __future__ import annotations

from opbench.worker.fills import file, matrices, normal, numbers, rows, zipf
from opbench.worker.fills.registry import FILLED_DIMENSIONS, FILLS, Target, default_fill, fill, filled

__all__ = [
    "FILLED_DIMENSIONS",
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
