"""Names under prefixes that the user allowed: they are imported, and lend nothing of what they import."""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from opbench.worker.errors import Unsupported
from opbench.worker.resolve import resolve

KERNELS = """
import os, subprocess, torch
from os import system, kill
from subprocess import run, Popen
from builtins import eval as evaluate, open as opened
from pickle import loads
from torch import load
from torch.nn import Linear
from own_package.private import hidden

number = 3

def scale(x, by=2):
    return x * by

def scale_(x):
    return x.mul_(2)

class Layer(torch.nn.Module):
    def forward(self, x):
        return x

class Tools:
    system = os.system
    os = os
    @staticmethod
    def double(x):
        return x * 2
    @classmethod
    def of(cls, x):
        return x
    def method(self, x):
        return x

tools = Tools()
"""


@pytest.fixture(autouse=True)
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A package `own_package` of somebody's own."""
    folder = tmp_path / "own_package"
    folder.mkdir()
    (folder / "__init__.py").write_text("from own_package.kernels import scale as kernels_scale\n")
    (folder / "kernels.py").write_text(KERNELS)
    (folder / "private.py").write_text("def hidden(x):\n    return x\n")
    (folder / "fails.py").write_text("1 / 0\n")
    (folder / "quits.py").write_text("raise SystemExit(3)\n")
    (folder / "needs.py").write_text("import own_absent\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    yield
    for name in [name for name in sys.modules if name.startswith("own_package")]:
        del sys.modules[name]


ALLOW = ["own_package"]


def test_functions_and_modules_below_the_prefix_resolve() -> None:
    found = resolve("own_package.kernels.scale", ALLOW)
    assert (found.kind, found.parameters, found.mutates) == ("function", ("x", "by"), ())
    assert found.function(3) == 6
    assert resolve("own_package.kernels.scale_", ALLOW).mutates == (0,)
    assert resolve("own_package.kernels_scale", ALLOW).function is found.function
    layer = resolve("own_package.kernels.Layer", ALLOW)
    assert (layer.kind, layer.parameters) == ("module", ("x",))
    assert resolve("own_package.kernels.Tools.double", ALLOW).function(4) == 8
    assert resolve("own_package.kernels.hidden", ALLOW).kind == "function"


def test_the_prefix_is_whole_names_and_may_be_the_name_itself() -> None:
    assert resolve("own_package.kernels.scale", ["own_package.kernels.scale"]).kind == "function"
    assert resolve("own_package.kernels.scale", ["other", "own_package.kernels"]).kind == "function"
    for prefix in ("own_pack", "own_package.kern", "kernels", "", "own_package.kernels.scale.more", "."):
        with pytest.raises(Unsupported, match="no operator is called"):
            resolve("own_package.kernels.scale", [prefix])
    assert "own_package" not in {name for name in sys.modules if name == "own_package.private2"}


def test_nothing_is_imported_that_is_not_allowed() -> None:
    with pytest.raises(Unsupported, match="no operator is called"):
        resolve("own_package.kernels.scale")
    assert "own_package" not in sys.modules


@pytest.mark.parametrize(
    "name",
    [
        *(
            "os.system",
            "os",
            "system",
            "kill",
            "subprocess.run",
            "run",
            "Popen",
            "evaluate",
            "opened",
            "loads",
        ),
        *("load", "torch.load", "torch.mm", "Linear", "os.path.join", "torch.nn.functional.relu"),
        *(
            "Tools.system",
            "Tools.os.system",
            "tools.system",
            "tools.double",
            "number",
            "Tools",
            "number.real",
        ),
        *("scale.__globals__", "scale.__code__", "__builtins__", "__builtins__.eval", "Tools.__subclasses__"),
        *("__loader__.load_module", "Layer.forward.__globals__", "scale.func", "Tools.mro.x"),
    ],
)
def test_what_a_module_imported_is_not_lent(name: str) -> None:
    with pytest.raises(Unsupported) as raised:
        resolve(f"own_package.kernels.{name}", ALLOW)
    assert "own_package.kernels" in str(raised.value)


@pytest.mark.parametrize(
    ("name", "allow", "message"),
    [
        ("own_package.kernels.scal", "own_package", "did you mean own_package.kernels.scale?"),
        (
            "own_package.kernel.scale",
            "own_package",
            "there is no own_package.kernel; did you mean own_package.kernels",
        ),
        ("own_absent.scale", "own_absent", "there is no module 'own_absent' in this environment"),
        ("own_package.fails.f", "own_package", "cannot be imported: ZeroDivisionError: division by zero"),
        ("own_package.quits.f", "own_package", "cannot be imported: SystemExit: 3"),
        ("own_package.needs.f", "own_package", "cannot be imported: No module named 'own_absent'"),
        ("own_package.kernels.run", "own_package", "is defined in subprocess, which is not allowed"),
        ("own_package.kernels.run", "own_package", "it would be with --allow subprocess"),
        ("own_package.kernels", "own_package", "it is a Python module"),
        ("own_package.kernels.number", "own_package", "it is an int"),
        ("own_package.kernels.Tools", "own_package", "it is a class, and not an nn.Module"),
    ],
)
def test_what_cannot_be_had_is_told(name: str, allow: str, message: str) -> None:
    with pytest.raises(Unsupported) as raised:
        resolve(name, [allow])
    assert message in str(raised.value)
    assert "\n" not in str(raised.value)


def test_the_user_may_allow_the_standard_library() -> None:
    assert resolve("math.sqrt", ["math"]).function is math.sqrt


def test_allowing_a_prefix_changes_no_name_of_torch() -> None:
    assert resolve("torch.mm", ALLOW).function is torch.mm
    for name in ("torch.load", "torch.hub.load"):
        with pytest.raises(Unsupported):
            resolve(name, ["torch", *ALLOW])
