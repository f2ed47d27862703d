"""How often the interval of the median covers the true median, by simulation, and the same ranks by SciPy.

The numbers are drawn, not measured, so the output is the same everywhere and every time. See
docs/statistics.md for what it means.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np
from board import goal, table
from numpy.typing import NDArray
from scipy import special, stats

from opbench.cases.plan import PRESETS
from opbench.worker.probes.clock import baseline_is_due
from opbench.worker.probes.estimate import median, ranks
from opbench.worker.probes.sampler import Block
from opbench.worker.probes.samples import Samples
from opbench.worker.probes.stopping import reason_to_stop

TRIALS = 20_000
STOPPING_TRIALS = 1_500
CONFIDENCE = 0.95
COUNTS = (6, 10, 20, 50, 200, 1000)
# What a sample costs beside itself, in the simulated budget.
SAMPLE_NS = 1e6

Numbers = NDArray[np.float64]
Draw = Callable[[np.random.Generator, tuple[int, ...]], Numbers]


def normal(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Symmetric, as textbooks have it."""
    return 1 + 0.05 * random.standard_normal(shape)


def skewed(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """A floor and a long tail, as times have it."""
    return 1 + 0.05 * random.lognormal(0.0, 1.0, shape)


def bimodal(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Two ways to go, 60 % and 40 %."""
    slow = random.random(shape) < 0.4
    return np.where(slow, 1.2, 1.0) + 0.01 * random.standard_normal(shape)


def coarse(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """A clock with large steps: many equal numbers."""
    return np.round(normal(random, shape), 2)


def correlated(random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """Each number half like the one before: a machine that wanders."""
    noise = random.standard_normal(shape)
    wander = np.empty(shape)
    wander[..., 0] = noise[..., 0]
    for place in range(1, shape[-1]):
        wander[..., place] = 0.5 * wander[..., place - 1] + np.sqrt(0.75) * noise[..., place]
    return 1 + 0.05 * wander


DRAWS: dict[str, tuple[Draw, float]] = {
    # With the true median.
    "normal": (normal, 1.0),
    "skewed, a long tail": (skewed, 1.05),
    # The median lies where the fast way has used up 5/6 of its share.
    "bimodal": (bimodal, 1.0 + 0.01 * float(special.ndtri(5 / 6))),
    "coarse clock": (coarse, 1.0),
    "correlated (0.5)": (correlated, 1.0),
}


def coverage(draw: Draw, true: float, count: int, random: np.random.Generator) -> float:
    """In how many of the trials the interval of `count` numbers has the true median in it."""
    rank, _ = ranks(count, CONFIDENCE)
    ordered = np.sort(draw(random, (TRIALS, count)), axis=-1)
    return float(np.mean((ordered[:, rank - 1] <= true) & (true <= ordered[:, -rank])))


def without_looking() -> None:
    """Coverage where the number of samples is fixed beforehand."""
    print(f"  coverage of the true median, {TRIALS:,} trials each; asked for {CONFIDENCE:.0%}")
    random = np.random.default_rng(1)
    promised = [ranks(count, CONFIDENCE)[1] for count in COUNTS]
    rows = [["what is shown", *(f"{share:.1%}" for share in promised)]]
    least = 1.0
    for name, (draw, true) in DRAWS.items():
        found = [coverage(draw, true, count, random) for count in COUNTS]
        rows.append([name, *(f"{share:.1%}" for share in found)])
        if "correlated" not in name:
            least = min(least, *(share - shown for share, shown in zip(found, promised, strict=True)))
    table(["samples", *(str(count) for count in COUNTS)], rows)
    goal(
        "independent samples are covered as often as shown, within 0.5 %",
        f"{least:+.2%} at worst",
        least >= -0.005,
    )


def by_scipy() -> None:
    """The ranks and what they promise, beside SciPy's binomial distribution and its test of a quantile."""
    worst = 0.0
    wider = 0
    random = np.random.default_rng(2)
    for count in range(6, 301):
        rank, actual = ranks(count, CONFIDENCE)
        worst = max(worst, abs(actual - (1 - 2 * stats.binom.cdf(rank - 1, count, 0.5))))
        ordered = np.sort(random.standard_normal(count))
        theirs = stats.quantile_test(ordered, q=0.0, p=0.5).confidence_interval(CONFIDENCE)
        wider += ordered[rank - 1] != theirs.low or ordered[-rank] != theirs.high
    goal(
        "confidence equals SciPy's binomial distribution, for 6 to 300 samples, within 1e-9",
        f"{worst:.1e}",
        worst < 1e-9,
    )
    goal("intervals equal those of scipy.stats.quantile_test", f"{wider} of 295 differ", wider == 0)


def stopped(plan_name: str, draw: Draw, true: float, baseline: Draw | None) -> tuple[float, float, float]:
    """Coverage, mean number of samples and share that stopped on precision, with a plan's own rules."""
    plan = msgspec.to_builtins(PRESETS[plan_name])
    random = np.random.default_rng(3)
    most = plan["max_samples"]
    covered = precise = 0
    taken = 0
    for _ in range(STOPPING_TRIALS):
        numbers = SAMPLE_NS * draw(random, (most,))
        samples = Samples(plan)
        if baseline is not None:
            numbers = numbers + SAMPLE_NS
            empty = iter(SAMPLE_NS * baseline(random, (most,)))
        reason = ""
        for count, number in enumerate(numbers):
            reason = reason_to_stop(plan, samples.progress(count * SAMPLE_NS / 1e9))
            if reason:
                break
            if baseline is not None and baseline_is_due(samples):
                samples.add_baseline(block(float(next(empty))))
            samples.add(block(float(number)))
        span = samples.interval()
        assert span is not None
        base = samples.base()
        covered += span.low - base <= true * SAMPLE_NS <= span.high - base
        precise += reason == "precision"
        taken += len(samples.times)
        assert median(samples.counted()) > 0
    return covered / STOPPING_TRIALS, taken / STOPPING_TRIALS, precise / STOPPING_TRIALS


def block(time_ns: float) -> Block:
    """A block of one call that nothing disturbed."""
    return Block(calls=1, times_ns=(time_ns,), host_ns=time_ns, cpu_ns=time_ns, waited_ns=0.0, flags=0)


def with_looking() -> None:
    """Coverage where sampling stops by the rules of a plan, which look at the samples."""
    print(f"\n  coverage where the plan decides when to stop, {STOPPING_TRIALS:,} trials each")
    quiet = partial(scaled, normal, 0.2)
    runs: list[tuple[str, str, Draw, float, Draw | None]] = [
        ("quick", "normal, 5 % noise", normal, 1.0, None),
        ("quick", "skewed, a long tail", skewed, 1.05, None),
        ("default", "normal, 5 % noise", normal, 1.0, None),
        ("default", "normal, 1 % noise", quiet, 1.0, None),
        ("default", "the same, an empty loop as long subtracted", quiet, 1.0, quiet),
    ]
    rows = []
    for plan_name, name, draw, true, baseline in runs:
        covered, taken, precise = stopped(plan_name, draw, true, baseline)
        rows.append([f"{plan_name}: {name}", f"{covered:.1%}", f"{taken:.0f}", f"{precise:.0%}"])
    table(["plan: samples", "coverage", "samples taken", "stopped on precision"], rows)


def scaled(draw: Draw, share: float, random: np.random.Generator, shape: tuple[int, ...]) -> Numbers:
    """The same numbers, closer to one."""
    return 1 + share * (draw(random, shape) - 1)


def main() -> None:
    print("Intervals: how often they are right\n")
    without_looking()
    by_scipy()
    with_looking()


if __name__ == "__main__":
    main()
