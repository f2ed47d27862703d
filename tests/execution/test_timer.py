"""Timer on the real clock: what a statement sees, what is set for it and set back, and what is refused."""

from __future__ import annotations

import gc
import os
import re
import subprocess
import sys
import timeit
import traceback
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest
import torch

import opbench
from opbench import benchmark
from opbench.cases.errors import ArgumentError, OpbenchError
from opbench.cases.identity import case_id
from opbench.execution import host_time, thread_pools
from opbench.execution.api import new_run
from opbench.execution.statement import CopyIfCallgrind, called
from opbench.execution.timer import Timer
from opbench.results.store import Store
from opbench.worker.probes import loop
from opbench.worker.runtimes.prepared import Body

BARELY = opbench.Plan(name="barely", samples=6, warmup_calls=1, calls_per_sample=1)


def once(timer: Timer) -> benchmark.Measurement:
    return timer.timeit(3)


class Seen:
    """What a statement was called with."""

    def __init__(self) -> None:
        self.values: list[Any] = []

    def __call__(self, *values: Any) -> None:
        self.values.extend(values)


def test_a_statement_sees_globals_torch_and_its_setup() -> None:
    seen = Seen()
    once(Timer("seen(a + b, torch)", "b = a + 1", globals={"a": 1, "seen": seen}))
    assert set(seen.values) == {3, torch}


def test_the_setup_runs_in_front_of_every_block() -> None:
    lengths = Seen()
    timer = Timer("x.append(1)", "seen(len(globals()['x'])); x.clear()", globals={"x": [], "seen": lengths})
    found = timer.timeit(1000)
    assert max(lengths.values) <= max(found.number_per_run, 10)
    assert len(lengths.values) >= len(found.times)


def test_globals_are_not_written_to() -> None:
    names = {"x": 1}
    once(Timer("x += 1; y = x", "import os; z = 2; global w; w = 5", globals=names))
    assert names == {"x": 1}


