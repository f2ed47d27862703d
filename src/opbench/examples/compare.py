"""Three ways to write softmax, over sizes and threads, in one table with ratios and verdicts."""

from __future__ import annotations

import sys

from opbench.benchmark import Compare, Timer
from opbench.examples.shared import count, parser, seconds

# What is measured, by the name of its column: the first is what the others are compared with.
WAYS = {
    "built in": "torch.softmax(x, -1)",
    "by hand": "e = torch.exp(x - x.amax(-1, keepdim=True)); e / e.sum(-1, keepdim=True)",
    "through log": "torch.log_softmax(x, -1).exp()",
}


def main() -> None:
    """Measure all combinations and print the table."""
    flags = parser("compare", __doc__ or "")
    flags.add_argument("--rows", type=count, nargs="+", default=[1, 64, 1024], help="(default: 1 64 1024)")
    flags.add_argument("--columns", type=count, default=512, help="(default: 512)")
    flags.add_argument("--threads", type=count, nargs="+", default=[1, 2], help="(default: 1 2)")
    flags.add_argument("--min-run-time", type=seconds, default=0.2, help="seconds for each (default: 0.2)")
    given = flags.parse_args()
    import torch

    measurements = []
    for threads in given.threads:
        for rows in given.rows:
            x = torch.randn(rows, given.columns)
            for name, statement in WAYS.items():
                timer = Timer(
                    statement,
                    globals={"x": x},
                    num_threads=threads,
                    label="softmax",
                    sub_label=f"{rows} x {given.columns}",
                    description=name,
                )
                measurements.append(timer.blocked_autorange(min_run_time=given.min_run_time))

    table = Compare(measurements)
    table.trim_significant_figures()
    table.show_ratios(column="built in")
    table.show_significance()
    table.highlight_warnings()
    if sys.stdout.isatty():
        table.colorize(rowwise=True)
    table.print()

    slowest = max(measurements, key=lambda one: one.median)
    print("What to read off")
    print("  Each row is one shape, each column one way to write it; how many times longer than the built-in")
    print("  softmax it takes stands beside the time. 'undecided' is an answer too: within what these")
    print("  measurements can tell, the two are the same, and more run time may tell them apart.")
    print(
        "  What is one pass over memory in the built-in one is five in the one by hand: the larger the shape,"
    )
    print("  the more that matters. On small ones, starting each operator costs most.")
    print(f"  Slowest of all: {slowest.description}, {slowest.sub_label}, {slowest.num_threads} thread(s).")


if __name__ == "__main__":
    main()
