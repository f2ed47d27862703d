"""Start of a worker: run by path, in an environment where opbench need not be installed.

Loads the `opbench` package that this file belongs to, under its own name, so that `import opbench` in
a user's operator file finds the same package and the same registry.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path


def _load_own_package() -> None:
    package = Path(__file__).resolve().parent.parent
    # Python put this folder first on the path; its file names must not shadow anybody's modules.
    sys.path[:] = [entry for entry in sys.path if not entry or Path(entry).resolve() != package / "worker"]
    spec = importlib.util.spec_from_file_location(
        "opbench", package / "__init__.py", submodule_search_locations=[str(package)]
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["opbench"] = module
    spec.loader.exec_module(module)


if __name__ == "__main__":
    _load_own_package()
    from opbench.worker.server import main

    main(sys.argv[1:])
