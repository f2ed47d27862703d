"""The table of a run, as recorded measurements give it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opbench.cases.model import Case
from opbench.reports.inputs import describe_row
from opbench.reports.summary import Summary
from opbench.reports.table import Layout, Line, Table, layout_for
from opbench.results.records import Caution, Interval, Measurement, Metric

Golden = Callable[[str, Iterable[Line]], None]


def lines_of(rows: Iterable[Measurement], layout: Layout) -> list[Line]:
    table = Table(layout)
    lines = [table.header()]
    for row in rows:
        lines += table.row(row)
    return [*lines, *table.close()]


def piped(rows: Iterable[Measurement]) -> Layout:
    return layout_for(None, (describe_row(row.case, row.environment) for row in rows))


def plain(lines: Iterable[Line]) -> list[str]:
    return ["".join(text for text, _ in line).rstrip() for line in lines]


@pytest.mark.parametrize("width", [50, 60, 80, 120, 200, None])
def test_as_looked_at(rows: list[Measurement], width: int | None, golden: Golden) -> None:
    summary = Summary()
    for row in rows:
        summary.add(row)
    layout = piped(rows) if width is None else layout_for(width)
    lines = [*lines_of(rows, layout), *summary.failures(width or 100)]
    golden(f"table_{width or 'pipe'}", lines)


@pytest.mark.parametrize("width", [50, 60, 79, 80, 109, 110, 120, 149, 150, 180, 400])
def test_no_row_is_wider_than_the_terminal(rows: list[Measurement], width: int) -> None:
    table = Table(layout_for(width))
    lines = [table.header(), *(line for row in rows for line in table.row(row))]
    assert max(cell_len(line) for line in plain(lines)) <= width


def test_units_stand_below_each_other(rows: list[Measurement]) -> None:
    for width in (80, 120, 200):
        ends = {line.find("s ", 0) for line in plain(lines_of(rows, layout_for(width))) if " µs " in line}
        assert len(ends) == 1 or width == 80
        columns = {line.index("µs ") for line in plain(lines_of(rows, layout_for(width))) if " µs " in line}
        assert len(columns) == 1


def test_a_pipe_repeats_names_and_cuts_nothing(rows: list[Measurement]) -> None:
    lines = plain(lines_of(rows, piped(rows)))
    assert sum(line.startswith("torch.mm ") for line in lines) == 2
    assert not any("…" in line for line in lines)


def test_columns_of_a_pipe_are_as_wide_as_the_longest_name_and_inputs_in_them(
    rows: list[Measurement],
) -> None:
    table = Table(piped(rows))
    lines = plain([table.header(), *(line for row in rows for line in table.row(row))])
    assert lines[1].index("f32[") == lines[3].index("bf16[") == lines[0].index("inputs")
    ends = {re.search(r"[nµm]s", line[80:]).end() for line in lines if "±0" in line}  # type: ignore[union-attr]
    assert ends == {lines[0].index("time") + len("time") - 80}


def test_what_is_longer_than_was_known_stays_whole_in_a_pipe(rows: list[Measurement]) -> None:
    lines = plain(lines_of(rows, piped(rows[:2])))
    gelu = next(line for line in lines if line.startswith("torch.nn.functional.gelu  "))
    assert re.search(r"gelu  bf16\[1024,1024\] +forward   98.70 µs", gelu)
    assert "…" not in gelu


def test_forward_and_backward_share_a_name_on_a_terminal(rows: list[Measurement]) -> None:
    lines = plain(lines_of(rows[:2], layout_for(120)))
    assert lines[1].startswith("torch.mm")
    assert lines[2].startswith("   ")
    assert "bwd" in lines[2]


def test_one_operator_with_two_inputs_is_named_once(rows: list[Measurement]) -> None:
    other = msgspec.structs.replace(rows[0], case=Case(op="torch.mm"))
    lines = plain(lines_of([rows[0], other], layout_for(120)))
    assert sum("torch.mm" in line for line in lines) == 1


def test_a_new_width_gets_a_new_header(rows: list[Measurement]) -> None:
    table = Table(layout_for(80))
    assert list(table.fit(layout_for(80))) == []
    lines = [*table.row(rows[0]), *table.fit(layout_for(120)), *table.row(rows[1])]
    text = plain(lines)
    assert text[1].startswith(" f32[256,256]")
    assert text[2].startswith("operator")
    assert text[3].startswith("torch.mm")


def test_marks_have_a_legend_in_order_of_appearance(rows: list[Measurement]) -> None:
    text = plain(lines_of(rows, layout_for(120)))
    assert text[2].endswith(" a")
    assert text[4].endswith(" ab")
    assert any(line.startswith(" a  unstable, 2 rows: ") for line in text)
    assert any(line.startswith(" b  budget: ") for line in text)


def test_a_warning_that_differs_from_row_to_row_says_whose_words_these_are(rows: list[Measurement]) -> None:
    few = [
        msgspec.structs.replace(row, warnings=(Caution("few_samples", f"only {count} samples"),))
        for count, row in enumerate(rows[:2], 3)
    ]
    text = plain(lines_of(few, layout_for(120)))
    assert text[-1] == " a  few_samples, 2 rows; of the first: only 3 samples"


def test_more_warnings_than_letters(rows: list[Measurement]) -> None:
    cautions = tuple(Caution(f"code_{index}", "why") for index in range(30))
    row = msgspec.structs.replace(rows[0], warnings=cautions)
    assert plain(lines_of([row], layout_for(120)))[1].endswith(" *abcdefghijklmnopqrstuvwxyz")


@given(
    label=st.text(max_size=30),
    code=st.text(max_size=10),
    value=st.floats() | st.none(),
    width=st.none() | st.integers(20, 220),
)
def test_nothing_a_row_holds_can_harm_a_terminal(
    label: str, code: str, value: float | None, width: int | None
) -> None:
    metrics = (
        Metric("time", value, "s", "duration", interval=Interval(math.nan, math.inf, 0.95), samples=(1.0,)),
        *(Metric(tag, value, "", "ratio") for tag in ("rate.flops", "rate.bytes", "roofline", "memory.peak")),
    )
    row = Measurement(
        run_id="r",
        case_id="c",
        case=Case(op="torch.add", label=label, sub_label=label),
        status="ok",
        metrics=metrics,
        warnings=(Caution(code, label),),
        environment=code,
    )
    for line in plain(lines_of([row], layout_for(width))):
        assert line.isprintable()


def test_an_empty_share_of_the_roof_says_where_it_comes_from(rows: list[Measurement]) -> None:
    rate, share = Metric("rate.flops", 2e9, "flop/s", "rate"), Metric("roofline", 0.5, "", "ratio")
    row = msgspec.structs.replace(rows[0], metrics=(rate,))
    known = msgspec.structs.replace(row, metrics=(rate, share))
    hint = "of roof needs the limits of this machine"
    assert any(hint in line for line in plain(lines_of([row], layout_for(200))))
    assert not any(hint in line for line in plain(lines_of([row, known], layout_for(200))))
    # Where there is no room for the column there is none for a hint.
    assert not any("doctor" in line for line in plain(lines_of([row], layout_for(50))))
