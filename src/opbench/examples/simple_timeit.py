"""One statement, timed in three ways; and what a warning looks like when it is deserved.

timeit makes the calls that you ask for. blocked_autorange finds out how many are worth it, and
measure does what `opbench run` does: it subtracts the loop and looks at memory and operations too.
"""

from __future__ import annotations

from opbench.benchmark import Timer
from opbench.examples.shared import count, in_words, parser, seconds


def main() -> None:
    """Time a matrix product in three ways, then something that has no time of its own."""
    flags = parser("simple_timeit", __doc__ or "")
    flags.add_argument("--size", type=count, default=128, help="rows and columns (default: 128)")
    flags.add_argument("-n", "--number", type=count, default=1000, help="calls for timeit (default: 1000)")
    flags.add_argument(
        "--min-run-time", type=seconds, default=0.5, help="seconds for the rest (default: 0.5)"
    )
    given = flags.parse_args()
    import torch

    a, b = torch.randn(2, given.size, given.size).unbind()
    timer = Timer(
        "torch.mm(a, b)", globals={"a": a, "b": b}, label="torch.mm", sub_label=f"{given.size} squared"
    )

    print(f"timeit({given.number:,}): so many calls, in blocks\n")
    asked = timer.timeit(given.number)
    print(asked)

    print("\nblocked_autorange: as many as fit into the time, at least 20 blocks if they do\n")
    fitted = timer.blocked_autorange(min_run_time=given.min_run_time)
    print(fitted)

    print('\nmeasure("quick"): by a plan, with everything else that can be known\n')
    planned = timer.measure("quick")
    print(planned)
    for metric in planned.row.metrics if planned.row else ():
        if metric.value is not None and metric.tag != "time":
            is_time = metric.unit == "s"
            value = in_words(metric.value) if is_time else f"{metric.value:,.0f} {metric.unit}"
            print(f"  {metric.tag}: {value}")

    print("\nA statement that remembers, so that each call takes longer than the one before\n")
    growing = Timer("seen.append(1); sum(seen)", globals={"seen": []}, label="growing")
    bad = growing.blocked_autorange(min_run_time=given.min_run_time)
    print(bad)

    medians = [one.median for one in (asked, fitted, planned)]
    print("\nWhat to read off")
    print(f"  The three medians are {', '.join(map(in_words, medians))}: the slowest is")
    print(
        f"  {max(medians) / min(medians) - 1:.1%} above the fastest. Look at 'Median between ...' before you"
    )
    print("  take a difference for one: it is where the median of many more calls would lie.")
    print(
        f"  'growing' has a spread of {bad.spread:.0%} of its median, and warnings: what changes from call to"
    )
    print("  call has no time of its own. Begin anew in setup, or time the whole sequence. A warning about")
    print("  other work on the processors means: measure again when the machine is quiet.")


if __name__ == "__main__":
    main()
