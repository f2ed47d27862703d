"""Random inputs: tensors whose shapes and places in memory are drawn, and cases made of them."""

from opbench.sources.fuzzing.fuzzer import Fuzzer
from opbench.sources.fuzzing.item import Item
from opbench.sources.fuzzing.operators import FuzzedOperator, fuzzed_cases
from opbench.sources.fuzzing.parameters import FuzzedParameter, ParameterAlias
from opbench.sources.fuzzing.ready import (
    BinaryOpFuzzer,
    BinaryOpSparseFuzzer,
    ConvolutionOpFuzzer,
    IndexingOpFuzzer,
    MatmulOpFuzzer,
    ReductionOpFuzzer,
    SparseMatrixFuzzer,
    SpectralOpFuzzer,
    UnaryOpFuzzer,
    UnaryOpSparseFuzzer,
)
from opbench.sources.fuzzing.sparse import FuzzedSparseTensor
from opbench.sources.fuzzing.tensors import FuzzedTensor

__all__ = [
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "ConvolutionOpFuzzer",
    "FuzzedOperator",
    "FuzzedParameter",
    "FuzzedSparseTensor",
    "FuzzedTensor",
    "Fuzzer",
    "IndexingOpFuzzer",
    "Item",
    "MatmulOpFuzzer",
    "ParameterAlias",
    "ReductionOpFuzzer",
    "SparseMatrixFuzzer",
    "SpectralOpFuzzer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
    "fuzzed_cases",
]
