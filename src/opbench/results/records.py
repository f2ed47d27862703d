"""What came out of a run, as data: Metric, Measurement, Environment, Run.

A metric describes itself (unit, hint, direction), so a view formats by hint and a new metric needs no
change here or there.
"""

from __future__ import annotations

from typing import Any, Literal, TypeAlias

import msgspec

from opbench.cases.model import Case
from opbench.cases.plan import Plan

SCHEMA_VERSION = 1

Status: TypeAlias = Literal["ok", "failed", "crashed", "timeout", "out_of_memory", "skipped", "unsupported"]
STATUSES: tuple[Status, ...] = (
    "ok",
    "failed",
    "crashed",
    "timeout",
    "out_of_memory",
    "skipped",
    "unsupported",
)
Hint: TypeAlias = Literal["duration", "count", "bytes", "ratio", "rate", "flop_rate", "byte_rate"]
Better: TypeAlias = Literal["lower", "higher", "neither"]


class Interval(msgspec.Struct, frozen=True):
    """Where the true value lies, with the confidence that the method really gives."""

    low: float
    high: float
    confidence: float


class Metric(msgspec.Struct, frozen=True, omit_defaults=True):
    """One measured quantity of one case.

    `value` is the estimate (for samples: their median). `samples` are the raw ones, in the order taken;
    `flags` has one number for each sample: zero when nothing disturbed it, else bits that say what did.
    It is empty when nothing disturbed any.
    """

    tag: str
    value: float | int | None
    unit: str
    hint: Hint
    better: Better = "lower"
    samples: tuple[float, ...] = ()
    flags: tuple[int, ...] = ()
    interval: Interval | None = None
    provenance: dict[str, Any] = {}


class Caution(msgspec.Struct, frozen=True):
    """Something a reader must know before believing a number: a code for programs, a text for people."""

    code: str
    message: str


class Output(msgspec.Struct, frozen=True, omit_defaults=True):
    """What a case wrote to stdout and stderr, cut to a bounded size."""

    stdout: str = ""
    stderr: str = ""
    dropped_bytes: int = 0


class Measurement(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One row: one case, measured or not, with the reason when not."""

    schema: int = SCHEMA_VERSION
    run_id: str
    case_id: str
    case: Case
    status: Status
    reason: str = ""
    # Which of the run's environments, and which repetition and attempt of the case in it.
    environment: str = "this"
    repeat: int = 0
    attempt: int = 0
    metrics: tuple[Metric, ...] = ()
    warnings: tuple[Caution, ...] = ()
    output: Output = Output()
    # Values that were drawn while building the inputs, by argument path.
    drawn: dict[str, float | int] = {}
    started_at: str = ""
    duration_s: float = 0.0

    def metric(self, tag: str) -> Metric | None:
        """The metric of this tag, if it was measured."""
        return next((metric for metric in self.metrics if metric.tag == tag), None)


# What it is called where a Timer's `Measurement`, the times of one task, is about as well.
Row: TypeAlias = Measurement


class Environment(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """Fingerprint of where a worker ran. `facts` is nested plain data; `fingerprint` is its hash."""

    name: str
    fingerprint: str
    facts: dict[str, Any] = {}


class Run(msgspec.Struct, frozen=True, omit_defaults=True, kw_only=True):
    """One execution of suites under a plan. `request` is what `--resume` needs to go on."""

    schema: int = SCHEMA_VERSION
    run_id: str
    name: str = ""
    started_at: str = ""
    finished_at: str = ""
    opbench_version: str = ""
    plan: Plan = Plan()
    suites: tuple[str, ...] = ()
    suite_fingerprint: str = ""
    expected: int | None = None
    environments: tuple[Environment, ...] = ()
    request: dict[str, Any] = {}