def test_a_timer_compiles_its_loop_once(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled = Seen()
    original = loop._compile

    def compile_and_tell(body: Body, *how: Any) -> Any:
        compiled(body.filename)
        return original(body, *how)

    monkeypatch.setattr(loop, "_compile", compile_and_tell)
    timer = Timer("x + 1", "x = 1")
    timer.timeit(100)
    timer.blocked_autorange(min_run_time=0.01)
    timer.adaptive_autorange()
    assert len([name for name in compiled.values if name.startswith("<snippet")]) == 1


@pytest.mark.parametrize(
    "stmt", ["x = x + 1", "x += 1", "for x in (x,): pass", "import os; x = [x for _ in '1']"]
)
def test_a_statement_may_bind_the_name_of_a_global(stmt: str) -> None:
    with pytest.raises(NameError):
        timeit.Timer(stmt, globals={"x": 1}).timeit(1)
    once(Timer(stmt, globals={"x": 1}))


def test_functions_inside_see_the_setup_and_globals() -> None:
    seen = Seen()
    stmt = "seen(sum(a + i for i in range(n)), (lambda: b)())"
    once(Timer(stmt, "n = 3; b = 7", globals={"a": 1, "seen": seen}))
    assert set(seen.values) == {6, 7}


def test_lines_are_dedented_together() -> None:
    timer = Timer(
        """
        with torch.no_grad():
            y = x + 1
        """,
        """
        x = torch.ones((1,), requires_grad=True)
        for _ in range(2):
            x = x + 1.0""",
    )
    assert once(timer).stmt == "with torch.no_grad():\n    y = x + 1"


def test_a_callable_is_called_with_its_arguments() -> None:
    seen = Seen()
    found = once(Timer(seen, args=(1, 2)))
    assert set(seen.values) == {1, 2}
    assert found.stmt == "Seen(1, 2)"
    assert once(Timer(torch.add, args=(torch.ones(2), 1), kwargs={"alpha": 2})).stmt == (
        "torch.add(float32[2], 1, alpha=2)"
    )
    ready = Seen()
    once(Timer(seen, setup="ready(1)", globals={"ready": ready}, args=(3,)))
    assert ready.values
    assert 3 in seen.values


def test_callables_that_differ_are_called_differently() -> None:
    first, second = (lambda: 1), (lambda x: 2)
    assert called(first, (), {}) != called(second, (), {}) or first.__code__.co_firstlineno
    names = {
        called(torch.nn.Linear(2, 3), (torch.ones(1, 2),), {}),
        called(torch.nn.functional.relu, (torch.ones(1, 2),), {}),
        called(len, ([1] * 100,), {}),
        called(Seen.__call__, (1,), {"k": None}),
    }
    assert names == {
        "Linear(float32[1, 2])",
        "relu(float32[1, 2])",
        "len(<list>)",
        "Seen.__call__(1, k=None)",
    }
    assert re.match(r"lambda at test_timer\.py:\d+\(\)$", called(lambda: 1, (), {}))


@pytest.fixture
def threads() -> Iterator[int]:
    before = torch.get_num_threads()
    yield before
    torch.set_num_threads(before)


def test_threads_are_set_and_set_back(threads: int) -> None:
    import numpy as np
    import threadpoolctl

    assert np.ones((2, 2)) @ np.ones((2, 2)) is not None
    before = [pool["num_threads"] for pool in threadpoolctl.threadpool_info()]
    seen = Seen()
    stmt = "seen(torch.get_num_threads(), *(pool['num_threads'] for pool in info()))"
    names = {"seen": seen, "info": threadpoolctl.threadpool_info}
    once(Timer(stmt, globals=names, num_threads=1))
    assert set(seen.values) == {1}
    assert torch.get_num_threads() == threads
    assert [pool["num_threads"] for pool in threadpoolctl.threadpool_info()] == before
    with pytest.raises(ZeroDivisionError):
        once(Timer("1 / 0", num_threads=1))
    assert torch.get_num_threads() == threads


def test_threads_are_set_for_a_block_of_ones_own(threads: int) -> None:
    with benchmark.set_torch_threads(1):
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == threads
    assert benchmark.set_torch_threads is thread_pools.set_torch_threads


def test_garbage_is_not_collected_meanwhile() -> None:
    seen = Seen()
    assert gc.isenabled()
    found = Timer("seen(gc.isenabled())", globals={"seen": seen, "gc": gc}).timeit(100)
    # Warming up is no measurement.
    measured = (len(found.times) + len(found.disturbed_times)) * found.number_per_run
    assert seen.values[-measured:] == [False] * measured
    assert gc.isenabled()


def test_what_a_statement_raises_is_raised_with_its_line() -> None:
    with pytest.raises(ZeroDivisionError) as raised:
        once(Timer("x = 1\nx / 0"))
    assert "x / 0" in "".join(traceback.format_exception(raised.value))


def test_a_name_that_is_not_there_gets_advice() -> None:
    local = 3
    with pytest.raises(NameError, match=r"name 'local' is not defined.*globals=\{'local': local\}"):
        once(Timer("local + 1"))
    assert once(Timer("local + 1", globals=locals())).median > 0
    assert local == 3


def test_methods_of_torch_give_plausible_times() -> None:
    timer = Timer("sum(r)", "r = range(1000)")
    plain = min(timeit.repeat("sum(r)", "r = range(1000)", number=100, repeat=20)) / 100
    for found in (timer.timeit(2000), timer.blocked_autorange(), timer.adaptive_autorange()):
        assert plain / 3 < found.median < 30 * plain
        assert found.source == "opbench"
        assert found.task_spec == timer.task_spec
        assert len(found.times) > 1


def test_measuring_by_a_plan_gives_a_row_too() -> None:
    timer = Timer("x + 1", "x = torch.ones(256)", label="add", sub_label="256", description="here")
    found = timer.measure(BARELY)
    assert found.row is not None
    assert {"time", "memory.peak"} <= {metric.tag for metric in found.row.metrics}
    time = found.row.metric("time")
    assert time is not None
    assert found.median == pytest.approx(time.value)
    assert len(found.times) == 6
    assert (found.row.case.label, found.row.case.sub_label, found.row.case.description) == (
        "add",
        "256",
        "here",
    )
    assert found.row.case_id == case_id(opbench.snippet("x + 1", setup="x = torch.ones(256)"))
    assert benchmark.Measurement.from_json(found.to_json()) == found


def test_more_threads_than_processors_are_told_of_in_a_row_too() -> None:
    found = Timer("x + 1", "x = 1", num_threads=(os.cpu_count() or 1) + 1).measure(BARELY)
    assert "oversubscribed" in {caution.code for caution in found.cautions}


def test_a_row_of_a_timer_can_be_stored(tmp_path: Any) -> None:
    found = Timer("x + 1", "x = torch.ones(256)").measure(BARELY)
    assert found.row is not None
    with Store.open(str(tmp_path / "store.sqlite")) as store:
        run = new_run(BARELY, ["timer"])
        store.add_run(run)
        store.add(msgspec.structs.replace(found.row, run_id=run.run_id))
        assert [row.case_id for row in store.measurements(run.run_id)] == [found.row.case_id]


def test_measuring_in_a_worker() -> None:
    timer = Timer("x + k", "x = torch.ones(n)", globals={"k": 3.5, "n": 4, "unused": (None, {"a": b"1"})})
    found = timer.measure(BARELY, isolation="fork")
    assert len(found.times) == 6
    assert found.task_spec == timer.task_spec
    with pytest.raises(OpbenchError, match=r"not measured \(failed\): ZeroDivisionError"):
        Timer("1 / 0").measure(BARELY, isolation="fork")


def test_what_cannot_go_to_a_worker_is_named() -> None:
    with pytest.raises(
        ArgumentError, match=r"globals\['x'\] is a Tensor, which isolation='fork' cannot take"
    ):
        Timer("x + 1", globals={"x": torch.ones(1)}).measure(isolation="fork")
    with pytest.raises(ArgumentError, match="needs a stmt as text"):
        Timer(len, args=([],)).measure(isolation="spawn")


def test_counting_instructions_says_what_is_missing() -> None:
    with pytest.raises(OpbenchError, match="collect_callgrind needs the engine that counts instructions"):
        Timer().collect_callgrind()


def test_globals_for_callgrind_are_used_as_they_are() -> None:
    seen = Seen()
    once(Timer("seen(k)", globals={"seen": seen, "k": CopyIfCallgrind(5, setup="import os")}))
    assert set(seen.values) == {5}
    with pytest.raises(ArgumentError, match="setup must be code as text, not int"):
        CopyIfCallgrind(5, setup=5)  # type: ignore[arg-type]


def test_the_clock_may_be_somebodys_own() -> None:
    readings = Seen()

    def seconds() -> float:
        readings(1)
        return 0.001 * len(readings.values)

    found = Timer("pass", timer=seconds).timeit(10)
    assert found.median > 0
    assert readings.values
    assert once(Timer("pass", timer=timeit.default_timer)).median > 0


class Accelerator:
    """A device's module, as torch has them."""

    def __init__(self) -> None:
        self.started = False
        self.waits = 0

    def is_initialized(self) -> bool:
        return self.started

    def synchronize(self) -> None:
        self.waits += 1


@pytest.fixture
def accelerator(monkeypatch: pytest.MonkeyPatch) -> Iterator[Accelerator]:
    made = Accelerator()
    host_time._synchroniser.cache_clear()
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch, "get_device_module", lambda device: made)
    yield made
    host_time._synchroniser.cache_clear()


