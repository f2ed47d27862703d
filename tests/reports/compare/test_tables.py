"""Compare where torch crashes, overwrites or distorts: nothing of that happens here."""

from __future__ import annotations

import io
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len

from opbench.cases.errors import ArgumentError
from opbench.reports.compare import Compare
from opbench.results.records import Caution
from opbench.results.timing import Measurement

from .timings import measurements, timed


def table(results: Any, **settings: Any) -> str:
    """The text of a comparison without spaces at the ends of lines."""
    compare = Compare(results)
    for name, value in settings.items():
        getattr(compare, name)(**value)
    return "\n".join(line.rstrip() for line in str(compare).splitlines())


def test_a_missing_description_is_a_column_without_a_title() -> None:
    assert table([timed(1e-6), timed(2e-6, description="compiled")]) == (
        "[--------------  -------------]\n"
        "            |       |  compiled\n"
        "1 threads: --------------------\n"
        "      f(x)  |  1.0  |    2.0\n"
        "\n"
        "Times are in microseconds (us)."
    )


def test_a_missing_environment_stands_beside_others() -> None:
    results = [timed(1e-6, env="main"), timed(2e-6), timed(3e-6, env="")]
    assert table(results) == (
        "[-------------  ------------]\n"
        "                       |\n"
        "1 threads: ------------------\n"
        "  (unspecified)  f(x)  |  2.0\n"
        "  ()             f(x)  |  3.0\n"
        "  (main)         f(x)  |  1.0\n"
        "\n"
        "Times are in microseconds (us)."
    )


def test_no_time_and_times_below_a_nanosecond_are_shown() -> None:
    text = table([timed(3e-10), timed(5e-11, stmt="g()"), timed(0.0, stmt="pass")])
    assert "f(x)  |  0.300\n" in text
    assert "g()   |  0.050\n" in text
    assert "pass  |  0.000\n" in text
    assert "Times are in nanoseconds (ns)." in text
    for settings in ({"trim_significant_figures": {}}, {"colorize": {}}, {"highlight_warnings": {}}):
        assert "pass  |" in table([timed(0.0, stmt="pass")], **settings)


@pytest.mark.parametrize(
    ("tasks", "names"),
    [
        ([{"setup": "x = 1"}, {"setup": "x = 2"}], ["f [setup: x = 1]", "f [setup: x = 2]"]),
        ([{"stmt": "f(1)"}, {"stmt": "f(2)"}], ["f [stmt: f(1)]", "f [stmt: f(2)]"]),
        ([{"language": "c++"}, {}], ["f [language: c++]", "f [language: python]"]),
        ([{"global_setup": "#define A"}, {}], ["f [global_setup: #define A]", "f [global_setup: none]"]),
        (
            [{"stmt": "f(1)"}, {"stmt": "f(2)"}, {"stmt": "f(2)", "setup": "import f"}],
            [
                "f [stmt: f(1), setup: pass]",
                "f [stmt: f(2), setup: pass]",
                "f [stmt: f(2), setup: import f]",
            ],
        ),
        (
            [{"setup": "x = torch.ones(1024, 1024)\ny = 1"}, {"setup": "x = torch.ones(1024, 1024)\ny = 2"}],
            ["f [setup: x = torch.ones(1024, 1024); y = 1]", "f [setup: x = torch.ones(1024, 1024); y = 2]"],
        ),
        (
            [{"setup": f"{'x = 1; ' * 20}y = {place}; {'z = 1; ' * 20}"} for place in (1, 2)],
            [f"f [setup: … x = 1; y = {place}; {'z = 1; ' * 3}z =…]" for place in (1, 2)],
        ),
    ],
)
def test_tasks_that_share_row_and_column_get_rows_of_their_own(
    tasks: list[dict[str, str]], names: list[str]
) -> None:
    results = [timed(place * 1e-6, sub_label="f", **task) for place, task in enumerate(tasks, 1)]
    lines = [line for line in table(results).splitlines() if line.startswith("      f")]
    assert [re.split(r"  +\|  ", line.strip()) for line in lines] == [
        [name, f"{place}.0"] for place, name in enumerate(names, 1)
    ]


def test_what_does_not_differ_visibly_is_numbered() -> None:
    results = [timed(1e-6), timed(2e-6, sub_label=""), timed(3e-6, description="")]
    assert [row["row"] for row in Compare(results).to_records()] == ["f(x)", "f(x) #2", "f(x) #3"]


