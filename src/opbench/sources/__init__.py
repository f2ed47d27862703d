"""Where cases come from: each source turns its input into a Suite; `open_sources` opens them by name."""

from opbench.sources.builtin import builtin_suites
from opbench.sources.opening import open_sources

__all__ = ["builtin_suites", "open_sources"]
