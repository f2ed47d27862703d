from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from opbench.cases.identity import case_id
from opbench.cases.model import Case
from opbench.cases.values import Tensor
from opbench.results.records import Environment, Interval, Measurement, Metric, Run
from opbench.results.store import Store


def make_run(run_id: str = "run-1", **fields: object) -> Run:
    environments = (Environment(name="this", fingerprint="f1", facts={"cpu": {"model": "Imaginary 9000"}}),)
    return Run(
        run_id=run_id, **{"started_at": "2024-05-01T10:00:00Z", "environments": environments, **fields}
    )


def make_case(number: int = 0, **fields: object) -> Case:
    return Case(op="torch.mm", args=(Tensor((number, 8)), Tensor((8, 4))), **fields)


def make_measurement(
    number: int = 0, *, run_id: str = "run-1", samples: int = 3, **fields: object
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
    defaults: dict[str, object] = {"status": "ok", "metrics": (time,), "started_at": "2024-05-01T10:00:01Z"}
    return Measurement(run_id=run_id, case_id=case_id(case), case=case, **{**defaults, **fields})


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store.open(tmp_path / "results.sqlite") as opened:
        yield opened
