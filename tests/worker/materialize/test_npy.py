"""Files of numbers: everything NumPy writes as plain numbers is read, everything else is refused plainly."""

from __future__ import annotations

import hashlib
import io
import os
import pickle
import struct
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from opbench.cases.errors import DocumentError
from opbench.worker.errors import Unsupported
from opbench.worker.npy import DTYPES, read_npy

from .makers import tensor

CODES = ["?", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f2", "f4", "f8", "c8", "c16"]


def numbers(code: str, shape: tuple[int, ...], order: str = "<") -> np.ndarray[Any, Any]:
    raw = np.random.default_rng(1).integers(0, 100, shape)
    found = raw % 2 if code == "?" else raw * (1 + 1j) if code.startswith("c") else raw
    return found.astype(np.dtype(code).newbyteorder(order))


def header(text: str, data: bytes = b"", version: tuple[int, int] = (1, 0)) -> bytes:
    body = text.encode("latin-1")
    length = struct.pack("<H" if version[0] == 1 else "<I", len(body))
    return b"\x93NUMPY" + bytes(version) + length + body + data


def read(folder: Path, shape: tuple[int, ...], path: str = "x.npy", sha256: str = "") -> torch.Tensor:
    return read_npy(str(folder), path, sha256, shape)


@pytest.mark.parametrize("code", CODES)
@pytest.mark.parametrize("order", ["<", ">"])
@pytest.mark.parametrize("is_fortran", [False, True])
@pytest.mark.parametrize("shape", [(), (0,), (5,), (3, 4), (2, 3, 4), (2, 0, 3), (1, 1)])
def test_what_numpy_writes_is_read_as_it_was(
    code: str, order: str, is_fortran: bool, shape: tuple[int, ...], tmp_path: Path
) -> None:
    written = numbers(code, shape, order)
    np.save(tmp_path / "x.npy", np.asfortranarray(written) if is_fortran and shape else written)
    found = read(tmp_path, shape)
    native = written.astype(written.dtype.newbyteorder("="))
    assert found.is_contiguous()
    assert found.numpy().dtype == native.dtype
    assert np.array_equal(found.numpy(), native)


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_the_format_is_read(version: tuple[int, int], tmp_path: Path) -> None:
    with (tmp_path / "x.npy").open("wb") as file:
        np.lib.format.write_array(file, np.arange(6.0), version=version)
    assert read(tmp_path, (6,)).tolist() == [0, 1, 2, 3, 4, 5]


def test_the_table_of_dtypes_is_numpys() -> None:
    for code, dtype in DTYPES.items():
        assert torch.empty(0, dtype=dtype).numpy().dtype == np.dtype(code)


def test_a_file_of_numbers_becomes_a_tensor_of_its_kind(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([[0.1, -2.5], [1e-3, 7.0]]))
    for dtype in ("float64", "float32", "bfloat16", "float8_e5m2"):
        found = tensor([2, 2], dtype, {"kind": "file", "path": "x.npy"}, folder=tmp_path)
        expected = torch.tensor([[0.1, -2.5], [1e-3, 7.0]], dtype=torch.float64).to(found.dtype)
        assert torch.equal(found.double(), expected.double())
    moved = tensor(
        [2, 2],
        "float64",
        {"kind": "file", "path": "x.npy"},
        folder=tmp_path,
        strides=[1, 2],
        storage_offset=3,
    )
    assert moved.tolist() == [[0.1, -2.5], [1e-3, 7.0]]
    meta = tensor([2, 2], "float64", {"kind": "file", "path": "x.npy"}, folder=tmp_path, device="meta")
    assert meta.is_meta


@pytest.mark.parametrize(
    ("array", "dtype", "reason"),
    [
        (np.array([300]), "uint8", "uint8 holds 0 to 255"),
        (np.array([-1]), "uint64", "uint64 holds"),
        (np.array([2**64 - 1], dtype=np.uint64), "int64", "int64 holds"),
        (np.array([8], dtype=np.int8), "int4", "int4 holds -8 to 7"),
        (np.array([100], dtype=np.uint8), "uint2", "uint2 holds 0 to 3"),
        (np.array([1e6]), "float16", "float16 holds"),
        (np.array([np.inf]), "float8_e4m3fn", "no infinity"),
        (np.array([-1.0]), "float8_e8m0fnu", "float8_e8m0fnu holds"),
        (np.array([1.5]), "int64", "int64 takes whole ones"),
        (np.array([1]), "float32", "float32 takes floating-point ones"),
        (np.array([1]), "bool", "bool takes bool ones"),
        (np.array([1.0]), "complex64", "complex64 takes complex ones"),
        (np.array([1]), "qint8", "qint8 takes floating-point ones"),
    ],
)
def test_numbers_that_a_dtype_cannot_hold_are_refused(
    array: np.ndarray[Any, Any], dtype: str, reason: str, tmp_path: Path
) -> None:
    np.save(tmp_path / "x.npy", array)
    with pytest.raises(Unsupported, match=reason):
        tensor([1], dtype, {"kind": "file", "path": "x.npy"}, folder=tmp_path)


def test_a_file_that_changed_since_it_was_checked_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.zeros(3))
    digest = hashlib.sha256((tmp_path / "x.npy").read_bytes()).hexdigest()
    assert read(tmp_path, (3,), sha256=digest).tolist() == [0, 0, 0]
    np.save(tmp_path / "x.npy", np.ones(3))
    with pytest.raises(Unsupported, match="has changed: its SHA-256 is"):
        read(tmp_path, (3,), sha256=digest)
    fill = {"kind": "file", "path": "x.npy", "sha256": digest}
    with pytest.raises(DocumentError, match="the file has changed"):
        tensor([3], "float64", fill, folder=tmp_path)