def test_a_task_in_another_column_stays_in_its_row() -> None:
    results = [timed(1e-6, stmt="f(x)", sub_label="small", description="eager")]
    results += [timed(2e-6, stmt="g(x)", sub_label="small", description="compiled")]
    assert "small  |   1.0   |    2.0" in table(results)


@st.composite
def crowded(draw: st.DrawFn) -> list[Measurement]:
    few = st.sampled_from
    tasks = st.fixed_dictionaries(
        {
            "stmt": few(["f", "g\nh", "f" * 60 + "1", "f" * 60 + "2"]),
            "setup": few(["pass", "x = 1", "x = 2"]),
            "global_setup": few(["", "a"]),
            "label": few([None, "", "l"]),
            "sub_label": few([None, "", "f", "f [stmt: f]", "f #2"]),
            "description": few([None, "", "d"]),
            "env": few([None, "", "e", "unspecified"]),
            "num_threads": few([1, 2]),
            "language": few(["python", "c++"]),
        }
    )
    return [timed(1e-6 * draw(st.integers(1, 999)), **draw(tasks)) for _ in range(draw(st.integers(1, 12)))]


@given(crowded())
def test_every_task_has_a_cell_of_its_own(results: list[Measurement]) -> None:
    compare = Compare(results)
    records = compare.to_records()
    merged = Measurement.merge(results)
    assert len(records) == len(merged)
    assert sorted(record["median_s"] for record in records) == sorted(one.median for one in merged)
    places = {
        tuple(record[key] for key in ("label", "num_threads", "env", "row", "column")) for record in records
    }
    assert len(places) == len(records)
    # And each of them is a number in the text.
    rows = [line for line in str(compare).splitlines() if "  |  " in line]
    assert sum(len(re.findall(r"\|\s+[\d.]+", line)) for line in rows) == len(records)


@given(measurements(), st.booleans(), st.booleans())
def test_all_lines_of_a_table_are_equally_wide(results: list[Measurement], trims: bool, warns: bool) -> None:
    compare = Compare(results)
    if trims:
        compare.trim_significant_figures()
    if warns:
        compare.highlight_warnings()
    for block in re.split(r"\n\nTimes are .*\n(?:\(!.*\n)*", str(compare)):
        # But for the title, which may be longer than a narrow table.
        assert len({len(line) for line in block.strip("\n").splitlines()[1:]}) <= 1


@given(measurements())
def test_trimming_never_distorts_more_than_the_interval_says(results: list[Measurement]) -> None:
    compare = Compare(results)
    compare.trim_significant_figures()
    for one in Measurement.merge(results):
        alone = Compare([one])
        alone.trim_significant_figures()
        shown = re.search(r"\|\s+([\d.]+)", str(alone).splitlines()[-3])
        unit = re.search(r"\((\w+)\)", str(alone).splitlines()[-1])
        assert shown
        assert unit
        scale = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}[unit[1]]
        span = one.interval()
        # Nothing is shown to more than six figures, or to four where nothing is known.
        least = one.median * (0.5e-5 if span is not None and span.high > span.low else 0.5e-3)
        reach = (span.high - span.low) / 2 if span is not None else 0.0
        assert abs(float(shown[1]) * scale - one.median) <= max(reach, least) * (1 + 1e-9)
        # And it has two figures at least.
        assert abs(float(shown[1]) * scale - one.median) <= one.median * 0.05 * (1 + 1e-9)


def test_figures_are_trimmed_to_what_is_known_and_aligned_at_the_point() -> None:
    coarse = [15.624e-3 * (1 + step / 100) for step in range(-4, 5)]
    results = [timed(coarse), timed(8.331e-3, stmt="g"), timed([1.23456e-3], stmt="h")]
    assert table(results, trim_significant_figures={}).splitlines()[3:6] == [
        "      f(x)  |  15.6",
        "      g     |   8.33",
        "      h     |   1.235",
    ]


