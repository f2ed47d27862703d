"""Fuzzers for the usual families of operators. The first five have torch's names and signatures."""

from opbench.sources.fuzzing.ready.convolution import ConvolutionOpFuzzer
from opbench.sources.fuzzing.ready.indexing import IndexingOpFuzzer
from opbench.sources.fuzzing.ready.matmul import MatmulOpFuzzer
from opbench.sources.fuzzing.ready.pointwise import BinaryOpFuzzer, UnaryOpFuzzer
from opbench.sources.fuzzing.ready.reduction import ReductionOpFuzzer
from opbench.sources.fuzzing.ready.sparse import (
    BinaryOpSparseFuzzer,
    SparseMatrixFuzzer,
    UnaryOpSparseFuzzer,
)
from opbench.sources.fuzzing.ready.spectral import SpectralOpFuzzer

__all__ = [
    "BinaryOpFuzzer",
    "BinaryOpSparseFuzzer",
    "ConvolutionOpFuzzer",
    "IndexingOpFuzzer",
    "MatmulOpFuzzer",
    "ReductionOpFuzzer",
    "SparseMatrixFuzzer",
    "SpectralOpFuzzer",
    "UnaryOpFuzzer",
    "UnaryOpSparseFuzzer",
]