class Trap:
    """Says so when it is unpickled."""

    sprung = False

    def __reduce__(self) -> Any:
        return (setattr, (Trap, "sprung", True))


def test_pickled_objects_are_refused_and_not_loaded(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(Unsupported, match=r"structured and object dtypes are not"):
        read(tmp_path, (1,))
    (tmp_path / "y.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(Unsupported, match=r"not in the \.npy format"):
        read(tmp_path, (1,), "y.npy")
    assert not Trap.sprung


PLAIN = "{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }"
HOSTILE: dict[str, tuple[bytes, str]] = {
    "empty": (b"", "not in the .npy format"),
    "not one": (b"PK\x03\x04 and so on, a zip file", "not in the .npy format"),
    "magic alone": (b"\x93NUMPY", "not in the .npy format"),
    "no length": (b"\x93NUMPY\x01\x00", "header"),
    "another version": (header(PLAIN, bytes(16), (9, 0)), "version 9"),
    "header cut short": (header(PLAIN)[:-10], "header is cut short"),
    "endless header": (b"\x93NUMPY\x02\x00\xff\xff\xff\xff" + b" " * 100, "header is cut short"),
    "header longer than any": (header(" " * 100_000 + PLAIN, bytes(16), (2, 0)), "longer than any header"),
    "data cut short": (header(PLAIN, bytes(15)), "holds 15 bytes of numbers where 16"),
    "data too long": (header(PLAIN, bytes(17)), "holds 17 bytes of numbers where 16"),
    "another shape": (header(PLAIN.replace("2,", "3,"), bytes(24)), r"shape \[3\], and \[2\]"),
    "huge shape": (header(PLAIN.replace("2,", "9223372036854775807, 9"), bytes(16)), "shape"),
    "size beyond counting": (header(PLAIN.replace("2,", "9" * 40), bytes(16)), "plain numbers"),
    "negative size": (header(PLAIN.replace("2,", "-2,"), bytes(16)), "plain numbers"),
    "objects": (header(PLAIN.replace("<f8", "|O"), bytes(16)), "plain numbers"),
    "structure": (header(PLAIN.replace("'<f8'", "[('a', '<f8')]"), bytes(16)), "plain numbers"),
    "texts": (header(PLAIN.replace("<f8", "<U2"), bytes(16)), "no dtype for NumPy's 'U2'"),
    "times": (header(PLAIN.replace("<f8", "<M8[ns]"), bytes(16)), "plain numbers"),
    "long doubles": (header(PLAIN.replace("<f8", "<f16"), bytes(32)), "no dtype for NumPy's 'f16'"),
    "raw bytes": (header(PLAIN.replace("<f8", "|V8"), bytes(16)), "no dtype for NumPy's 'V8'"),
    "code": (header("__import__('os')._exit(1)", bytes(16)), "plain numbers"),
    "code inside": (header(PLAIN.replace("(2,)", "(print(2),)"), bytes(16)), "plain numbers"),
    "no shape": (header("{'descr': '<f8', 'fortran_order': False}", bytes(16)), "plain numbers"),
    "another key": (header(PLAIN.replace("{", "{'x': 1, "), bytes(16)), "plain numbers"),
    "deep brackets": (header("{" * 30_000, bytes(16)), "plain numbers"),
    "many commas": (header(PLAIN.replace("2,", "1," * 20_000), bytes(16)), "20000 dimensions"),
    "spaces": (header("{'shape': (" + " " * 60_000 + "x", bytes(16)), "plain numbers"),
    "digits": (header("{'shape': (" + "1 , " * 15_000 + "x", bytes(16)), "plain numbers"),
    "zeros in the header": (header("\x00" * 128, bytes(16)), "plain numbers"),
    "other script's digits": (header(PLAIN.replace("2,", "\u00b2,"), bytes(16)), "plain numbers"),
}


@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.timeout(20)
def test_a_hostile_file_is_refused_in_plain_words(name: str, tmp_path: Path) -> None:
    content, reason = HOSTILE[name]
    (tmp_path / "x.npy").write_bytes(content)
    with pytest.raises(Unsupported, match=reason) as refusal:
        read(tmp_path, (2,))
    assert str(refusal.value).startswith("the file 'x.npy' cannot be used: ")
    assert len(str(refusal.value)) < 400


@settings(deadline=None, max_examples=300)
@given(data=st.data())
def test_damaged_files_are_refused_or_read(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.getbasetemp()
    buffer = io.BytesIO()
    np.save(buffer, np.arange(4.0))
    content = bytearray(buffer.getvalue())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(content) - 1))
        content[place] = data.draw(st.integers(0, 255))
    end = data.draw(st.integers(0, len(content)))
    (folder / "x.npy").write_bytes(content[:end] if data.draw(st.booleans()) else content)
    try:
        assert read(folder, (4,)).shape == (4,)
    except Unsupported:
        return


def test_a_zero_dimensional_file_may_say_that_it_is_in_fortran_order(tmp_path: Path) -> None:
    text = "{'descr': '<f8', 'fortran_order': True, 'shape': (), }"
    (tmp_path / "x.npy").write_bytes(header(text, struct.pack("<d", 2.5)))
    assert read(tmp_path, ()).item() == 2.5


def test_truths_that_are_neither_zero_nor_one_are_true(tmp_path: Path) -> None:
    text = "{'descr': '|b1', 'fortran_order': False, 'shape': (4,), }"
    (tmp_path / "x.npy").write_bytes(header(text, bytes([0, 1, 2, 255])))
    found = read(tmp_path, (4,))
    assert found.view(torch.uint8).tolist() == [0, 1, 1, 1]


def test_no_path_leads_out_of_the_folder(tmp_path: Path) -> None:
    home = tmp_path / "suite"
    (home / "inside").mkdir(parents=True)
    np.save(tmp_path / "secret.npy", np.zeros(2))
    np.save(home / "x.npy", np.ones(2))
    (home / "link.npy").symlink_to(tmp_path / "secret.npy")
    (home / "out").symlink_to(tmp_path)
    (home / "within.npy").symlink_to(home / "x.npy")
    (home / "loop.npy").symlink_to(home / "loop.npy")
    for path in (
        "../secret.npy",
        str(tmp_path / "secret.npy"),
        "link.npy",
        "out/secret.npy",
        "inside/../../secret.npy",
    ):
        with pytest.raises(Unsupported, match="outside the suite's folder"):
            read(home, (2,), path)
        with pytest.raises(DocumentError, match="stay in the suite's folder"):
            tensor([2], "float64", {"kind": "file", "path": path}, folder=home)
    for path in ("loop.npy", "none.npy", "x.npy/y.npy", "a\0.npy", "n" * 5000 + ".npy"):
        with pytest.raises(Unsupported, match="cannot be read from the suite's folder"):
            read(home, (2,), path)
        with pytest.raises(DocumentError):
            tensor([2], "float64", {"kind": "file", "path": path}, folder=home)
    assert read(home, (2,), "within.npy").tolist() == [1, 1]
    assert read(home, (2,), "inside/../x.npy").tolist() == [1, 1]


def test_what_is_no_file_is_refused_without_waiting(tmp_path: Path) -> None:
    (tmp_path / "folder.npy").mkdir()
    os.mkfifo(tmp_path / "pipe.npy")
    for name in ("folder.npy", "pipe.npy"):
        with pytest.raises(Unsupported, match="is not a file"):
            read(tmp_path, (2,), name)
        with pytest.raises(DocumentError, match="not a file"):
            tensor([2], "float64", {"kind": "file", "path": name}, folder=tmp_path)


@pytest.mark.skipif(sys.platform == "win32" or os.geteuid() == 0, reason="everything is readable here")
def test_a_file_that_may_not_be_read_is_refused(tmp_path: Path) -> None:
    np.save(tmp_path / "x.npy", np.ones(2))
    (tmp_path / "x.npy").chmod(0)
    with pytest.raises(Unsupported, match="Permission denied"):
        read(tmp_path, (2,))


def test_a_suite_without_a_folder_has_no_files() -> None:
    with pytest.raises(Unsupported, match="the suite has no folder"):
        read_npy("", "x.npy", "", (2,))
    with pytest.raises(Unsupported, match="the suite has no folder"):
        tensor([2], "float64", {"kind": "file", "path": "x.npy"})
