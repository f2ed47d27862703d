"""Load operators of the user's own: from files, from modules, from installed packages."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
import sysconfig
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from opbench.worker.registry import Operator, add_problem, all_or_nothing, problems, registered

ENTRY_POINTS = "opbench.operators"


class LoadError(Exception):
    """A file or module that was to register operators could not be loaded."""


@dataclass(frozen=True)
class Loaded:
    """The names that are registered now, and why those of some installed packages are missing."""

    names: tuple[str, ...]
    # Category and tags by name, where there are any: what cases of this operator can be filtered by.
    tags: dict[str, list[str]] = field(default_factory=dict)
    problems: tuple[str, ...] = ()


# Entry points that were loaded, or tried and found broken, in this process.
_tried: set[tuple[str, str]] = set()


def load_operators(sources: Sequence[str] = ()) -> Loaded:
    """Load each source (a `.py` file or a dotted module), and the entry points `opbench.operators`.

    A source was asked for, so one that fails raises LoadError. An installed package may be there by
    chance, so one that fails is a problem and no more.
    """
    for source in sources:
        _load_source(source)
    load_entry_points(importlib.metadata.entry_points(group=ENTRY_POINTS))
    found = registered()
    tags = {name: _tags(operator) for name, operator in found.items() if _tags(operator)}
    return Loaded(tuple(found), tags, tuple(problems()))


def _tags(operator: Operator) -> list[str]:
    return [*([operator.category] if operator.category else []), *operator.tags]


def load_entry_points(entry_points: Iterable[importlib.metadata.EntryPoint]) -> None:
    """Load each: a module that registers when imported, or a function without arguments that registers."""
    for entry_point in entry_points:
        key = (entry_point.name, entry_point.value)
        if key in _tried:
            continue
        _tried.add(key)
        try:
            with all_or_nothing():
                found = entry_point.load()
                is_operator = any(operator.function is found for operator in registered().values())
                if callable(found) and not is_operator:
                    found()
        except (Exception, SystemExit) as error:
            add_problem(
                f"operators of entry point {entry_point.name!r} ({entry_point.value}) are missing:"
                f" {_say(error)}"
            )


def _load_source(source: str) -> None:
    path = Path(source)
    is_file = path.suffix == ".py"
    before = _count()
    try:
        with all_or_nothing():
            fresh = _load_file(path) if is_file else _load_module(source)
    except LoadError as error:
        raise LoadError(f"operators cannot be loaded from {source}: {error}") from None
    except (Exception, SystemExit) as error:
        raise LoadError(f"operators cannot be loaded from {source}: {_say(error, source)}") from error
    if fresh and _count() == before:
        raise LoadError(
            f"{source} registers no operators: put @opbench.operator('my.name') in front of a function there"
        )


def _count() -> tuple[int, int]:
    """How many operators are registered here and with torch, whose libraries are named with torch.ops."""
    torch = sys.modules.get("torch")
    return len(registered()), len(torch._C._dispatch_get_all_op_names()) if torch else 0


def _load_file(path: Path) -> bool:
    """Run a file, unless it was run before; says whether it was not."""
    resolved = path.resolve()
    if not resolved.is_file():
        raise LoadError("it is a folder" if resolved.is_dir() else "there is no such file")
    # One name per path, so that a file listed twice is loaded once and equal stems do not collide.
    digest = hashlib.blake2b(str(resolved).encode(), digest_size=4).hexdigest()
    name = f"opbench_operators_{''.join(c if c.isalnum() else '_' for c in resolved.stem)}_{digest}"
    if name in sys.modules:
        return False
    spec = importlib.util.spec_from_file_location(name, resolved)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # At the end: what lies beside the file is importable for it, and shadows nothing.
    _append_to_path(str(resolved.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return True


def _load_module(name: str) -> bool:
    """Import a module, unless it was imported before; says whether it was not."""
    if not all(part.isidentifier() for part in name.split(".")):
        raise LoadError("it is neither a .py file nor the dotted name of a module")
    if name in sys.modules:
        return False
    here = str(Path.cwd())
    if here in sys.path or "" in sys.path:
        importlib.import_module(name)
        return True
    # First, as `python -m` has it, while the module is looked for; last from then on.
    sys.path.insert(0, here)
    try:
        importlib.import_module(name)
    finally:
        sys.path.remove(here)
        _append_to_path(here)
    return True


def _append_to_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _say(error: BaseException, source: str = "") -> str:
    """What went wrong, and in which line of the user's code."""
    if isinstance(error, SyntaxError) and error.filename:
        return f"SyntaxError: {error.msg} ({error.filename}, line {error.lineno})"
    if isinstance(error, ModuleNotFoundError) and error.name in _parents(source):
        return f"there is no module {error.name!r}"
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    place = _place(error, source)
    return f"{text} ({place})" if place else text


def _parents(module: str) -> list[str]:
    parts = module.split(".")
    return [".".join(parts[: depth + 1]) for depth in range(len(parts))]


def _place(error: BaseException, source: str) -> str:
    """The innermost line in the file that was to be loaded, else in code that nobody installed."""
    frames = [(frame.filename, frame.lineno) for frame in traceback.extract_tb(error.__traceback__)]
    asked = str(Path(source).resolve()) if source else ""
    installed = (*sysconfig.get_paths().values(), str(Path(__file__).parent), "<frozen ")
    theirs = [frame for frame in frames if frame[0] == asked] or [
        frame for frame in frames if not frame[0].startswith(installed)
    ]
    return f"{theirs[-1][0]}, line {theirs[-1][1]}" if theirs else ""
