"""A suite is data: whatever name stands in it, no code but an operator's is reached."""

from __future__ import annotations

import inspect
import re
import sys
import types
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.worker import op_library, torch_names
from opbench.worker.errors import Unsupported
from opbench.worker.registry import is_module_class
from opbench.worker.resolve import operator_names, resolve

BUILTINS = (
    "eval exec compile open __import__ getattr setattr delattr vars globals input breakpoint exit print"
)
ELSEWHERE = """
os.system os.kill os._exit os.remove os.fork os.execv posix.system subprocess.run subprocess.Popen
shutil.rmtree sys.exit ctypes.CDLL pickle.loads marshal.loads importlib.import_module runpy.run_path
code.interact socket.socket signal.raise_signal webbrowser.open pty.spawn multiprocessing.Process
threading.Thread numpy.load numpy.save numpy.fromfile opbench.run opbench.worker.server.main
"""
INSIDE_TORCH = """
torch.load torch.save torch.from_file torch._from_blob torch.import_ir_module torch.compile torch.fork
torch.wait torch.hub.load torch.hub.download_url_to_file torch.hub.load_state_dict_from_url
torch.hub._remove_if_exists torch.serialization.load torch.serialization.os.system torch.storage.os.system
torch.os.system torch.os.kill torch.sys.exit torch.builtins.eval torch.builtins.exec torch.ctypes.CDLL
torch.importlib.import_module torch.utils.cpp_extension.load torch.utils.cpp_extension.load_inline
torch.utils.model_zoo.load_url torch.utils.collect_env.run torch.utils.data.DataLoader
torch.utils.checkpoint.checkpoint torch.jit.load torch.jit.save torch.jit.script torch.jit.CompilationUnit
torch.package.PackageImporter torch.onnx.export torch.export.load torch.multiprocessing.spawn
torch.distributed.init_process_group torch.distributed.rpc.rpc_sync torch.ops.load_library
torch.ops.loaded_libraries.add torch.classes.load_library torch.library.Library
torch.autograd.profiler.profile torch.profiler.profile torch._C.import_ir_module torch._C.parse_ir
torch._C._jit_set_profiling_mode torch._C.PyTorchFileWriter torch._C._abort torch._C._crash_if_aten_asan
torch._C._initCrashHandler torch._C._show_config torch._C._from_dlpack torch.nn.functional.torch.load
torch.nn.functional.importlib.import_module torch.nn.functional.np.load torch.nn.init.torch.load
torch.functional.torch.load torch.sparse.torch.load torch.fft.torch.load torch.nn.Linear.load_state_dict
torch.nn.Linear.__init__.__globals__ torch.nn.Module.__subclasses__ torch.nn.modules.linear.torch.load
torch.nn.modules.module.torch.save torch.nn.modules.os.system torch.nn.utils.parametrize.torch.load
torch.nn.utils.stateless.functional_call torch.nn.parallel.DataParallel torch.mm.__self__
torch.mm.__class__ torch.relu.__globals__ torch.nn.functional.relu.__globals__
torch.nn.functional.relu.__code__ torch.nn.functional.relu.__builtins__ torch.__builtins__
torch.__loader__ torch.__spec__ torch.__dict__ torch.__getattr__ torch._import_dotted_name
torch._utils._import_dotted_name torch.Tensor.__class__ torch.Tensor.__new__ torch.Tensor.__init__
torch.Tensor.__subclasses__ torch.Tensor.__reduce_ex__ torch.Tensor.__setstate__
torch.Tensor.__getattribute__ torch.Tensor.__setattr__ torch.Tensor.__delattr__
torch.Tensor.__init_subclass__ torch.Tensor.__dict__ torch.Tensor.__torch_function__ torch.Tensor.apply_
torch.Tensor.map_ torch.Tensor.register_hook torch.Tensor.share_memory_ torch.Tensor.module_load
torch.Tensor.as_subclass torch.Tensor._make_subclass torch.Tensor._view_func torch.Tensor.new
torch.Tensor.set_data torch.Tensor.add.__globals__ torch.Tensor.numpy.__self__ torch.ops.aten.save
torch.ops.aten.save.default torch.ops.aten.from_file torch.ops.aten.from_file.out torch.ops.aten.__class__
torch.ops.aten.__dict__ torch.ops.aten.add.__class__ torch.ops.aten.add.op torch.ops.aten.add._op
torch.ops.aten.add.overloads torch.ops.aten.add.Tensor.redispatch torch.ops.__class__
torch.ops.aten.add.Tensor.__call__ torch.ops.debugprims.load_tensor torch.ops.prim.PythonOp
torch.ops.prim.fork torch.ops.prim.rpc_sync torch.ops.c10d.send torch.ops.higher_order.cond
torch.ops.export.access_subclass_inner_tensor torch.ops.profiler._record_function_enter
torch.quantization.torch.load torch.nn.quantized.Linear.from_float
torch.ao.nn.quantized.modules.torch.load torch.ao.quantization.quantize torch.masked._ops.torch.load
torch.masked.torch.load torch.signal.windows.torch.load torch.special.torch.load torch.return_types.torch
torch.testing._internal.common_utils.shell torch._dynamo.optimize torch._inductor.codecache.write
"""
NAMES = [*BUILTINS.split(), *ELSEWHERE.split(), *INSIDE_TORCH.split()]


