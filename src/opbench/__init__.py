"""opbench: micro-benchmarks for deep-learning operators that you can believe."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from opbench.cases.builders import call, snippet, tensor
    from opbench.cases.errors import DocumentError, UsageError
    from opbench.cases.model import Case, Suite, suite_of
    from opbench.cases.plan import Plan, preset
    from opbench.execution.api import run
    from opbench.results.records import Measurement
    from opbench.results.store import Store
    from opbench.sources import open_sources
    from opbench.sources.suite_file import open_suite
    from opbench.worker.registry import operator

__version__ = "0.1.0"

__all__ = [
    "Case",
    "DocumentError",
    "Measurement",
    "Plan",
    "Store",
    "Suite",
    "UsageError",
    "__version__",
    "call",
    "open_sources",
    "open_suite",
    "operator",
    "preset",
    "run",
    "snippet",
    "suite_of",
    "tensor",
]

# Where each name is. Nothing is imported before it is asked for: a worker loads this file in environments
# that have nothing of what the client needs, and `opbench --help` is to be quick.
_HOMES = {
    "Case": "opbench.cases.model",
    "DocumentError": "opbench.cases.errors",
    "Measurement": "opbench.results.records",
    "Plan": "opbench.cases.plan",
    "Store": "opbench.results.store",
    "Suite": "opbench.cases.model",
    "UsageError": "opbench.cases.errors",
    "call": "opbench.cases.builders",
    "open_sources": "opbench.sources",
    "open_suite": "opbench.sources.suite_file",
    "operator": "opbench.worker.registry",
    "preset": "opbench.cases.plan",
    "run": "opbench.execution.api",
    "snippet": "opbench.cases.builders",
    "suite_of": "opbench.cases.model",
    "tensor": "opbench.cases.builders",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'opbench' has no attribute {name!r}")
    found = getattr(importlib.import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
