"""Names of torch that exist and are no operators all the same, and why: what a person is told about them."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Container
from types import ModuleType

FILES = "it reads or writes files"
CALLABLES = "it takes a Python function, which a case cannot carry"
OBJECTS = "it is how Python makes and stores objects"
MEMORY = "it takes memory of another library, which a case cannot carry"
MODULES = "it is built from other modules, which a case cannot carry; register yours with @opbench.operator"
HOLDER = "it is a base or a container of other modules and computes nothing itself"
PRIVATE = "it is private to torch's own code"
HELPER = "it checks or prepares arguments for other functions and computes nothing"
CONFIGURES = "it configures or inspects torch and computes nothing"
ATTRIBUTE = "it is an attribute, not an operation; a snippet (x.{name}) measures what reading it costs"
REMOVED = "torch has removed it (calling it only raises an error)"
FUTURE = "it needs another process or thread"

NAMES: dict[str, str] = {
    "torch.from_file": FILES,
    "torch.load": FILES,
    "torch.save": FILES,
    "torch.compile": "it compiles functions; to measure an operator compiled, choose the runtime 'compile'",
    "torch._from_blob": MEMORY,
    "torch.as_subclass": OBJECTS,
    "torch.from_dlpack": MEMORY,
    "torch.from_numpy": MEMORY,
    "torch.frombuffer": MEMORY,
    "torch.to_dlpack": MEMORY,
    "torch.cond": CALLABLES,
    "torch.vmap": CALLABLES,
    "torch.while_loop": CALLABLES,
    "torch.fork": FUTURE,
    "torch.wait": FUTURE,
    "torch.eig": f"{REMOVED}; use torch.linalg.eig",
    "torch.lstsq": f"{REMOVED}; use torch.linalg.lstsq",
    "torch.matrix_rank": f"{REMOVED}; use torch.linalg.matrix_rank",
    "torch.solve": f"{REMOVED}; use torch.linalg.solve",
    "torch.symeig": f"{REMOVED}; use torch.linalg.eigh",
    "torch.ao.nn.quantized.FXFloatFunctional": HOLDER,
    "torch.ao.nn.quantized.FloatFunctional": HOLDER,
    "torch.ao.nn.quantized.QFunctional": HOLDER,
    "torch.Tensor.apply_": CALLABLES,
    "torch.Tensor.as_subclass": OBJECTS,
    "torch.Tensor.eig": f"{REMOVED}; use torch.linalg.eig",
    "torch.Tensor.lstsq": f"{REMOVED}; use torch.linalg.lstsq",
    "torch.Tensor.map2_": CALLABLES,
    "torch.Tensor.map_": CALLABLES,
    "torch.Tensor.module_load": OBJECTS,
    "torch.Tensor.new": "it is the constructor of old and also takes addresses; use torch.Tensor.new_empty",
    "torch.Tensor.register_hook": CALLABLES,
    "torch.Tensor.register_post_accumulate_grad_hook": CALLABLES,
    "torch.Tensor.reinforce": REMOVED,
    "torch.Tensor.share_memory_": FILES,
    "torch.Tensor.solve": f"{REMOVED}; use torch.linalg.solve",
    "torch.Tensor.symeig": f"{REMOVED}; use torch.linalg.eigh",
    "torch.nn.DataParallel": MODULES,
    "torch.nn.Sequential": MODULES,
    "torch.nn.TransformerDecoder": MODULES,
    "torch.nn.TransformerEncoder": MODULES,
    "torch.nn.functional.assert_int_or_pair": HELPER,
    **{
        f"torch.nn.utils.{name}": "it takes a module, which a case cannot carry"
        for name in (
            *("convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"),
            *("fuse_conv_bn_eval", "fuse_linear_bn_eval", "remove_spectral_norm", "remove_weight_norm"),
            *("skip_init", "spectral_norm", "weight_norm"),
        )
    },
    "torch.nn.utils.rnn.bind": HELPER,
    "torch.nn.utils.rnn.invert_permutation": HELPER,
    "torch.nn.utils.rnn.pad_packed_sequence": "it takes a PackedSequence, which a case cannot carry",
    "torch.nn.utils.rnn.unpack_sequence": "it takes a PackedSequence, which a case cannot carry",
    "torch.sparse.as_sparse_gradcheck": CALLABLES,
}

# Parts of torch that hold no operators: what they are for.
PARTS: dict[str, str] = {
    "torch.optim": (
        "optimisers keep state between steps; measure what a step calls (torch._fused_adam_,"
        " torch._foreach_add_) or register a step of your own with @opbench.operator"
    ),
    "torch.autograd": "measure a backward pass with the direction of a case",
    "torch.classes": "it holds script classes, whose objects a case cannot carry",
    "torch.compiler": "to measure an operator compiled, choose the runtime 'compile'",
    "torch.distributed": "it communicates with other processes, and a case runs in one",
    "torch.distributions": "distributions are Python objects, which a case cannot carry",
    "torch.export": "it takes Python functions, which a case cannot carry",
    "torch.func": "it takes Python functions, which a case cannot carry",
    "torch.hub": "it fetches and runs code",
    "torch.jit": "it loads and runs code; to measure an operator scripted, choose the runtime 'torchscript'",
    "torch.library": "it defines operators; those it defined are called torch.ops.LIBRARY.NAME",
    "torch.multiprocessing": "it starts processes",
    "torch.nn.parallel": MODULES,
    "torch.onnx": "it writes models to files",
    "torch.overrides": "it takes Python functions, which a case cannot carry",
    "torch.package": FILES,
    "torch.serialization": FILES,
    "torch.storage": OBJECTS,
    "torch.utils": "it holds tools around torch, some of which build and run code",
    "torch._C": "only its tables of operators can be named: torch._C._nn, torch._C._VariableFunctions",
}


def kind_of(found: object) -> str:
    """What a person calls the thing that was found: `it is a dtype`, `it is an int`."""
    if isinstance(found, ModuleType):
        return "it is a Python module"
    kind = type(found).__name__
    return f"it is {'an' if kind[0] in 'aeiouAEIOU' else 'a'} {kind}"


def part_without_operators(name: str, namespaces: Container[str]) -> str:
    """What to say of a name inside a part of torch that holds no operators; empty when it is in none."""
    parts = name.split(".")
    for depth in range(len(parts), 1, -1):
        part = ".".join(parts[:depth])
        if part in namespaces:
            return ""
        if part in PARTS:
            return f"{part} holds no operators: {PARTS[part]}"
    part = ".".join(parts[:2])
    found = vars(sys.modules["torch"]).get(parts[1])
    if isinstance(found, ModuleType) and found.__name__ != part:
        return f"{part} is the Python module {found.__name__!r} and holds no operators"
    if isinstance(found, ModuleType) or (found is None and importlib.util.find_spec(part) is not None):
        return f"{part} holds no operators that can be measured by name"
    return ""