@pytest.mark.parametrize("name", NAMES)
def test_a_name_that_is_no_operator_is_refused_with_a_reason(name: str) -> None:
    with pytest.raises(Unsupported, match=re.escape(name.rpartition(".")[2])):
        resolve(name)


@pytest.mark.parametrize("prefix", ["torch", "torch.serialization", "torch.hub", "torch.os", "torch.Tensor"])
def test_allowing_torch_allows_nothing_more_of_torch(prefix: str) -> None:
    for name in INSIDE_TORCH.split():
        with pytest.raises(Unsupported):
            resolve(name, [prefix])


def test_names_that_are_no_dotted_identifiers_are_refused() -> None:
    for name in (
        *(
            "",
            ".",
            "..",
            "torch.",
            ".torch",
            "torch..mm",
            "torch.mm()",
            "torch.mm;import os",
            "torch mm",
            "torch.mm ",
        ),
        *(
            "torch.mm\n",
            "torch/mm",
            "__import__('os').system('ls')",
            "lambda: 0",
            "torch.ｍｍ",
            "torch.mm\0",
            "[].mm",
        ),
        *("torch." + "a" * 300, "a." * 400 + "b", 3, None, ["torch.mm"]),
    ):
        with pytest.raises(Unsupported, match="is not the name of an operator"):
            resolve(name)  # type: ignore[arg-type]


# Files of torch that hold functions of tensors and little else.
FILES = (
    *("functional.py", "nn/", "sparse/", "nested/", "masked/", "signal/", "_tensor.py", "_lobpcg.py"),
    *("_jit_internal.py", "_linalg_utils.py", "_lowrank.py", "ao/nn/quantized/functional.py"),
)


def reachable() -> list[str]:
    """Every attribute, two deep, of every namespace that names may be in, and of what is near them."""
    names = []
    for namespace in torch_names.NAMESPACES:
        home = torch_names._home(namespace)
        for first in dir(home) if home is not None else ():
            names.append(f"{namespace}.{first}")
            held = getattr(home, first, None)
            if isinstance(held, types.ModuleType | type):
                names += [f"{namespace}.{first}.{second}" for second in dir(held)]
    return names


