"""Times on an accelerator beside loops written by hand: back to back, and call by call with events.

The loops run in processes of their own that know nothing of opbench, after it, so that the two do not
share the device; they make as many calls as it did, for a device that is kept busy for longer is hotter, and
slower. Both leave out what an empty call costs. Needs an accelerator that torch has events for; says so where
there is none.
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
from opbench.results.records import Measurement, Metric

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

# Reads as JSON what to call and how often, and says how much longer a call takes than an empty one. A child
# for each, as opbench has.
BY_HAND = """
import functools, json, os, statistics, sys, time
import torch
device = sys.argv[1]
module = torch.get_device_module(device)

def continuous(call, count):
    module.synchronize()
    start = time.perf_counter()
    for _ in range(count):
        call()
    module.synchronize()
    return [(time.perf_counter() - start) / count]

def continuous_events(call, count):
    pairs = [(module.Event(enable_timing=True), module.Event(enable_timing=True)) for _ in range(count)]
    module.synchronize()
    for start, end in pairs:
        start.record()
        call()
        end.record()
    module.synchronize()
    return [start.elapsed_time(end) / 1e3 for start, end in pairs]

def discrete(call, count):
    times = []
    for _ in range(count):
        module.synchronize()
        start = time.perf_counter()
        call()
        module.synchronize()
        times.append(time.perf_counter() - start)
    return times

def measure(name, args, mode, warm_up, calls, samples):
    function = functools.reduce(getattr, name.split(".")[1:], torch)
    args = [torch.randn(arg["shape"], device=device, dtype=getattr(torch, arg["dtype"]))
            if isinstance(arg, dict) else arg for arg in args]
    call, empty = (lambda: function(*args)), (lambda: None)
    loop = globals()[mode]
    continuous(call, warm_up)
    def middle(body):
        if mode == "continuous":
            return statistics.median(loop(body, calls)[0] for _ in range(samples))
        return statistics.median(loop(body, samples))
    return middle(call) - middle(empty)

for line in sys.stdin:
    if os.fork() == 0:
        print(measure(*json.loads(line)), flush=True)
        os._exit(0)
    os.wait()
"""


def time_of(row: Measurement) -> Metric:
    """The time of a row, which has one."""
    time = row.metric("time")
    assert time is not None, row.reason
    return time


def by_hand(device: str, mode: Mode, rows: list[Measurement]) -> list[float]:
    """Seconds for each operator, with as many calls as each row was made of."""
    lines = []
    for (name, args), row in zip(OPERATORS, rows, strict=True):
        plain = [
            arg.value if isinstance(arg, Int) else {"shape": list(arg.shape), "dtype": arg.dtype}
            for arg in args
            if isinstance(arg, Int | Tensor)
        ]
        time = time_of(row)
        said = time.provenance
        counts = [said["warmup_calls"], said["calls_per_sample"], len(time.samples or ())]
        lines.append(json.dumps([name, plain, mode, *counts]))
    text = subprocess.run(
        python("-c", BY_HAND, device), input="\n".join(lines), text=True, stdout=subprocess.PIPE, check=True
    ).stdout
    return [float(line) for line in text.split()]


def by_opbench(device: str, mode: Mode) -> list[Measurement]:
    """A row for each operator."""
    plan = Plan(name="accelerator", mode=mode, budget_s=1.0, precision=0.002)
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
    theirs = {mode: by_hand(device, mode, ours[mode]) for mode in MODES}
    ratios, rows = [], []
    for mode in MODES:
        for place, row in enumerate(ours[mode]):
            hand_s = theirs[mode][place]
            our_s = time_of(row).value or 0.0
            ratios.append(our_s / hand_s)
            rows.append(
                [
                    described(place),
                    mode,
                    f"{our_s * 1e6:,.2f} us",
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
