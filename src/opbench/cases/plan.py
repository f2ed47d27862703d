"""How precisely to measure and when to stop. Not part of a case: another plan, the same case."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.suggest import nearest

Mode: TypeAlias = Literal["continuous", "discrete", "continuous_events"]


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Every knob of a measurement; a preset is one setting of all of them."""

    name: str = "default"

    # Time to spend on timed samples of one case. One second gives stable medians for most operators.
    budget_s: float = 1.0
    # Stop early once the interval of the median is this narrow, relative to the median, on each side.
    precision: float = 0.005
    confidence: float = 0.95
    # Below 20 samples, quantiles and intervals say little.
    min_samples: int = 20
    max_samples: int = 1000
    # A block of calls is timed as one sample. It lasts at least this long, and at least 100 times what the
    # timer resolves, so that the timer does not matter.
    block_s: float = 0.001
    # Warm-up ends when block times stop falling, at the latest after this long.
    warmup_s: float = 0.5

    # Fixed counts, for those who want exactly so many. They switch calibration, stability checks and
    # early stopping off.
    warmup_calls: int | None = None
    calls_per_sample: int | None = None
    samples: int | None = None

    mode: Mode = "continuous"
    # Overwrite the last-level cache (L2 on a GPU) before each call. Only in the modes that time single calls.
    flush_cache: bool = False
    cuda_graph: bool = False
    # Subtract what an empty loop costs.
    baseline: bool = True
    # Python's garbage collector during samples: off, or as the interpreter has it.
    garbage_collection: bool = False
    # Samples disturbed from outside may be taken again, up to this many times `min_samples`.
    retakes: float = 2.0

    # Passes beside the timing.
    memory: bool = True
    flops: bool = True
    check: bool = False

    # A case that runs longer than this, set-up included, is stopped.
    timeout_s: float = 120.0
    # Address space that a case may add; None: four fifths of what is free when it starts.
    memory_cap_bytes: int | None = None


PRESETS: dict[str, Plan] = {
    # A look: spread and rank are right, the last per cent is not.
    "quick": Plan(name="quick", budget_s=0.2, precision=0.02, warmup_s=0.15),
    "default": Plan(),
    # For numbers that will be argued about.
    "rigorous": Plan(
        name="rigorous", budget_s=10.0, precision=0.001, min_samples=100, max_samples=5000, warmup_s=2.0
    ),
}


def preset(name: str) -> Plan:
    """The plan of this name."""
    if name not in PRESETS:
        near = nearest(name, PRESETS)
        hint = f"; did you mean {near}?" if near else ""
        raise UsageError(f"no plan is called {name!r} (there are {', '.join(PRESETS)}){hint}")
    return PRESETS[name]


def check_plan(plan: Plan) -> Plan:
    """Return the plan, or say everything that is impossible about it."""
    wrong: list[str] = []
    positive = ("budget_s", "precision", "min_samples", "max_samples", "block_s", "timeout_s")
    for name in positive:
        if not getattr(plan, name) > 0:
            wrong.append(f"{name} must be above 0, not {getattr(plan, name)}")
    if not 0.5 <= plan.confidence < 1:
        wrong.append(f"confidence must be at least 0.5 and below 1, not {plan.confidence}")
    if not plan.warmup_s >= 0:
        wrong.append(f"warmup_s must not be negative, not {plan.warmup_s}")
    if not plan.retakes >= 0:
        wrong.append(f"retakes must not be negative, not {plan.retakes}")
    if plan.max_samples < plan.min_samples:
        wrong.append(f"max_samples ({plan.max_samples}) must not be below min_samples ({plan.min_samples})")
    least_values = {"warmup_calls": 0, "calls_per_sample": 1, "samples": 1, "memory_cap_bytes": 1}
    for name, least in least_values.items():
        value = getattr(plan, name)
        if value is not None and value < least:
            wrong.append(f"{name} must be at least {least}, not {value}")
    if plan.flush_cache and plan.mode == "continuous":
        wrong.append(
            "flush_cache needs mode 'discrete' or 'continuous_events': "
            "calls back to back leave no room for it"
        )
    if plan.mode != "continuous" and plan.calls_per_sample not in (None, 1):
        wrong.append(
            f"mode {plan.mode!r} times single calls; calls_per_sample must be 1, not {plan.calls_per_sample}"
        )
    if wrong:
        raise UsageError("the plan cannot be followed: " + "; ".join(wrong))
    return plan
