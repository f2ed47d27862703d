"""Measurements that never change, and random ones, for tests of Compare."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st

from opbench.results.task import TaskSpec
from opbench.results.timing import Measurement

# Enough of them, and so close, that their median is known within 0.3 percent.
SPREAD = tuple(step / 1000 for step in range(-10, 11))


def timed(
    times_s: float | Sequence[float], *, source: Any = "", cautions: Any = (), **task: Any
) -> Measurement:
    """A measurement with these times, or with times close around one."""
    times = [times_s * (1 + share) for share in SPREAD] if isinstance(times_s, float) else list(times_s)
    spec = TaskSpec(**{"stmt": "f(x)", "setup": "pass", **task})
    return Measurement(1, times, spec, source=source, cautions=cautions)


# From nanoseconds on: torch takes what is shorter for seconds.
medians = st.floats(-8.5, 1.5).map(lambda power: 10**power)


@st.composite
def measurements(draw: st.DrawFn, envs: Sequence[str | None] = ("main", "branch", "")) -> list[Measurement]:
    """What may be in one comparison: gaps, replicates, threads, environments, and all kinds of spread."""
    labels = draw(st.lists(st.sampled_from(["mm", "", "a longer label", None]), min_size=1, max_size=2))
    names = draw(st.lists(st.sampled_from(["x", "(16, 16)", "two words", "y" * 30]), min_size=1, max_size=3))
    columns = draw(st.lists(st.sampled_from(["eager", "c", "", "d" * 20]), min_size=1, max_size=3))
    chosen = draw(st.lists(st.sampled_from(envs), min_size=1, max_size=2))
    found = []
    for _ in range(draw(st.integers(1, 8))):
        median = draw(medians)
        shares = draw(st.lists(st.floats(-0.3, 0.6), min_size=1, max_size=8))
        width = draw(st.sampled_from([0.0, 1e-3, 0.05, 1.0]))
        calls = draw(st.sampled_from([1, 10, 1000]))
        task = TaskSpec(
            "f(x)",
            "pass",
            label=draw(st.sampled_from(labels)),
            sub_label=draw(st.sampled_from([*names, None])),
            description=draw(st.sampled_from(columns)),
            env=draw(st.sampled_from(chosen)),
            num_threads=draw(st.sampled_from([1, 2, 16])),
        )
        found.append(Measurement(calls, [median * calls * (1 + share * width) for share in shares], task))
    return found
