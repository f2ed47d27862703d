"""opbench: micro-benchmarks for deep-learning operators that you can believe."""

__version__ = "0.1.0"