def test_the_best_is_what_cannot_be_told_from_the_best() -> None:
    def tones(*results: Measurement) -> list[str]:
        compare = Compare(results)
        compare.colorize()
        return re.findall(r"\|  ((?:\033\[\d+m)*)\s*\d+\.", str(compare))

    best, good, bad, worst = "\033[92m\033[1m", "\033[34m\033[1m", "\033[2m\033[91m", "\033[31m\033[1m"
    wide = [1.04e-6 * (1 + step / 50) for step in range(-10, 11)]
    close, far = timed(1e-6), timed(1.04e-6, stmt="g")
    assert tones(close, far) == [best, good]
    assert tones(close, timed(wide, stmt="g")) == [best, best]
    assert tones(timed(1e-9), timed(50e-9, stmt="g")) == [best, worst]
    assert tones(timed(1e-9), timed(2.5e-9, stmt="g"), timed(1.5e-9, stmt="h")) == [best, bad, ""]
    assert tones(timed([1e-6]), timed([1.005e-6], stmt="g"), timed([1.2e-6], stmt="h")) == [best, best, ""]


def test_warnings_are_marked_and_told() -> None:
    busy = Caution("busy", "3 of 20 samples were disturbed\nby others")
    also = Caution("busy", "4 of 20 samples were disturbed")
    wide = [1e-6 * (1 + step / 10) for step in range(10)]
    results = [timed(1e-6, cautions=(busy,)), timed(wide, stmt="g"), timed(2e-6, stmt="h", cautions=(also,))]
    lines = table([*results, timed(3e-6, stmt="i")], highlight_warnings={}).splitlines()
    assert lines[3:7] == [
        "      f(x)  |  1.0 (!)",
        "      g     |  1.5 (! 31%)",
        "      h     |  2.0 (!)",
        "      i     |  3.0",
    ]
    assert lines[-2:] == [
        "(! XX%) Measurement has high variance, where XX is the IQR / median * 100.",
        "(!) 3 of 20 samples were disturbed; by others (and 1 more of this kind)",
    ]
    assert "(!" not in table(results)


def test_text_from_outside_breaks_no_table() -> None:
    results = [
        timed(1e-6, stmt="with torch.no_grad():\n    y = x + 1\n    z = y\n", label="a\nb"),
        timed(2e-6, stmt="矩阵", label="a\nb", description="\x1b[2J"),
    ]
    text = table(results)
    assert "with torch.no_grad(): y = x + 1; z = y" in text
    assert "\x1b" not in text
    assert len({cell_len(line) for line in str(Compare(results)).splitlines()[1:5]}) == 1


def test_a_wide_table_is_folded_where_it_does_not_fit() -> None:
    results = [timed(1e-6 * place, description=f"column {place}") for place in range(1, 7)]
    compare = Compare(results)
    compare.show_ratios()
    stream = io.StringIO()
    compare.print(stream, width=50)
    lines = stream.getvalue().splitlines()
    assert max(map(len, lines)) <= 50
    titles = [line for line in lines if line.startswith("[")]
    assert [re.findall(r"\((.*)\)", title)[0] for title in titles] == [
        "columns 1 to 2",
        *(f"column {place}" for place in range(3, 7)),
    ]
    for place in range(1, 7):
        assert f"{place}.0" in stream.getvalue()
    assert stream.getvalue().count("Times are in") == 1


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_only_a_terminal_folds_unasked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    results = [timed(1e-6 * place, description=f"column {place}") for place in range(1, 7)]
    terminal, pipe, torchs = Terminal(), io.StringIO(), Terminal()
    Compare(results).print(terminal)
    Compare(results).print(pipe)
    Compare(results, torch_compatible=True).print(torchs)
    assert max(map(len, terminal.getvalue().splitlines())) <= 40
    assert pipe.getvalue() == torchs.getvalue() == f"{Compare(results)}\n"


@pytest.mark.parametrize(
    ("results", "message"),
    [
        (None, "results must be a list of measurements, not one NoneType"),
        ("text", "results must be a list of measurements, not one str"),
        (timed(1e-6), "results must be a list of measurements, not one Measurement"),
        ({"a": timed(1e-6)}, "results must be a list of measurements, not one dict"),
        ([timed(1e-6), 3], "results[1] must be a Measurement of a Timer, of a run or of a store, not int"),
        ([[timed(1e-6)]], "results[0] must be a Measurement of a Timer, of a run or of a store, not list"),
    ],
)
def test_what_is_no_measurement_is_named(results: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(message)):
        Compare(results)
    compare = Compare([])
    with pytest.raises(ValueError, match=re.escape(message)):
        compare.extend_results(results)
    assert str(compare) == ""


def test_the_unit_is_that_of_the_shortest_time_there_is() -> None:
    assert "(ms)" in table([timed(2e-3), timed(3.0, stmt="g"), timed(0.0, stmt="pass")])
    assert math.isclose(Compare([timed(2e-3)]).to_records()[0]["median_s"], 2e-3)
