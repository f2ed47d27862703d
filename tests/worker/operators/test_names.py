"""Names of torch: which resolve, to what, and what a person is told about the rest."""

from __future__ import annotations

import importlib

import pytest
import torch

from opbench.cases.names import canonical_operator
from opbench.worker.errors import Unsupported
from opbench.worker.resolve import operator_names, resolve

# Public names that a person would try, and where they lead: kind, and the very object.
SAME_OBJECTS = {
    "torch.mm": ("function", torch.mm),
    "torch.einsum": ("function", torch.einsum),
    "torch.nn.functional.gelu": ("function", torch.nn.functional.gelu),
    "torch.nn.functional.cross_entropy": ("function", torch.nn.functional.cross_entropy),
    "torch.nn.functional.scaled_dot_product_attention": (
        "function",
        torch.nn.functional.scaled_dot_product_attention,
    ),
    "torch.Tensor.add_": ("function", torch.Tensor.add_),
    "torch.Tensor.split": ("function", torch.Tensor.split),
    "torch.Tensor.__getitem__": ("function", torch.Tensor.__getitem__),
    "torch.nn.Linear": ("module", torch.nn.Linear),
    "torch.nn.modules.linear.Linear": ("module", torch.nn.Linear),
    "torch.nn.modules.Linear": ("module", torch.nn.Linear),
    "torch.linalg.qr": ("function", torch.linalg.qr),
    "torch.fft.rfft": ("function", torch.fft.rfft),
    "torch.special.erf": ("function", torch.special.erf),
    "torch.sparse.mm": ("function", torch.sparse.mm),
    "torch.nn.init.xavier_uniform_": ("function", torch.nn.init.xavier_uniform_),
    "torch._foreach_add_": ("function", torch._foreach_add_),
    "torch._fused_adam_": ("function", torch._fused_adam_),
    "torch.ops.aten.add": ("function", torch.ops.aten.add),
    "torch.ops.aten.add.Tensor": ("function", torch.ops.aten.add.Tensor),
    "torch.ops.aten.relu.default": ("function", torch.ops.aten.relu.default),
    "torch.ops.quantized.add": ("function", torch.ops.quantized.add),
    "torch.ops.prims.sin.default": ("function", torch.ops.prims.sin.default),
    "torch._C._nn.gelu": ("function", torch._C._nn.gelu),
    "torch._VF.lstm": ("function", torch._VF.lstm),
}

SHORT = {
    "F.gelu": "torch.nn.functional.gelu",
    "nn.Linear": "torch.nn.Linear",
    "Tensor.add_": "torch.Tensor.add_",
    "aten::add.Tensor": "torch.ops.aten.add.Tensor",
    "aten.add.Tensor": "torch.ops.aten.add.Tensor",
    "aten::mm": "torch.ops.aten.mm",
    "quantized::add": "torch.ops.quantized.add",
}

# What is refused although it exists, and a word of the reason.
REFUSED = {
    "torch.nn.functional": "it is a Python module",
    "torch.ops.aten": "library of operators, which are called torch.ops.aten.NAME",
    "torch.ops.prim.id": "interpreter of TorchScript",
    "torch.ops.c10d.send": "communicates with other processes",
    "torch.ops.aten.len.t": "neither takes nor gives a tensor",
    "torch.ops.quantized.linear": "LinearPackedParamsBase) that a case cannot carry",
    "torch.float32": "it is a dtype",
    "torch.pi": "it is a float",
    "torch.Tensor": "did you mean torch.tensor?",
    "torch.Tensor.shape": "a snippet (x.shape)",
    "torch.Tensor.apply_": "takes a Python function",
    "torch.Tensor.__reduce_ex__": "how Python makes and stores objects",
    "torch.set_num_threads": "configures or inspects torch",
    "torch.compile": "choose the runtime 'compile'",
    "torch.load": "reads or writes files",
    "torch.solve": "use torch.linalg.solve",
    "torch.nn.Sequential": "built from other modules",
    "torch.nn.Module": "computes nothing itself",
    "torch.nn.utils.weight_norm": "takes a module",
    "torch.optim.Adam": "torch._fused_adam_",
    "torch.autograd.grad": "direction of a case",
    "torch.distributions.Normal": "Python objects",
    "torch.distributed.all_reduce": "other processes",
    "torch.cuda.synchronize": "holds no operators",
    "torch.os.getcwd": "Python module 'os'",
    "torch.nn.functional._threshold": "private to torch's own code",
}

