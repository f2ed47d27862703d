"""How long a call takes: first call, warm-up, calibration, samples, and what to think of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any

from opbench.worker.probes import metric
from opbench.worker.probes.calibrate import WarmUp, target_ns, warm_up
from opbench.worker.probes.cautions import cautions
from opbench.worker.probes.estimate import median
from opbench.worker.probes.interference import STEAL_WINDOW_NS
from opbench.worker.probes.sampler import Block, Clock, Sampler, host_clock
from opbench.worker.probes.samples import Samples
from opbench.worker.probes.stopping import reason_to_stop, unmet
from opbench.worker.runtimes.prepared import Prepared

# Baselines alternate with samples so often, and come after every few samples then.
ALTERNATING = 10
SAMPLES_PER_BASELINE = 5
# Python rewrites a loop that runs often; the empty loop must have had its chance as well.
LOOPS_TO_SETTLE = 16


def measure(
    prepared: Prepared, plan: Mapping[str, Any], device: Any, clock: Clock | None = None
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    """Time a prepared case by the plan: metrics `time`, `time.first_call`, `time.cpu` and `time.host`."""
    clock = clock or host_clock(prepared.num_threads)
    sampler = Sampler(prepared, plan, device, clock)
    try:
        return _measure(prepared, plan, device, sampler)
    finally:
        sampler.close()
        clock.close()


def _measure(
    prepared: Prepared, plan: Mapping[str, Any], device: Any, sampler: Sampler
) -> tuple[list[dict[str, Any]], list[dict[str, str]]]:
    metrics: list[dict[str, Any]] = []
    first_s = prepared.first_call_s
    if first_s is None and plan["warmup_calls"] != 0:
        first_s = sampler.warm(1) / 1e9
    if first_s is not None:
        metrics.append(metric("time.first_call", first_s, "s", "duration"))
    warmed = _warm_up(plan, sampler, first_s)
    sampler.clock.find_threads()
    samples = Samples(plan)
    stopped, missed = _sample(plan, sampler, samples, warmed.calls_per_sample)

    # Where single calls are marked, a time is that of one call, not of a block.
    calls = 1 if sampler.marked else warmed.calls_per_sample
    provenance: dict[str, Any] = {
        **prepared.provenance,
        "stopped": stopped,
        "unmet": missed,
        "mode": plan["mode"],
        "calls_per_sample": calls,
        "warmup_calls": warmed.calls,
        "warmup_s": warmed.elapsed_s,
        "clean_samples": len(samples.times) - samples.disturbed,
        "estimate_from": "all samples" if samples.keeps_all else "clean samples",
        "baseline_s": samples.base() / calls / 1e9,
        "baseline_uncertainty_s": samples.base_uncertainty() / calls / 1e9,
        "baseline_samples": samples.baselines,
        "timer_resolution_s": sampler.clock.timer.resolution_ns / 1e9,
        "timer_cost_s": sampler.clock.timer.cost_ns / 1e9,
        "timer": sampler.timer_name,
        "waited_s": samples.waited_ns / 1e9,
    }
    if plan["flush_cache"]:
        provenance["flush_cache"] = True
    if prepared.pool is not None:
        provenance["fresh_operands"] = prepared.pool.room
    metrics.insert(
        0, _time(samples, calls, {name: value for name, value in provenance.items() if value != ""})
    )
    metrics += _beside(plan, device, samples, warmed.calls_per_sample)
    return metrics, cautions(plan, sampler.clock.timer, samples, warmed, device.asynchronous)


def _warm_up(plan: Mapping[str, Any], sampler: Sampler, first_s: float | None) -> WarmUp:
    target = target_ns(plan, sampler.clock.timer.resolution_ns)
    warmed = warm_up(
        sampler.warm,
        sampler.clock.now,
        plan,
        target=target,
        most_calls=sampler.most_calls,
        spent_ns=(first_s or 0.0) * 1e9,
        called=0 if first_s is None else 1,
    )
    if plan["mode"] == "discrete":
        warmed = warmed._replace(calls_per_sample=1)
    return warmed


def _sample(plan: Mapping[str, Any], sampler: Sampler, samples: Samples, calls: int) -> tuple[str, str]:
    """Take samples until a rule says to stop; give the rule and the condition that was not met."""
    progress = samples.progress(0.0)

    def stop(elapsed_s: float) -> str:
        nonlocal progress
        progress = samples.progress(elapsed_s)
        return reason_to_stop(plan, progress)

    stopped = take(plan, sampler, samples, calls, stop)
    return stopped, "" if stopped == "precision" else unmet(plan, progress)


def take(
    plan: Mapping[str, Any],
    sampler: Sampler,
    samples: Samples,
    calls: int,
    stop: Callable[[float], str],
    heard: Callable[[Block], None] | None = None,
) -> str:
    """Take samples until `stop`, asked with the seconds since the first, gives a reason; return that.

    `heard` is told of each block as soon as it is timed.
    """
    clock = sampler.clock
    for _ in range(ceil(LOOPS_TO_SETTLE / calls) if plan["baseline"] else 0):
        sampler.baseline(calls)
    start = window_start = clock.now()
    window_first = 0
    stolen = clock.steal()
    while True:
        now = clock.now()
        if now - window_start >= STEAL_WINDOW_NS:
            stolen, before = clock.steal(), stolen
            if stolen > before:
                samples.mark_stolen(window_first)
            window_start, window_first = now, len(samples.times)
        stopped = stop((now - start) / 1e9)
        if stopped:
            break
        if plan["baseline"] and baseline_is_due(samples):
            samples.add_baseline(sampler.baseline(calls))
        most = (plan["samples"] or plan["max_samples"]) - len(samples.times)
        block = sampler.sample(max(1, min(calls, most)) if sampler.marked else calls)
        samples.add(block)
        if heard is not None:
            heard(block)
    if clock.steal() > stolen:
        samples.mark_stolen(window_first)
    return stopped


def baseline_is_due(samples: Samples) -> bool:
    """Whether nothing is to be timed again: often at first, then now and then."""
    return samples.baselines < ALTERNATING or len(samples.times) >= SAMPLES_PER_BASELINE * samples.baselines


def _time(samples: Samples, calls: int, provenance: dict[str, Any]) -> dict[str, Any]:
    base = samples.base()

    def per_call_s(block_ns: float) -> float:
        # An operation that costs nothing must not seem to give time back.
        return max(0.0, block_ns - base) / calls / 1e9

    span = samples.interval()
    interval = None
    if span is not None:
        interval = {
            "low": per_call_s(span.low),
            "high": per_call_s(span.high),
            "confidence": span.confidence,
        }
    return metric(
        "time",
        per_call_s(median(samples.counted())),
        "s",
        "duration",
        samples=[per_call_s(time) for time in samples.times],
        flags=list(samples.flags) if any(samples.flags) else None,
        interval=interval,
        provenance=provenance,
    )


def _beside(plan: Mapping[str, Any], device: Any, samples: Samples, calls: int) -> list[dict[str, Any]]:
    """Processor time, and what the host spends on asking an asynchronous device."""
    if plan["flush_cache"] and plan["mode"] == "continuous_events":
        # The flushing lies inside the block: what the host did for the call cannot be told apart.
        return []

    def per_call_s(blocks_ns: list[float], base: float) -> list[float]:
        return [max(0.0, block - base) / calls / 1e9 for block in blocks_ns]

    found = []
    cpu = per_call_s(samples.cpu, samples.base("cpu"))
    found.append(metric("time.cpu", median(sorted(cpu)), "s", "duration", samples=cpu))
    if device.asynchronous:
        host = per_call_s(samples.host, samples.base("host"))
        found.append(metric("time.host", median(sorted(host)), "s", "duration", samples=host))
    return found
