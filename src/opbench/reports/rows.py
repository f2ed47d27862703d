"""A measurement as one flat object: what `--json` prints."""

from __future__ import annotations

import json
import math
from typing import Any

from opbench.reports.inputs import describe_inputs
from opbench.results.records import Measurement


def row_document(row: Measurement) -> dict[str, Any]:
    """The row without samples, its metrics by tag. Keys are stable: scripts rely on them."""
    case = row.case
    time = row.metric("time")
    interval = time.interval if time else None
    return {
        "case_id": row.case_id,
        "status": row.status,
        "reason": row.reason,
        "op": case.op,
        "stmt": case.stmt,
        "label": case.label,
        "sub_label": case.sub_label,
        "inputs": describe_inputs(case),
        "direction": case.direction,
        "runtime": case.runtime,
        "device": case.device,
        "num_threads": case.num_threads,
        "tags": list(case.tags),
        "environment": row.environment,
        "run_id": row.run_id,
        "repeat": row.repeat,
        "attempt": row.attempt,
        "time_s": _finite(time.value) if time else None,
        "time_low_s": _finite(interval.low) if interval else None,
        "time_high_s": _finite(interval.high) if interval else None,
        "confidence": interval.confidence if interval else None,
        "samples": len(time.samples) if time else 0,
        "metrics": {metric.tag: _finite(metric.value) for metric in row.metrics},
        "warnings": [warning.code for warning in row.warnings],
        "started_at": row.started_at,
        "duration_s": row.duration_s,
    }


def row_line(row: Measurement) -> str:
    """The row as one line of JSON, ASCII only."""
    return json.dumps(row_document(row), allow_nan=False)


def case_line(case_id: str, document: dict[str, Any]) -> str:
    """A case as one line of JSON with its id in front."""
    return json.dumps({"case_id": case_id, **document}, allow_nan=False)


def _finite(value: float | int | None) -> float | int | None:
    # JSON has no infinities, and null says the same: there is no number.
    return value if value is not None and math.isfinite(value) else None
