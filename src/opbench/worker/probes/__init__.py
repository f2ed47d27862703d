"""How a callable is measured. Each probe has `measure(prepared, plan, device) -> (metrics, warnings)`."""

from __future__ import annotations

from typing import Any


def caution(code: str, message: str) -> dict[str, str]:
    """A warning as the reply carries it: a code for programs, a text for people."""
    return {"code": code, "message": message}


def metric(tag: str, value: float | None, unit: str, hint: str, **more: Any) -> dict[str, Any]:
    """A metric as the reply carries it; `more` may hold samples, flags, interval, better, provenance."""
    kept = {name: part for name, part in more.items() if part not in (None, (), [], {})}
    return {"tag": tag, "value": value, "unit": unit, "hint": hint, **kept}
