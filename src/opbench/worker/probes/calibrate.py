"""Warming up until block times stop falling, and finding how many calls make one sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import ceil
from typing import Any, NamedTuple

# A block counts as faster than all before only if it is so by more than this.
FALLING = 0.01
# So many blocks in a row without getting faster make a case warm.
STEADY_BLOCKS = 3


class WarmUp(NamedTuple):
    """What warming up found. `stable` is False when it ended for lack of time."""

    calls_per_sample: int
    calls: int
    elapsed_s: float
    stable: bool


def target_ns(plan: Mapping[str, Any], resolution_ns: float) -> float:
    """How long a sample lasts at least, for the timer not to matter."""
    wanted_s: float = plan["block_s"]
    return max(wanted_s * 1e9, 100.0 * resolution_ns)


def warm_up(
    block: Callable[[int], float],
    now: Callable[[], int],
    plan: Mapping[str, Any],
    *,
    target: float,
    most_calls: int | None = None,
    spent_ns: float = 0.0,
    called: int = 0,
) -> WarmUp:
    """Run blocks (calls -> ns) until they stop getting faster, within `warmup_s`; then choose their size.

    `spent_ns` and `called` say what was done before. The calls count; the time does not, because a first
    call does much that no other does. Finding the size takes a few blocks of less than `target` each even
    when there is no time for warm-up at all.
    """
    start = now()
    fixed = plan["calls_per_sample"]
    most = max(1, ceil(target)) if fixed is None else fixed
    if most_calls is not None:
        most = min(most, most_calls)
    if plan["warmup_calls"] is not None:
        called += _exactly(block, plan["warmup_calls"] - called, most)
        if fixed is not None:
            return WarmUp(most, called, (now() - start + spent_ns) / 1e9, True)
    limit = plan["warmup_s"] * 1e9

    count, best = most if fixed is not None else 1, 0.0
    while True:
        elapsed = block(count)
        called += count
        best = elapsed / count
        if elapsed >= target or count >= most:
            break
        count = min(most, 2 * count)

    stable = plan["warmup_calls"] is not None
    steady = 0
    while not stable:
        size = most if fixed is not None else sized(target, best, most)
        # A block that would go far beyond the limit is not begun.
        if now() - start + best * size / 2 >= limit:
            break
        per_call = block(size) / size
        called += size
        steady = 0 if per_call < best * (1 - FALLING) else steady + 1
        best = min(best, per_call)
        stable = steady >= STEADY_BLOCKS
    size = most if fixed is not None else sized(target, best, most)
    return WarmUp(size, called, (now() - start + spent_ns) / 1e9, stable)


def sized(target: float, per_call: float, most: int) -> int:
    """The fewest calls that last as long as the target."""
    return max(1, min(most, ceil(target / per_call))) if per_call > 0 else most


def _exactly(block: Callable[[int], float], calls: int, most: int) -> int:
    done = 0
    while done < calls:
        size = min(most, calls - done)
        block(size)
        done += size
    return done
