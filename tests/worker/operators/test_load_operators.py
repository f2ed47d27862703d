"""Loading files, modules and installed packages that register operators."""

from __future__ import annotations

import importlib.metadata
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from opbench.worker.load_operators import LoadError, load_entry_points, load_operators
from opbench.worker.registry import problems, registered

OPERATOR = "import opbench\n\n@opbench.operator({name!r})\ndef op(x):\n    return x\n"


@pytest.fixture(autouse=True)
def clean(empty_registry: None, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A folder of its own, and no module that outlives the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", str(Path.cwd()))])
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    before = set(sys.modules)
    yield
    for name in set(sys.modules) - before:
        if name.startswith(("opbench_operators_", "own_")):
            del sys.modules[name]


def write(path: str, text: str) -> str:
    target = Path(path)
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(text)
    return path


def test_a_file_is_loaded_once_however_it_is_named() -> None:
    write("ops.py", OPERATOR.format(name="my.op"))
    assert load_operators(["ops.py"]).names == ("my.op",)
    assert load_operators(["./ops.py", str(Path("ops.py").resolve())]).names == ("my.op",)


def test_files_of_equal_names_do_not_collide() -> None:
    write("one/ops.py", OPERATOR.format(name="my.one"))
    write("two/ops.py", OPERATOR.format(name="my.two"))
    assert load_operators(["one/ops.py", "two/ops.py"]).names == ("my.one", "my.two")


def test_what_lies_beside_a_file_can_be_imported_and_shadows_nothing() -> None:
    write("folder/own_helper.py", "NAME = 'my.helped'")
    write("folder/json.py", "raise RuntimeError('shadowed')")
    write(
        "folder/ops.py",
        "import json\nimport own_helper\n"
        + OPERATOR.format(name="my.op").replace("'my.op'", "own_helper.NAME"),
    )
    sys.modules.pop("json", None)
    assert load_operators(["folder/ops.py"]).names == ("my.helped",)


def test_a_module_is_found_in_the_current_folder() -> None:
    write("own_package/__init__.py", "")
    write("own_package/kernels.py", OPERATOR.format(name="my.kernel"))
    assert load_operators(["own_package.kernels"]).names == ("my.kernel",)


@pytest.mark.parametrize(
    ("source", "text", "message"),
    [
        ("missing.py", None, "missing.py: there is no such file"),
        ("folder.py", "", "folder.py: it is a folder"),
        ("own_missing_module", None, "own_missing_module: there is no module 'own_missing_module'"),
        ("own_missing.inner", None, "own_missing.inner: there is no module 'own_missing'"),
        ("no module", None, "no module: it is neither a .py file nor the dotted name of a module"),
        ("../up", None, "it is neither a .py file nor the dotted name of a module"),
        ("ops.txt", "x", "there is no module 'ops'"),
        ("broken.py", "def op(:\n", r"broken.py: SyntaxError: .*broken.py, line 1\)"),
        (
            "fails.py",
            "import opbench\n1 / 0\n",
            r"fails.py: ZeroDivisionError: division by zero \(.*fails.py, line 2\)",
        ),
        ("quits.py", "raise SystemExit('bye')\n", r"quits.py: SystemExit: bye \(.*quits.py, line 1\)"),
        ("needs.py", "import own_absent\n", r"needs.py: ModuleNotFoundError: No module named 'own_absent'"),
        (
            "empty.py",
            "x = 1\n",
            r"empty.py registers no operators: put @opbench.operator\('my.name'\) in front",
        ),
        ("own_empty", None, "own_empty registers no operators"),
        ("binary.py", "\0", "binary.py: "),
        ("twice.py", OPERATOR.format(name="a.b") * 2, r"'a.b' is registered already, by .*twice.py, line 3 "),
        (
            "torchs.py",
            OPERATOR.format(name="torch.mm"),
            r"names under 'torch' belong to torch.*torchs.py, line 3\)",
        ),
        (
            "unnamed.py",
            "import opbench\n@opbench.operator\ndef f(x): return x\n",
            r"needs a name.*unnamed.py, line 2",
        ),
    ],
)
def test_what_cannot_be_loaded_is_told_with_its_place(source: str, text: str | None, message: str) -> None:
    write("own_empty.py", "")
    if source == "folder.py":
        Path(source).mkdir()
    elif text is not None:
        write(source, text)
    with pytest.raises(LoadError, match=message) as raised:
        load_operators([source])
    assert "\n" not in str(raised.value)
    assert registered() == {}


def test_a_name_that_two_files_want_is_told_with_both_places() -> None:
    write("one.py", OPERATOR.format(name="my.op"))
    write("two.py", OPERATOR.format(name="my.op"))
    with pytest.raises(
        LoadError, match=r"two.py: ValueError: .*'my.op' .*one.py, line 3 \(.*two.py, line 3\)"
    ):
        load_operators(["one.py", "two.py"])
    assert list(registered()) == ["my.op"]


def test_a_file_that_fails_can_be_mended_and_loaded_again() -> None:
    write("ops.py", OPERATOR.format(name="my.op") + "\n1 / 0\n")
    with pytest.raises(LoadError):
        load_operators(["ops.py"])
    write("ops.py", OPERATOR.format(name="my.op") + "\n\n# mended\n")
    assert load_operators(["ops.py"]).names == ("my.op",)


def entry_point(name: str, value: str) -> importlib.metadata.EntryPoint:
    return importlib.metadata.EntryPoint(name, value, "opbench.operators")


def test_an_entry_point_is_a_module_a_function_or_an_operator(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    write("own_module.py", OPERATOR.format(name="own.module"))
    write("own_function.py", "def register():\n    import opbench\n    opbench.operator('own.called')(len)\n")
    write("own_operator.py", OPERATOR.format(name="own.operator"))
    load_entry_points(
        [
            entry_point("module", "own_module"),
            entry_point("function", "own_function:register"),
            entry_point("operator", "own_operator:op"),
        ]
    )
    assert list(registered()) == ["own.module", "own.called", "own.operator"]
    assert problems() == []


def test_an_entry_point_that_fails_costs_its_own_operators_only(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(".")
    write("own_broken.py", OPERATOR.format(name="own.half") + "\nraise RuntimeError('no licence')\n")
    write("own_quits.py", "import sys\nsys.exit(3)\n")
    write("own_fine.py", OPERATOR.format(name="own.fine"))
    points = [
        entry_point("broken", "own_broken"),
        entry_point("gone", "own_gone"),
        entry_point("quits", "own_quits"),
        entry_point("attribute", "own_fine:missing"),
        entry_point("fine", "own_fine"),
    ]
    load_entry_points(points)
    load_entry_points(points)
    assert len(problems()) == 4
    assert problems()[0].startswith(
        "operators of entry point 'broken' (own_broken) are missing: RuntimeError: no licence ("
    )
    assert "No module named 'own_gone'" in problems()[1]
    assert "SystemExit: 3" in problems()[2]
    assert "has no attribute 'missing'" in problems()[3]
    assert "own.half" not in registered()


def test_installed_packages_are_asked_for_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    write("own_dist/own_plugin.py", OPERATOR.format(name="own.plugin"))
    write(
        "own_dist/own_plugin-1.0.dist-info/METADATA",
        "Metadata-Version: 2.1\nName: own-plugin\nVersion: 1.0\n",
    )
    write("own_dist/own_plugin-1.0.dist-info/entry_points.txt", "[opbench.operators]\nplugin = own_plugin\n")
    monkeypatch.syspath_prepend("own_dist")
    assert "own.plugin" in load_operators().names
