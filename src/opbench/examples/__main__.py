"""Lists the examples."""

from __future__ import annotations

import ast
import pkgutil
from pathlib import Path

from opbench import examples


def main() -> None:
    """Print the name of each example with what it shows."""
    print("Examples, each to be started by python -m opbench.examples.NAME; --help tells its flags:\n")
    for module in pkgutil.iter_modules(examples.__path__):
        folder = Path(examples.__path__[0])
        about = ast.get_docstring(ast.parse((folder / f"{module.name}.py").read_text(encoding="utf-8"))) or ""
        if module.name not in ("__main__", "shared"):
            print(f"  {module.name:<14} {about.splitlines()[0]}")


if __name__ == "__main__":
    main()