def is_operator(function: object) -> bool:
    """Whether something is of a kind that computes, told in another way than the code under test does."""
    if isinstance(function, torch._ops.OpOverload | torch._ops.OpOverloadPacket):
        return True
    if isinstance(function, type):
        return is_module_class(function) and function.__module__.startswith(("torch.nn.", "torch.ao.nn."))
    function = inspect.unwrap(function) if callable(function) else function
    if isinstance(function, types.FunctionType):
        # `torch` itself has small ones in Python: sym_max, is_tensor.
        if function.__module__ == "torch":
            return function.__name__.startswith(("sym_", "_sym_", "is_"))
        file = Path(function.__code__.co_filename)
        return file.relative_to(Path(torch.__file__).parent).as_posix().startswith(FILES)
    return type(function).__name__ in (
        *("builtin_function_or_method", "method_descriptor", "attrgetter", "wrapper_descriptor"),
        *("method-wrapper", "getset_descriptor"),
    )


def test_whatever_is_reached_below_torch_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    # Near names of thousands of wrong ones are looked for nowhere else.
    monkeypatch.setattr("opbench.worker.resolve.did_you_mean", lambda name, known: "")
    found = 0
    for name in reachable():
        try:
            operator = resolve(name)
        except Unsupported:
            continue
        found += 1
        assert is_operator(operator.function), name
        module = getattr(operator.function, "__module__", None) or ""
        assert not module.startswith(
            ("torch.serialization", "torch.hub", "torch.jit", "torch.utils", "torch.storage", "os", "posix")
        ), name
    assert found > 1500


def test_no_operator_names_a_file() -> None:
    for library, names in op_library.libraries().items():
        for name in names:
            _, _, rest = name.partition(f"torch.ops.{library}.")
            for schema in op_library.schemas_of(op_library.find(library, *rest.split("."))):
                texts = [argument.name for argument in schema.arguments if "str" in str(argument.type)]
                assert not [text for text in texts if "file" in text or "path" in text], name


def test_a_library_that_reads_files_is_refused_by_the_names_of_its_arguments() -> None:
    library = torch.library.Library("opbench_files", "FRAGMENT")
    library.define("read(str filename) -> Tensor")
    library.define("write(Tensor x, *, str? out_path=None) -> ()")
    library.define("mode(Tensor x, str approximate) -> Tensor")
    for name in ("read", "write"):
        with pytest.raises(Unsupported, match="names a file"):
            resolve(f"torch.ops.opbench_files.{name}")
        with pytest.raises(Unsupported, match="names a file"):
            resolve(f"torch.ops.opbench_files.{name}.default")
    assert resolve("torch.ops.opbench_files.mode").kind == "function"


PARTS = st.sampled_from(
    [
        *(
            "torch",
            "nn",
            "functional",
            "Tensor",
            "ops",
            "aten",
            "add",
            "os",
            "system",
            "sys",
            "modules",
            "_C",
            "load",
        ),
        *(
            "__class__",
            "__mro__",
            "__subclasses__",
            "__globals__",
            "__builtins__",
            "eval",
            "numpy",
            "serialization",
        ),
        *(
            "builtins",
            "hub",
            "_ops",
            "utils",
            "default",
            "Linear",
            "forward",
            "__init__",
            "F",
            "np",
            "special",
        ),
    ]
)


@settings(max_examples=400, deadline=None)
@given(st.lists(PARTS, min_size=1, max_size=6))
def test_chains_of_attributes_lead_to_operators_or_nowhere(parts: list[str]) -> None:
    try:
        operator = resolve(".".join(["torch", *parts]))
    except Unsupported:
        return
    assert operator.name in {name for names in operator_names().values() for name in names} or is_operator(
        operator.function
    )


def test_resolving_runs_no_code_and_imports_nothing_of_the_name() -> None:
    resolve("torch.mm")
    before = set(sys.modules)
    for name in (
        "antigravity",
        "this",
        "torch.testing._internal.common_utils.x",
        "idlelib.run",
        "torch._inductor.x",
    ):
        with pytest.raises(Unsupported):
            resolve(name)
    assert not {"antigravity", "this", "idlelib"} & (set(sys.modules) - before)
    assert "torch.testing._internal.common_utils" not in set(sys.modules) - before
