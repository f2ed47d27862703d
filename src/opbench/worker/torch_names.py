"""Which names of torch are operators, told by what the object is and never by its name alone.

Suites are untrusted, and attribute lookup from `torch` reaches all of Python: `torch.storage.os.system`.
So a name is a namespace of the list below and one identifier in it; nothing is looked up anywhere else,
and what is found must be a builtin of torch's own operator tables, a Python function from one of the files
that define operators, a method of Tensor, or a module class of `torch.nn`.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import inspect
import operator
import types
from collections.abc import Iterator
from typing import Any

from opbench.worker import op_library, refused_names
from opbench.worker.registry import is_module_class

# Namespace -> the prefix of its operators' names in the aten library; None where there is no such rule.
NAMESPACES: dict[str, str | None] = {
    "torch": "",
    "torch.nn.functional": "",
    "torch.nn": None,
    "torch.nn.init": None,
    "torch.Tensor": "",
    "torch.special": "special_",
    "torch.linalg": "linalg_",
    "torch.fft": "fft_",
    "torch.sparse": "sparse_",
    "torch.nested": "nested_",
    "torch.signal.windows": None,
    "torch.masked": None,
    "torch.nn.utils": None,
    "torch.nn.utils.rnn": None,
    "torch.nn.attention.flex_attention": None,
    "torch.functional": "",
    "torch._VF": "",
    "torch._C._VariableFunctions": "",
    "torch._C._nn": "",
    "torch._C._special": "",
    "torch._C._linalg": "",
    "torch._C._fft": "",
    "torch._C._sparse": "",
    "torch._C._nested": "",
    "torch.ao.nn.quantized": None,
    "torch.ao.nn.quantized.dynamic": None,
    "torch.ao.nn.quantized.functional": None,
    "torch.ao.nn.intrinsic.quantized": None,
}
# Other names of the same things.
ALIASES = {
    "torch._VF": "torch._C._VariableFunctions",
    "torch.nn.quantized": "torch.ao.nn.quantized",
    "torch.nn.quantized.dynamic": "torch.ao.nn.quantized.dynamic",
    "torch.nn.quantized.functional": "torch.ao.nn.quantized.functional",
    "torch.nn.intrinsic.quantized": "torch.ao.nn.intrinsic.quantized",
}
# Not spelt out for everybody: what they hold is better known under another name, or costs an import.
ASIDE = frozenset(
    name
    for name in NAMESPACES
    if name.startswith(("torch._", "torch.ao", "torch.functional", "torch.nn.attention"))
)

BUILTIN_TABLES = ("_VariableFunctions", "_nn", "_special", "_linalg", "_fft", "_sparse", "_nested")
FUNCTION_FILES = frozenset(
    {
        "torch.functional",
        "torch.nn.functional",
        "torch.nn.init",
        "torch.nn.utils.clip_grad",
        "torch.nn.utils.convert_parameters",
        "torch.nn.utils.fusion",
        "torch.nn.utils.rnn",
        "torch.sparse",
        "torch.nested",
        "torch.masked._ops",
        "torch.masked.maskedtensor.creation",
        "torch.signal.windows.windows",
        "torch._linalg_utils",
        "torch._lowrank",
        "torch._lobpcg",
        "torch.ao.nn.quantized.functional",
    }
)
# Functions of other files, most of which is no operator.
SINGLE_FUNCTIONS = frozenset(
    {
        *("is_tensor", "is_storage", "sym_float", "sym_int", "sym_ite", "sym_max", "sym_min", "sym_not"),
        *("sym_sqrt", "sym_sum", "flex_attention", "to_sparse_semi_structured"),
    }
)
SINGLE_FILES = frozenset({"torch", "torch.nn.attention.flex_attention", "torch.sparse.semi_structured"})
MODULE_FILES = ("torch.nn.", "torch.ao.nn.")
# Special methods of Tensor that are operators; the others are how Python makes, copies and prints objects.
SPECIAL_METHODS = frozenset(
    f"__{name}__"
    for names in (
        "abs add and bool complex contains div eq float floordiv ge getitem gt iadd iand idiv ifloordiv",
        "ilshift imod imul index int invert ior ipow irshift isub iter itruediv ixor le len long lshift lt",
        "matmul mod mul ne neg nonzero or pos pow radd rand rdiv reversed rfloordiv rlshift rmatmul rmod",
        "rmul ror rpow rrshift rshift rsub rtruediv rxor setitem sub truediv xor array deepcopy format",
        "repr str",
    )
    for name in names.split()
)
# Attributes of Tensor that make another tensor; the others are facts about the one there is.
VIEW_ATTRIBUTES = frozenset({"H", "T", "data", "imag", "mH", "mT", "real"})


def namespace_of(name: str) -> tuple[str, str]:
    """The namespace that a name is in, by its own name, and the rest; ("", "") when there is none."""
    namespace, _, base = name.rpartition(".")
    if namespace.startswith("torch.nn.modules"):
        found = find("torch.nn", base)
        # Where a class is defined is how programs that look at a model spell it.
        if namespace in ("torch.nn.modules", getattr(found, "__module__", None)):
            return "torch.nn", base
    namespace = ALIASES.get(namespace, namespace)
    return (namespace, base) if namespace in NAMESPACES else ("", "")


def find(namespace: str, name: str) -> Any:
    """The object of this name as the namespace holds it, found without running code; None if absent."""
    home = _home(namespace)
    if home is None:
        return None
    if not inspect.isclass(home):
        held = vars(home) if isinstance(home, types.ModuleType) else _table(home)
        return held.get(name)
    for base in home.__mro__:
        if base is not object and name in vars(base):
            return vars(base)[name]
    return None


def refusal(namespace: str, name: str, found: Any) -> str:
    """Why what was found is not an operator; empty when it is one."""
    reason = refused_names.NAMES.get(f"{namespace}.{name}", "")
    if not reason and namespace in _TABLE_HOMES:
        reason = refused_names.NAMES.get(f"torch.{name}", "")
    if reason:
        return reason
    if namespace == "torch.Tensor":
        return _refuse_method(name, found)
    if inspect.isclass(found):
        return _refuse_class(found)
    if isinstance(found, types.BuiltinFunctionType):
        return _refuse_schemas(namespace, name) if id(found) in _builtins() else refused_names.CONFIGURES
    if isinstance(found, types.FunctionType):
        return _refuse_function(name, found)
    if isinstance(found, importlib.import_module("torch._ops").OpOverloadPacket):
        # A few names of `torch` are packets of an operator library (`torch.quantized_lstm`).
        return op_library.refusal("aten", name, op_library.schemas_of(found))
    return refused_names.kind_of(found)


def callable_of(namespace: str, name: str, found: Any) -> Any:
    """What to call: the object itself; for an attribute (`torch.Tensor.T`) a function that reads it."""
    if inspect.isdatadescriptor(found):
        return operator.attrgetter(name)
    return getattr(_home(namespace), name)


def names_of(namespace: str) -> list[str]:
    """Full names of all operators of a namespace, sorted."""
    home = _home(namespace)
    if home is None:
        return []
    if inspect.isclass(home):
        candidates = {name for base in home.__mro__ if base is not object for name in vars(base)}
    else:
        candidates = set(vars(home) if isinstance(home, types.ModuleType) else _table(home))
    return sorted(
        f"{namespace}.{name}" for name in candidates if not refusal(namespace, name, find(namespace, name))
    )


@functools.cache
def _home(namespace: str) -> Any:
    """The module or class that a namespace is, or None where this torch has none."""
    torch = importlib.import_module("torch")
    if namespace == "torch.Tensor":
        return torch.Tensor
    if namespace in _TABLE_HOMES:
        return getattr(torch._C, ALIASES.get(namespace, namespace).rpartition(".")[2], None)
    with contextlib.suppress(ImportError):
        return importlib.import_module(namespace)
    return None


_TABLE_HOMES = ("torch._VF", *(f"torch._C.{table}" for table in BUILTIN_TABLES))


@functools.cache
def _table(holder: Any) -> dict[str, Any]:
    """The functions of a table of builtins; some are modules, one is an object without a `__dict__`."""
    entries = ((name, getattr(holder, name, None)) for name in dir(holder) if not name.startswith("__"))
    return {name: entry for name, entry in entries if isinstance(entry, types.BuiltinFunctionType)}


@functools.cache
def _builtins() -> dict[int, Any]:
    """Every builtin of torch's operator tables, by id."""
    return {id(function): function for function in _table_entries()}


