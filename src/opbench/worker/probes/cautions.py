"""What a reader must know before believing a time, and what to do about it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from opbench.worker.probes import caution
from opbench.worker.probes.calibrate import WarmUp
from opbench.worker.probes.estimate import median, median_interval
from opbench.worker.probes.interference import MUCH_SHARE
from opbench.worker.probes.samples import Samples
from opbench.worker.probes.timer import Timer

# A block is long enough for the timer from here on.
RESOLUTIONS_PER_BLOCK = 100
# Both halves of the samples agree within this share, or the time changed while it was measured.
DRIFT_SHARE = 0.05
DRIFT_CONFIDENCE = 0.99
# Less above the empty loop than this share of it says more about the loop than about the call.
LOOP_SHARE = 0.05


def cautions(
    plan: Mapping[str, Any], timer: Timer, samples: Samples, warmed: WarmUp, asynchronous: bool
) -> list[dict[str, str]]:
    """Everything worth a warning about these samples. `asynchronous`: the host may well be idle meanwhile."""
    found = [
        _interference(plan, samples),
        None if asynchronous else _idle(samples),
        _few(plan, samples),
        _short(plan, timer, samples),
        _not_warm(plan, warmed),
        _indistinguishable(plan, samples),
        _unstable(samples),
    ]
    return [warning for warning in found if warning is not None]


def oversubscribed(threads: int) -> list[dict[str, str]]:
    """A warning, if more threads are asked for than there are processors for this process."""
    cpus = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if threads <= cpus:
        return []
    return [
        caution(
            "oversubscribed",
            f"{threads} threads share {cpus} processors: the time says little about {threads} of them",
        )
    ]


def _interference(plan: Mapping[str, Any], samples: Samples) -> dict[str, str] | None:
    lost_share = min(1.0, samples.waited_ns / samples.whole_ns) if samples.whole_ns > 0 else 0.0
    total = len(samples.times)
    clean = total - samples.disturbed
    if not samples.disturbed or (lost_share <= MUCH_SHARE and clean >= samples.disturbed):
        return None
    if plan["samples"] is not None:
        means = "the time is from all of them, as exactly so many were asked for"
    elif samples.keeps_all:
        means = "too few are left, so the time is from all of them and too long"
    else:
        means = f"the time is from the other {clean}"
    return caution(
        "interference",
        f"{samples.disturbed} of {total} samples were disturbed by other work on the same processors "
        f"({lost_share:.0%} of the time went by waiting for one); {means}. "
        "Stop the other work, or give the case processors of its own, and measure again",
    )


def _idle(samples: Samples) -> dict[str, str] | None:
    """Processor time much below wall time, where the system does not say that it kept us waiting."""
    idle_share = 1 - (samples.cpu_ns + samples.waited_ns) / samples.whole_ns if samples.whole_ns > 0 else 0.0
    if idle_share <= MUCH_SHARE:
        return None
    return caution(
        "idle",
        f"no processor worked on the call for {idle_share:.0%} of the time: either it sleeps or waits for "
        "something itself, or other work kept the processor from it in a way that this system does not count",
    )


def _few(plan: Mapping[str, Any], samples: Samples) -> dict[str, str] | None:
    total = len(samples.times)
    if total >= plan["min_samples"]:
        return None
    if plan["samples"] is not None:
        advice = f"as asked for; {plan['min_samples']} or more would say how far to trust it"
    else:
        advice = f"no more fitted into {plan['budget_s']:g} s; give it a larger budget"
    return caution("few_samples", f"only {total} sample{'s' if total > 1 else ''}: {advice}")


def _short(plan: Mapping[str, Any], timer: Timer, samples: Samples) -> dict[str, str] | None:
    block_ns = median(samples.counted())
    if block_ns >= RESOLUTIONS_PER_BLOCK * timer.resolution_ns:
        return None
    # What to do depends on what keeps the block short.
    if plan["mode"] != "continuous":
        advice = "mode 'continuous' times many calls at once"
    elif plan["calls_per_sample"] is not None:
        advice = "ask for more calls per sample, or leave the number to opbench"
    else:
        advice = "the call writes to its operands and only so many fresh ones fit into the cache"
    return caution(
        "short_block",
        f"a timed block of {block_ns:.0f} ns is short for a timer that resolves {timer.resolution_ns} ns; "
        f"{advice}",
    )


def _not_warm(plan: Mapping[str, Any], warmed: WarmUp) -> dict[str, str] | None:
    if warmed.stable:
        return None
    return caution(
        "not_warm",
        f"{warmed.calls} calls of warm-up in {warmed.elapsed_s:.3g} s were too few to see that block times "
        f"have stopped falling; allow more than warmup_s = {plan['warmup_s']:g}",
    )


def _indistinguishable(plan: Mapping[str, Any], samples: Samples) -> dict[str, str] | None:
    if not plan["baseline"] or not samples.baselines:
        return None
    base = samples.base()
    span = samples.interval()
    width = (span.high - span.low) / 2 if span is not None else 0.0
    above = median(samples.counted()) - base
    if above > max(LOOP_SHARE * base, width):
        return None
    return caution(
        "indistinguishable",
        "the call cannot be told apart from an empty loop: read the time as an upper bound near zero",
    )


def _unstable(samples: Samples) -> dict[str, str] | None:
    kept = [time for place, time in enumerate(samples.times) if samples.counts(place)]
    half = len(kept) // 2
    first, second = sorted(kept[:half]), sorted(kept[half:])
    spans = median_interval(first, DRIFT_CONFIDENCE), median_interval(second, DRIFT_CONFIDENCE)
    if (
        spans[0] is None
        or spans[1] is None
        or min(span.confidence for span in spans if span) < DRIFT_CONFIDENCE
    ):
        return None
    apart = spans[0].low > spans[1].high or spans[1].low > spans[0].high
    before, after = median(first), median(second)
    if not apart or abs(after - before) <= DRIFT_SHARE * before:
        return None
    return caution(
        "unstable",
        "the time changed while it was measured: the second half of the samples is "
        f"{after / before - 1:+.0%} against the first. "
        "Look for heat, changing frequency or growing memory, and measure again",
    )
