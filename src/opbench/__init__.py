"""opbench: micro-benchmarks for deep-learning operators that you can believe."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.lazy import offer

if TYPE_CHECKING:
    from opbench.cases.builders import call, snippet, tensor
    from opbench.cases.errors import DocumentError, UsageError
    from opbench.cases.model import Case, Suite, suite_of
    from opbench.cases.plan import Plan, preset
    from opbench.execution.api import run
    from opbench.execution.statement import CopyIfCallgrind, Language
    from opbench.execution.timer import Timer
    from opbench.reports.compare import Compare
    from opbench.results.callgrind_stats import CallgrindStats
    from opbench.results.function_counts import FunctionCount, FunctionCounts
    from opbench.results.records import Row
    from opbench.results.store import Store
    from opbench.results.task import TaskSpec
    from opbench.results.timing import Measurement
    from opbench.sources import open_sources
    from opbench.sources.fuzzing import (
        FuzzedParameter,
        FuzzedSparseTensor,
        FuzzedTensor,
        Fuzzer,
        ParameterAlias,
    )
    from opbench.sources.suite_file import open_suite
    from opbench.worker.registry import operator

__version__ = "0.1.0"

__all__ = [
    "CallgrindStats",
    "Case",
    "Compare",
    "CopyIfCallgrind",
    "DocumentError",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "Language",
    "Measurement",
    "ParameterAlias",
    "Plan",
    "Row",
    "Store",
    "Suite",
    "TaskSpec",
    "Timer",
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
    "CallgrindStats": "opbench.results.callgrind_stats",
    "Case": "opbench.cases.model",
    "Compare": "opbench.reports.compare",
    "CopyIfCallgrind": "opbench.execution.statement",
    "DocumentError": "opbench.cases.errors",
    "FunctionCount": "opbench.results.function_counts",
    "FunctionCounts": "opbench.results.function_counts",
    "FuzzedParameter": "opbench.sources.fuzzing",
    "FuzzedSparseTensor": "opbench.sources.fuzzing",
    "FuzzedTensor": "opbench.sources.fuzzing",
    "Fuzzer": "opbench.sources.fuzzing",
    "Language": "opbench.execution.statement",
    "Measurement": "opbench.results.timing",
    "ParameterAlias": "opbench.sources.fuzzing",
    "Plan": "opbench.cases.plan",
    "Row": "opbench.results.records",
    "Store": "opbench.results.store",
    "Suite": "opbench.cases.model",
    "TaskSpec": "opbench.results.task",
    "Timer": "opbench.execution.timer",
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


__getattr__, __dir__ = offer(__name__, _HOMES, globals())
