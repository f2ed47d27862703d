"""What a device reaches at best: bytes copied and floating-point operations of matrix products in a second.

Best of several repeats, because whatever disturbs a repeat makes it slower, never faster. `spread` is how
far the median repeat stayed below the best.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from statistics import median
from time import perf_counter
from typing import Any, NamedTuple

from opbench.worker.devices import Device, device_for, last_level_cache_bytes
from opbench.worker.errors import Unsupported

# A copy this many times larger than the last-level cache finds nothing there.
TIMES_CACHE = 4
LEAST_COPY_BYTES, MOST_COPY_BYTES = 128 << 20, 4 << 30
# A repeat is several calls where one is shorter than this. On a CPU, a short one has a chance of falling
# between two turns of whatever else runs; on an accelerator, it is to be long beside a synchronisation.
BLOCK_S, ASYNCHRONOUS_BLOCK_S = 0.001, 0.02
LEAST_REPEATS = 3
# The first size takes even a slow dtype well below a second; each next one is eight times the work.
SMALLEST, LARGEST = 256, 8192


class Best(NamedTuple):
    """The fastest of the repeats, per call, and what there is to say of the others."""

    seconds: float
    spread: float


def handle(request: Mapping[str, Any]) -> dict[str, Any]:
    """Measure what is asked for: device, num_threads, dtypes, and budget_s for each of them."""
    asked = request["calibrate"]
    try:
        device = device_for(asked.get("device", "cpu"))
        dtypes = asked.get("dtypes") or usual_dtypes(device)
        return _measured(device, asked["num_threads"], dtypes, asked.get("budget_s", 2.0))
    except Unsupported as error:
        return {"status": "unsupported", "reason": str(error)}


def usual_dtypes(device: Device) -> tuple[str, ...]:
    """The dtypes whose peaks are worth knowing; `tfloat32` is float32 shortened by a GPU."""
    return ("float32", "float64", "bfloat16", "float16") + (("tfloat32",) if device.kind == "cuda" else ())


def _measured(device: Device, num_threads: int, dtypes: Sequence[str], budget_s: float) -> dict[str, Any]:
    import torch

    torch.set_num_threads(num_threads)
    reply: dict[str, Any] = {"status": "ok", "reason": "", "peaks": [], "problems": []}
    reply["bandwidth"] = bandwidth(device, budget_s)
    for name in dtypes:
        try:
            reply["peaks"].append({"dtype": name, **peak(device, name, budget_s)})
        except (RuntimeError, TypeError, Unsupported) as error:
            # Old processors and old builds cannot multiply every dtype.
            reply["problems"].append(f"{name}: {' '.join(str(error).split())[:200]}")
    return reply


def bandwidth(device: Device, budget_s: float) -> dict[str, Any]:
    """Bytes read and written in a second by a copy that no cache can hold."""
    import torch

    cache_bytes = device_cache_bytes(device)
    size_bytes = min(max(TIMES_CACHE * cache_bytes, LEAST_COPY_BYTES), MOST_COPY_BYTES)
    source = torch.ones(size_bytes // 8, dtype=torch.int64, device=device.name)
    target = torch.zeros_like(source)
    found = best(lambda: target.copy_(source), device, budget_s)
    moved = 2 * source.numel() * source.element_size()
    return {
        "bytes_per_s": moved / found.seconds,
        "spread": found.spread,
        "working_set_bytes": moved,
        "cache_bytes": cache_bytes,
    }


def peak(device: Device, dtype: str, budget_s: float) -> dict[str, Any]:
    """Operations in a second (2 for each multiply-add) of the square matrix product that does most."""
    import torch

    shortened = dtype == "tfloat32"
    kind = getattr(torch, "float32" if shortened else dtype, None)
    if not isinstance(kind, torch.dtype):
        raise Unsupported(f"torch {torch.__version__} has no dtype called {dtype!r}")
    if shortened and device.kind != "cuda":
        raise Unsupported(f"{device.name} computes float32 as it is")
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = shortened
    try:
        return _largest_rate(device, kind, budget_s)
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


def _largest_rate(device: Device, kind: Any, budget_s: float) -> dict[str, Any]:
    import torch

    deadline = perf_counter() + budget_s
    most: dict[str, Any] = {"flops_per_s": 0.0}
    size = SMALLEST
    while size <= LARGEST:
        left, right = (torch.randn(size, size, device=device.name).to(kind) for _ in range(2))
        out = torch.empty_like(left)
        # The larger sizes come nearer to the peak, so they are given more of the time.
        found = best(
            lambda a=left, b=right, c=out: torch.mm(a, b, out=c),  # type: ignore[misc]
            device,
            (deadline - perf_counter()) / 4,
        )
        rate = 2 * size**3 / found.seconds
        if rate > most["flops_per_s"]:
            most = {"flops_per_s": rate, "spread": found.spread, "size": size}
        size *= 2
        if (LEAST_REPEATS + 1) * 8 * found.seconds > deadline - perf_counter():
            break
    return most


def best(call: Callable[[], Any], device: Device, budget_s: float) -> Best:
    """Repeat a call within the time, at least a few times; the first does not count."""
    deadline = perf_counter() + budget_s
    first_s = _timed(call, 1, device)
    block_s = ASYNCHRONOUS_BLOCK_S if device.asynchronous else BLOCK_S
    per_call_s = first_s if first_s > block_s else min(first_s, _timed(call, 1, device))
    count = max(1, round(block_s / per_call_s)) if per_call_s > 0 else 1
    repeats: list[float] = []
    while len(repeats) < LEAST_REPEATS or perf_counter() < deadline:
        repeats.append(_timed(call, count, device) / count)
    fastest = min(repeats)
    return Best(fastest, 1.0 - fastest / median(repeats))


def _timed(call: Callable[[], Any], count: int, device: Device) -> float:
    device.synchronize()
    start = perf_counter()
    for _ in range(count):
        call()
    device.synchronize()
    return perf_counter() - start


def device_cache_bytes(device: Device) -> int:
    """Size of the last-level cache of a device."""
    if device.kind == "cpu":
        return last_level_cache_bytes()
    import torch

    properties = getattr(torch.get_device_module(device.kind), "get_device_properties", None)
    found = getattr(properties(device.name), "L2_cache_size", 0) if properties else 0
    return int(found) or LEAST_COPY_BYTES // TIMES_CACHE
