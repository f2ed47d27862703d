"""How long `opbench --help` and `import opbench` take, beside an empty Python and `import torch`.

Every round starts each command once, so that whatever else the machine does meets them alike.
"""

from __future__ import annotations

import subprocess

from board import goal, middle, python, spread, table, title, took_s

ROUNDS = 15
# Importing torch takes seconds and is there for comparison only.
TORCH_ROUNDS = 3
GOAL_S = 0.150

COMMANDS = {
    "python -c pass": python("-c", "pass"),
    "import opbench": python("-c", "import opbench"),
    "opbench --help": python("-m", "opbench", "--help"),
    "opbench run --help": python("-m", "opbench", "run", "--help"),
    "import torch": python("-c", "import torch"),
}
WATCHED = ("torch", "numpy", "scipy")
REPORT = f"""
import sys
import opbench
opbench.run
opbench.operator
from opbench.cli.main import main
main(["--help"])
main(["run", "--help"])
print(*(name for name in {WATCHED!r} if name in sys.modules), file=sys.stderr)
"""


def main() -> None:
    title("Start-up: whole processes, from start to end")
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for number in range(-1, ROUNDS):
        for name, command in COMMANDS.items():
            if name == "import torch" and number >= TORCH_ROUNDS:
                continue
            elapsed_s = took_s(command)
            # The first round fills the file cache.
            if number >= 0:
                times[name].append(elapsed_s)
    rows = []
    for name, found in times.items():
        low, high = spread(found)
        rows.append(
            [
                name,
                f"{middle(found) * 1e3:.0f} ms",
                f"{low * 1e3:.0f}-{high * 1e3:.0f} ms",
                f"{min(found) * 1e3:.0f} ms",
            ]
        )
    table(["command", "median", "quartiles", "least"], rows)
    for name in ("import opbench", "opbench --help"):
        found_s = middle(times[name])
        goal(f"{name} within {GOAL_S * 1e3:.0f} ms", f"{found_s * 1e3:.0f} ms", found_s <= GOAL_S)
    ended = subprocess.run(python("-c", REPORT), capture_output=True, text=True, check=True)
    imported = ended.stderr.split()
    goal(
        "torch is not imported by them",
        f"imported: {', '.join(imported) or 'none'} of {', '.join(WATCHED)}",
        "torch" not in imported,
    )


if __name__ == "__main__":
    main()
