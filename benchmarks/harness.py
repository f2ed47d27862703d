"""What opbench itself costs per timed iteration, beside `timeit` and `torch.utils.benchmark.Timer`.

The three time the same statement in one process, one block each in turn. What they say about `pass` is what
their loops cost. Then the same for a whole sample: everything around the loop (counters, garbage collector,
records), per iteration.
"""

from __future__ import annotations

import os
import random
import time
import timeit
from collections.abc import Callable
from typing import NamedTuple

import msgspec
import torch
from board import goal, middle, table, title
from torch.utils.benchmark import Timer

from opbench.cases.plan import Plan
from opbench.worker.devices import device_for
from opbench.worker.probes.sampler import Sampler, host_clock
from opbench.worker.runtimes import snippet

ROUNDS = 200
BLOCK_S = 0.001
WORK = "torch.mm(a, a)"
WORK_TARGET_S = 0.001

# The same tensors for all three, or each would find them in another place of the cache.
OPERANDS: dict[str, torch.Tensor] = {}

TIMERS = ("timeit", "torch Timer", "opbench")


def sampler_for(stmt: str, setup: str) -> Sampler:
    """What opbench times this statement with, inside a worker."""
    prepared = snippet.prepare({"stmt": stmt, "setup": setup})
    return Sampler(prepared, msgspec.to_builtins(Plan()), device_for("cpu"), host_clock(1))


def size_for_a_millisecond() -> int:
    """How large a square matrix must be for its product to take about a millisecond here."""
    size = 64
    while True:
        names = {"torch": torch, "a": torch.randn(size, size)}
        if min(timeit.repeat(WORK, globals=names, number=3, repeat=3)) / 3 >= WORK_TARGET_S:
            return size
        size += size // 4


class Times(NamedTuple):
    """Seconds per iteration as each says and as a watch around each sees it, medians; iterations in a block;
    and the median over all turns of what opbench says against what another says in the same turn."""

    said: dict[str, float]
    seen: dict[str, float]
    number: int
    against: dict[str, float]


def measure(stmt: str, setup: str) -> Times:
    """Let each time the statement, block by block in turn."""
    plain = timeit.Timer(stmt, setup, globals={"torch": torch})
    torchs = Timer(stmt, setup, globals={"torch": torch})
    sampler = sampler_for(stmt, setup)
    least_s = min(plain.repeat(repeat=5, number=20)) / 20
    number = max(1, round(BLOCK_S / least_s))

    def by_opbench() -> float:
        return sampler.sample(number).times_ns[0] / 1e9 / number

    def by_baseline() -> float:
        return sampler.baseline(number).times_ns[0] / 1e9 / number

    blocks: dict[str, Callable[[], float]] = {
        "timeit": lambda: plain.timeit(number) / number,
        "torch Timer": lambda: torchs.timeit(number).median,
        "opbench": by_opbench,
        "empty loop": by_baseline,
    }
    said: dict[str, list[float]] = {name: [] for name in blocks}
    seen: dict[str, list[float]] = {name: [] for name in blocks}
    order = list(blocks)
    for turn in range(-10, ROUNDS):
        # Whoever comes first finds the caches as the one before left them.
        random.shuffle(order)
        for name in order:
            start = time.perf_counter()
            value = blocks[name]()
            elapsed_s = time.perf_counter() - start
            if turn >= 0:
                said[name].append(value)
                seen[name].append(elapsed_s / number)
    sampler.close()
    sampler.clock.close()
    return Times(
        {name: middle(found) for name, found in said.items()},
        {name: middle(found) for name, found in seen.items()},
        number,
        {
            name: middle([ours / other for ours, other in zip(said["opbench"], said[name], strict=True)])
            for name in blocks
        },
    )


def text(seconds: float) -> str:
    """A time per iteration."""
    return f"{seconds * 1e9:,.1f} ns" if abs(seconds) < 1e-5 else f"{seconds * 1e6:,.1f} us"


def main() -> None:
    torch.set_num_threads(1)
    title("Harness: time per iteration, and what is around it")
    # As a worker does for a case of one thread.
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    size = size_for_a_millisecond()
    OPERANDS.update(x=torch.ones(1), a=torch.randn(size, size))
    statements = {
        "pass": ("pass", ""),
        "x + 1": ("x + 1", "from __main__ import OPERANDS; x = OPERANDS['x']"),
        f"mm {size}x{size}": (WORK, "from __main__ import OPERANDS; a = OPERANDS['a']"),
    }
    said_rows, around_rows = [], []
    found: dict[str, Times] = {}
    for name, (stmt, setup) in statements.items():
        times = found[name] = measure(stmt, setup)
        said, seen = times.said, times.seen
        subtracted = said["opbench"] - said["empty loop"]
        said_rows.append(
            [name, f"{times.number:,}", *(text(said[timer]) for timer in TIMERS), text(subtracted)]
        )
        around_rows.append([name, *(text(seen[timer] - said[timer]) for timer in TIMERS)])
    print("  what each says about one iteration, in blocks of so many")
    table(["statement", "block", *TIMERS, "opbench, empty loop subtracted"], said_rows)
    print("  what each does beside that, per iteration (torch Timer warms up in every block)")
    table(["statement", *TIMERS], around_rows)

    own = found["pass"].said
    best = min(own["timeit"], own["torch Timer"])
    goal(
        "its loop costs no more than the cheaper of the others",
        f"{own['opbench'] * 1e9:.1f} ns beside {best * 1e9:.1f} ns",
        own["opbench"] <= best,
    )
    for name in list(statements)[1:]:
        for other in ("timeit", "torch Timer"):
            ratio = found[name].against[other]
            goal(f"`{name}` as {other} says, within 1%", f"{ratio - 1:+.2%}", abs(ratio - 1) <= 0.01)


if __name__ == "__main__":
    main()
