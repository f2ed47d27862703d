"""The page on metrics names every metric and every warning that a row may have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opbench.results.roofline import DERIVED

ROOT = Path(__file__).resolve().parents[1]
TEXT = (ROOT / "docs" / "reference" / "metrics.md").read_text(encoding="utf-8")
SOURCES = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "src").rglob("*.py"))
# Those of a probe that failed are named after the knob that turns it on.
UNKNOWN = {f"{knob}_unknown" for knob in ("memory", "flops", "check")}


def first_cells(title: str) -> set[str]:
    """What stands in backticks in the first column of a section's first table."""
    section = TEXT.split(f"\n## {title}\n")[1].partition("\n## ")[0]
    table = section.partition("\n| ---")[2].partition("\n\n")[0]
    rows = [line for line in table.splitlines()[1:] if line.startswith("|")]
    return {name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])}


def test_every_metric_is_in_its_table() -> None:
    made = set(re.findall(r'\bmetric\(\s*"([a-z._]+)",', SOURCES)) | set(DERIVED)
    assert made == first_cells("Metrics")


def test_every_warning_is_in_its_table() -> None:
    made = set(re.findall(r'(?:caution|Caution)\(\s*"([a-z_0-9]+)"', SOURCES))
    # These two are given by a variable.
    assert made | UNKNOWN | {"above_roofline", "unlike_float64"} == first_cells("Warnings")


@pytest.mark.parametrize("code", ["above_roofline", "unlike_float64"])
def test_the_others_exist(code: str) -> None:
    assert f'"{code}"' in SOURCES
