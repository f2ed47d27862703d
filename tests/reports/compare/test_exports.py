"""What Compare writes for programs and pages: read back by parsers that are not ours."""

from __future__ import annotations

import csv
import importlib
import io
import json
import sys
from html.parser import HTMLParser
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from opbench.cases.errors import ArgumentError, UsageError
from opbench.reports.compare import Compare
from opbench.reports.compare.grid import one_line
from opbench.reports.text import printable
from opbench.results.records import Caution
from opbench.results.timing import Measurement

from .timings import measurements, timed

HOSTILE = 'a|b <script>alert("1")</script> & `c` *d* _e_ \\ [f](g) "h",\n#i'


def prepared(results: list[Measurement]) -> Compare:
    compare = Compare(results)
    compare.show_ratios(to="best")
    compare.show_significance()
    return compare


@given(measurements(envs=("main", None, HOSTILE)))
def test_csv_and_json_hold_every_number(results: list[Measurement]) -> None:
    compare = prepared(results)
    records = compare.to_records()
    assert json.loads(compare.to_json()) == records
    read = list(csv.DictReader(io.StringIO(compare.to_csv())))
    assert len(read) == len(records) == len(Measurement.merge(results))
    for line, record in zip(read, records, strict=True):
        assert list(line) == list(record)
        for key, value in record.items():
            assert line[key] == ("" if value is None else str(value))
            if isinstance(value, float):
                assert float(line[key]) == value
    by_task = {
        (one.label, one.num_threads, one.env, one.sub_label, one.description): one
        for one in Measurement.merge(results)
    }
    for record in records:
        key = tuple(record[name] for name in ("label", "num_threads", "env", "sub_label", "description"))
        assert record["median_s"] == by_task[key].median
        assert record["samples"] == len(by_task[key].raw_times)
        assert record["min_s"] <= record["median_s"] <= record["max_s"]


def test_records_have_all_names_and_numbers() -> None:
    result = timed(
        [1.0, 2.0, 3.0],
        label="l",
        sub_label="s",
        description="d",
        env="e",
        num_threads=2,
        setup="x = 1",
        global_setup="g",
        language="c++",
        cautions=(Caution("busy", "others\nwork"),),
    )
    [record] = Compare([result]).to_records()
    assert record == {
        "label": "l",
        "num_threads": 2,
        "env": "e",
        "row": "s",
        "column": "d",
        "sub_label": "s",
        "description": "d",
        "stmt": "f(x)",
        "setup": "x = 1",
        "global_setup": "g",
        "language": "c++",
        "case_id": None,
        "status": "ok",
        "reason": None,
        "samples": 3,
        "median_s": 2.0,
        "low_s": 1.0,
        "high_s": 3.0,
        "confidence": 0.75,
        "mean_s": 2.0,
        "std_s": 1.0,
        "iqr_s": 1.0,
        "mad_s": 1.0,
        "min_s": 1.0,
        "max_s": 3.0,
        "disturbed_samples": 0,
        "warnings": "Interquartile range is 50.0% of the median measurement. This suggests significant "
        "environmental influence. others work",
        "ratio": None,
        "ratio_low": None,
        "ratio_high": None,
        "verdict": None,
        "verdict_reason": None,
    }


