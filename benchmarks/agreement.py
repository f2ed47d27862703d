"""Times of opbench beside a loop written by hand, in a process of its own that knows nothing of opbench.

The two take turns, operator by operator, several times over. What is compared is their medians; what the
comparison can tell apart is the spread of the turns.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterator

from board import goal, middle, python, table, title

from opbench.cases.model import Case
from opbench.cases.plan import Plan
from opbench.cases.values import AnyValue, Int, Tensor
from opbench.execution.api import run
from opbench.execution.slots import arrange

ROUNDS = 5
GOAL = 0.10
PLAN = Plan(name="agreement", budget_s=0.6, precision=0.002, warmup_s=0.3, memory=False, flops=False)


def tensor(*shape: int) -> Tensor:
    """Normal float32 numbers."""
    return Tensor(shape=shape)


# Operator, arguments, and the expression that the loop written by hand calls.
OPERATORS: tuple[tuple[str, tuple[AnyValue, ...], str], ...] = (
    ("torch.add", (tensor(1), tensor(1)), "torch.add(randn(1), randn(1))"),
    ("torch.add", (tensor(512, 512), tensor(512, 512)), "torch.add(randn(512, 512), randn(512, 512))"),
    ("torch.mm", (tensor(64, 64), tensor(64, 64)), "torch.mm(randn(64, 64), randn(64, 64))"),
    ("torch.mm", (tensor(384, 384), tensor(384, 384)), "torch.mm(randn(384, 384), randn(384, 384))"),
    ("torch.bmm", (tensor(8, 64, 64), tensor(8, 64, 64)), "torch.bmm(randn(8, 64, 64), randn(8, 64, 64))"),
    ("torch.nn.functional.gelu", (tensor(128, 1024),), "torch.nn.functional.gelu(randn(128, 1024))"),
    ("torch.softmax", (tensor(64, 1000), Int(value=-1)), "torch.softmax(randn(64, 1000), -1)"),
    ("torch.sum", (tensor(1024, 1024),), "torch.sum(randn(1024, 1024))"),
    ("torch.sort", (tensor(10000),), "torch.sort(randn(10000))"),
    (
        "torch.nn.functional.conv2d",
        (tensor(4, 16, 32, 32), tensor(32, 16, 3, 3)),
        "torch.nn.functional.conv2d(randn(4, 16, 32, 32), randn(32, 16, 3, 3))",
    ),
)

# Reads a function and its arguments as text, builds the arguments once, and times a plain loop over the call.
BY_HAND = """
import ast, json, statistics, sys, time
import torch
torch.set_num_threads(1)

def built(node):
    if isinstance(node, ast.Call):
        return torch.randn(*(ast.literal_eval(part) for part in node.args))
    return ast.literal_eval(node)

def attribute(node):
    return globals()[node.id] if isinstance(node, ast.Name) else getattr(attribute(node.value), node.attr)

for line in sys.stdin:
    call = ast.parse(line.strip(), mode="eval").body
    function, args = attribute(call.func), [built(node) for node in call.args]
    a, b = args[0], args[-1]
    def block(count):
        if len(args) == 1:
            start = time.perf_counter()
            for _ in range(count):
                function(a)
        else:
            start = time.perf_counter()
            for _ in range(count):
                function(a, b)
        return time.perf_counter() - start
    warm_until = time.perf_counter() + 0.3
    while time.perf_counter() < warm_until:
        each = block(3) / 3
    count = max(1, round(0.002 / each))
    blocks = [block(count) / count for _ in range(min(300, max(20, round(0.6 / (count * each)))))]
    print(json.dumps(statistics.median(blocks)), flush=True)
"""


class ByHand:
    """The process with the loop written by hand."""

    def __init__(self, cpu: int) -> None:
        variables = {
            **os.environ,
            "OMP_NUM_THREADS": "1",
            "MKL_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self._process = subprocess.Popen(
            ["taskset", "--cpu-list", str(cpu), *python("-c", BY_HAND)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=variables,
        )

    def time_s(self, expression: str) -> float:
        """What one call takes."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(expression + "\n")
        self._process.stdin.flush()
        return float(json.loads(self._process.stdout.readline()))

    def close(self) -> None:
        self._process.communicate()


def by_opbench() -> Iterator[float]:
    """What one call takes, for all operators in order, round after round."""
    cases = [Case(op=name, args=args, seed=seed) for seed in range(ROUNDS) for name, args, _ in OPERATORS]
    for row in run(cases, PLAN):
        time = row.metric("time")
        if time is None or time.value is None:
            raise SystemExit(f"{row.case.op} was not measured: {row.status}: {row.reason}")
        yield float(time.value)


def text(seconds: float) -> str:
    """A time."""
    return f"{seconds * 1e6:,.2f} us"


def main() -> None:
    title("Agreement: opbench beside a loop written by hand, in turn")
    # The CPU that opbench gives to a case of one thread.
    by_hand = ByHand(arrange(os.sched_getaffinity(0))[0])
    ours_in_order = by_opbench()
    ours: list[list[float]] = [[] for _ in OPERATORS]
    theirs: list[list[float]] = [[] for _ in OPERATORS]
    for _ in range(ROUNDS):
        for place, (_, _, expression) in enumerate(OPERATORS):
            ours[place].append(next(ours_in_order))
            theirs[place].append(by_hand.time_s(expression))
    by_hand.close()
    rows, ratios = [], []
    for place, (_, _, expression) in enumerate(OPERATORS):
        turns = [one / other for one, other in zip(ours[place], theirs[place], strict=True)]
        ratios.append(middle(turns))
        shown = expression.removeprefix("torch.").replace("randn", "").replace("nn.functional.", "")
        rows.append(
            [
                shown,
                text(middle(ours[place])),
                text(middle(theirs[place])),
                f"{ratios[-1]:.3f}",
                f"{min(turns):.3f} - {max(turns):.3f}",
            ]
        )
    table(["call", "opbench", "by hand", "ratio", "of single turns"], rows)
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    goal(
        f"every ratio within {GOAL:.0%} of one",
        f"{worst:.3f} at worst, {middle(ratios):.3f} in the middle",
        abs(worst - 1) <= GOAL,
    )


if __name__ == "__main__":
    main()
