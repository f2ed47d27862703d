"""The rules of docs/architecture.md that a program can check."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "opbench"
FILES = sorted(PACKAGE.rglob("*.py"))
MAX_LINES = 400

# Who may do what is otherwise forbidden, and why.
ALLOWED = {
    # The timed loop is compiled for its statement, so that no call of a closure is measured. A snippet is
    # code, and runs only where somebody named it as such.
    "compile": {"worker/probes/loop.py", "worker/runtimes/snippet.py"},
    "exec": {"worker/probes/loop.py", "worker/runtimes/snippet.py"},
    # torch's users have their measurements in pickles: read on request, with nothing but these in them.
    "pickle": {"results/torch_measurements.py"},
    # Only the command line talks to people and decides on exit codes; an example is a program of its own.
    "print": {"cli/", "examples/"},
    "sys.exit": {"__main__.py"},
    "sys.argv": {"cli/", "worker/__main__.py"},
    # What a case writes is kept with its row: it is flushed for that, and its traceback is put there.
    # Compare.print is torch's, and prints; to another stream where one is given.
    "sys.stdout": {"cli/", "examples/", "worker/forking.py", "reports/compare/compare.py"},
    "sys.stderr": {"cli/", "worker/forking.py", "worker/measure.py"},
}
FORBIDDEN_CALLS = {"eval", "exec", "compile", "print", "input", "breakpoint", "exit", "quit", "__import__"}
FORBIDDEN_ATTRIBUTES = {
    *("sys.exit", "sys.argv", "sys.stdout", "sys.stderr", "os.system", "os.popen", "torch.load"),
    *(f"builtins.{name}" for name in FORBIDDEN_CALLS),
}
FORBIDDEN_MODULES = {"pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"}


def relative(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def tree_of(file: Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"), filename=str(file))


def is_allowed(what: str, file: Path) -> bool:
    name = relative(file)
    return any(covers(place, name) for place in ALLOWED.get(what, ()))


def covers(place: str, name: str) -> bool:
    return name.startswith(place) if place.endswith("/") else name == place


def imported_modules(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield ("." * node.level + (node.module or ""), node.lineno)


def forbidden_uses(tree: ast.Module) -> Iterator[tuple[str, int]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and node.id in FORBIDDEN_CALLS:
            yield node.id, node.lineno
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            dotted = f"{node.value.id}.{node.attr}"
            if dotted in FORBIDDEN_ATTRIBUTES:
                yield dotted, node.lineno
    for module, line in imported_modules(tree):
        if module.split(".")[0] in FORBIDDEN_MODULES:
            yield module, line


def test_imports_go_one_way() -> None:
    linter = Path(sys.executable).with_name("lint-imports")
    if not linter.exists():
        pytest.skip("import-linter is not installed")
    ended = subprocess.run(
        [linter, "--no-logo", "--no-cache", "--config", ROOT / "pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_a_file_is_small(file: Path) -> None:
    lines = len(file.read_text(encoding="utf-8").splitlines())
    assert lines <= MAX_LINES, f"{lines} lines: it holds more than one concept"


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_nothing_forbidden_is_used(file: Path) -> None:
    found = forbidden_uses(tree_of(file))
    uses = [f"line {line}: {what}" for what, line in found if not is_allowed(what, file)]
    assert not uses


def test_what_is_allowed_is_needed() -> None:
    used = {(what, relative(file)) for file in FILES for what, _ in forbidden_uses(tree_of(file))}
    for what, places in ALLOWED.items():
        for place in places:
            assert any(what == use and covers(place, name) for use, name in used), (what, place)


@pytest.mark.parametrize("file", sorted((PACKAGE / "worker").rglob("*.py")), ids=relative)
def test_the_worker_needs_the_framework_only(file: Path) -> None:
    known = set(sys.stdlib_module_names) | {"torch", "opbench"}
    foreign = [
        f"line {line}: {module}"
        for module, line in imported_modules(tree_of(file))
        if module.split(".")[0] not in known or (module.split(".")[0] == "opbench" and not in_worker(module))
    ]
    assert not foreign


def in_worker(module: str) -> bool:
    return module == "opbench.worker" or module.startswith("opbench.worker.")


@pytest.mark.parametrize("file", FILES, ids=relative)
def test_a_file_says_what_it_is(file: Path) -> None:
    assert ast.get_docstring(tree_of(file)), "no docstring"


# What must start at once: the first three are what people type most.
LIGHT = {
    "import opbench": "import opbench",
    "opbench --help": "from opbench.cli.main import main; main(['--help'])",
    "opbench run --help": "from opbench.cli.main import main; main(['run', '--help'])",
    "the client": "import opbench.execution.api, opbench.reports.details, opbench.results.store",
    "the worker's package": "import opbench.worker",
    "the public names": "import opbench; [getattr(opbench, name) for name in opbench.__all__]",
}


@pytest.mark.parametrize("what", LIGHT)
def test_nothing_imports_the_framework_but_a_worker(what: str) -> None:
    imports = imported_by(LIGHT[what])
    assert "torch" not in imports
    if what.startswith(("import", "opbench --help")):
        assert not imports & {"numpy", "scipy", "sqlalchemy", "rich", "msgspec"}


def imported_by(script: str) -> set[str]:
    """The packages that a fresh process has imported after a script."""
    report = "import sys; sys.stderr.write(' '.join({name.split('.')[0] for name in sys.modules}))"
    ended = subprocess.run(
        [sys.executable, "-c", f"{script}\n{report}"], capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split())


def test_the_page_on_architecture_names_what_exists() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    named = set(re.findall(r"`([a-z_./]+(?:\.py|/))`", text))
    assert len(named) >= 20
    assert not [name for name in sorted(named) if not any((base / name).exists() for base in (PACKAGE, ROOT))]
