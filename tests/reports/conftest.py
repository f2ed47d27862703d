"""Measurements that never change, for tests of what people see."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from opbench.cases import values
from opbench.cases.identity import case_id
from opbench.cases.model import Build, Case
from opbench.reports.table import Line
from opbench.results.records import Caution, Interval, Measurement, Metric, Output


def measured(
    case: Case, time_s: float, *, cautions: tuple[Caution, ...] = (), rates: bool = True
) -> Measurement:
    samples = tuple(time_s * (1 + step / 1000) for step in (-4, -2, -1, 0, 0, 0, 1, 3, 7, 40))
    metrics = [
        Metric(
            tag="time",
            value=time_s,
            unit="s",
            hint="duration",
            samples=samples,
            flags=(0,) * 9 + (1,),
            interval=Interval(low=time_s * 0.998, high=time_s * 1.003, confidence=0.9785),
        ),
        Metric(tag="time.first_call", value=time_s * 30, unit="s", hint="duration"),
        Metric(tag="memory.peak", value=262144, unit="B", hint="bytes"),
        Metric(tag="memory.allocations", value=1, unit="", hint="count"),
    ]
    if rates:
        metrics += [
            Metric(tag="flops", value=33554432, unit="flop", hint="count", better="neither"),
            Metric(
                tag="rate.flops", value=33554432 / time_s, unit="flop/s", hint="flop_rate", better="higher"
            ),
            Metric(tag="rate.bytes", value=786432 / time_s, unit="B/s", hint="byte_rate", better="higher"),
            Metric(tag="intensity", value=42.666, unit="flop/B", hint="ratio", better="neither"),
            Metric(tag="roofline", value=0.8123, unit="", hint="ratio", better="higher"),
        ]
    return Measurement(
        run_id="20261118-230000-abcd",
        case_id=case_id(case),
        case=case,
        status="ok",
        metrics=tuple(metrics),
        warnings=cautions,
        started_at="2026-11-18T23:00:00Z",
        duration_s=0.75,
    )


def unmeasured(case: Case, status: str, reason: str) -> Measurement:
    return Measurement(
        run_id="20261118-230000-abcd",
        case_id=case_id(case),
        case=case,
        status=status,  # type: ignore[arg-type]
        reason=reason,
        output=Output(stdout="hello\n", stderr="one\ntwo\x1b[2J\n", dropped_bytes=7),
        duration_s=1.5,
    )


def a_tensor(*shape: int, dtype: str = "float32") -> values.Tensor:
    return values.Tensor(shape=shape, dtype=dtype)


UNSTABLE = Caution("unstable", "the spread of the samples is wider than asked for")
BUDGET = Caution("budget", "the budget ended before the precision was reached")


@pytest.fixture
def rows() -> list[Measurement]:
    square = a_tensor(256, 256)
    mm = Case(op="torch.mm", args=(square, square))
    gelu = Case(op="torch.nn.functional.gelu", args=(a_tensor(1024, 1024, dtype="bfloat16"),))
    linear = Case(
        op="torch.nn.Linear",
        build=Build((values.Int(value=64), values.Int(value=128)), {"bias": values.Bool(False)}),
        args=(a_tensor(32, 64),),
    )
    cat = Case(op="torch.cat", args=(values.List((square,) * 8),), kwargs={"dim": values.Int(value=1)})
    embedding = Case(
        op="torch.nn.functional.embedding",
        args=(values.Tensor(shape=(512,), dtype="int64", fill=values.Zipf(bound=10000)), a_tensor(10000, 64)),
        num_threads=2,
        runtime="compile",
    )
    snippet = Case(stmt="x + 1", setup="import torch\nx = torch.ones(8)")

    def backward(case: Case) -> Case:
        import msgspec

        return msgspec.structs.replace(case, direction="backward")

    return [
        measured(mm, 512.34e-6),
        measured(backward(mm), 1.0214e-3, cautions=(UNSTABLE,)),
        measured(gelu, 98.7e-6),
        measured(backward(gelu), 201.3e-6, cautions=(BUDGET, UNSTABLE)),
        measured(linear, 9.8765e-6),
        unmeasured(backward(linear), "timeout", "stopped after 120 s"),
        measured(cat, 0.0456, rates=False),
        measured(embedding, 3.3e-9),
        measured(snippet, 712e-9, rates=False),
        unmeasured(
            Case(op="torch.linalg.cholesky", args=(a_tensor(4, 3),)),
            "failed",
            "RuntimeError: linalg.cholesky: A must be batches of square matrices, "
            "but they are 4 by 3 matrices",
        ),
    ]


@pytest.fixture
def golden() -> Callable[[str, Iterable[Line]], None]:
    """Compare lines with a file that a person has looked at; OPBENCH_GOLDEN=write makes it anew."""

    def compare(name: str, lines: Iterable[Line]) -> None:
        text = "".join("".join(piece for piece, _ in line).rstrip() + "\n" for line in lines)
        file = Path(__file__).parent / "golden" / f"{name}.txt"
        if os.environ.get("OPBENCH_GOLDEN") == "write":
            file.write_text(text, encoding="utf-8")
        assert text == file.read_text(encoding="utf-8")

    return compare
