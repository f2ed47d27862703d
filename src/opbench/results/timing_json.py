"""Measurements of a Timer as JSON and back. No pickle: a file from elsewhere is data."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

import msgspec

from opbench.cases.errors import ArgumentError
from opbench.results.encoding import RecordError, decode, encode
from opbench.results.kinds import document_of
from opbench.results.records import Caution, Row
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement, Source

VERSION = 1
KIND = "opbench.timing"


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    version: int
    task_spec: TaskSpec
    number_per_run: int
    raw_times: list[float]
    metadata: dict[str, Any] | None = None
    source: Source = ""
    disturbed_times: list[float] = []
    cautions: tuple[Caution, ...] = ()
    baseline_s: float = 0.0
    baseline_uncertainty_s: float = 0.0
    row: dict[str, Any] | None = None


def to_json(measurement: Measurement) -> str:
    """The measurement as one line of JSON, without loss."""
    document = {
        "kind": KIND,
        "version": VERSION,
        "task_spec": asdict(measurement.task_spec),
        "number_per_run": measurement.number_per_run,
        "raw_times": measurement.raw_times,
        "metadata": measurement.metadata,
        "source": measurement.source,
        "disturbed_times": measurement.disturbed_times,
        "cautions": [msgspec.to_builtins(caution) for caution in measurement.cautions],
        "baseline_s": measurement.baseline_s,
        "baseline_uncertainty_s": measurement.baseline_uncertainty_s,
        "row": json.loads(encode(measurement.row)) if measurement.row is not None else None,
    }
    try:
        text = json.dumps(document, allow_nan=False)
        same = json.loads(text)["metadata"] == measurement.metadata
    except (TypeError, ValueError) as error:
        raise ArgumentError(f"metadata cannot be written as JSON: {error}") from None
    if not same:
        raise ArgumentError(
            "metadata would not come back from JSON as it is: it may hold texts, numbers, true, false, None, "
            "lists, and dicts with texts for keys"
        )
    return text


def from_json(text: str) -> Measurement:
    """The measurement that `to_json` made this text from."""
    document = document_of(text, KIND, VERSION, "a measurement")
    try:
        read = msgspec.convert(document, _Document)
        row = decode(json.dumps(read.row), Row) if read.row is not None else None
    except (msgspec.ValidationError, RecordError) as error:
        raise ArgumentError(f"text is no measurement: {error}") from None
    return Measurement(
        read.number_per_run,
        read.raw_times,
        read.task_spec,
        read.metadata,
        source=read.source,
        disturbed_times=read.disturbed_times,
        cautions=read.cautions,
        baseline_s=read.baseline_s,
        baseline_uncertainty_s=read.baseline_uncertainty_s,
        row=row,
    )
