"""What callgrind counted while a statement ran, and while nothing did."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import msgspec

from opbench.cases.errors import ArgumentError
from opbench.results.function_counts import FunctionCount, FunctionCounts
from opbench.results.kinds import document_of
from opbench.results.task import TaskSpec

VERSION = 1
KIND = "opbench.callgrind"
_COUNTS = (
    "baseline_inclusive_stats",
    "baseline_exclusive_stats",
    "stmt_inclusive_stats",
    "stmt_exclusive_stats",
)
# Folders that differ from build to build stand before these; the library stands in brackets at the end.
_STANDARD = (
    (re.compile(r"^.+build/\.\./"), "build/../"),
    (re.compile(r"^.+/build/aten/"), "build/aten/"),
    (re.compile(r"^.+/Python/"), "Python/"),
    (re.compile(r"^.+/Objects/"), "Objects/"),
    (re.compile(r"\s\[.+\]$"), ""),
)
_NO_SYMBOLS = """
Warning: PyTorch was not built with debug symbols.
         Source information may be limited. Rebuild with
         REL_WITH_DEB_INFO=1 for more detailed results."""


@dataclass(repr=False, frozen=True)
class CallgrindStats:
    """Instruction counts of `number_per_run` runs of a statement, and of as many empty ones."""

    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: FunctionCounts
    baseline_exclusive_stats: FunctionCounts
    stmt_inclusive_stats: FunctionCounts
    stmt_exclusive_stats: FunctionCounts
    stmt_callgrind_out: str | None

    def __repr__(self) -> str:
        counts = (self.counts(), self.counts(denoise=True))
        baseline = self.baseline_exclusive_stats
        empty = (baseline.sum(), baseline.denoise().sum())
        threads = self.task_spec.num_threads
        lines = (
            object.__repr__(self),
            self.task_spec.summarize(),
            f"{'All':>30}{'Noisy symbols removed':>31}",
            f"    Instructions: {counts[0]:>12}{'':15}{counts[1]:>12}",
            f"    Baseline:     {empty[0]:>12}{'':15}{empty[1]:>12}",
            f"{self.number_per_run} runs per measurement, {threads} thread{'s' if threads > 1 else ''}",
        )
        return "\n".join(lines) + ("" if self.built_with_debug_symbols else _NO_SYMBOLS)

    def stats(self, inclusive: bool = False) -> FunctionCounts:
        """The counts of the statement by function, without or with what each function calls."""
        return self.stmt_inclusive_stats if inclusive else self.stmt_exclusive_stats

    def counts(self, *, denoise: bool = False) -> int:
        """How many instructions all runs of the statement executed; the baseline is not subtracted."""
        stats = self.stmt_exclusive_stats
        return (stats.denoise() if denoise else stats).sum()

    def delta(self, other: CallgrindStats, inclusive: bool = False) -> FunctionCounts:
        """By function, how many instructions more than the other: where a change comes from."""
        return self.stats(inclusive) - other.stats(inclusive)

    def as_standardized(self) -> CallgrindStats:
        """With names that do not depend on where things were built, so that equal functions cancel out."""
        renamed = {name: getattr(self, name).transform(_standard_name) for name in _COUNTS}
        # The names in callgrind's own output are no longer these.
        return replace(self, **renamed, stmt_callgrind_out=None)

    def to_json(self) -> str:
        """Everything as JSON text, without loss."""
        document = {
            "kind": KIND,
            "version": VERSION,
            "task_spec": asdict(self.task_spec),
            "number_per_run": self.number_per_run,
            "built_with_debug_symbols": self.built_with_debug_symbols,
            **{name: list(getattr(self, name)) for name in _COUNTS},
            "stmt_callgrind_out": self.stmt_callgrind_out,
        }
        return json.dumps(document)

    @staticmethod
    def from_json(text: str) -> CallgrindStats:
        """The counts that `to_json` made this text from."""
        document = document_of(text, KIND, VERSION, "counts")
        try:
            read = msgspec.convert(document, _Document)
        except msgspec.ValidationError as error:
            raise ArgumentError(f"text holds no counts: {error}") from None
        return CallgrindStats(
            read.task_spec,
            read.number_per_run,
            read.built_with_debug_symbols,
            _counts(read.baseline_inclusive_stats, inclusive=True),
            _counts(read.baseline_exclusive_stats, inclusive=False),
            _counts(read.stmt_inclusive_stats, inclusive=True),
            _counts(read.stmt_exclusive_stats, inclusive=False),
            read.stmt_callgrind_out,
        )


class _Document(msgspec.Struct, forbid_unknown_fields=True):
    kind: str
    version: int
    task_spec: TaskSpec
    number_per_run: int
    built_with_debug_symbols: bool
    baseline_inclusive_stats: list[tuple[int, str]]
    baseline_exclusive_stats: list[tuple[int, str]]
    stmt_inclusive_stats: list[tuple[int, str]]
    stmt_exclusive_stats: list[tuple[int, str]]
    stmt_callgrind_out: str | None = None


def _standard_name(name: str) -> str:
    for pattern, short in _STANDARD:
        name = pattern.sub(short, name)
    return name


def _counts(items: Sequence[tuple[int, str]], *, inclusive: bool) -> FunctionCounts:
    return FunctionCounts(tuple(FunctionCount(*item) for item in items), inclusive)
