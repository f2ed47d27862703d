"""A suite of 100,000 cases: how soon it starts, how much memory the client needs, how fast rows are kept.

First a real worker measures the first cases, as barely as possible. Then a stand-in that answers at once
takes the place of the worker and all 100,000 rows go through the client into a store, so that what is timed
is the client alone. At last rows with the samples of a usual measurement are added to a store.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from board import goal, resident_bytes, table, title

from opbench.cases.identity import case_id
from opbench.cases.model import Case, Suite
from opbench.cases.plan import Plan
from opbench.execution.api import execute, new_run
from opbench.execution.environments import EnvironmentSpec, parse_environment
from opbench.execution.options import Options
from opbench.execution.worker import Exit, Outcome, Worker
from opbench.results.records import Interval, Measurement, Metric, Run
from opbench.results.store import Store
from opbench.sources import open_sources

CASES = 100_000
MEASURED = 100
STORED = 20_000
FIRST_ROW_GOAL_S = 2.0
MEMORY_GOAL_BYTES = 200_000_000
ROWS_GOAL = 5_000

BARE = Plan(
    warmup_calls=0, calls_per_sample=1, samples=1, min_samples=1, baseline=False, memory=False, flops=False
)
OPERATORS = ("torch.add", "torch.mul", "torch.maximum", "torch.nn.functional.gelu")
# What a worker says of a case with 100 samples.
SAMPLES = tuple(1e-5 + number * 1e-8 for number in range(100))
ANSWER = json.dumps(
    {
        "status": "ok",
        "metrics": [
            {"tag": "time", "value": 1e-5, "unit": "s", "hint": "duration", "samples": SAMPLES},
            {"tag": "memory.peak", "value": 4096, "unit": "B", "hint": "bytes"},
        ],
    }
).encode()


def write_suite(path: Path) -> None:
    """One case on each line, no two alike."""
    with path.open("w") as file:
        for number in range(CASES):
            tensor = {"type": "tensor", "shape": [1 + number // 400, 1 + number // 4 % 100]}
            operator = OPERATORS[number % 4]
            case = {"op": operator, "args": [tensor] * (1 if "gelu" in operator else 2)}
            file.write(json.dumps(case) + "\n")


class StandIn:
    """A worker without a process, which answers at once."""

    alive = True

    def __init__(self, environment: EnvironmentSpec, num_threads: int) -> None:
        del environment, num_threads

    def launch(self) -> None:
        """Nothing to start."""

    def start(self) -> dict[str, Any]:
        return {"python": {"version": "3"}, "framework": {"name": "none", "version": "0"}}

    def measure(self, request: dict[str, Any], timeout_s: float) -> Outcome:
        del timeout_s
        json.dumps(request)
        return Outcome(Exit(), ANSWER, "", "", 0)

    def close(self) -> None:
        """Nothing to end."""

    kill = close


def worker_start_s() -> float:
    """How long a worker takes to be ready, framework imported, when nobody else does anything."""
    start = time.perf_counter()
    with Worker(parse_environment("this", ""), num_threads=1) as worker:
        worker.start()
        return time.perf_counter() - start


def first_rows(suite: Suite, folder: Path) -> tuple[float, float]:
    """When the first row is there and kept, and the time for each row after it."""
    with Store.open(folder / "first.sqlite") as store:
        start = time.perf_counter()
        rows = execute(suite, Options(plan=BARE), store=store)
        row = next(rows)
        first_s = time.perf_counter() - start
        if row.status != "ok":
            raise SystemExit(f"the first case was not measured: {row.status}: {row.reason}")
        start = time.perf_counter()
        count = sum(1 for _ in islice(rows, MEASURED))
        each_s = (time.perf_counter() - start) / count
        rows.close()  # type: ignore[attr-defined]
    return first_s, each_s


def whole_client(suite: Suite, folder: Path) -> float:
    """Rows a second through the whole client: read, checked, hashed, requested, understood, kept."""
    with Store.open(folder / "all.sqlite") as store:
        start = time.perf_counter()
        count = sum(1 for _ in execute(suite, Options(plan=BARE), store=store, make_worker=StandIn))
        elapsed_s = time.perf_counter() - start
    if count != CASES:
        raise SystemExit(f"{count} rows from {CASES} cases")
    return count / elapsed_s


def rows_of(run: Run, count: int) -> Iterator[Measurement]:
    """Rows as a usual measurement gives them, with 100 samples."""
    interval = Interval(9.9e-6, 1.01e-5, 0.95)
    time_metric = Metric("time", 1e-5, "s", "duration", samples=SAMPLES, interval=interval)
    memory = Metric("memory.peak", 4096, "B", "bytes")
    for seed in range(count):
        case = Case(op="torch.add", seed=seed)
        yield Measurement(
            run_id=run.run_id, case_id=case_id(case), case=case, status="ok", metrics=(time_metric, memory)
        )


def stored_per_s(folder: Path, name: str, add: Callable[[Store, list[Measurement]], object]) -> float:
    """Rows a second into a store, each as safe as `add` makes it."""
    run = new_run(Plan(), ["large"])
    rows = list(rows_of(run, STORED))
    with Store.open(folder / f"{name}.sqlite") as store:
        store.add_run(run)
        start = time.perf_counter()
        add(store, rows)
        return STORED / (time.perf_counter() - start)


def one_by_one(store: Store, rows: list[Measurement]) -> None:
    """As a run does it: each row is safe before the next case starts."""
    for row in rows:
        store.add(row)


def main() -> None:
    title(f"A suite of {CASES:,} cases")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        path = folder / "large.jsonl"
        write_suite(path)
        ready_s = worker_start_s()
        before_bytes = resident_bytes()
        suite = open_sources((str(path),))
        first_s, each_s = first_rows(suite, folder)
        all_per_s = whole_client(suite, folder)
        most_bytes = resident_bytes("VmHWM")
        single_per_s = stored_per_s(folder, "single", one_by_one)
        many_per_s = stored_per_s(folder, "many", lambda store, rows: store.add_many(rows))
    table(
        ["", "measured"],
        [
            ["suite file", f"{CASES:,} lines"],
            ["a worker alone is ready, framework imported, after", f"{ready_s:.2f} s"],
            ["the first row of the suite is kept after", f"{first_s:.2f} s"],
            [f"each of the next {MEASURED} rows takes", f"{each_s * 1e3:.1f} ms"],
            ["resident memory before", f"{before_bytes / 1e6:.0f} MB"],
            [f"resident memory at most, after {CASES:,} rows", f"{most_bytes / 1e6:.0f} MB"],
            ["rows through the whole client, without a worker", f"{all_per_s:,.0f} rows/s"],
            ["rows into the store, each committed by itself", f"{single_per_s:,.0f} rows/s"],
            ["rows into the store, in chunks", f"{many_per_s:,.0f} rows/s"],
        ],
    )
    late_s = first_s - ready_s
    goal(
        f"the first row within {FIRST_ROW_GOAL_S:.0f} s of the framework being imported",
        f"{late_s:.2f} s",
        late_s <= FIRST_ROW_GOAL_S,
    )
    goal(
        f"client below {MEMORY_GOAL_BYTES / 1e6:.0f} MB",
        f"{most_bytes / 1e6:.0f} MB",
        most_bytes < MEMORY_GOAL_BYTES,
    )
    goal(
        f"at least {ROWS_GOAL:,} rows/s into the store, in chunks",
        f"{many_per_s:,.0f}",
        many_per_s >= ROWS_GOAL,
    )
    goal("the same, one by one", f"{single_per_s:,.0f}", single_per_s >= ROWS_GOAL)


if __name__ == "__main__":
    main()
