"""The nearest valid name to a mistyped one."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


def nearest(name: str, valid: Iterable[str]) -> str:
    """The valid name most like `name`, or an empty string when none is much like it."""
    names = list(valid)
    folded = {candidate.lower(): candidate for candidate in names}
    matches = difflib.get_close_matches(name.lower()[:200], folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else ""
