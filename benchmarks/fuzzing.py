"""How quickly a fuzzer draws, and what torch's own rejects on the same spaces.

Items as data (parameters and Values), cases with their ids, and items with tensors. Torch refuses every
right distribution, so its check is taken out for the comparison.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from itertools import islice

import numpy
from board import goal, middle, table, title
from torch.utils.benchmark.op_fuzzers import binary, unary
from torch.utils.benchmark.utils import fuzzer as torchs

from opbench.cases.identity import case_id
from opbench.sources.fuzzing import (
    BinaryOpFuzzer,
    ConvolutionOpFuzzer,
    FuzzedParameter,
    FuzzedSparseTensor,
    Fuzzer,
    IndexingOpFuzzer,
    MatmulOpFuzzer,
    ReductionOpFuzzer,
    SparseMatrixFuzzer,
    SpectralOpFuzzer,
    UnaryOpFuzzer,
    UnaryOpSparseFuzzer,
    fuzzed_cases,
)

ITEMS = 3000
ROUNDS = 5
GOAL_PER_S = 10_000
DENSITIES = (0.1, 0.05, 0.01)

FUZZERS: dict[str, Callable[[], Fuzzer]] = {
    "unary": lambda: UnaryOpFuzzer(0),
    "binary": lambda: BinaryOpFuzzer(0),
    "reduction": lambda: ReductionOpFuzzer(0),
    "matmul": lambda: MatmulOpFuzzer(0),
    "convolution": lambda: ConvolutionOpFuzzer(0),
    "indexing": lambda: IndexingOpFuzzer(0),
    "spectral": lambda: SpectralOpFuzzer(seed=0),
    "sparse": lambda: SparseMatrixFuzzer(0),
    "torch's sparse unary": lambda: UnaryOpSparseFuzzer(0),
}


def per_s(items: Callable[[], Iterable[object]], count: int) -> float:
    """How many a second, the median of some rounds."""
    rates = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        for _ in islice(items(), count):
            pass
        rates.append(count / (time.perf_counter() - start))
    return middle(rates)


def torchs_rate(kind: type) -> tuple[float, float]:
    """Parameters a second that torch's fuzzer draws, and the share that it rejects."""
    torchs.FuzzedParameter._check_distribution = lambda self, distribution: distribution
    made = kind(seed=0)
    state = numpy.random.RandomState(0)
    start = time.perf_counter()
    for _ in range(300):
        made._generate(state)
    return 300 / (time.perf_counter() - start), made.rejection_rate


def densest_error() -> float:
    """The largest relative error of the density of sparse tensors, built, of 4 Ki to 1 Mi entries."""
    fuzzer = Fuzzer(
        [
            *(FuzzedParameter(name, 64, 1024, "loguniform") for name in ("rows", "columns")),
            FuzzedParameter("density", distribution=dict.fromkeys(DENSITIES, 1 / len(DENSITIES))),
        ],
        [
            FuzzedSparseTensor("x", ("rows", "columns"), density="density", min_elements=10_000),
            FuzzedSparseTensor("y", ("rows", "columns"), density="density", layout="sparse_csr"),
        ],
        seed=0,
    )
    worst = 0.0
    for tensors, _, params in fuzzer.take(200):
        for tensor in tensors.values():
            worst = max(worst, abs(tensor.values().numel() / tensor.numel() / params["density"] - 1))
    return worst


def main() -> None:
    title("Fuzzing: items a second")
    rows, slowest, rejected = [], math.inf, 0.0
    for name, make in FUZZERS.items():
        fuzzer = make()
        rate = per_s(lambda fuzzer=fuzzer: (item.drawn for item in fuzzer.described(ITEMS)), ITEMS)
        with_values = math.nan
        if name != "torch's sparse unary":  # half of its items are more than a Value
            with_values = per_s(
                lambda fuzzer=fuzzer: (item.tensors for item in fuzzer.described(ITEMS)), ITEMS
            )
            slowest = min(slowest, with_values)
        rejected = max(rejected, fuzzer.rejection_rate)
        rows.append([name, f"{rate:,.0f}", "-" if math.isnan(with_values) else f"{with_values:,.0f}"])
    table(["fuzzer", "drawn", "as Values"], rows)

    cases = per_s(lambda: map(case_id, fuzzed_cases("torch.add", ITEMS, 0)), ITEMS)
    theirs = [(kind.__name__, *torchs_rate(kind)) for kind in (unary.UnaryOpFuzzer, binary.BinaryOpFuzzer)]
    table(
        ["for comparison", "a second", "rejected"],
        [
            ["cases of torch.add, checked and with ids", f"{cases:,.0f}", "0%"],
            *(
                [f"torch's {name}, parameters alone", f"{rate:,.0f}", f"{share:.0%}"]
                for name, rate, share in theirs
            ),
        ],
    )
    goal(
        f"{GOAL_PER_S:,} items a second without tensors, whatever the fuzzer",
        f"{slowest:,.0f} of the slowest",
        slowest >= GOAL_PER_S,
    )
    goal("no item is rejected without constraints", f"{rejected:.0%}", rejected == 0)
    error = densest_error()
    goal("sparse density within 1% of what was asked", f"{error:.2%} at worst", error <= 0.01)


if __name__ == "__main__":
    main()
