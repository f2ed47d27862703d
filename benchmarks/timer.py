"""opbench's Timer beside `torch.utils.benchmark.Timer`: do they agree, and which repeats itself better?

Both time the same statements in one process, one after the other in random order, with the same budget.
"""

from __future__ import annotations

import contextlib
import math
import os
import random
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any

import torch
from board import goal, middle, table, title
from torch.utils import benchmark

from opbench.benchmark import Timer

BUDGET_S = 0.1
ROUNDS = 7
REPEATS = 40

# Statement and set-up: from nothing at all to half a millisecond, Python alone and torch.
STATEMENTS = (
    ("pass", "pass"),
    ("x + 1", "x = 5"),
    ("d['k']", "d = {'k': 1}"),
    ("f(1)", "def f(x): return x"),
    ("[i for i in r]", "r = range(20)"),
    ("sorted(r)", "r = list(range(100, 0, -1))"),
    ("sum(r)", "r = range(1000)"),
    ("torch.ones(())", "pass"),
    ("x + 1", "x = torch.ones(1)"),
    ("x.add_(1)", "x = torch.ones(16)"),
    ("torch.add(x, x, out=y)", "x = torch.ones(1024); y = torch.empty(1024)"),
    ("x.view(-1, 4)", "x = torch.ones(64)"),
    ("x.t() + x", "x = torch.ones(64, 64)"),
    ("torch.mm(x, x)", "x = torch.ones(32, 32)"),
    ("torch.mm(x, x)", "x = torch.ones(128, 128)"),
    ("x.sum()", "x = torch.ones(10_000)"),
    ("torch.softmax(x, 1)", "x = torch.ones(64, 128)"),
    ("torch.relu(x)", "x = torch.ones(20_000)"),
    ("x.sort()", "x = torch.arange(4096).flip(0)"),
    ("(x * x).sum().backward()", "x = torch.ones(8, requires_grad=True)"),
)
# These are repeated often, to see how far their estimates scatter.
REPEATED = (1, 4, 6, 8, 10, 13, 16, 19)
# About 50 ns a call, and nothing in them that depends on how often they ran.
SHORT = (
    ("a ** b", "a, b = 3, 21"),
    ("(a, b, a) + (b,)", "a, b = 1, 2"),
    ("a % b + a // b * a", "a, b = 12345.5, 67.25"),
    ("divmod(a, b); divmod(b, a)", "a, b = 12345, 67"),
)
COPIES = 1000


def estimate(maker: Any, stmt: str, setup: str) -> float:
    """The median that a Timer gives for a statement."""
    found = maker(stmt, setup).blocked_autorange(min_run_time=BUDGET_S)
    return float(found.median)


def in_turns(stmt: str, setup: str, times: int) -> tuple[list[float], list[float]]:
    """Estimates of both, taken in random order within each turn."""
    found: dict[Any, list[float]] = {Timer: [], benchmark.Timer: []}
    order = list(found)
    for _ in range(times):
        random.shuffle(order)
        for maker in order:
            found[maker].append(estimate(maker, stmt, setup))
    return found[Timer], found[benchmark.Timer]


def scatter(values: Sequence[float]) -> float:
    """The interquartile range of estimates, as a share of their median."""
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return (high - low) / middle(values)


def true_s(stmt: str, setup: str) -> float:
    """What a short statement takes: in a loop by hand with a thousand copies of it, which costs nothing."""
    body = "\n        ".join([stmt] * COPIES)
    space: dict[str, Any] = {"clock": time.perf_counter}
    source = f"""
def block(count):
    {setup}
    start = clock()
    for _ in range(count):
        {body}
    return (clock() - start) / count / {COPIES}
"""
    exec(source, space)
    block = space["block"]
    block(20)
    return middle([block(20) for _ in range(100)])


def text(seconds: float) -> str:
    return f"{seconds * 1e9:,.1f} ns" if seconds < 1e-5 else f"{seconds * 1e6:,.1f} us"


