"""Measure from Python: at which size does a matrix product become worth its call?

python examples/measure.py
"""

import sys

import opbench

SIZES = (4, 16, 64, 256)


def main():
    cases = [
        opbench.call("torch.mm", opbench.tensor(size, size), opbench.tensor(size, size), sub_label=f"{size}")
        for size in SIZES
    ]
    all_measured = True
    # Rows come as they are measured. One that fails is a row too: with a status and a reason.
    for row in opbench.run(cases, "quick"):
        time = row.metric("time")
        if row.status != "ok" or time is None or time.interval is None:
            print(f"{row.case.sub_label:>4}  {row.status}: {row.reason}")
            all_measured = False
            continue
        rate = row.metric("rate.flops")
        print(
            f"{row.case.sub_label:>4}  {time.value * 1e6:10.3f} us"
            f"  ({time.interval.low * 1e6:.3f} to {time.interval.high * 1e6:.3f},"
            f" {time.interval.confidence:.1%}, {len(time.samples)} samples)"
            f"  {rate.value / 1e9 if rate else float('nan'):7.2f} GFLOP/s"
        )
    return 0 if all_measured else 1


# Workers may be started as fresh processes that import this file again.
if __name__ == "__main__":
    sys.exit(main())