NEAR = {
    "torch.mmm": "torch.mm",
    "torch.rleu": "torch.relu",
    "gelu": "torch.nn.functional.gelu",
    "relu": "torch.nn.functional.relu",
    "Conv2d": "torch.nn.Conv2d",
    "layernorm": "torch.nn.LayerNorm",
    "tf.matmul": "torch.matmul",
    "torch.cross_entropy": "torch.nn.functional.cross_entropy",
    "torch.nn.linear": "torch.nn.Linear",
    "torch.nn.Linaer": "torch.nn.Linear",
    "torch.nn.modules.linear.Linaer": "torch.nn.Linear",
    "torch.nn.functional.geluu": "torch.nn.functional.gelu",
    "torch.view": "torch.Tensor.view",
    "torch.uniform": "torch.Tensor.uniform_",
    "torch.functional.mm": "torch.mm",
    "torch.aten.add": "torch.add",
    "torch.slice": "torch.ops.aten.slice",
    "torch.native_dropout_backward": "torch.ops.aten.native_dropout_backward",
    "torch.ops.aten.ad": "torch.ops.aten.add",
    "torch.ops.aten.add.Tensr": "torch.ops.aten.add.Tensor",
    "torch.ops.atn.add": "torch.add",
    "torch.float": "torch.Tensor.float",
    "torch.eig": "torch.linalg.eig",
}


@pytest.mark.parametrize("name", SAME_OBJECTS)
def test_a_name_leads_to_what_python_finds_under_it(name: str) -> None:
    operator = resolve(name)
    kind, function = SAME_OBJECTS[name]
    assert (operator.name, operator.kind) == (name, kind)
    assert operator.function is function


@pytest.mark.parametrize("short", SHORT)
def test_short_names_become_the_long_ones(short: str) -> None:
    assert canonical_operator(short) == SHORT[short]
    assert resolve(SHORT[short]).kind in ("function", "module")


@pytest.mark.parametrize("name", REFUSED)
def test_what_exists_and_is_no_operator_is_refused_with_its_reason(name: str) -> None:
    with pytest.raises(Unsupported) as raised:
        resolve(name)
    assert name in str(raised.value)
    assert REFUSED[name] in str(raised.value)


@pytest.mark.parametrize("name", NEAR)
def test_a_wrong_name_is_answered_with_the_right_one(name: str) -> None:
    with pytest.raises(Unsupported) as raised:
        resolve(name)
    assert f"{NEAR[name]} " in str(raised.value).partition("did you mean ")[2].replace("?", " ")


def test_a_name_unlike_any_other_is_answered_with_the_version_of_torch() -> None:
    with pytest.raises(Unsupported) as raised:
        resolve("torch.qwertyuiop")
    assert str(raised.value) == f"no operator is called 'torch.qwertyuiop' in torch {torch.__version__}"


def test_a_name_outside_torch_is_answered_with_how_to_allow_it() -> None:
    with pytest.raises(Unsupported, match=r"registered with @opbench.operator or allowed .*--allow"):
        resolve("mypackage.kernels.scale")


def test_an_overload_that_is_not_there_is_answered_with_those_that_are() -> None:
    with pytest.raises(Unsupported, match="has no overload 'Nothing'; it has Tensor, Scalar, out"):
        resolve("torch.ops.aten.add.Nothing")


def test_an_operator_library_of_the_users_own_is_found_once_it_is_loaded() -> None:
    with pytest.raises(Unsupported, match="no operator library 'opbench_late' is loaded"):
        resolve("torch.ops.opbench_late.scale")
    library = torch.library.Library("opbench_late", "DEF")
    library.define("scale(Tensor x, float by) -> Tensor")
    library.impl("scale", lambda x, by: x * by, "CPU")
    operator = resolve("torch.ops.opbench_late.scale")
    assert operator.parameters == ("x", "by")
    assert operator.function(torch.ones(2), 3.0).tolist() == [3.0, 3.0]