def agreement() -> float:
    """The geometric mean of what opbench says against what torch says."""
    rows, logs = [], []
    for stmt, setup in STATEMENTS:
        ours, theirs = in_turns(stmt, setup, ROUNDS)
        ratio = middle([mine / other for mine, other in zip(ours, theirs, strict=True)])
        logs.append(math.log(ratio))
        rows.append([f"{stmt}  ({setup})"[:56], text(middle(ours)), text(middle(theirs)), f"{ratio:.3f}"])
    print(f"  medians of {ROUNDS} estimates of {BUDGET_S:g} s each")
    table(["statement", "opbench", "torch", "ratio"], rows)
    return math.exp(statistics.fmean(logs))


@contextlib.contextmanager
def neighbour() -> Iterator[None]:
    """Another program that always wants the same processor."""
    busy = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    try:
        yield
    finally:
        busy.kill()
        busy.wait()


def repeatability() -> float:
    """How much the estimates of opbench scatter against those of torch, geometric mean."""
    rows, logs = [], []
    for place in REPEATED:
        stmt, setup = STATEMENTS[place]
        ours, theirs = (scatter(found) for found in in_turns(stmt, setup, REPEATS))
        logs.append(math.log(ours / theirs))
        rows.append([f"{stmt}  ({setup})"[:56], f"{ours:.2%}", f"{theirs:.2%}", f"{ours / theirs:.2f}"])
    print(f"  interquartile range of {REPEATS} estimates of {BUDGET_S:g} s each")
    table(["statement", "opbench", "torch", "ratio"], rows)
    return math.exp(statistics.fmean(logs))


def disturbed() -> tuple[float, float]:
    """How far estimates are off beside another program: of opbench and of torch, in the middle."""
    rows, off = [], []
    for place in REPEATED:
        stmt, setup = STATEMENTS[place]
        alone = [middle(found) for found in in_turns(stmt, setup, ROUNDS)]
        with neighbour():
            beside = in_turns(stmt, setup, ROUNDS)
        errors = [
            middle([abs(one / true - 1) for one in found]) for found, true in zip(beside, alone, strict=True)
        ]
        off.append(errors)
        rows.append([f"{stmt}  ({setup})"[:56], *(f"{error:.1%}" for error in errors)])
    print("  how far off beside a program that wants the same processor, against the same alone")
    table(["statement", "opbench", "torch"], rows)
    return middle([ours for ours, _ in off]), middle([theirs for _, theirs in off])


def short() -> list[float]:
    """How far off statements of about 50 ns are, with the empty loop subtracted."""
    rows, off = [], []
    for stmt, setup in SHORT:
        timer = Timer(stmt, setup)
        found: dict[str, list[float]] = {"hand": [], "ours": [], "plan": [], "torch": []}
        for _ in range(ROUNDS):
            found["hand"].append(true_s(stmt, setup))
            found["ours"].append(timer.blocked_autorange(min_run_time=BUDGET_S, baseline=True).median)
            found["plan"].append(timer.measure("quick").median)
            found["torch"].append(estimate(benchmark.Timer, stmt, setup))
        true, ours, plan, theirs = (middle(values) for values in found.values())
        off += [ours - true, plan - true]
        rows.append([stmt, text(true), text(ours), text(plan), text(theirs)])
    print(f"  {COPIES} copies in each turn of a loop by hand, and what is said of one")
    table(["statement", "by hand", "opbench, baseline", "opbench, plan", "torch"], rows)
    return off


def main() -> None:
    title("Timer, beside torch.utils.benchmark.Timer")
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    torch.set_num_threads(1)
    ratio = agreement()
    spread = repeatability()
    ours_off, theirs_off = disturbed()
    off = short()
    goal("agrees with torch, geometric mean within 1%", f"{ratio - 1:+.2%}", abs(ratio - 1) <= 0.01)
    goal("estimates scatter less than torch's", f"{spread:.2f} of torch's", spread < 1)
    goal(
        "estimates beside another program are nearer to those alone than torch's",
        f"{ours_off:.1%} off, torch {theirs_off:.1%}",
        ours_off < theirs_off,
    )
    usual_s, worst_s = middle([abs(one) for one in off]), max(off, key=abs)
    goal(
        "50 ns are measured with a bias below 2 ns",
        f"{usual_s * 1e9:.2f} ns in the middle, {worst_s * 1e9:+.2f} ns at worst",
        usual_s < 2e-9,
    )


if __name__ == "__main__":
    main()
