"""One row in full: every metric, the shape of its samples, warnings, output, and the case itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import pairwise

import msgspec
from rich.cells import cell_len

from opbench.reports import format as fmt
from opbench.reports.inputs import describe_inputs, describe_variant
from opbench.reports.machine import describe_environment
from opbench.reports.table import Line
from opbench.reports.text import left, printable, printable_lines, right, wrap
from opbench.results.records import Environment, Measurement, Metric
from opbench.worker.probes.estimate import quantile

_BLOCKS = " ▁▂▃▄▅▆▇█"
_OUTPUT_LINES = 40
_BINS = 16
_LONGEST_FACT = 80
_LEAST_TEXT = 20
_FLAGS = (
    (1, "involuntary context switch"),
    (2, "CPU time far below wall time"),
    (4, "time stolen by the host"),
)


def details(row: Measurement, width: int, environment: Environment | None = None) -> Iterator[Line]:
    """Everything there is to say about a row, and where it was measured."""
    case = row.case
    yield from _title(printable(case.name), printable(describe_inputs(case)), width)
    yield _field("case", row.case_id)
    yield _field("run", row.run_id)
    how = ", ".join(part for part in (case.direction, describe_variant(case)) if part)
    yield _field("how", printable(how))
    yield _field("where", printable(_where(row)))
    yield [*_field("status", ""), (row.status.replace("_", " "), "green" if row.status == "ok" else "red")]
    if row.duration_s:
        yield _field(
            "took", f"{fmt.elapsed(row.duration_s)} in all, from {printable(row.started_at) or 'unknown'}"
        )
    if row.reason:
        yield from _section("Reason")
        for line in printable_lines(row.reason, _OUTPUT_LINES):
            yield from ([(f"  {part}", "")] for part in wrap(line, width - 2))
    yield from _metrics(row.metrics, width)
    time = row.metric("time")
    if time is not None and len(time.samples) > 1:
        yield from _samples(time, width)
    if row.warnings:
        yield from _section("Warnings")
        for warning in row.warnings:
            yield [(f"  {printable(warning.code)}", "yellow")]
            yield from ([(f"    {part}", "")] for part in wrap(printable(warning.message), width - 4))
    if row.drawn:
        yield from _section("Drawn values")
        yield from ([(f"  {printable(path)} = {value}", "")] for path, value in row.drawn.items())
    yield from _output(row)
    if environment is not None:
        yield from _section("Environment")
        yield from _environment(environment, width)
    yield from _section("Case")
    document = json.dumps(msgspec.to_builtins(case), allow_nan=False)
    yield from ([(f"  {part}", "dim")] for part in wrap(document, width - 2))


def _title(name: str, inputs: str, width: int) -> Iterator[Line]:
    if cell_len(name) + 2 + cell_len(inputs) <= width:
        yield [(name, "bold"), (f"  {inputs}".rstrip(), "")]
        return
    yield from ([(part, "bold")] for part in wrap(name, width))
    yield from ([(f"  {part}", "")] for part in wrap(inputs, width - 2))


def spark(values: Sequence[float], cells: int) -> str:
    """The values in their order as a row of blocks, higher for larger; each cell shows its largest."""
    low, high = min(values), max(values)
    cells = min(cells, len(values))
    edges = [len(values) * cell // cells for cell in range(cells + 1)]
    tops = [max(values[start:end]) for start, end in pairwise(edges)]
    span = high - low
    return "".join(_BLOCKS[1 + round((top - low) / span * 7)] if span else _BLOCKS[4] for top in tops)


def _where(row: Measurement) -> str:
    again = [f"repeat {row.repeat}"] if row.repeat else []
    again += [f"attempt {row.attempt}"] if row.attempt else []
    name = "this environment" if row.environment == "this" else f"environment {row.environment}"
    return ", ".join([name, *again])


def _metrics(metrics: Sequence[Metric], width: int) -> Iterator[Line]:
    if not metrics:
        return
    yield from _section("Metrics")
    tag_width = min(max(len(metric.tag) for metric in metrics), 32)
    texts = [printable(fmt.metric_text(metric)) for metric in metrics]
    text_width = max(len(text) for text in texts)
    for metric, text in zip(metrics, texts, strict=True):
        parts = [f"n={len(metric.samples)}"] if metric.samples else []
        if metric.interval is not None:
            low, high = (
                fmt.by_hint(end, metric.hint, metric.unit)
                for end in (metric.interval.low, metric.interval.high)
            )
            parts.insert(
                0, f"{low.strip()} to {high.strip()} with {metric.interval.confidence * 100:.4g}% confidence"
            )
        # A scaled number such as 262 KiB hides the exact one, which some people came for.
        elif metric.hint in ("bytes", "flop_rate", "byte_rate") and isinstance(metric.value, int):
            parts.append(f"{metric.value:,} {metric.unit}")
        start = tag_width + text_width + 6
        first, *others = wrap(", ".join(parts), max(width - start, _LEAST_TEXT)) or [""]
        yield [
            (f"  {left(printable(metric.tag), tag_width)}", ""),
            (f"  {right(text, text_width)}", "bold"),
            (f"  {first}", "dim"),
        ]
        yield from ([(" " * start + other, "dim")] for other in others)


def _samples(time: Metric, width: int) -> Iterator[Line]:
    samples = time.samples
    ordered = sorted(samples)
    yield from _section(f"Samples of time ({len(samples)})")
    yield [("  in order  ", "dim"), (spark(samples, width - 12), "cyan")]
    named = (
        ("min", 0.0),
        ("5%", 0.05),
        ("25%", 0.25),
        ("median", 0.5),
        ("75%", 0.75),
        ("95%", 0.95),
        ("max", 1.0),
    )
    quantiles = [f"{name} {fmt.duration(quantile(ordered, share))}" for name, share in named]
    yield from ([(f"  {part}", "")] for part in wrap("   ".join(quantiles), width - 2))
    disturbed = [
        f"{count} with {meaning}"
        for bit, meaning in _FLAGS
        if (count := sum(1 for flag in time.flags if flag & bit))
    ]
    if disturbed:
        yield [(f"  disturbed: {', '.join(disturbed)}", "yellow")]
    yield []
    yield from _histogram(ordered, width)


def _histogram(ordered: Sequence[float], width: int) -> Iterator[Line]:
    # The slowest few would squeeze all others into one bin, so they share the last one.
    low, high = ordered[0], quantile(ordered, 0.99)
    if not high > low:
        return
    bins = min(_BINS, max(4, len(ordered) // 5))
    step = (high - low) / bins
    counts = [0] * (bins + 1)
    for value in ordered:
        counts[min(int((value - low) / step), bins)] += 1
    most = max(counts)
    cells = max(width - 26, 10)
    for index, count in enumerate(counts):
        if index == bins and not count:
            continue
        bar = "█" * max(round(count / most * cells), 1 if count else 0)
        sign = "≥" if index == bins else " "
        yield [
            (f"  {sign}{right(fmt.duration(low + index * step), 9)} ", "dim"),
            (bar, "cyan"),
            (f" {count}", "dim"),
        ]


def _output(row: Measurement) -> Iterator[Line]:
    for name, text in (("stdout", row.output.stdout), ("stderr", row.output.stderr)):
        if text:
            yield from _section(f"What it wrote to {name}")
            yield from ([("  | ", "dim"), (line, "")] for line in printable_lines(text, _OUTPUT_LINES))
    if row.output.dropped_bytes:
        yield [(f"  ({fmt.size(row.output.dropped_bytes)} of output were not kept)", "dim")]


def _environment(environment: Environment, width: int) -> Iterator[Line]:
    yield from ([(f"  {part}", "")] for part in wrap(describe_environment(environment), width - 2))
    for name, section in environment.facts.items():
        facts = [] if not isinstance(section, dict) else [_fact(key, fact) for key, fact in section.items()]
        text = ", ".join(fact for fact in facts if fact)
        if text:
            first, *others = wrap(text, width - 15)
            yield [(f"  {left(printable(name), 11)}  ", "dim"), (first, "")]
            yield from ([(" " * 15 + other, "")] for other in others)
    yield [(f"  {left('fingerprint', 11)}  ", "dim"), (printable(environment.fingerprint), "")]


def _fact(key: str, fact: object) -> str:
    """A fact, if it is short; the long ones (flags of processors and builds) are in an export."""
    if fact is None or isinstance(fact, (dict, list)):
        return ""
    text = printable(f"{key.replace('_', ' ') if key.islower() else key} {fact}")
    return text if len(text) <= _LONGEST_FACT else ""


def _field(name: str, text: str) -> Line:
    return [(left(name, 8), "dim"), (text, "")]


def _section(title: str) -> Iterator[Line]:
    yield []
    yield [(title, "bold")]
