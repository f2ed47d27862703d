"""`opbench store`, on the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from opbench.cli.main import main
from opbench.results.store import Store

from . import postgresql
from .makers import make_measurement, make_run

Command = Callable[..., tuple[int, str, str]]


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Runs `opbench store`, by default on the store of an imaginary user."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = main(["store", *words])
        out, err = capsys.readouterr()
        assert "Traceback" not in err
        assert "bug" not in err
        return code, out, err

    return call


def fill(place: str | None = None, rows: int = 2) -> None:
    with Store.open(place) as store:
        for number, run_id in enumerate(("run-1", "run-2")):
            store.add_run(make_run(run_id, name="µ ☃", started_at=f"2024-05-0{number + 1}T10:00:00Z"))
            store.add_many(make_measurement(row, run_id=run_id) for row in range(rows))


def test_where_names_the_store_and_makes_none(command: Command, tmp_path: Path) -> None:
    place = tmp_path / "data/opbench/opbench.sqlite"
    assert command("where") == (0, f"{place}\n", "not there yet; opbench run makes it\n")
    assert json.loads(command("where", "--json")[1]) == {"store": str(place), "size_bytes": 0, "runs": 0}
    assert not place.exists()
    fill()
    code, out, err = command("where")
    assert (code, out) == (0, f"{place}\n")
    assert err.endswith("2 runs\n")
    found = json.loads(command("where", "--json")[1])
    assert found["runs"] == 2
    assert found["size_bytes"] >= place.stat().st_size


def test_where_hides_passwords(command: Command, server: postgresql.Server) -> None:
    url = server.new_database().replace("opbench@", "opbench:hunter2@")
    fill(url)
    for place in (url, f"{url}?sslpassword=hunter2"):
        for flags in ((), ("--json",)):
            code, out, err = command("where", *flags, "--store", place)
            assert code == 0
            assert "hunter2" not in out + err
            assert "postgresql://opbench:***@127.0.0.1" in out
    code, out, err = command("list", "--store", f"{url}x")
    assert code == 2
    assert "hunter2" not in err


def test_list_of_nothing(command: Command) -> None:
    code, out, err = command("list")
    assert (code, out) == (0, "")
    assert "no runs" in err
    code, out, err = command("list", "--store", "typo.sqlite")
    assert (code, out) == (2, "")
    assert "there is no store" in err
    assert not Path("typo.sqlite").exists()


def test_list(command: Command) -> None:
    fill()
    code, out, _ = command("list")
    assert code == 0
    assert [line.split()[0] for line in out.splitlines()] == ["run", "run-2", "run-1"]
    lines = [json.loads(line) for line in command("list", "--json", "--limit", "1")[1].splitlines()]
    assert [(line["run_id"], line["statuses"], line["name"]) for line in lines] == [
        ("run-2", {"ok": 2}, "µ ☃")
    ]


def test_export_and_import(command: Command, new_place: Callable[[], str]) -> None:
    fill()
    code, everything, err = command("export")
    assert (code, err) == (0, "opbench: exported 2 runs with 4 rows\n")
    assert [json.loads(line)["run_id"] for line in everything.splitlines()] == ["run-1"] * 3 + ["run-2"] * 3
    assert command("export", "-o", "all.jsonl") == (0, "", err)
    assert Path("all.jsonl").read_text(encoding="utf-8") == everything
    place = new_place()
    assert command("import", "all.jsonl", "--store", place) == (
        0,
        "run-1\nrun-2\n",
        "opbench: all.jsonl: imported 2 runs with 4 rows\n",
    )
    assert command("import", "all.jsonl", "--store", place) == (
        0,
        "",
        "opbench: all.jsonl: imported 0 runs with 0 rows; 2 runs there already: run-1, run-2\n",
    )
    assert command("export", "--store", place)[1] == everything
    assert command("export", "last", "--store", place)[1] == "".join(everything.splitlines(True)[3:])


def test_export_keeps_every_character_whatever_the_terminal(tmp_path: Path) -> None:
    place = str(tmp_path / "s")
    fill(place)
    export = [sys.executable, "-m", "opbench", "store", "export", "--store", place]
    outputs = {
        subprocess.run(
            export, env={**os.environ, "PYTHONIOENCODING": name}, capture_output=True, check=True
        ).stdout
        for name in ("utf-8", "ascii", "latin-1")
    }
    assert len(outputs) == 1
    assert "µ ☃".encode() in outputs.pop()


def test_a_cut_off_file_gives_what_is_whole(command: Command) -> None:
    fill()
    whole = command("export", "run-1")[1]
    Path("cut.jsonl").write_text(whole[:-20], encoding="utf-8")
    code, out, err = command("import", "cut.jsonl", "--store", "other")
    assert (code, out) == (0, "run-1\n")
    assert "with 1 row; the last line is incomplete" in err


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"garbage\n", "line 1: is not JSON"),
        (b"\xff\n", "line 1: is not UTF-8"),
        (b"[]\n", "line 1: must be a JSON object, not list"),
        (b"{}\n", 'line 1: must have a "kind"'),
        (b'{"kind":"run"}\n', "line 1: a run must say which schema version"),
        (b'{"kind":"run","schema":1}\n', "line 1: is no run: .*run_id"),
        (b'{"kind":"run","schema":1,"run_id":1}\n', "line 1: is no run"),
        (b'{"kind":"run","schema":1,"run_id":""}\n', "line 1: the run id must have"),
        (b'{"kind":"run","schema":1,"run_id":"r","plan":{"budget":1}}\n', "line 1: is no run: .*budget"),
        (b'\n{"kind":"measurement","schema":1}\n', "line 2: is no measurement"),
        (b'{"kind":"run","schema":1,"run_id":"r","request":NaN}\n', "line 1: is not JSON: NaN"),
        (b'{"kind":"run","schema":1,"run_id":"r","expected":1e999}\n', "beyond the range"),
        (b"[" * 100_000 + b"\n", "line 1: is nested too deeply"),
    ],
)
def test_a_file_that_is_none_is_refused_with_the_line(command: Command, content: bytes, says: str) -> None:
    Path("file.jsonl").write_bytes(content)
    code, out, err = command("import", "file.jsonl")
    assert (code, out) == (2, "")
    assert err.startswith("opbench: file.jsonl: ")
    with pytest.raises(AssertionError, match=says):
        raise AssertionError(err)


def test_lines_in_a_wrong_order_are_refused(command: Command) -> None:
    fill()
    run, first, second, *other = command("export")[1].splitlines(True)
    for lines, says in {
        (first, run): "line 1: a measurement comes before the line of its run",
        (run, first, other[1]): "line 3: a measurement of run 'run-2' among those of run 'run-1'",
        (run, first, second, first): "line 4: the run has two measurements of this",
        (run, first, other[0], run): "line 4: the lines of run 'run-1' must follow each other",
    }.items():
        Path("file.jsonl").write_text("".join(lines), encoding="utf-8")
        code, _, err = command("import", "file.jsonl", "--store", f"other-{len(says)}")
        assert code == 2
        assert says in err


def test_names_from_a_file_cannot_write_to_the_terminal(command: Command) -> None:
    line = {"kind": "run", "schema": 1, "run_id": "r\x1b[31m", "name": "\x1b[2J\u202e"}
    Path("evil.jsonl").write_text(json.dumps(line) + "\n", encoding="utf-8")
    texts = [*command("import", "evil.jsonl"), *command("import", "evil.jsonl"), *command("list")]
    texts += command("delete", "r")
    assert all(char.isprintable() or char == "\n" for text in texts for char in str(text))


def test_delete_looks_all_names_up_first(command: Command) -> None:
    fill()
    code, _, err = command("delete", "run-1", "nonsense")
    assert code == 2
    assert "no run 'nonsense'" in err
    assert len(command("list")[1].splitlines()) == 3
    assert command("delete", "run-1", "run-1") == (0, "", "opbench: deleted run run-1 with 2 rows\n")
    assert "run-1" not in command("list")[1]


def test_vacuum_says_what_it_gave_back(command: Command, tmp_path: Path) -> None:
    fill(rows=2000)
    path = tmp_path / "data/opbench/opbench.sqlite"
    before = path.stat().st_size
    command("delete", "run-1", "run-2")
    code, _, err = command("vacuum")
    assert code == 0
    assert "MiB before, " in err
    assert path.stat().st_size < before / 10


@pytest.mark.parametrize(
    "words",
    [
        (),
        ("lst",),
        ("list", "x"),
        ("where", "x"),
        ("vacuum", "x"),
        ("list", "-o", "x"),
        ("where", "--limit", "1"),
        ("list", "--limit", "0"),
        ("list", "--limit", "-1"),
        ("delete",),
        ("delete", "last"),
        ("delete", "last", "--json"),
        ("import",),
        ("import", "nowhere.jsonl"),
        ("import", "."),
        ("import", "a\0b"),
        ("export", "last"),
        ("export", "-o", "nowhere/x"),
        ("vacuum",),
        ("list", "--store", ""),
        ("list", "--store", "."),
        ("list", "--store", "mysql://x"),
        ("import", "x", "--store", "no/where"),
    ],
    ids=" ".join,
)
def test_what_makes_no_sense_is_refused(command: Command, words: tuple[str, ...]) -> None:
    code, out, err = command(*words)
    assert (code, out) == (2, "")
    assert err.startswith("opbench: ")
    made = ["data"] if words[:1] == ("import",) and len(words) == 2 else []
    # An import may have made its store by then.
    assert [entry.name for entry in Path().iterdir()] == made


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_disk_is_no_bug(command: Command) -> None:
    fill()
    code, _, err = command("export", "-o", "/dev/full")
    assert code != 0
    assert err == "opbench: /dev/full cannot be written: No space left on device\n"


def test_export_never_overwrites_its_own_store(command: Command) -> None:
    fill("s.sqlite")
    code, _, err = command("export", "-o", "s.sqlite", "--store", "s.sqlite")
    assert code == 2
    assert "would overwrite" in err
    assert command("list", "--store", "s.sqlite")[0] == 0
