"""With the clock replaced by a simulated one, a Timer does what torch's does, digit by digit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.utils import benchmark

from opbench.cases.errors import ArgumentError, OpbenchError
from opbench.execution.timer import Timer

LINES = "with a:\n    b()"


class Simulated:
    """Calls of known cost, on a clock that costs something itself, both with noise."""

    call_s = 4e-6
    reading_s = 100e-9
    noise = 0.05
    seed = 0

    def __init__(self, stmt: str, setup: str, timer: Any, globals: dict[str, Any]) -> None:
        self.made_with = (stmt, setup, timer, globals)
        self.random = np.random.RandomState(self.seed)

    def timeit(self, number: int) -> float:
        costs = (self.reading_s, self.call_s * number, self.reading_s)
        return sum(float(max(self.random.normal(cost, cost * self.noise), 5e-9)) for cost in costs)


def timers(**properties: Any) -> tuple[type[Timer], type[benchmark.Timer]]:
    clock = type("Clock", (Simulated,), properties)
    return type("Ours", (Timer,), {"_timer_cls": clock}), type(
        "Theirs", (benchmark.Timer,), {"_timer_cls": clock}
    )


def body(measurement: Any) -> str:
    # Of a single block torch says "100 runs , 1 thread".
    lines = repr(measurement).replace(" runs ,", " runs,").splitlines()[1:]
    return "\n".join(line.rstrip() for line in lines)


SPEEDS = list(itertools.product((8e-9, 4e-6, 20e-6, 3e-3), (100e-9, 10e-6)))


@pytest.mark.parametrize(("call_s", "reading_s"), SPEEDS)
@pytest.mark.parametrize("min_run_time", [0.2, 10])
def test_blocked(call_s: float, reading_s: float, min_run_time: float) -> None:
    ours, theirs = timers(call_s=call_s, reading_s=reading_s)
    found = ours().blocked_autorange(min_run_time=min_run_time)
    expected = theirs().blocked_autorange(min_run_time=min_run_time)
    assert body(found) == body(expected)
    assert (found.number_per_run, found.raw_times) == (expected.number_per_run, expected.raw_times)
    assert repr(found.median) == repr(expected.median)
    assert found.source == "replaced"


@pytest.mark.parametrize(("call_s", "reading_s"), SPEEDS)
@pytest.mark.parametrize("limits", [{}, {"threshold": 0.02, "min_run_time": 0.3, "max_run_time": 2.0}])
def test_adaptive(call_s: float, reading_s: float, limits: dict[str, float]) -> None:
    ours, theirs = timers(call_s=call_s, reading_s=reading_s)
    found, expected = ours().adaptive_autorange(**limits), theirs().adaptive_autorange(**limits)
    assert (found.number_per_run, found.raw_times) == (expected.number_per_run, expected.raw_times)


@settings(max_examples=60)
@given(st.floats(1e-9, 0.5), st.floats(0, 1e-4), st.floats(0, 0.5), st.floats(1e-3, 20), st.integers(0, 9))
def test_any_speed_and_noise(
    call_s: float, reading_s: float, noise: float, min_run_time: float, seed: int
) -> None:
    ours, theirs = timers(call_s=call_s, reading_s=reading_s, noise=noise, seed=seed)
    told: list[list[tuple[int, float]]] = [[], []]
    found = ours().blocked_autorange(lambda *block: told[0].append(block), min_run_time)
    expected = theirs().blocked_autorange(lambda *block: told[1].append(block), min_run_time)
    assert found.raw_times == expected.raw_times
    assert told[0] == told[1]
    again, same = ours().adaptive_autorange(max_run_time=1.0), theirs().adaptive_autorange(max_run_time=1.0)
    assert again.raw_times == same.raw_times


@pytest.mark.parametrize("number", [1, 5, 1000])
def test_timeit(number: int) -> None:
    ours, theirs = timers()
    assert ours().timeit(number).raw_times == theirs().timeit(number).raw_times


@pytest.mark.parametrize(
    "arguments",
    [
        {},
        {"sub_label": "scalar"},
        {"label": "add", "sub_label": "scalar"},
        {"label": "add"},
        {"setup": "f()"},
        {"setup": f"\n    {LINES}\n", "description": "Several lines", "num_threads": 16},
        {"stmt": f"\n        {LINES}\n        "},
        {"stmt": f"\n  {LINES}", "sub_label": "scalar"},
        {"stmt": "x\n", "env": "here"},
    ],
)
def test_what_it_is_called(arguments: dict[str, Any]) -> None:
    ours, theirs = timers()
    assert body(ours(**arguments).blocked_autorange()) == body(theirs(**arguments).blocked_autorange())


def test_the_clock_is_made_as_torch_makes_it() -> None:
    ours, theirs = timers()

    def seconds() -> float:
        return 0.0

    given_names = {"x": 1}
    mine = ours(" x ", "y = 2", timer=seconds, globals=given_names)._clock
    torchs = theirs(" x ", "y = 2", timer=seconds, globals=given_names)._timer
    assert isinstance(mine, Simulated)
    assert mine.made_with[:3] == torchs.made_with[:3]
    assert mine.made_with[3]["x"] == 1
    assert mine.made_with[3]["torch"] is torchs.made_with[3]["torch"]
    assert given_names == {"x": 1}


def test_what_only_a_real_clock_can_do_is_refused() -> None:
    ours, _ = timers()
    with pytest.raises(OpbenchError, match="follows no plan"):
        ours().measure()
    for arguments in ({"stmt": len, "args": ([],)}, {"language": "cpp"}):
        with pytest.raises(ArgumentError, match="stmt must be Python as text where _timer_cls was replaced"):
            ours(**arguments)