# torch says of itself what is public: everything there runs, but for the following kinds.
NO_OPERATORS = {
    "torch.special": set(),
    "torch.linalg": {"LinAlgError"},
    "torch.fft": {"Tensor"},
    "torch.nn.functional": set(),
    "torch.signal.windows": set(),
    "torch.nested": set(),
    "torch.sparse": {"check_sparse_tensor_invariants", "SparseSemiStructuredTensor", "as_sparse_gradcheck"}
    | {"SparseSemiStructuredTensorCUTLASS", "SparseSemiStructuredTensorCUSPARSELT"},
    "torch.nn": {"Container", "DataParallel", "Module", "ModuleDict", "ModuleList", "ParameterDict"}
    | {"ParameterList", "RNNBase", "RNNCellBase", "Sequential", "TransformerDecoder", "TransformerEncoder"}
    | {"Parameter", "Buffer", "UninitializedBuffer", "UninitializedParameter", "factory_kwargs"}
    | {"LinearCrossEntropyOptions"},
}


@pytest.mark.parametrize("namespace", NO_OPERATORS)
def test_everything_public_in_a_namespace_of_operators_resolves(namespace: str) -> None:
    home = importlib.import_module(namespace)
    public = getattr(home, "__all__", None) or [name for name in vars(home) if not name.startswith("_")]
    # Python's own things, and what only checks for overriding, are imported there too.
    public = [name for name in public if callable(getattr(home, name, None))]
    if namespace == "torch.nn.functional":
        helpers = ("has_torch", "handle_torch", "boolean_dispatch", "assert_int")
        public = [name for name in public if name[0].islower() and not name.startswith(helpers)]
    refused = {name for name in public if not resolves(f"{namespace}.{name}")}
    assert refused - NO_OPERATORS[namespace] == set()


def resolves(name: str) -> bool:
    try:
        resolve(name)
    except Unsupported:
        return False
    return True


def test_every_function_that_takes_tensors_in_place_of_another_resolves() -> None:
    # torch's own list of functions that can be overridden for other tensors: whatever computes is there.
    overridable = torch.overrides.get_overridable_functions()
    missing = []
    for holder, functions in overridable.items():
        prefix = "torch.Tensor" if holder is torch.Tensor else getattr(holder, "__name__", "")
        if prefix not in ("torch", "torch.Tensor", "torch.nn.functional", "torch.linalg", "torch.fft"):
            continue
        missing += [
            f"{prefix}.{function.__name__}"
            for function in functions
            if getattr(holder, getattr(function, "__name__", ""), None) is function
            and not function.__name__.startswith("_")
            and not resolves(f"{prefix}.{function.__name__}")
        ]
    reasons = {}
    for name in missing:
        with pytest.raises(Unsupported) as raised:
            resolve(name)
        reasons[name] = str(raised.value)
    # Nothing of it is refused without a reason of its own.
    assert not [name for name, reason in reasons.items() if "is not an operator: " not in reason]
    assert len(missing) < 40, missing


def test_every_operator_of_the_dispatcher_resolves_or_has_a_reason() -> None:
    reasons: dict[str, int] = {}
    found = 0
    for schema in torch._C._jit_get_all_schemas():
        library, _, name = schema.name.partition("::")
        if not name.isidentifier() or library == "prim":
            continue
        try:
            resolve(f"torch.ops.{library}.{name}.{schema.overload_name or 'default'}")
            found += 1
        except Unsupported as refused:
            reason = str(refused).partition("is not an operator: ")[2]
            reasons[reason[:22]] = reasons.get(reason[:22], 0) + 1
    assert found > 3000
    assert set(reasons) <= {
        "it neither takes nor g",
        "it reads or writes fil",
        "it reads files",
        "it communicates with o",
        "it belongs to the prof",
        "it belongs to a debugg",
        "it reads attributes of",
        *(reason for reason in reasons if reason.startswith("its argument '")),
    }


def test_names_are_listed_by_namespace_and_each_resolves() -> None:
    names = operator_names()
    assert {"torch", "torch.nn.functional", "torch.Tensor", "torch.nn", "torch.ops.aten"} <= set(names)
    listed = [name for found in names.values() for name in found]
    assert len(listed) == len(set(listed))
    for found in names.values():
        for name in found[:: max(1, len(found) // 50)]:
            assert resolve(name).name == name
