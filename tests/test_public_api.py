"""`import opbench`: what it offers, and that it costs nothing before it is used."""

from __future__ import annotations

import ast
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opbench

HEAVY = ("torch", "scipy", "numpy", "msgspec", "sqlalchemy", "rich")


def python(code: str, *flags: str) -> str:
    done = subprocess.run([sys.executable, *flags, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_it_imports_nothing_heavy() -> None:
    code = f"import sys, opbench; print([name for name in {HEAVY!r} if name in sys.modules])"
    assert python(code) == "[]"


def test_describing_a_case_needs_no_framework() -> None:
    code = (
        "import sys, opbench; case = opbench.call('torch.mm', opbench.tensor(2, 2), opbench.tensor(2, 2));"
        "suite = opbench.suite_of('s', [case]); opbench.preset('quick'); opbench.operator('my.op')(len);"
        "opbench.snippet('x + 1', setup='x = 1'); opbench.open_sources; opbench.open_suite; opbench.Plan;"
        "print([name for name in ('torch', 'scipy') if name in sys.modules])"
    )
    assert python(code) == "[]"


@pytest.mark.parametrize("name", opbench.__all__)
def test_every_name_is_there_and_documented(name: str) -> None:
    found = getattr(opbench, name)
    assert found is getattr(opbench, name)
    if name != "__version__":
        assert (found.__doc__ or "").strip()
        assert found.__module__.startswith("opbench.")


def test_names_are_offered_before_they_are_imported() -> None:
    listed = json.loads(python("import json, opbench; print(json.dumps(dir(opbench)))"))
    assert set(opbench.__all__) <= set(listed)


def test_a_name_that_is_not_there_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="module 'opbench' has no attribute 'runn'"):
        opbench.runn  # type: ignore[attr-defined]  # noqa: B018
    assert not hasattr(opbench, "__path_hooks__")


def test_star_imports_bring_everything() -> None:
    space: dict[str, Any] = {}
    exec("from opbench import *", space)
    assert set(opbench.__all__) <= set(space)


def test_type_checkers_see_the_names_that_are_imported_late() -> None:
    tree = ast.parse(Path(opbench.__file__).read_text())
    guarded = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        alias.name: node.module
        for node in guarded.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    assert seen == opbench._HOMES
    assert set(opbench.__all__) == {*seen, "__version__"}
    assert opbench.__all__ == sorted(opbench.__all__)
    assert (Path(opbench.__file__).parent / "py.typed").exists()


def test_the_worker_can_import_it_without_what_the_client_needs(tmp_path: Path) -> None:
    # An environment with the standard library alone: no site-packages at all.
    source = Path(opbench.__file__).parents[1]
    code = (
        f"import sys; sys.path.insert(0, {str(source)!r}); import opbench; opbench.operator('my.op')(len);"
        "from opbench.worker.registry import registered; print(list(registered()))"
    )
    assert python(code, "-I", "-S") == "['my.op']"


def test_cases_are_run_from_python(tmp_path: Path) -> None:
    case = opbench.call("torch.add", opbench.tensor(4), opbench.tensor(4))
    wrong = opbench.call("torch.ad", opbench.tensor(4))
    rows = {row.case.op: row for row in opbench.run([case, wrong], "quick")}
    assert rows["torch.add"].status == "ok"
    time = rows["torch.add"].metric("time")
    assert time is not None
    assert len(time.samples) >= 1
    assert rows["torch.ad"].status == "unsupported"
    assert "did you mean torch.add" in rows["torch.ad"].reason


def test_the_module_in_place_of_torchs_has_all_of_its_names() -> None:
    from torch.utils import benchmark as theirs

    from opbench import benchmark

    public = {
        name
        for name, value in vars(theirs).items()
        if not name.startswith("_") and getattr(value, "__module__", "").startswith("torch.")
    }
    assert len(public) >= 20
    assert public <= set(benchmark.__all__)
    assert set(benchmark._HOMES) == set(benchmark.__all__)
    assert benchmark.__all__ == sorted(benchmark.__all__)
    for name in benchmark.__all__:
        found = getattr(benchmark, name)
        assert (found.__doc__ or "").strip(), name
        assert found.__module__.startswith("opbench."), name
