"""When to stop taking samples. Pure functions, so that every rule is tested exactly."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Progress(NamedTuple):
    """How far sampling is. `half_width` is relative to the median of the samples that count."""

    taken: int
    disturbed: int
    elapsed_s: float
    half_width: float | None


def may_retake(plan: Mapping[str, Any], disturbed: int) -> bool:
    """Whether as many samples as are disturbed may still be taken again."""
    return plan["samples"] is None and disturbed <= plan["retakes"] * plan["min_samples"]


def counted(plan: Mapping[str, Any], taken: int, disturbed: int) -> int:
    """How many samples are done: the clean ones, or all once no more of them are taken again."""
    return taken - disturbed if may_retake(plan, disturbed) else taken


def reason_to_stop(plan: Mapping[str, Any], progress: Progress) -> str:
    """Which rule ends the sampling now; empty to go on."""
    if progress.taken == 0:
        return ""
    if plan["samples"] is not None:
        # Exactly so many were asked for; nothing else may end it.
        return "samples" if progress.taken >= plan["samples"] else ""
    count = counted(plan, progress.taken, progress.disturbed)
    precise = progress.half_width is not None and progress.half_width <= plan["precision"]
    if count >= plan["min_samples"] and precise:
        return "precision"
    if count >= plan["max_samples"]:
        return "max_samples"
    if progress.elapsed_s >= plan["budget_s"]:
        return "budget"
    return ""


def unmet(plan: Mapping[str, Any], progress: Progress) -> str:
    """The condition that was not met when something else than precision ended the sampling."""
    if plan["samples"] is not None:
        return ""
    count = counted(plan, progress.taken, progress.disturbed)
    if count < plan["min_samples"]:
        return f"{count} of at least {plan['min_samples']} samples"
    if progress.half_width is None:
        return "the interval of the median is not known"
    if progress.half_width > plan["precision"]:
        return f"half width {progress.half_width:.2%} of the median, not {plan['precision']:.2%}"
    return ""
