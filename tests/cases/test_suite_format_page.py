"""The page on suites names everything that a suite may have."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from opbench.cases import check, check_fills, check_tensors, check_values
from opbench.cases.filter import _NUMBERS, _TESTS
from opbench.cases.model import Case
from opbench.cases.names import LAYOUTS
from opbench.sources import suite_file, suite_lines, suite_yaml

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference" / "suite-format.md"
TEXT = PAGE.read_text(encoding="utf-8")


def section(title: str) -> str:
    return TEXT.split(f"\n## {title}\n")[1].split("\n## ")[0]


def first_cells(title: str) -> set[str]:
    """What stands in the first column of a section's table, in backticks."""
    rows = section(title).partition("\n| ---")[2].splitlines()[1:]
    return {
        name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0]) if row.startswith("|")
    }


def test_every_field_of_a_case_is_in_its_table() -> None:
    assert first_cells("A case") == set(Case.__struct_fields__)


def test_every_type_of_value_is_in_its_table() -> None:
    assert first_cells("Values") == set(check_values.VALUE_TYPES)
    for alias in check_values.TYPE_ALIASES:
        assert f"`{alias}`" in section("Values") or alias == "None"


def test_every_field_of_a_tensor_is_in_its_table() -> None:
    assert first_cells("Tensors") == set(check_tensors.TENSOR_FIELDS) - {"type"}
    assert all(f"`{name}`" in section("Tensors") for name in LAYOUTS)


def test_every_fill_is_in_its_table_with_its_fields() -> None:
    assert first_cells("Fills") == set(check_fills.FILL_KINDS)
    rows = {line.split("`")[1]: line for line in section("Fills").splitlines() if line.startswith("| `")}
    for kind, fields in check_fills.FILL_FIELDS.items():
        assert set(re.findall(r"`([^`]+)`", rows[kind].split(" | ")[1])) == set(fields), kind


def test_every_key_of_a_filter_is_in_its_table() -> None:
    keys = {re.match(r"\w+", term)[0] for term in first_cells("Filters") if re.match(r"\w+[:<>=]", term)}  # type: ignore[index]
    assert keys | {"num_threads"} == {*_TESTS, *_NUMBERS}


@pytest.mark.parametrize(
    ("what", "limit"),
    [
        ("nesting of values", check_values.DEEPEST),
        ("arguments of a call, entries of a list", check_values.MOST_ITEMS),
        ("dimensions of a tensor", check_tensors.MOST_DIMENSIONS),
        ("numbers of a `literal` fill", check_fills.MOST_LITERALS),
        ("`num_threads`", check.MOST_THREADS),
        ("tags of a case", check.MOST_TAGS),
        ("a `.json` or `.toml` suite", f"{suite_file.LARGEST_DOCUMENT >> 20} MiB"),
        ("a `.yaml` suite", f"{suite_yaml.LARGEST_YAML >> 20} MiB, and {suite_yaml.MOST_VALUES:,} values"),
        ("a line of a `.jsonl` suite", f"{suite_lines.LONGEST_LINE >> 20} MiB"),
    ],
)
def test_the_limits_are_the_real_ones(what: str, limit: int | str) -> None:
    text = f"{limit:,}" if isinstance(limit, int) else limit
    assert f"| {what} | {text}" in section("Limits")
    assert check.LARGEST_SEED == 2**63 - 1
