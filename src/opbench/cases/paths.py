"""Paths as people type them."""

from __future__ import annotations

from pathlib import Path


def user_path(text: str) -> Path:
    """The path with `~` and `~name` as the home they stand for; as it is where nobody has that name."""
    try:
        return Path(text).expanduser()
    except RuntimeError:
        return Path(text)
