"""What a Timer is given, checked: one clear error for each thing that is wrong, and a task to measure."""

from __future__ import annotations

import builtins
import contextlib
import enum
import hashlib
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from opbench.cases.errors import ArgumentError, OpbenchError
from opbench.cases.suggest import nearest
from opbench.execution.host_time import waiting
from opbench.results.task import TaskSpec
from opbench.worker.runtimes.prepared import Body, Prepared, body_of
from opbench.worker.runtimes.snippet import Once, body_of_snippet

_TEXT_LENGTH = 40
# Where torch keeps its functions, by their own account.
_OF_TORCH = "_VariableFunctionsClass."


class Language(enum.Enum):
    """What a statement is written in."""

    PYTHON = 0
    CPP = 1


_LANGUAGES: dict[Any, Language] = {
    Language.PYTHON: Language.PYTHON,
    "py": Language.PYTHON,
    "python": Language.PYTHON,
    Language.CPP: Language.CPP,
    "cpp": Language.CPP,
    "c++": Language.CPP,
}


class CopyIfCallgrind:
    """A global, and the code that another process needs before it can have a copy of it."""

    def __init__(self, value: Any, *, setup: str | None = None) -> None:
        if setup is not None and not isinstance(setup, str):
            raise ArgumentError(f"setup must be code as text, not {type(setup).__name__}")
        self._value = value
        self._setup = setup

    @property
    def value(self) -> Any:
        """The global itself."""
        return self._value

    @property
    def setup(self) -> str | None:
        """The code, without the indentation that it shares."""
        return None if self._setup is None else textwrap.dedent(self._setup)


@dataclass(frozen=True)
class Statement:
    """A statement, or a callable with its arguments, and the names that it sees."""

    task: TaskSpec
    language: Language
    namespace: dict[str, Any]
    function: Callable[..., Any] | None = None
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] | None = None

    def prepared(self) -> Prepared:
        """The statement as a loop has it inside. What is no statement raises an error that says where."""
        if self.language is Language.CPP:
            (found,) = compiled([self])
            if isinstance(found, Exception):
                raise found
            return found
        namespace = dict(self.namespace)
        if self.function is None:
            body = self._body(self.task.stmt, namespace)
        else:
            source, names = _call(self.function, self.args, self.kwargs or {})
            plain = body_of(source, names)
            body = plain
            if self.task.setup not in ("", "pass"):
                code = self._body(source, namespace)
                body = Body(
                    statements=code.statements,
                    setup=code.setup,
                    names=plain.names,
                    globals=namespace,
                    filename=code.filename,
                )
        return Prepared(body=body, once=Once(body), renews=True)

    def _body(self, stmt: str, namespace: dict[str, Any]) -> Body:
        digest = hashlib.sha256(f"{self.task.setup}\n{stmt}".encode(errors="replace")).hexdigest()[:12]
        try:
            return body_of_snippet(stmt, self.task.setup, namespace, f"<snippet {digest}>")
        except SyntaxError as error:
            part = "setup" if error.filename == "<setup>" else "stmt"
            raise ArgumentError(f"{part} is not Python: {error.msg} (line {error.lineno})") from None
        except ValueError as error:  # a zero byte, half a surrogate pair
            raise ArgumentError(f"stmt or setup is not Python: {error}") from None


def compiled(statements: Sequence[Statement]) -> list[Prepared | RuntimeError]:
    """C++ statements, compiled together as far as they can be; for one that is wrong, its error."""
    import torch  # noqa: F401 (what they are compiled against must be loaded before they are)

    from opbench.worker.cpp.errors import NoCompilerError
    from opbench.worker.cpp.snippet import CppSnippet
    from opbench.worker.runtimes.cpp import build_many

    snippets = [CppSnippet(one.task.stmt, one.task.setup, one.task.global_setup) for one in statements]
    try:
        all_built = build_many(snippets)
    except NoCompilerError as error:
        raise OpbenchError(str(error)) from None
    found: list[Prepared | RuntimeError] = []
    for built in all_built:
        if isinstance(built, Prepared):
            body = Body(native=waiting(built.body.native)) if built.body.native else built.body
            built = Prepared(body=body, once=Once(body), renews=True, provenance=built.provenance)
        found.append(built)
    return found


