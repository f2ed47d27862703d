"""Where a worker ran, as facts, and a hash of those that must be equal for times to be comparable."""

from __future__ import annotations

import functools
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from opbench.cases.identity import digest
from opbench.results.checkout import checkout_facts
from opbench.results.hardware import machine_facts, moment_facts, settings_facts, system_facts
from opbench.results.records import Environment

# The other sections are kept for people: system, places, checkout, moment.
HASHED_SECTIONS = ("machine", "settings", "python", "framework", "packages", "variables")

# Of the framework's own words, what is another in each worker.
_FLEETING = frozenset({"import_s", "num_threads", "num_interop_threads"})
# What does the computing beside the framework itself.
_PACKAGES = frozenset(
    {
        "fbgemm_gpu",
        "fbgemm_gpu_cpu",
        "intel_openmp",
        "jax",
        "jaxlib",
        "mkl",
        "mxnet",
        "numpy",
        "onednn",
        "onnxruntime",
        "onnxruntime_gpu",
        "torch",
        "torchao",
        "torchvision",
        "triton",
    }
)
_VARIABLES = re.compile(
    r"(ATEN|BLIS|CUBLAS|CUBLASLT|CUDA|CUDNN|DNNL|GOMP|HIP|HSA|JAX|KMP|LIBOMP|MALLOC|MIOPEN|MKL|MXNET|NCCL|"
    r"NUMEXPR|OMP|ONEDNN|OPENBLAS|ORT|PYTORCH|ROCR|TCMALLOC|TRITON|VECLIB|XLA)_.*|(PYTHON|TORCH)[A-Z_].*|"
    r"GLIBC_TUNABLES|LD_BIND_NOW|LD_LIBRARY_PATH|LD_PRELOAD|NVIDIA_TF32_OVERRIDE"
)
_SECRET = re.compile(r"TOKEN|SECRET|PASS|PWD|CREDENTIAL|AUTH|KEY|PRIVATE|BEARER|COOKIE|SIGNATURE")
# The user and the query of a URL, where secrets are.
_SECRET_OF_URL = re.compile(r"(?<=//)[^/@\s]*(?=@)|(?<=\?)\S+")
# Set for each worker, from its cases.
_SET_BY_OPBENCH = frozenset(
    {
        "OMP_NUM_THREADS",
        "MKL_NUM_THREADS",
        "OPENBLAS_NUM_THREADS",
        "VECLIB_MAXIMUM_THREADS",
        "NUMEXPR_NUM_THREADS",
    }
)
# They say where things lie, or what an image was made from; programs run as fast without them.
_PLACE = re.compile(r".*(PATH|HOME|DIR|FOLDER|FILE|PREFIX|ROOT|VERSION)|PYTHON.*")
_PYTHON_SETTING = re.compile(r"PYTHON(DEVMODE|HASHSEED|MALLOC|OPTIMIZE|TRACEMALLOC|_GIL|_JIT)")
_MAX_LENGTH = 1000


def environment_record(name: str, hello: Mapping[str, Any]) -> Environment:
    """The facts about where a worker runs that has said this hello, with their fingerprint."""
    python = hello.get("python") or {}
    version, prefix = str(python.get("version", "")), str(python.get("prefix", ""))
    framework = {key: fact for key, fact in (hello.get("framework") or {}).items() if key not in _FLEETING}
    variables, places = _variables(_environ_of(hello.get("pid")))
    facts: dict[str, Any] = {
        "machine": dict(_machine()),
        "settings": settings_facts(),
        "python": {"version": version, "implementation": str(python.get("implementation", ""))},
        "framework": framework,
        "packages": dict(_packages(prefix, version)),
        "variables": variables,
        "system": system_facts(),
        "places": {"executable": str(python.get("executable", "")), "prefix": prefix, **places},
        "checkout": dict(_checkout(_working_directory())),
        "moment": moment_facts(),
    }
    return Environment(name=name, fingerprint=fingerprint(facts), facts=facts)


def fingerprint(facts: Mapping[str, Any]) -> str:
    """The hash of the facts that must be equal for times to be comparable."""
    return digest({section: facts.get(section, {}) for section in HASHED_SECTIONS})


@functools.cache
def _machine() -> dict[str, Any]:
    return machine_facts()


@functools.cache
def _checkout(folder: str) -> dict[str, Any]:
    return checkout_facts(Path(folder)) if folder else {}


def _working_directory() -> str:
    try:
        return os.path.realpath(".")
    except OSError:  # it has been deleted
        return ""


@functools.cache
def _packages(prefix: str, version: str) -> tuple[tuple[str, str], ...]:
    """Versions of installed packages by the names of their folders: the interpreter may be another one."""
    if not prefix:
        return ()
    short = ".".join(version.split(".")[:2])
    names: list[str] = []
    for folder in (f"lib/python{short}/site-packages", "lib/python3/dist-packages"):
        for library in (Path(prefix) / folder, Path(prefix) / "local" / folder):
            try:
                names += [entry.name for entry in library.iterdir() if entry.suffix == ".dist-info"]
            except (OSError, ValueError):
                continue
    pairs = (entry.removesuffix(".dist-info").rpartition("-") for entry in names)
    return tuple(sorted((name, number) for name, _, number in pairs if name.lower() in _PACKAGES))


def _environ_of(pid: object) -> Mapping[str, str]:
    """Variables that a process was started with; those of this process where they cannot be read."""
    if isinstance(pid, int):
        try:
            raw = Path(f"/proc/{pid}/environ").read_bytes()
        except OSError:
            raw = b""
        pairs = [entry.split(b"=", 1) for entry in raw.split(b"\0") if b"=" in entry]
        if pairs:
            return {os.fsdecode(key): os.fsdecode(value) for key, value in pairs}
    return os.environ


def _variables(environ: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """Those that change how programs run, and those that only say where things are. Never a secret."""
    matter: dict[str, str] = {}
    places: dict[str, str] = {}
    for key in sorted(environ):
        if not _VARIABLES.fullmatch(key) or key in _SET_BY_OPBENCH or _SECRET.search(key):
            continue
        is_place = _PLACE.fullmatch(key) and not _PYTHON_SETTING.fullmatch(key)
        value = _SECRET_OF_URL.sub("***", environ[key])[:_MAX_LENGTH]
        (places if is_place else matter)[key] = value
    return matter, places
