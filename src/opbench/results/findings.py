"""What the doctor finds: one thing at a time, with what to do about it."""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

# `unknown`: cannot be told here. `caution`: works, and numbers suffer. `missing`: something that not everyone
# needs is not there. `broken`: nothing can be measured, or kept, before it is mended.
State: TypeAlias = Literal["fine", "unknown", "caution", "missing", "broken"]


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing about this machine: in words, and as `facts` for programs."""

    topic: str
    state: State
    text: str
    advice: str = ""
    facts: dict[str, Any] = {}
