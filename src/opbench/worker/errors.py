"""Why a case cannot be measured, as far as the worker knows."""

from __future__ import annotations


class Unsupported(Exception):  # noqa: N818 (it becomes a status, not an error)
    """The case is well-formed but cannot be done here (no such operator, no derivative, no device)."""