def _table_entries() -> Iterator[Any]:
    bindings = importlib.import_module("torch")._C
    for table in BUILTIN_TABLES:
        yield from _table(getattr(bindings, table, None)).values()


def _refuse_schemas(namespace: str, name: str) -> str:
    """What is known of an operator's arguments says whether a case can carry them."""
    prefix = NAMESPACES[namespace]
    schemas = op_library.schemas_named(f"aten::{prefix}{name}") if prefix is not None else []
    if schemas:
        return op_library.refusal("aten", name, schemas)
    return refused_names.PRIVATE if name.startswith("_") else ""


def _refuse_function(name: str, found: types.FunctionType) -> str:
    if name.startswith("_"):
        return refused_names.PRIVATE
    single = found.__module__ in SINGLE_FILES and name in SINGLE_FUNCTIONS
    return "" if single or found.__module__ in FUNCTION_FILES else refused_names.CONFIGURES


def _refuse_class(found: type) -> str:
    if not is_module_class(found):
        return "it is a class, and not one of torch.nn's modules"
    if not found.__module__.startswith(MODULE_FILES):
        return "it is not a module class of torch"
    forward = getattr(found, "forward", None)
    return refused_names.HOLDER if forward is importlib.import_module("torch").nn.Module.forward else ""


def _refuse_method(name: str, found: Any) -> str:
    if name.startswith("__"):
        return "" if name in SPECIAL_METHODS else refused_names.OBJECTS
    if isinstance(found, (types.GetSetDescriptorType, property)):
        return "" if name in VIEW_ATTRIBUTES else refused_names.ATTRIBUTE.format(name=name)
    if isinstance(found, types.MethodDescriptorType):
        return _refuse_schemas("torch.Tensor", name)
    if isinstance(found, types.FunctionType):
        return refused_names.PRIVATE if name.startswith("_") else ""
    return "it is not a method that takes a tensor"
