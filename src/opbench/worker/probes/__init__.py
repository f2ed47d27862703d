"""How a callable is measured. Each probe has `measure(prepared, plan, device) -> (metrics, warnings)`."""

from __future__ import annotations

from typing import Any


def caution(code: str, message: str) -> dict[str, str]:
    """A warning as the reply carries it: a code for programs, a text for people."""
    return {"code": code, "message": message}


def make_ready(prepared: Any) -> None:
    """Bring a prepared case to where its next call is one like all others, with its operands restored."""
    if prepared.body.setup or prepared.body.native is not None:
        # A snippet's set-up runs in front of its first statement, and is not to be counted.
        prepared.once()
    if prepared.pool is not None:
        # The copy that a call writes to is made at its first use.
        prepared.pool.blank(1)
    prepared.restore()


def metric(tag: str, value: float | None, unit: str, hint: str, **more: Any) -> dict[str, Any]:
    """A metric as the reply carries it; `more` may hold samples, flags, interval, better, provenance."""
    kept = {name: part for name, part in more.items() if part not in (None, (), [], {})}
    return {"tag": tag, "value": value, "unit": unit, "hint": hint, **kept}