def statement(
    stmt: Any,
    setup: Any,
    global_setup: Any,
    globals: Any,
    labels: Mapping[str, Any],
    num_threads: Any,
    language: Any,
    args: Any,
    kwargs: Any,
) -> Statement:
    """The statement that a Timer's arguments describe, or an ArgumentError that names the wrong one."""
    spoken = _language(language)
    for name, text in (("setup", setup), ("global_setup", global_setup)):
        if not isinstance(text, str):
            raise ArgumentError(f"{name} must be code as text, not {_kind(text)}")
    if not isinstance(stmt, str) and not callable(stmt):
        raise ArgumentError(f"stmt must be code as text, or something to call, not {_kind(stmt)}")
    if isinstance(stmt, str) and (args or kwargs):
        raise ArgumentError("args and kwargs belong to a callable stmt; this one is text, which has globals")
    if not isinstance(args, Sequence) or isinstance(args, str):
        raise ArgumentError(f"args must be a tuple or list, not {_kind(args)}")
    if kwargs is not None and not _named(kwargs):
        raise ArgumentError(f"kwargs must be a dict with names for keys, not {_kind(kwargs)}")
    if globals is not None and not _named(globals):
        raise ArgumentError(f"globals must be a dict with names for keys, not {_kind(globals)}")
    for name, text in labels.items():
        if text is not None and not isinstance(text, str):
            raise ArgumentError(f"{name} must be text or None, not {_kind(text)}")
    if isinstance(num_threads, bool) or not isinstance(num_threads, int) or num_threads < 1:
        raise ArgumentError(f"num_threads must be a whole number from 1 on, not {num_threads!r}")
    if spoken is Language.PYTHON and global_setup:
        raise ArgumentError("global_setup is for C++ only; in Python, what stands in it can go into setup")
    if spoken is Language.CPP:
        if not isinstance(stmt, str):
            raise ArgumentError("stmt must be code as text where language is C++")
        if globals:
            raise ArgumentError("globals must be empty where language is C++: make what you need in setup")
        setup = "" if setup == "pass" else setup
    function = None if isinstance(stmt, str) else stmt
    text = plain(stmt) if function is None else called(function, args, kwargs or {})
    task = TaskSpec(
        text,
        plain(setup),
        global_setup if spoken is Language.PYTHON else plain(global_setup),
        num_threads=num_threads,
        language="python" if spoken is Language.PYTHON else "cpp",
        **labels,
    )
    return Statement(task, spoken, _namespace(globals or {}, spoken), function, tuple(args), kwargs)


@contextlib.contextmanager
def advising() -> Iterator[None]:
    """A name that a statement does not see gets a word on what it does see."""
    try:
        yield
    except NameError as error:
        name, last = error.name, error.__traceback__
        while last is not None and last.tb_next is not None:
            last = last.tb_next
        if last is None or not name or not last.tb_frame.f_code.co_filename.startswith("<snippet"):
            raise
        error.args = (
            f"{error}; a statement sees what its setup defines, and globals: "
            f"pass globals={{{name!r}: {name}}} if that is a name of yours",
        )
        raise


def plain(code: str) -> str:
    """The code without the indentation that all its lines share, and without what surrounds it."""
    return textwrap.dedent(code).removeprefix("\n").rstrip()


def called(function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]) -> str:
    """A call in words: two of different functions or of differently shaped arguments read differently."""
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    code = getattr(function, "__code__", None)
    if not isinstance(name, str):
        name = type(function).__qualname__
    elif name.startswith(_OF_TORCH):
        name = f"torch.{name.removeprefix(_OF_TORCH)}"
    elif name.rpartition(".")[2] == "<lambda>" and code is not None:
        name = f"lambda at {code.co_filename.replace(chr(92), '/').rpartition('/')[2]}:{code.co_firstlineno}"
    parts = [_described(value) for value in args]
    parts += [f"{key}={_described(value)}" for key, value in kwargs.items()]
    return f"{name}({', '.join(parts)})"


def _described(value: Any) -> str:
    shape, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if shape is not None and dtype is not None:
        return f"{str(dtype).removeprefix('torch.')}[{', '.join(map(str, shape))}]"
    try:
        text = " ".join(repr(value).split())
    except Exception:  # a repr of somebody's own may fail
        text = f"<{type(value).__name__}>"
    return text if len(text) <= _TEXT_LENGTH else f"<{type(value).__name__}>"


def _call(
    function: Callable[..., Any], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> tuple[str, dict[str, Any]]:
    names: dict[str, Any] = {"_opbench_f": function}
    parts = []
    for place, value in enumerate(args):
        names[f"_opbench_a{place}"] = value
        parts.append(f"_opbench_a{place}")
    for place, (key, value) in enumerate(kwargs.items()):
        names[f"_opbench_k{place}"] = value
        parts.append(f"{key}=_opbench_k{place}")
    return f"_opbench_f({', '.join(parts)})", names


def _language(language: Any) -> Language:
    try:
        return _LANGUAGES[language]
    except (KeyError, TypeError):
        names = [name for name in _LANGUAGES if isinstance(name, str)]
        near = nearest(language, names) if isinstance(language, str) else None
        hint = f"; did you mean {near}?" if near else ""
        raise ArgumentError(f"language must be one of {', '.join(names)}, not {language!r}{hint}") from None


def _named(items: Any) -> bool:
    return isinstance(items, Mapping) and all(isinstance(name, str) for name in items)


def _kind(value: Any) -> str:
    return "None" if value is None else f"a {type(value).__name__}"


def _namespace(given: Mapping[str, Any], language: Language) -> dict[str, Any]:
    if language is Language.CPP:
        return {}
    names: dict[str, Any] = {"__builtins__": builtins, "__name__": "__snippet__"}
    if "torch" not in given:
        torch = _torch()
        names |= {} if torch is None else {"torch": torch}
    bare = {
        name: value.value if isinstance(value, CopyIfCallgrind) else value for name, value in given.items()
    }
    return names | bare


def _torch() -> Any:
    if "torch" in sys.modules:
        return sys.modules["torch"]
    try:
        import torch
    except ImportError:
        return None
    return torch
