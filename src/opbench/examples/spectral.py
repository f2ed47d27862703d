"""Fourier transforms: what a size with a large prime factor costs, and what padding it would save."""

from __future__ import annotations

from opbench.benchmark import Timer
from opbench.examples.shared import count, in_words, parser, seconds

# Each a prime, or twice one, or next to a power of two: what people get who do not choose.
SIZES = (251, 509, 1018, 2047, 4099, 10007, 20014, 65537)


def main() -> None:
    """Measure each size as it is, and padded with zeros to the next product of 2, 3 and 5."""
    flags = parser("spectral", __doc__ or "")
    flags.add_argument(
        "sizes", nargs="*", type=count, default=SIZES, help="sizes (default: eight awkward ones)"
    )
    flags.add_argument("--batch", type=count, default=16, help="transforms in a call (default: 16)")
    flags.add_argument("--min-run-time", type=seconds, default=0.2, help="seconds for each (default: 0.2)")
    given = flags.parse_args()
    import torch

    print(f"torch.fft.rfft of {given.batch} x size, as it is and padded to the next product of 2, 3 and 5\n")
    print(f"  {'size':>7}  {'factors':<14} {'time':>8}  {'padded to':>9} {'time':>8}  ratio")
    ratios = {}
    for size in given.sizes:
        padded = next_regular(size)
        times = []
        for length in (size, padded):
            timer = Timer("torch.fft.rfft(x, n)", globals={"x": torch.randn(given.batch, size), "n": length})
            times.append(timer.blocked_autorange(min_run_time=given.min_run_time).median)
        ratios[size] = times[0] / times[1]
        words = " * ".join(map(str, factors(size))) or "1"
        as_it_is, filled = map(in_words, times)
        print(f"  {size:>7}  {words:<14} {as_it_is:>8}  {padded:>9} {filled:>8}  {ratios[size]:.2f}")

    worst = max(ratios, key=lambda size: ratios[size])
    print("\nWhat to read off")
    print(
        f"  {worst} costs {ratios[worst]:.1f} times as much as {next_regular(worst)}, which is hardly larger."
    )
    print("  Where a transform may be longer than the data (convolutions, correlations, spectra to look at),")
    print(
        "  pad to such a size. The padding itself is in the second time. Where the ratio is near 1, leave it."
    )
    print("  Padding changes the frequencies that the result is about: it is no free replacement for those.")


def factors(number: int) -> list[int]:
    """The prime factors, smallest first."""
    found = []
    divisor = 2
    while divisor * divisor <= number:
        while number % divisor == 0:
            found.append(divisor)
            number //= divisor
        divisor += 1
    return [*found, number] if number > 1 else found


def next_regular(number: int) -> int:
    """The smallest product of 2, 3 and 5 that is not below a number."""
    while max(factors(number), default=1) > 5:
        number += 1
    return number


if __name__ == "__main__":
    main()
