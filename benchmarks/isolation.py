"""What isolation costs per case: a fork of a warm worker, the worker itself, and a fresh process.

One tiny case (an addition of two numbers, called once) is measured in the three ways in turn, a few rows of
each at a time, so that whatever else the machine does meets them alike. With so little to measure, a row
costs what surrounds the measuring: request, isolation, imports, inputs, reply, record.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import msgspec
from board import goal, middle, python, spread, table, title, took_s

from opbench.cases.model import Case
from opbench.cases.plan import Plan
from opbench.cases.values import Tensor
from opbench.execution.api import run
from opbench.results.records import Measurement

ROUNDS = 12
ROWS_A_ROUND = {"none": 20, "fork": 10, "spawn": 1}
FORK_GOAL_S = 0.025
IN_PLACE_GOAL_S = 0.001
CHEAPER_GOAL = 50.0

# One call, one sample, no other pass: next to nothing is measured.
BARE = Plan(
    warmup_calls=0, calls_per_sample=1, samples=1, min_samples=1, baseline=False, memory=False, flops=False
)
ONE = Tensor(shape=(1,))
NAMES = {"fork": "fork of a warm worker", "none": "in the worker itself", "spawn": "fresh process"}


def endless(isolation: str, plan: Plan) -> Iterator[Measurement]:
    """Rows of one tiny case, told apart by its seed."""
    cases = [Case(op="torch.add", args=(ONE, ONE), seed=seed) for seed in range(ROUNDS * 50)]
    return run(cases, plan, isolation=isolation)


def next_s(rows: Iterator[Measurement]) -> float:
    """How long the next row takes."""
    start = time.perf_counter()
    row = next(rows)
    elapsed_s = time.perf_counter() - start
    if row.status != "ok":
        raise SystemExit(f"the case was not measured: {row.status}: {row.reason}")
    return elapsed_s


def main() -> None:
    title("Isolation: what one case costs beside the measuring")
    sources = {isolation: endless(isolation, BARE) for isolation in ROWS_A_ROUND}
    full = endless("fork", msgspec.structs.replace(BARE, memory=True, flops=True))
    times: dict[str, list[float]] = {isolation: [] for isolation in ROWS_A_ROUND}
    with_passes: list[float] = []
    alone: list[float] = []
    for rows in (*sources.values(), full):
        # The first row waits for the framework to be imported.
        next_s(rows)
    for _ in range(ROUNDS):
        for isolation, count in ROWS_A_ROUND.items():
            times[isolation] += [next_s(sources[isolation]) for _ in range(count)]
        with_passes += [next_s(full) for _ in range(3)]
        alone.append(took_s(python("-c", "import torch; torch.add(torch.zeros(1), torch.zeros(1))")))
    for rows in (*sources.values(), full):
        rows.close()  # type: ignore[attr-defined]

    listed = {NAMES[isolation]: found for isolation, found in times.items()}
    listed["fork, with the memory and flops passes"] = with_passes
    listed["python -c 'import torch; torch.add(...)'"] = alone
    rows_of_table = []
    for name, found in listed.items():
        low, high = spread(found)
        cells = [f"{value * 1e3:.2f} ms" for value in (middle(found), low, high)]
        rows_of_table.append([name, cells[0], f"{cells[1]} - {cells[2]}", str(len(found))])
    table(["a case", "median", "quartiles", "rows"], rows_of_table)

    fork_s, none_s, spawn_s = (middle(times[isolation]) for isolation in ("fork", "none", "spawn"))
    goal(
        f"a fork at least {CHEAPER_GOAL:.0f} times cheaper than a fresh process",
        f"{spawn_s / fork_s:.0f} times",
        spawn_s / fork_s >= CHEAPER_GOAL,
    )
    goal(f"a fork at most {FORK_GOAL_S * 1e3:.0f} ms", f"{fork_s * 1e3:.1f} ms", fork_s <= FORK_GOAL_S)
    goal(
        f"in place at most {IN_PLACE_GOAL_S * 1e3:.0f} ms",
        f"{none_s * 1e3:.2f} ms",
        none_s <= IN_PLACE_GOAL_S,
    )


if __name__ == "__main__":
    main()
