"""Which names of torch are operators, told by what the object is and never by its name alone.

Suites are untrusted, and attribute lookup from `torch` reaches all of Python: `torch.serialization.os.system`.
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
    "torch.functional": "",
    "torch._C._nn": "",
    "torch.ao.nn.quantized": None,
    "torch.ao.nn.quantized.dynamic": None,
    "torch.ao.nn.quantized.functional": None,
}
# Not spelt out for everybody: what they hold is better known under another name, or costs an import.
ASIDE = frozenset(
    name for name in NAMESPACES if name.startswith(("torch._C", "torch.ao", "torch.functional"))
)

BUILTIN_TABLES = ("_VariableFunctions", "_nn", "_special", "_linalg", "_fft", "_sparse", "_nested")
FUNCTION_FILES = frozenset(
    {
        "torch.functional",
        "torch.nn.functional",
        "torch.nn.init",
        "torch.sparse",
        "torch.nested",
        "torch.masked._ops",
        "torch.signal.windows.windows",
        "torch._linalg_utils",
        "torch._lowrank",
        "torch._lobpcg",
        "torch.ao.nn.quantized.functional",
    }
)
# Of the functions in torch/__init__.py, these compute something; the rest configure torch.
TORCH_FUNCTIONS = frozenset({"is_tensor", "is_storage"})
MODULE_FILES = ("torch.nn.", "torch.ao.nn.")
# Special methods of Tensor that are operators; the others are how Python makes, copies and prints objects.
SPECIAL_METHODS = frozenset(
    f"__{name}__"
    for name in """
    abs add and array bool complex contains deepcopy div eq float floordiv format ge getitem gt iadd iand idiv
    ifloordiv ilshift imod imul index int invert ior ipow irshift isub iter itruediv ixor le len long lshift lt
    matmul mod mul ne neg nonzero or pos pow radd rand rdiv repr reversed rfloordiv rlshift rmatmul rmod rmul ror
    rpow rrshift rshift rsub rtruediv rxor setitem str sub truediv xor
    """.split()  # noqa: SIM905 - seventy strings would fill a page
)

_FILES = frozenset(
    {
        "torch.functional",
        "torch.nn.functional",
        "torch.nn.init",
        "torch.sparse",
        "torch.nested",
        "torch.masked._ops",
        "torch.signal.windows.windows",
        "torch._linalg_utils",
        "torch._lowrank",
        "torch._lobpcg",
        "torch.ao.nn.quantized.functional",
    }
)
# Of the functions in torch/__init__.py, these compute something; the rest configure torch.
TORCH_FUNCTIONS = frozenset({"is_tensor", "is_storage"})
MODULE_FILES = ("torch.nn.", "torch.ao.nn.")
# Special methods of Tensor that are operators; the others are how Python makes, copies and prints objects.
SPECIAL_METHODS = frozenset(
    f"__{name}__"
    for name in (
        "abs add and bool complex contains div eq float floordiv ge getitem gt iadd iand idiv ifloordiv ilshift "
        "imod imul index int invert ior ipow irshift isub iter itruediv ixor le len long lshift lt matmul mod mul "
        "ne neg nonzero or pos pow radd rand rdiv reversed rfloordiv rlshift rmatmul rmod rmul ror rpow rrshift "
        "rshift rsub rtruediv rxor setitem sub truediv xor deepcopy array repr str format"
    ).split()
)

_FILES = "it reads or writes files"
_CALLABLES = "it takes a Python function, which a case cannot carry"
_OBJECTS = "it is how Python makes and stores objects"
_HOLDER = "it holds other modules and computes nothing itself"
# Names that pass every other test, and why they are no operators all the same.
REFUSED: dict[str, str] = {
    "torch.from_file": _FILES,
    "torch.load": _FILES,
    "torch.save": _FILES,
    "torch.Tensor.share_memory_": _FILES,
    "torch.Tensor.module_load": _OBJECTS,
    "torch.Tensor._reduce_ex_internal": _OBJECTS,
    "torch.Tensor._rebuild_from_type_v2": _OBJECTS,
    "torch.Tensor.apply_": _CALLABLES,
    "torch.Tensor.map_": _CALLABLES,
    "torch.Tensor.map2_": _CALLABLES,
    "torch.Tensor.register_hook": _CALLABLES,
    "torch.Tensor.register_post_accumulate_grad_hook": _CALLABLES,
    "torch.Tensor._register_hook_dict": _CALLABLES,
    "torch.nn.Module": _HOLDER,
    "torch.nn.Container": _HOLDER,
    "torch.nn.ModuleList": _HOLDER,
    "torch.nn.ModuleDict": _HOLDER,
    "torch.nn.ParameterList": _HOLDER,
    "torch.nn.ParameterDict": _HOLDER,
}


def find(namespace: str, name: str) -> Any:
    """The object of this name as the namespace holds it, found without running code; None if absent."""
    home = _home(namespace)
    if home is None:
        return None
    if not inspect.isclass(home):
        return vars(home).get(name)
    for base in home.__mro__:
        if base is not object and name in vars(base):
            return vars(base)[name]
    return None


def refusal(namespace: str, name: str, found: Any) -> str:
    """Why what was found is not an operator; empty when it is one."""
    reason = REFUSED.get(f"{namespace}.{name}", "")
    if reason:
        return reason
    if namespace == "torch.Tensor":
        return _refuse_method(name, found)
    if inspect.isclass(found) and is_module_class(found):
        return "" if found.__module__.startswith(MODULE_FILES) else "it is not a module class of torch"
    if isinstance(found, types.BuiltinFunctionType):
        return "" if id(found) in _builtins() else "it configures or inspects torch and computes nothing"
    if isinstance(found, types.FunctionType):
        if found.__module__ in FUNCTION_FILES or (namespace == "torch" and _computes(name)):
            return ""
        return "it configures or inspects torch and computes nothing"
    if isinstance(found, types.ModuleType):
        return "it is a Python module"
    if inspect.isclass(found):
        return "it is a class"
    return _refuse_packet(found)


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
    bases = [base for base in home.__mro__ if base is not object] if inspect.isclass(home) else [home]
    candidates = {name for base in bases for name in vars(base)}
    return sorted(
        f"{namespace}.{name}" for name in candidates if not refusal(namespace, name, find(namespace, name))
    )


@functools.cache
def _home(namespace: str) -> Any:
    """The module or class that a namespace is, or None where this torch has none."""
    if namespace == "torch.Tensor":
        return importlib.import_module("torch").Tensor
    if namespace == "torch._C._nn":
        return importlib.import_module("torch")._C._nn
    with contextlib.suppress(ImportError):
        return importlib.import_module(namespace)
    return None


@functools.cache
def _builtins() -> dict[int, Any]:
    """Every builtin of torch's operator tables, by id."""
    return {id(function): function for function in _table_entries()}


def _table_entries() -> Iterator[Any]:
    bindings = importlib.import_module("torch")._C
    for table in BUILTIN_TABLES:
        holder = getattr(bindings, table, None)
        for name in dir(holder):
            function = getattr(holder, name, None)
            if isinstance(function, types.BuiltinFunctionType) and not name.startswith("__"):
                yield function


def _computes(name: str) -> bool:
    return name in TORCH_FUNCTIONS or name.startswith(("sym_", "_sym_"))


def _refuse_method(name: str, found: Any) -> str:
    if name.startswith("__"):
        return "" if name in SPECIAL_METHODS else _OBJECTS
    if isinstance(found, (types.MethodDescriptorType, types.GetSetDescriptorType, property)):
        return ""
    if isinstance(found, types.FunctionType):
        return ""
    return "it is not a method that takes a tensor"


def _refuse_packet(found: Any) -> str:
    """A few names of `torch` are packets of an operator library (`torch.quantized_lstm`)."""
    packet = importlib.import_module("torch._ops").OpOverloadPacket
    return "" if isinstance(found, packet) else f"it is a {type(found).__name__}"
