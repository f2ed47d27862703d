"""Records that never change, for tests of where they are kept."""

from __future__ import annotations

from typing import Any

import msgspec

from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.cases.values import Tensor
from opbench.results.records import Environment, Interval, Measurement, Metric, Run


def make_run(run_id: str = "run-1", **fields: Any) -> Run:
    environments = (Environment(name="this", fingerprint="f1", facts={"cpu": {"model": "Imaginary 9000"}}),)
    defaults = {"started_at": "2024-05-01T10:00:00Z", "environments": environments}
    return Run(run_id=run_id, **{**defaults, **fields})


def make_case(number: int = 0, **fields: Any) -> Case:
    return Case(op="torch.mm", args=(Tensor((number, 8)), Tensor((8, 4))), **fields)


def make_measurement(
    number: int = 0, *, run_id: str = "run-1", samples: int = 3, **fields: Any
) -> Measurement:
    case = make_case(number)
    time = Metric(
        tag="time",
        value=1.5e-6,
        unit="s",
        hint="duration",
        samples=tuple(1.5e-6 + index * 1.2345678e-9 for index in range(samples)),
        flags=(0,) * samples,
        interval=Interval(1.4e-6, 1.6e-6, 0.9648),
        provenance={"calls_per_sample": 1000, "stopped_by": "precision"},
    )
    defaults: dict[str, Any] = {"status": "ok", "metrics": (time,), "started_at": "2024-05-01T10:00:01Z"}
    return Measurement(run_id=run_id, case_id=case_id(case), case=case, **{**defaults, **fields})


def bits(record: Any) -> Any:
    """Plain data that is equal only where records are equal to the bit: NaN is NaN, 0.0 is not -0.0 or 0."""
    if isinstance(record, msgspec.Struct):
        return type(record).__name__, [bits(getattr(record, name)) for name in record.__struct_fields__]
    if isinstance(record, float):
        return "float", record.hex()
    if isinstance(record, list | tuple):
        return [bits(item) for item in record]
    if isinstance(record, dict):
        return {key: bits(item) for key, item in record.items()}
    return type(record).__name__, record
