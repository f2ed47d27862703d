"""Operators on random inputs: what an element costs as a whole number, and what as a floating-point one."""

from __future__ import annotations

import math
import statistics
from typing import Any

from opbench.benchmark import BinaryOpFuzzer, Timer, UnaryOpFuzzer
from opbench.examples.shared import count, in_words, parser, seconds

UNARY = ("torch.abs(x)", "torch.clamp(x, 0, 1)", "torch.cumsum(x, -1)", "torch.sort(x, -1)")
BINARY = ("torch.add(x, y)", "torch.mul(x, y)", "torch.maximum(x, y)", "torch.floor_divide(x, y + 1)")
DTYPES = ("float32", "int32")


def main() -> None:
    """Measure every operator on the same shapes in both dtypes."""
    flags = parser("op_benchmark", __doc__ or "")
    flags.add_argument("-n", "--number", type=count, default=5, help="inputs for each operator (default: 5)")
    flags.add_argument("--seed", type=int, default=0, help="(default: 0)")
    flags.add_argument("--min-run-time", type=seconds, default=0.01, help="seconds for each (default: 0.01)")
    given = flags.parse_args()

    print(f"{given.number} inputs of seed {given.seed}; the median cost of an element\n")
    print(f"  {'':<30} {'float32':>9} {'int32':>9}  int32 takes")
    uneven = []
    for fuzzer, statements in ((UnaryOpFuzzer, UNARY), (BinaryOpFuzzer, BINARY)):
        # One input at a time: all of them together may not fit into memory.
        costs: dict[tuple[str, str], list[float]] = {}
        for number in range(given.number):
            for dtype in DTYPES:
                tensors, _, _ = fuzzer(given.seed, dtype=dtype).item(number)
                for statement in statements:
                    cost = per_element(statement, tensors, given.min_run_time)
                    costs.setdefault((statement, dtype), []).append(cost)
        for statement in statements:
            of_float, of_int = (costs[statement, dtype] for dtype in DTYPES)
            ratios = sorted(one / other for one, other in zip(of_int, of_float, strict=True))
            both = "".join(f"{in_words(statistics.median(some)):>10}" for some in (of_float, of_int))
            middle, low, high = statistics.median(ratios), ratios[0], ratios[-1]
            print(f"  {statement:<29}{both}  {middle:.2f} times as long ({low:.2f} to {high:.2f})")
            uneven.append((abs(math.log(middle)), statement, middle))

    _, statement, middle = max(uneven)
    print("\nWhat to read off")
    print(
        "  Both dtypes have 4 bytes: where memory is the limit, the ratio is 1. Where it is not, one of the"
    )
    print("  two has no fast path, or another algorithm. The shapes are the same for both, down to strides.")
    print(f"  The two differ most in {statement}: int32 takes {middle:.2f} times as long.")
    print(
        "  A wide range means that shape decides: python -m opbench.examples.fuzzer looks into one operator."
    )


def per_element(statement: str, tensors: dict[str, Any], min_run_time: float) -> float:
    """Seconds for each element of x."""
    time = Timer(statement, globals=tensors).blocked_autorange(min_run_time=min_run_time)
    elements: int = tensors["x"].numel()
    return time.median / elements


if __name__ == "__main__":
    main()