def test_an_accelerator_that_is_used_is_waited_for(accelerator: Accelerator) -> None:
    assert once(Timer("pass")).median > 0
    assert accelerator.waits == 0  # nobody has used it, and waiting would start it
    start = Timer("device.started = True", globals={"device": accelerator})
    found = start.blocked_autorange(min_run_time=0.01)
    assert accelerator.waits > 2 * len(found.times)
    before = accelerator.waits
    assert benchmark.timer() > 0
    assert accelerator.waits == before + 1
    once(Timer("pass", timer=timeit.default_timer))
    assert accelerator.waits == before + 1


BAD: list[tuple[dict[str, Any], str]] = [
    ({"stmt": 3}, "stmt must be code as text, or something to call, not a int"),
    ({"stmt": None}, "stmt must be code as text, or something to call, not None"),
    ({"stmt": "x +"}, r"stmt is not Python: invalid syntax \(line 1\)"),
    ({"stmt": "x\ny ="}, r"stmt is not Python: .* \(line 2\)"),
    ({"stmt": "return 1"}, "stmt is not Python: 'return' outside function"),
    ({"stmt": "yield 1"}, "stmt is not Python: 'yield' outside function"),
    ({"stmt": "a\0b"}, "stmt .*is not Python"),
    ({"setup": "from os import *"}, r"setup is not Python: import \* is not possible .*\(line 1\)"),
    ({"setup": "if"}, r"setup is not Python: .* \(line 1\)"),
    ({"setup": 3}, "setup must be code as text, not a int"),
    ({"global_setup": "x"}, "global_setup is for C.. only"),
    ({"global_setup": None}, "global_setup must be code as text, not None"),
    ({"timer": 3}, "timer must be a function that gives seconds, not a int"),
    ({"globals": [1]}, "globals must be a dict with names for keys, not a list"),
    ({"globals": {1: 2}}, "globals must be a dict with names for keys"),
    ({"label": 3}, "label must be text or None, not a int"),
    ({"sub_label": b""}, "sub_label must be text or None, not a bytes"),
    ({"description": 3}, "description must be text or None"),
    ({"env": 3}, "env must be text or None"),
    ({"num_threads": 0}, "num_threads must be a whole number from 1 on, not 0"),
    ({"num_threads": True}, "num_threads must be a whole number"),
    ({"num_threads": "2"}, "num_threads must be a whole number from 1 on, not '2'"),
    ({"language": "pyhton"}, "language must be one of .*, not 'pyhton'; did you mean python"),
    ({"language": []}, "language must be one of"),
    ({"args": (1,)}, "args and kwargs belong to a callable stmt"),
    ({"kwargs": {"a": 1}}, "args and kwargs belong to a callable stmt"),
    ({"stmt": len, "args": 3}, "args must be a tuple or list, not a int"),
    ({"stmt": len, "kwargs": {1: 2}}, "kwargs must be a dict with names for keys"),
    ({"language": "c++", "globals": {"x": 1}}, "globals must be empty where language is C"),
    ({"language": "c++", "stmt": len}, "stmt must be code as text where language is C"),
]


@pytest.mark.parametrize(("arguments", "says"), BAD)
def test_a_wrong_argument_is_named(arguments: dict[str, Any], says: str) -> None:
    with pytest.raises(ArgumentError, match=says) as raised:
        Timer(**arguments)
    assert "\n" not in str(raised.value)


def test_it_needs_no_torch(tmp_path: Any) -> None:
    (tmp_path / "torch.py").write_text("raise ImportError('there is none')")
    code = "import opbench; print(opbench.Timer('x + 1', 'x = 1').blocked_autorange(min_run_time=0.01))"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": os.pathsep.join((str(tmp_path), os.environ.get("PYTHONPATH", "")))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert "Median" in done.stdout, done.stderr
