"""Everything that `torch.utils.benchmark` has, by the same names: `import opbench.benchmark as benchmark`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from opbench.lazy import offer

if TYPE_CHECKING:
    from opbench.execution.compile_times import CompileRecord, bench_all, benchmark_compile, compile_times
    from opbench.execution.host_time import timer
    from opbench.execution.statement import CopyIfCallgrind, Language
    from opbench.execution.thread_pools import set_torch_threads
    from opbench.execution.timer import Timer
    from opbench.reports.compare import Colorize, Compare
    from opbench.results.callgrind_stats import CallgrindStats
    from opbench.results.function_counts import FunctionCount, FunctionCounts
    from opbench.results.task import TaskSpec
    from opbench.results.timing import Measurement
    from opbench.results.torch_measurements import read_torch_pickle
    from opbench.results.units import ordered_unique, select_unit, trim_sigfig, unit_to_english
    from opbench.sources.fuzzing import (
        BinaryOpFuzzer,
        BinaryOpSparseFuzzer,
        ConvolutionOpFuzzer,
        FuzzedParameter,
        FuzzedSparseTensor,
        FuzzedTensor,
        Fuzzer,
        IndexingOpFuzzer,
        MatmulOpFuzzer,
        ParameterAlias,
        ReductionOpFuzzer,
        SpectralOpFuzzer,
        UnaryOpFuzzer,
        UnaryOpSparseFuzzer,
    )

_FUZZING = "opbench.sources.fuzzing"
_HOMES = {
    "BinaryOpFuzzer": _FUZZING,
    "BinaryOpSparseFuzzer": _FUZZING,
    "CallgrindStats": "opbench.results.callgrind_stats",
    "Colorize": "opbench.reports.compare",
    "Compare": "opbench.reports.compare",
    "CompileRecord": "opbench.execution.compile_times",
    "ConvolutionOpFuzzer": _FUZZING,
    "CopyIfCallgrind": "opbench.execution.statement",
    "FunctionCount": "opbench.results.function_counts",
    "FunctionCounts": "opbench.results.function_counts",
    "FuzzedParameter": _FUZZING,
    "FuzzedSparseTensor": _FUZZING,
    "FuzzedTensor": _FUZZING,
    "Fuzzer": _FUZZING,
    "IndexingOpFuzzer": _FUZZING,
    "Language": "opbench.execution.statement",
    "MatmulOpFuzzer": _FUZZING,
    "Measurement": "opbench.results.timing",
    "ParameterAlias": _FUZZING,
    "ReductionOpFuzzer": _FUZZING,
    "SpectralOpFuzzer": _FUZZING,
    "TaskSpec": "opbench.results.task",
    "Timer": "opbench.execution.timer",
    "UnaryOpFuzzer": _FUZZING,
    "UnaryOpSparseFuzzer": _FUZZING,
    "bench_all": "opbench.execution.compile_times",
    "benchmark_compile": "opbench.execution.compile_times",
    "compile_times": "opbench.execution.compile_times",
    "ordered_unique": "opbench.results.units",
    "read_torch_pickle": "opbench.results.torch_measurements",
    "select_unit": "opbench.results.units",
    "set_torch_threads": "opbench.execution.thread_pools",
    "timer": "opbench.execution.host_time",
    "trim_sigfig": "opbench.results.units",
    "unit_to_english": "opbench.results.units",
}

__all__ = [
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "CallgrindStats",
    "Colorize",
    "Compare",
    "CompileRecord",
    "ConvolutionOpFuzzer",
    "CopyIfCallgrind",
    "FunctionCount",
    "FunctionCounts",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "IndexingOpFuzzer",
    "Language",
    "MatmulOpFuzzer",
    "Measurement",
    "ParameterAlias",
    "ReductionOpFuzzer",
    "SpectralOpFuzzer",
    "TaskSpec",
    "Timer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
    "bench_all",
    "benchmark_compile",
    "compile_times",
    "ordered_unique",
    "read_torch_pickle",
    "select_unit",
    "set_torch_threads",
    "timer",
    "trim_sigfig",
    "unit_to_english",
]

__getattr__, __dir__ = offer(__name__, _HOMES, globals())
