"""Load operators of the user's own: from files, from modules, from installed packages."""

from __future__ import annotations

import hashlib
import importlib
import importlib.metadata
import importlib.util
import sys
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from opbench.worker.registry import add_problem, all_or_nothing, problems, registered

ENTRY_POINTS = "opbench.operators"


class LoadError(Exception):
    """A file or module that was to register operators could not be loaded."""


@dataclass(frozen=True)
class Loaded:
    """The names that are registered now, and why those of some installed packages are missing."""

    names: tuple[str, ...]
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
    return Loaded(tuple(registered()), tuple(problems()))


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
    try:
        with all_or_nothing():
            if is_file:
                _load_file(path)
            else:
                _load_module(source)
    except (Exception, SystemExit) as error:
        raise LoadError(
            f"operators cannot be loaded from {source}: {_say(error, path if is_file else None)}"
        ) from error


def _load_file(path: Path) -> ModuleType:
    resolved = path.resolve()
    if not resolved.is_file():
        raise FileNotFoundError("there is no such file")
    # One name per path, so that a file listed twice is loaded once and equal stems do not collide.
    digest = hashlib.blake2b(str(resolved).encode(), digest_size=4).hexdigest()
    name = f"opbench_operators_{''.join(c if c.isalnum() else '_' for c in resolved.stem)}_{digest}"
    if name in sys.modules:
        return sys.modules[name]
    spec = importlib.util.spec_from_file_location(name, resolved)
    if spec is None or spec.loader is None:
        raise ImportError("Python does not know how to load it")
    module = importlib.util.module_from_spec(spec)
    # At the end: what lies beside the file is importable for it, and shadows nothing.
    _append_to_path(str(resolved.parent))
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _load_module(name: str) -> ModuleType:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ImportError("it is neither a .py file nor the dotted name of a module")
    here = str(Path.cwd())
    if here in sys.path or "" in sys.path:
        return importlib.import_module(name)
    # First, as `python -m` has it, while the module is looked for; last from then on.
    sys.path.insert(0, here)
    try:
        return importlib.import_module(name)
    finally:
        sys.path.remove(here)
        _append_to_path(here)


def _append_to_path(folder: str) -> None:
    if folder not in sys.path:
        sys.path.append(folder)


def _say(error: BaseException, file: Path | None = None) -> str:
    """What went wrong, and in which line of the file."""
    text = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, SyntaxError) or file is None:
        return text
    resolved = str(file.resolve())
    lines = [
        frame.lineno for frame in traceback.extract_tb(error.__traceback__) if frame.filename == resolved
    ]
    return f"{text} (line {lines[-1]})" if lines else text
