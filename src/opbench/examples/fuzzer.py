"""Where is an operator slow? Random inputs, ordered by what each of their elements costs."""

from __future__ import annotations

import statistics

from opbench.benchmark import Timer, UnaryOpFuzzer
from opbench.examples.shared import count, in_words, parser, seconds

SHOWN = 5


def main() -> None:
    """Time a statement of x on fuzzed inputs, and print the extremes."""
    flags = parser("fuzzer", __doc__ or "")
    flags.add_argument(
        "stmt", nargs="?", default="x.sum(-1)", help="statement of a tensor x (default: x.sum(-1))"
    )
    flags.add_argument("-n", "--number", type=count, default=40, help="how many inputs (default: 40)")
    flags.add_argument("--seed", type=int, default=0, help="the same inputs for the same seed (default: 0)")
    flags.add_argument("--min-run-time", type=seconds, default=0.02, help="seconds for each (default: 0.02)")
    given = flags.parse_args()

    fuzzer = UnaryOpFuzzer(seed=given.seed)
    found = []
    for number in range(given.number):
        tensors, properties, _ = fuzzer.item(number)
        x = tensors["x"]
        try:
            time = Timer(given.stmt, globals=tensors).blocked_autorange(min_run_time=given.min_run_time)
        except Exception as error:  # it may be wrong in any way
            flags.error(f"{given.stmt} on input {number}: {error}")
        memory = "contiguous" if properties["x"]["is_contiguous"] else "not contiguous"
        shape, strides = " x ".join(map(str, x.shape)), " ".join(map(str, x.stride()))
        found.append((time.median / x.numel(), time, number, memory, f"{shape:<18} {strides:<20}"))
    found.sort(key=lambda one: one[0])

    print(f"{given.stmt} on {given.number} inputs of seed {given.seed}: what an element costs\n")
    print(f"  {'input':>5}  {'per element':>11}  {'call':>8}  {'shape':<18} {'strides':<20} memory")
    for place, (per_element, time, number, memory, words) in enumerate(found):
        if SHOWN <= place < len(found) - SHOWN:
            if place == SHOWN:
                print("  ...")
            continue
        mark = " (!)" if time.has_warnings else ""
        times = f"{in_words(per_element):>11}  {in_words(time.median):>8}"
        print(f"  {number:>5}  {times}  {words} {memory}{mark}")

    ratio = found[-1][0] / found[0][0]
    print("\nWhat to read off")
    print(f"  The worst input costs {ratio:,.0f} times as much for each element as the best one.")
    for kind in ("contiguous", "not contiguous"):
        costs = [one[0] for one in found if one[3] == kind]
        if costs:
            print(f"  The {len(costs)} that are {kind}: {in_words(statistics.median(costs))} in the middle.")
    print(
        "  A call has a price of its own, which makes small inputs dear: look for large ones among the worst."
    )
    print("  What is last there without a reason is worth a case of its own. (!) marks times with warnings.")
    print(f"  Input 7 can be had again, alone: UnaryOpFuzzer(seed={given.seed}).item(7).")


if __name__ == "__main__":
    main()
