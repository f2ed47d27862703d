"""A sparse matrix times a dense one: below which density, and in which layout, does it pay off?"""

from __future__ import annotations

import sys
import warnings
from typing import Any

from opbench.benchmark import Compare, FuzzedSparseTensor, Fuzzer, Measurement, Timer
from opbench.examples.shared import count, parser, seconds

DENSITIES = (0.001, 0.01, 0.05, 0.2)
LAYOUTS = ("sparse_coo", "sparse_csr", "sparse_csc")
DENSE = "dense"


def main() -> None:
    """Measure all densities and layouts, and say where the dense product is left behind."""
    flags = parser("sparse", __doc__ or "")
    flags.add_argument("--size", type=count, default=1024, help="rows and columns (default: 1024)")
    flags.add_argument("--width", type=count, default=64, help="columns of the dense matrix (default: 64)")
    flags.add_argument("--threads", type=count, default=1, help="(default: 1)")
    flags.add_argument("--min-run-time", type=seconds, default=0.1, help="seconds for each (default: 0.1)")
    given = flags.parse_args()
    import torch

    # Torch says once in each process that these layouts are new.
    warnings.filterwarnings("ignore", message="Sparse .* support is in beta")
    size = given.size
    dense = torch.randn(size, given.width)
    measured: dict[tuple[float, str], Measurement] = {}
    for density in DENSITIES:
        for layout in (DENSE, *LAYOUTS):
            x = matrix(size, density, "sparse_coo" if layout == DENSE else layout)
            timer = Timer(
                "x @ dense",
                globals={"x": x.to_dense() if layout == DENSE else x, "dense": dense},
                num_threads=given.threads,
                label=f"({size} x {size}) @ ({size} x {given.width})",
                sub_label=f"density {density:g}",
                description=layout,
            )
            measured[density, layout] = timer.blocked_autorange(min_run_time=given.min_run_time)

    table = Compare(measured.values())
    table.trim_significant_figures()
    table.show_ratios(column=DENSE)
    if sys.stdout.isatty():
        table.colorize(rowwise=True)
    table.print()

    print("What to read off")
    for layout in LAYOUTS:
        paying = [one for one in DENSITIES if measured[one, layout].median < measured[one, DENSE].median]
        words = (
            f"is faster than dense up to a density of {max(paying):g}" if paying else "is never faster here"
        )
        print(f"  {layout} {words}.")
    print("  The dense product takes the same time at every density; a sparse one follows the number of its")
    print("  elements, so that the point where they meet moves with width, threads and dtype: try yours.")
    print("  Making a matrix sparse takes time too, and is not measured here.")


def matrix(size: int, density: float, layout: str) -> Any:
    """A square sparse matrix with exactly that share of its elements; the same one in every layout."""
    x = FuzzedSparseTensor("x", size=(size, size), density=density, layout=layout)
    return Fuzzer([], [x], seed=0).item(0)[0]["x"]


if __name__ == "__main__":
    main()
