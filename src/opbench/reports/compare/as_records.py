"""Every cell as one flat record, for programs: CSV, JSON and data frames."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Iterator, Sequence
from typing import Any, Literal, TypeAlias

from opbench.cases.errors import ArgumentError, UsageError
from opbench.reports.compare.contrasts import Contrast, Contrasts
from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Grid, Row

Library: TypeAlias = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars")


def records_of(
    tables: Sequence[Grid], places: Sequence[Sequence[int]], ratios: Contrasts | None
) -> Iterator[dict[str, Any]]:
    """One record for each cell. Times are in seconds; what is not known is None."""
    for number, grid in enumerate(tables):
        for place, row in zip(places[number], grid.rows, strict=True):
            for column, entry in enumerate(row.cells):
                if entry is not None:
                    contrast = ratios.found.get((number, place, column)) if ratios is not None else None
                    yield _record(entry, row, grid.columns[column], contrast)


def _record(entry: Entry, row: Row, column: str, contrast: Contrast | None) -> dict[str, Any]:
    task = entry.task
    return {
        "label": task.label,
        "num_threads": task.num_threads,
        "env": task.env,
        "row": row.name,
        "column": column,
        "sub_label": task.sub_label,
        "description": task.description,
        "stmt": task.stmt,
        "setup": task.setup,
        "global_setup": task.global_setup,
        "language": task.language,
        "case_id": entry.case_id or None,
        "status": entry.status,
        "reason": entry.reason or None,
        **_numbers(entry),
        "ratio": _finite(contrast.ratio) if contrast else None,
        "ratio_low": _finite(contrast.low) if contrast else None,
        "ratio_high": _finite(contrast.high) if contrast else None,
        "verdict": contrast.verdict if contrast else None,
        "verdict_reason": contrast.reason or None if contrast else None,
    }


def _numbers(entry: Entry) -> dict[str, Any]:
    times = entry.times
    span = times.interval() if times is not None else None
    return {
        "samples": len(times.raw_times) if times is not None else 0,
        "median_s": times.median if times is not None else None,
        "low_s": span.low if span is not None else None,
        "high_s": span.high if span is not None else None,
        "confidence": span.confidence if span is not None else None,
        "mean_s": times.mean if times is not None else None,
        "std_s": _finite(times.std) if times is not None else None,
        "iqr_s": times.iqr if times is not None else None,
        "mad_s": times.mad if times is not None else None,
        "min_s": times.min if times is not None else None,
        "max_s": times.max if times is not None else None,
        "disturbed_samples": len(times.disturbed_times) if times is not None else 0,
        "warnings": " ".join(" ".join(text.split()) for text in times.warnings) if times is not None else "",
    }


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def csv_of(records: Sequence[dict[str, Any]]) -> str:
    """The records with a line of names above; numbers are written so that none of their digits is lost."""
    out = io.StringIO()
    if records:
        writer = csv.DictWriter(out, list(records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(records)
    return out.getvalue()


def json_of(records: Sequence[dict[str, Any]]) -> str:
    """The records as a JSON list."""
    return json.dumps(list(records), indent=1, allow_nan=False)


def frame_of(records: Sequence[dict[str, Any]], library: Library | None) -> Any:
    """The records as a data frame of pandas or polars, of the first that is installed unless one is named."""
    if library is not None and library not in LIBRARIES:
        raise ArgumentError(f"library must be one of {', '.join(LIBRARIES)}, not {library!r}")
    wanted = LIBRARIES if library is None else (library,)
    for name in wanted:
        try:
            module = importlib.import_module(name)
        except ImportError:
            continue
        # What is None in the first rows may be a number further down.
        return module.DataFrame(list(records), **({"infer_schema_length": None} if name == "polars" else {}))
    raise UsageError(
        f"to_dataframe needs {' or '.join(wanted)}, which is not installed: pip install {wanted[0]}"
    )
