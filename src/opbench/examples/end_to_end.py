"""Two memory formats of a small convolutional network, in turns, with a verdict for each input.

Each round measures both, one after the other, in an order that alternates; what happens on the
machine happens to both. How many times faster, in each round, is what the verdict is about.
"""

from __future__ import annotations

import copy
import statistics
from typing import Any

from opbench.benchmark import Timer
from opbench.examples.shared import count, in_words, parser, seconds

INPUTS = ((1, 32), (1, 128), (8, 32), (8, 64))
ROUNDS = 12
# The third lowest and the third highest of 12 hold the true median in 96 % of all cases.
LEFT_OUT = 2
CONFIDENCE = 0.96


def main() -> None:
    """Measure all inputs and print a verdict for each."""
    flags = parser("end_to_end", __doc__ or "")
    flags.add_argument(
        "-n", "--inputs", type=count, default=len(INPUTS), help="how many inputs (default: all)"
    )
    flags.add_argument(
        "--min-run-time", type=seconds, default=0.03, help="seconds for each half of a round (0.03)"
    )
    flags.add_argument("--threads", type=count, default=1, help="(default: 1)")
    given = flags.parse_args()
    import torch

    torch.manual_seed(0)
    network = torch.nn.Sequential(
        torch.nn.Conv2d(16, 32, 3, padding=1),
        torch.nn.ReLU(),
        torch.nn.Conv2d(32, 32, 3, padding=1, groups=32),
        torch.nn.Conv2d(32, 16, 1),
    ).requires_grad_(False)
    last = copy.deepcopy(network).to(memory_format=torch.channels_last)

    print(f"channels_last against contiguous: how many times faster, with {CONFIDENCE:.0%} confidence\n")
    print(f"  {'batch':>5} {'side':>5}  {'contiguous':>10}  {'channels_last':>13}  {'ratio':>5}  between")
    undecided = []
    for batch, side in INPUTS[: given.inputs]:
        x = torch.randn(batch, 16, side, side)
        pair = [
            timer(network, x, given.threads),
            timer(last, x.to(memory_format=torch.channels_last), given.threads),
        ]
        before, after = in_turns(pair, given.min_run_time)
        ratios = sorted(one / other for one, other in zip(before, after, strict=True))
        low, high = ratios[LEFT_OUT], ratios[-1 - LEFT_OUT]
        verdict = "faster" if low > 1 else "slower" if high < 1 else "undecided"
        if verdict == "undecided":
            undecided.append((batch, side, max(1 / low, high) - 1))
        times = f"{in_words(statistics.median(before)):>10}  {in_words(statistics.median(after)):>13}"
        ratio = f"{statistics.median(ratios):>5.2f}  {low:.2f} and {high:.2f}"
        print(f"  {batch:>5} {side:>5}  {times}  {ratio}: {verdict}")

    print("\nWhat to read off")
    print("  A verdict is there where the interval leaves out 1. Where it holds 1, nobody knows yet.")
    for batch, side, hidden in undecided:
        print(f"  Undecided for {batch} x {side} x {side}: an effect of up to {hidden:.0%} may hide there.")
    if not undecided:
        print("  Nothing was left undecided this time.")
    print("  This is about one process. Another one has other addresses, and may see other ratios: let")
    print("  several vote before it matters.")


def timer(model: Any, x: Any, threads: int) -> Timer:
    """A Timer of one call."""
    return Timer(model, args=(x,), num_threads=threads)


def in_turns(pair: list[Timer], min_run_time: float) -> tuple[list[float], list[float]]:
    """The medians of two Timers, round by round."""
    found: tuple[list[float], list[float]] = ([], [])
    for turn in range(ROUNDS):
        for place in (0, 1) if turn % 2 == 0 else (1, 0):
            found[place].append(pair[place].blocked_autorange(min_run_time=min_run_time).median)
    return found


if __name__ == "__main__":
    main()
