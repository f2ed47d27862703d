"""Read full results with the standard library alone: every raw sample is in them.

opbench run quick --plan quick -o results.jsonl
python examples/read_results.py results.jsonl
"""

import json
import sys
from statistics import quantiles


def rows_of(path):
    """The measurements of a file of `opbench run -o` or `opbench store export`."""
    with open(path, encoding="utf-8") as file:
        for line in file:
            record = json.loads(line)
            # There is a line for each run, too: its plan, its environments, what was asked for.
            if record["kind"] == "measurement":
                yield record


def main():
    if len(sys.argv) != 2:
        print("usage: read_results.py FILE", file=sys.stderr)
        return 2
    for row in rows_of(sys.argv[1]):
        case = row["case"]
        name = f"{case.get('op') or case.get('stmt')} {case.get('direction', 'forward')}"
        # What equals its default is left out of a record.
        metrics = {metric["tag"]: metric for metric in row.get("metrics", [])}
        samples = metrics.get("time", {}).get("samples", [])
        if row["status"] != "ok" or len(samples) < 2:
            print(f"{name}: {row['status']} {row.get('reason', '')}".rstrip())
            continue
        flags = metrics["time"].get("flags") or [0] * len(samples)
        clean = sum(1 for flag in flags if not flag)
        low, middle, high = (value * 1e6 for value in quantiles(samples, n=4))
        print(
            f"{name}: {low:.2f} {middle:.2f} {high:.2f} us (quartiles), {clean} of {len(samples)} undisturbed"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
