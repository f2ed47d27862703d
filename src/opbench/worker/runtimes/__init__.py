"""How a case becomes something callable."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, cast

from opbench.worker.errors import Unsupported
from opbench.worker.runtimes.prepared import Prepared

# Imported on first use: a runtime may need a package that is not there.
MODULES = {"compile": "opbench.worker.runtimes.compiled", "eager": "opbench.worker.runtimes.eager"}


class Runtime(Protocol):
    """What a runtime module offers."""

    def prepare(self, case: Mapping[str, Any], builder: Any, operator: Any, device: Any) -> Prepared:
        """Build the inputs of a case and make it callable."""


def runtime_for(name: str) -> Runtime:
    """The runtime of this name."""
    if name not in MODULES:
        raise Unsupported(f"there is no runtime {name!r}; there is {', '.join(sorted(MODULES))}")
    return cast(Runtime, import_module(MODULES[name]))