class Reader(HTMLParser):
    """The cells of all tables, and every tag that there is."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.rows: list[list[str]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "br"):
            self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag: str) -> None:
        assert tag == "br" or self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data
        if {"td", "th"} & set(self.open):
            self.rows[-1][-1] += data


def read(page: str) -> Reader:
    reader = Reader()
    reader.feed(page)
    reader.close()
    assert not reader.open
    return reader


def hostile() -> Compare:
    results = [
        timed(1e-6, label=HOSTILE, sub_label=HOSTILE, description=HOSTILE, env=HOSTILE),
        timed(3e-6, label=HOSTILE, sub_label="plain", description=HOSTILE, cautions=(Caution("a", HOSTILE),)),
    ]
    compare = prepared(results)
    compare.colorize()
    compare.highlight_warnings()
    return compare


@pytest.mark.parametrize("page", ["to_html", "_repr_html_"])
def test_html_is_escaped_and_needs_nothing_from_elsewhere(page: str) -> None:
    reader = read(getattr(hostile(), page)())
    assert {tag for tag, _ in reader.tags} <= {
        *("html", "head", "meta", "title", "body"),
        *("div", "table", "caption", "thead", "tbody", "tr", "th", "td", "p"),
    }
    for _, attributes in reader.tags:
        assert set(attributes) <= {"style", "lang", "charset", "name", "content"}
        assert "url" not in str(attributes)
    assert "<script>" in reader.text
    shown = HOSTILE.replace("\n", " ")
    assert [row[0] for row in reader.rows[1:]] == ["1", "1"]
    assert {row[2] for row in reader.rows[1:]} == {shown, "plain"}
    assert [row[3].strip() for row in reader.rows[1:]] == ["3.0 (!)", "1.0"]


def test_html_has_the_cells_of_the_text() -> None:
    results = [timed(1e-6 * place, sub_label=f"r{place}", description="c") for place in (1, 2)]
    assert read(Compare(results).to_html()).rows == [
        ["threads", "", "c"],
        ["1", "r1", "1.0"],
        ["1", "r2", "2.0"],
    ]


def test_markdown_is_a_table_of_github() -> None:
    results = [
        timed(1e-6 * place, label="add", sub_label=f"r{place}", description=name)
        for place in (1, 2)
        for name in ("eager", "compiled")
    ]
    compare = Compare(results[:3])
    compare.colorize()
    assert compare.to_markdown() == (
        "**add**\n"
        "\n"
        "| threads |  | eager | compiled |\n"
        "| --: | :-- | --: | --: |\n"
        "| 1 | r1 | **1.0** | **1.0** |\n"
        "| 1 | r2 | 2.0 |  |\n"
        "\n"
        "Times are in microseconds (us).  \n"
    )


def markdown(text: str) -> Reader:
    """What a reader of Markdown makes of a text, with the tables of GitHub."""
    return read(MarkdownIt("gfm-like", {"linkify": False}).render(text))


def test_markdown_is_escaped() -> None:
    reader = markdown(hostile().to_markdown())
    assert {tag for tag, _ in reader.tags} == {
        *("p", "strong", "br", "table", "thead", "tbody", "tr", "th", "td"),
    }
    shown = HOSTILE.replace("\n", "\\n")
    assert reader.rows[0] == ["threads", "environment", "", shown]
    assert {row[1] for row in reader.rows[1:]} == {shown, "unspecified"}
    assert {row[2] for row in reader.rows[1:]} == {HOSTILE.replace("\n", " "), "plain"}


@given(st.text(max_size=40).map(str.strip), st.text("|\\`*_[]()<>&~$# a1!-", max_size=20).map(str.strip))
def test_markdown_shows_every_name_as_it_is(name: str, title: str) -> None:
    results = [timed(1e-6, sub_label=name or "x", description=title), timed(2e-6, sub_label="y")]
    compare = Compare(results)
    [head, row, _] = markdown(compare.to_markdown()).rows
    assert head[:3] == ["threads", "", " ".join(title.split())]
    shown = compare.to_records()[0]["row"]
    assert row[1].split() == printable(one_line(shown)).split()


class FakeFrame:
    def __init__(self, rows: list[dict[str, Any]], **options: Any) -> None:
        self.rows = rows
        self.options = options


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_a_data_frame_has_a_row_for_each_measurement(library: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setitem(sys.modules, library, SimpleNamespace(DataFrame=FakeFrame))
    compare = prepared([timed(1e-6), timed(2e-6, stmt="g")])
    for frame in (compare.to_dataframe(), compare.to_dataframe(library)):
        assert isinstance(frame, FakeFrame)
        assert frame.rows == compare.to_records()
    other = "polars" if library == "pandas" else "pandas"
    with pytest.raises(
        UsageError, match=f"to_dataframe needs {other}, which is not installed: pip install {other}"
    ):
        compare.to_dataframe(other)  # type: ignore[arg-type]


def test_without_either_library_both_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match="needs pandas or polars"):
        Compare([timed(1e-6)]).to_dataframe()
    with pytest.raises(ArgumentError, match="library must be one of pandas, polars, not 'numpy'"):
        Compare([timed(1e-6)]).to_dataframe("numpy")  # type: ignore[arg-type]


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_real_libraries_take_the_records(library: Any) -> None:
    module = importlib.import_module(library)
    results = [
        timed(1e-6 * place, sub_label=f"r{place}", description=name) for place in (1, 2) for name in "ab"
    ]
    frame = prepared([timed(1e-6, stmt="alone"), *results]).to_dataframe(library)
    assert isinstance(frame, module.DataFrame)
    assert len(frame) == 5
    assert list(frame["median_s"])[1:3] == [1e-6, 1e-6]


def test_nothing_is_empty_everywhere() -> None:
    nothing = Compare([])
    assert nothing.to_csv() == nothing.to_markdown() == ""
    assert json.loads(nothing.to_json()) == nothing.to_records() == []
    assert read(nothing.to_html()).rows == []
