"""Every cell as one flat record, for programs: CSV, JSON and data frames."""

from __future__ import annotations

import csv
import importlib
import io
import json
import math
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, TypeAlias

from opbench.cases.errors import ArgumentError, UsageError
from opbench.reports.compare.entries import Entry
from opbench.reports.compare.grid import Contrast, Grid, GridRow
from opbench.results.timing import Measurement

Library: TypeAlias = Literal["pandas", "polars"]
LIBRARIES: tuple[Library, ...] = ("pandas", "polars")


_NUMBERS: dict[str, Callable[[Measurement], float]] = {
    "mean_s": lambda times: times.mean,
    "std_s": lambda times: times.std,
    "iqr_s": lambda times: times.iqr,
    "mad_s": lambda times: times.mad,
    "min_s": lambda times: times.min,
    "max_s": lambda times: times.max,
}


def records_of(grids: Sequence[Grid]) -> Iterator[dict[str, Any]]:
    """One record for each cell. Times are in seconds; what is not known is None."""
    for grid in grids:
        for row in grid.rows:
            for title, entry, contrast in zip(grid.columns, row.cells, row.contrasts, strict=True):
                if entry is not None:
                    yield {
                        **_names(entry, row, title),
                        **_numbers(entry.times),
                        **_comparison(contrast),
                    }


def _names(entry: Entry, row: GridRow, title: str) -> dict[str, Any]:
    task = entry.task
    return {
        "label": task.label,
        "num_threads": task.num_threads,
        "env": task.env,
        "row": row.name,
        "column": title,
        "sub_label": task.sub_label,
        "description": task.description,
        "stmt": task.stmt,
        "setup": task.setup,
        "global_setup": task.global_setup,
        "language": task.language,
        "case_id": entry.case_id or None,
        "status": entry.status,
        "reason": entry.reason or None,
    }


def _numbers(times: Measurement | None) -> dict[str, Any]:
    span = times.interval() if times is not None else None
    return {
        "samples": len(times.raw_times) if times is not None else 0,
        "median_s": times.median if times is not None else None,
        "low_s": span.low if span is not None else None,
        "high_s": span.high if span is not None else None,
        "confidence": span.confidence if span is not None else None,
        **{name: _finite(number(times)) if times is not None else None for name, number in _NUMBERS.items()},
        "disturbed_samples": len(times.disturbed_times) if times is not None else 0,
        "warnings": " ".join(" ".join(text.split()) for text in times.warnings) if times is not None else "",
    }


def _comparison(contrast: Contrast | None) -> dict[str, Any]:
    return {
        "ratio": _finite(contrast.ratio) if contrast is not None else None,
        "ratio_low": _finite(contrast.low) if contrast is not None else None,
        "ratio_high": _finite(contrast.high) if contrast is not None else None,
        "verdict": contrast.verdict if contrast is not None else None,
        "verdict_reason": contrast.reason or None if contrast is not None else None,
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
