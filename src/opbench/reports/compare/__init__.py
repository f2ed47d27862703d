"""Many measurements side by side: a table for each label, ratios and verdicts, exports."""

from opbench.reports.compare.compare import Compare
from opbench.reports.compare.tones import Colorize

__all__ = ["Colorize", "Compare"]
