"""Times on an accelerator beside loops written by hand: back to back, and call by call with events.

The loops run in a process of their own that knows nothing of opbench, after it, so that the two do not
share the device. Needs an accelerator that torch has events for; says so where there is none.
"""

from __future__ import annotations

import json
import subprocess
import sys

from board import goal, middle, python, table, title

from opbench.cases.model import Case
from opbench.cases.plan import Mode, Plan
from opbench.cases.values import AnyValue, Int, Tensor
from opbench.execution.api import run
from opbench.results.records import Measurement

GOAL = 0.05
MODES: tuple[Mode, ...] = ("continuous", "continuous_events", "discrete")


def tensor(dtype: str, *shape: int) -> Tensor:
    """Normal numbers."""
    return Tensor(shape=shape, dtype=dtype)


HALF, SINGLE = "float16", "float32"
OPERATORS: tuple[tuple[str, tuple[AnyValue, ...]], ...] = (
    ("torch.add", (tensor(SINGLE, 1), tensor(SINGLE, 1))),
    ("torch.add", (tensor(SINGLE, 8192, 8192), tensor(SINGLE, 8192, 8192))),
    ("torch.mm", (tensor(HALF, 1024, 1024), tensor(HALF, 1024, 1024))),
    ("torch.mm", (tensor(HALF, 8192, 8192), tensor(HALF, 8192, 8192))),
    ("torch.mm", (tensor(SINGLE, 4096, 4096), tensor(SINGLE, 4096, 4096))),
    ("torch.softmax", (tensor(HALF, 4096, 32000), Int(value=-1))),
    ("torch.nn.functional.gelu", (tensor(HALF, 8192, 8192),)),
    ("torch.nn.functional.conv2d", (tensor(HALF, 64, 64, 56, 56), tensor(HALF, 64, 64, 3, 3))),
)

# Reads operators as JSON and says how long each takes: back to back, and call by call with events.
BY_HAND = """
import functools, json, statistics, sys, time
import torch
device = sys.argv[1]
module = torch.get_device_module(device)
for line in sys.stdin:
    name, args = json.loads(line)
    function = functools.reduce(getattr, name.split(".")[1:], torch)
    args = [torch.randn(arg["shape"], device=device, dtype=getattr(torch, arg["dtype"]))
            if isinstance(arg, dict) else arg for arg in args]
    def block(count):
        module.synchronize()
        start = time.perf_counter()
        for _ in range(count):
            function(*args)
        module.synchronize()
        return (time.perf_counter() - start) / count
    def calls(count):
        pairs = [(module.Event(enable_timing=True), module.Event(enable_timing=True)) for _ in range(count)]
        module.synchronize()
        for start, end in pairs:
            start.record()
            function(*args)
            end.record()
        module.synchronize()
        return [start.elapsed_time(end) / 1e3 for start, end in pairs]
    def alone():
        module.synchronize()
        start = time.perf_counter()
        function(*args)
        module.synchronize()
        return time.perf_counter() - start
    until = time.perf_counter() + 0.5
    while time.perf_counter() < until:
        each = block(10)
    count = max(10, round(0.02 / each))
    print(json.dumps([statistics.median(block(count) for _ in range(25)),
                      statistics.median(calls(count * 5)),
                      statistics.median(alone() for _ in range(200))]), flush=True)
"""


def by_hand(device: str) -> list[list[float]]:
    """Seconds for each operator, in the order of MODES."""
    lines = []
    for name, args in OPERATORS:
        plain = [
            arg.value if isinstance(arg, Int) else {"shape": list(arg.shape), "dtype": arg.dtype}
            for arg in args
            if isinstance(arg, Int | Tensor)
        ]
        lines.append(json.dumps([name, plain]))
    text = subprocess.run(
        python("-c", BY_HAND, device), input="\n".join(lines), text=True, stdout=subprocess.PIPE, check=True
    ).stdout
    return [json.loads(line) for line in text.splitlines()]


def by_opbench(device: str, mode: Mode) -> list[Measurement]:
    """A row for each operator."""
    plan = Plan(name="accelerator", mode=mode, budget_s=1.0, precision=0.002, warmup_s=0.5)
    return list(run([Case(op=name, args=args, device=device) for name, args in OPERATORS], plan))


def described(place: int) -> str:
    """An operator with its shapes."""
    name, args = OPERATORS[place]
    shown = (f"{arg.dtype}{list(arg.shape)}" if isinstance(arg, Tensor) else "-1" for arg in args)
    return f"{name.rpartition('.')[2]}({', '.join(shown)})"


def main() -> None:
    device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
    title(f"Accelerator: opbench beside loops written by hand, on {device}")
    ours = {mode: by_opbench(device, mode) for mode in MODES}
    first = ours[MODES[0]][0]
    if first.status == "unsupported":
        print(f"  nothing measured: {first.reason}")
        return
    theirs = by_hand(device)
    ratios, rows = [], []
    for column, mode in enumerate(MODES):
        for place, row in enumerate(ours[mode]):
            time = row.metric("time")
            if time is None or time.value is None:
                rows.append([described(place), mode, row.status, row.reason, ""])
                continue
            hand_s = theirs[place][column]
            ratios.append(time.value / hand_s)
            rows.append(
                [
                    described(place),
                    mode,
                    f"{time.value * 1e6:,.2f} us",
                    f"{hand_s * 1e6:,.2f} us",
                    f"{ratios[-1]:.3f}",
                ]
            )
    table(["call", "mode", "opbench", "by hand", "ratio"], rows)
    worst = max(ratios, key=lambda ratio: abs(ratio - 1))
    goal(
        f"every ratio within {GOAL:.0%} of one",
        f"{worst:.3f} at worst, {middle(ratios):.3f} in the middle",
        abs(worst - 1) <= GOAL,
    )


if __name__ == "__main__":
    main()
