"""Times a statement in this process: what the methods of a Timer are made of."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from math import ceil
from typing import Any, NamedTuple

import msgspec

from opbench.cases.plan import Plan
from opbench.execution.host_time import clock_for, resolution
from opbench.execution.statement import advising
from opbench.execution.thread_pools import set_torch_threads
from opbench.results.records import Caution
from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement
from opbench.worker.devices import Cpu
from opbench.worker.probes.calibrate import WarmUp, warm_up
from opbench.worker.probes.cautions import cautions, oversubscribed
from opbench.worker.probes.clock import take
from opbench.worker.probes.estimate import median, spread
from opbench.worker.probes.sampler import Block, Sampler
from opbench.worker.probes.samples import Samples
from opbench.worker.probes.timer import Timer as Resolution
from opbench.worker.runtimes.prepared import Prepared

# A block lasts so many steps of the clock, and so many readings of it if there is time.
STEPS_PER_BLOCK = 100
READINGS_PER_BLOCK = 1000
# Times of single blocks often have two or more values, between which the median of many short ones jumps;
# in longer blocks they average out. Where others want the processor too, more of the short ones are clean.
SHORT_BLOCK_NS = 1e6
LONG_BLOCK_NS = 1e7
USUAL_SAMPLES = 40
LEAST_SAMPLES = 20
TRIALS = 4
# `timeit` is asked for calls, not for samples; more than these tell no more.
MOST_SAMPLES_OF_TIMEIT = 100
FEW_SAMPLES = 5
# For so few, blocks may be so many times shorter.
COARSE = 5
LEAST_WARM_UP_CALLS = 2
# Warming up may take so long, also where measuring takes less.
LEAST_WARM_UP_S = 0.05
# Blocks that something else disturbed are taken again, until so many times as long was measured.
RETAKES = 2.0
# No operation takes less, and nobody wants to divide by zero.
LEAST_BLOCK_S = 1e-9


class Span(NamedTuple):
    """How long to measure: at least, and at most where samples do not agree."""

    least_s: float
    most_s: float


@contextlib.contextmanager
def session(
    prepared: Prepared, task: TaskSpec, timer: Callable[[], float], *, baseline: bool
) -> Iterator[Session]:
    """Everything that must be set for the time of a measurement, and set back after it."""
    plan = msgspec.to_builtins(Plan(name="timer", baseline=baseline))
    clock = clock_for(timer, task.num_threads)
    try:
        with set_torch_threads(task.num_threads), advising():
            sampler = Sampler(prepared, plan, Cpu(), clock)
            try:
                yield Session(sampler, plan, task)
            finally:
                sampler.close()
    finally:
        clock.close()


class Session:
    """One measurement of a Timer in progress."""

    def __init__(self, sampler: Sampler, plan: dict[str, Any], task: TaskSpec) -> None:
        self._sampler = sampler
        self._plan = plan
        self._task = task
        self._resolution = Resolution(1, 0.0)

    def calls(self, number: int) -> Measurement:
        """Make so many calls, in as many blocks as the clock allows."""
        sampler = self._sampler
        # The very first calls do much that no other does.
        sampler.warm(LEAST_WARM_UP_CALLS)
        self._look()
        warm_up_calls = max(number // 100, LEAST_WARM_UP_CALLS)
        elapsed = sampler.warm(warm_up_calls)
        sampler.clock.find_threads()
        blocks = split(number, elapsed / warm_up_calls, self._shortest())
        size = number // blocks
        if number % blocks:
            sampler.warm(number % blocks)
        samples = Samples(self._plan)
        warmed = WarmUp(size, LEAST_WARM_UP_CALLS + warm_up_calls, elapsed / 1e9, True)
        take(
            self._plan,
            sampler,
            samples,
            size,
            lambda elapsed_s: "calls" if len(samples.times) >= blocks else "",
        )
        # So many calls were wanted; that they make few samples needs no warning.
        self._plan["min_samples"] = min(self._plan["min_samples"], len(samples.times))
        self._plan["calls_per_sample"] = size
        return self._measurement(samples, warmed)

    def for_seconds(self, span: Span, heard: Callable[[int, float], Any] | None) -> Measurement:
        """Take blocks for so long."""
        return self._blocks(span, heard, lambda samples: True)

    def until_narrow(
        self, threshold: float, span: Span, heard: Callable[[int, float], Any] | None
    ) -> Measurement:
        """Take blocks until their interquartile range is below this share of the median."""

        def narrow(samples: Samples) -> bool:
            counted = samples.counted()
            return len(counted) > 3 and spread(counted) < threshold * (median(counted) - samples.base())

        return self._blocks(span, heard, narrow)

    def _blocks(
        self, span: Span, heard: Callable[[int, float], Any] | None, enough: Callable[[Samples], bool]
    ) -> Measurement:
        plan, sampler = self._plan, self._sampler
        plan["budget_s"], plan["warmup_s"] = span.least_s, max(span.least_s, LEAST_WARM_UP_S)
        first_ns = sampler.warm(1)
        self._look()
        budget_ns = span.least_s * 1e9
        target = self._target(min(max(SHORT_BLOCK_NS, budget_ns / USUAL_SAMPLES), LONG_BLOCK_NS), budget_ns)
        warmed = warm_up(sampler.warm, sampler.clock.now, plan, target=target, spent_ns=first_ns, called=1)
        sampler.clock.find_threads()
        short = self._target(SHORT_BLOCK_NS, budget_ns)
        if short < target and warmed.calls_per_sample > 1 and self._is_disturbed(warmed.calls_per_sample):
            calls = ceil(warmed.calls_per_sample * short / target)
            warmed = warmed._replace(calls_per_sample=calls)
        samples = Samples(plan)

        def stop(elapsed_s: float) -> str:
            spent_s = samples.whole_ns / 1e9
            if not samples.times or spent_s < span.least_s:
                return ""
            # Disturbed ones are taken again; and blocks are a whole number of calls, so they may be longer
            # than a twentieth.
            again = samples.disturbed > 0 or warmed.calls_per_sample > 1
            few = again and len(samples.times) - samples.disturbed < LEAST_SAMPLES
            if few and spent_s < RETAKES * span.least_s:
                return ""
            return "budget" if enough(samples) or spent_s >= span.most_s else ""

        def tell(block: Block) -> None:
            if heard is not None:
                heard(block.calls, block.times_ns[0] / 1e9)

        take(plan, sampler, samples, warmed.calls_per_sample, stop, tell)
        return self._measurement(samples, warmed)

    def _target(self, wanted_ns: float, budget_ns: float) -> float:
        """How long a block should last, in ns: twenty of them are worth more than longer ones."""
        wanted_ns = max(wanted_ns, READINGS_PER_BLOCK * self._resolution.cost_ns)
        return max(self._shortest(), min(wanted_ns, budget_ns / LEAST_SAMPLES))

    def _is_disturbed(self, calls: int) -> bool:
        """Whether any of a few blocks of so many calls is disturbed."""
        return any(self._sampler.sample(calls).flags for _ in range(TRIALS))

    def _look(self) -> None:
        """Measure the clock, now that the first call has started whatever there is to start."""
        self._resolution = resolution(self._sampler.clock)

    def _shortest(self) -> float:
        """How long a block lasts at least, in ns, for the clock not to matter."""
        return max(
            STEPS_PER_BLOCK * self._resolution.resolution_ns, STEPS_PER_BLOCK * self._resolution.cost_ns
        )

    def _measurement(self, samples: Samples, warmed: WarmUp) -> Measurement:
        found = cautions(self._plan, self._resolution, samples, warmed, False)
        found += oversubscribed(self._task.num_threads)
        calls, base = warmed.calls_per_sample, samples.base()
        raw = [max((time - base) / 1e9, LEAST_BLOCK_S) for time in samples.times]
        counts = [samples.counts(place) for place in range(len(raw))]
        return Measurement(
            calls,
            [time for time, counted in zip(raw, counts, strict=True) if counted],
            self._task,
            source="opbench",
            disturbed_times=[time for time, counted in zip(raw, counts, strict=True) if not counted],
            cautions=tuple(Caution(**one) for one in found),
            baseline_s=base / calls / 1e9,
            baseline_uncertainty_s=samples.base_uncertainty() / calls / 1e9,
        )


def split(number: int, per_call_ns: float, shortest_ns: float) -> int:
    """Into how many equal blocks to split so many calls; the rest of the division is as small as can be."""
    fit = number * per_call_ns / shortest_ns if shortest_ns > 0 else MOST_SAMPLES_OF_TIMEIT
    # A few samples that the clock is a little coarse for tell more than a single one.
    fit = max(fit, min(FEW_SAMPLES, fit * COARSE))
    most = max(1, int(min(number, MOST_SAMPLES_OF_TIMEIT, fit)))
    return min(range(max(1, most // 2), most + 1), key=lambda blocks: (number % blocks, -blocks))
