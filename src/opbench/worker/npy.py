"""Reads `.npy` files without NumPy, and without ever running what they contain."""

from __future__ import annotations

import hashlib
import io
import math
import os
import re
import stat
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from opbench.worker.errors import Unsupported

MAGIC = b"\x93NUMPY"
MOST_HEADER_BYTES = 1 << 16
READ_BYTES = 1 << 20
MOST_DIMENSIONS = 64
DTYPES = {
    "b1": torch.bool,
    "i1": torch.int8,
    "i2": torch.int16,
    "i4": torch.int32,
    "i8": torch.int64,
    "u1": torch.uint8,
    "u2": torch.uint16,
    "u4": torch.uint32,
    "u8": torch.uint64,
    "f2": torch.float16,
    "f4": torch.float32,
    "f8": torch.float64,
    "c8": torch.complex64,
    "c16": torch.complex128,
}
ENTRY = re.compile(
    r"\s*'(?:(?P<descr>descr)'\s*:\s*'(?P<order>[<>|=])(?P<code>[a-zA-Z]\d+)'"
    r"|(?P<fortran>fortran_order)'\s*:\s*(?P<is_fortran>True|False)"
    r"|(?P<shape>shape)'\s*:\s*\((?P<sizes>\s*(?:\d{1,19}\s*,\s*)*(?:\d{1,19}\s*)?)\))\s*(?:,|$)"
)


@dataclass(frozen=True)
class Header:
    """What a file says about its numbers."""

    dtype: torch.dtype
    is_swapped: bool
    is_fortran: bool
    shape: tuple[int, ...]


def read_npy(folder: str, path: str, sha256: str, shape: tuple[int, ...]) -> torch.Tensor:
    """The numbers of a file in `folder`, which must have this shape and, where given, this checksum."""
    with _opened(folder, path) as file:
        digest = hashlib.sha256()
        try:
            header = _header(file, digest)
            if header.shape != shape:
                raise Unsupported(f"it has the shape {list(header.shape)}, and {list(shape)} is asked for")
            data = _data(file, digest, math.prod(shape) * header.dtype.itemsize)
        except Unsupported as error:
            raise Unsupported(f"the file {path!r} cannot be used: {error}") from None
    if sha256 and digest.hexdigest() != sha256:
        raise Unsupported(
            f"the file {path!r} has changed: its SHA-256 is {digest.hexdigest()}, not {sha256} as in the case"
        )
    return _tensor(data, header)


def _opened(folder: str, path: str) -> io.BufferedReader:
    if not folder:
        raise Unsupported(f"the file {path!r} is looked for beside the suite, but the suite has no folder")
    # Non-blocking, because a pipe without a writer would wait for ever.
    flags = (
        os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        home = Path(folder).resolve(strict=True)
        found = (home / path).resolve(strict=True)
        if not found.is_relative_to(home):
            raise Unsupported(f"the file {path!r} lies outside the suite's folder")
        descriptor = os.open(found, flags)
    except (OSError, RuntimeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise Unsupported(f"the file {path!r} cannot be read from the suite's folder: {reason}") from None
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise Unsupported(f"{path!r} is not a file")
    return os.fdopen(descriptor, "rb")


def _header(file: io.BufferedReader, digest: hashlib._Hash) -> Header:
    start = file.read(len(MAGIC) + 2)
    digest.update(start)
    if len(start) < len(MAGIC) + 2 or not start.startswith(MAGIC):
        raise Unsupported("it is not in the .npy format")
    if start[-2] not in (1, 2, 3):
        raise Unsupported(f"version {start[-2]} of the .npy format is not known here")
    length_bytes = file.read(2 if start[-2] == 1 else 4)
    digest.update(length_bytes)
    length = int.from_bytes(length_bytes, "little")
    text = file.read(min(length, MOST_HEADER_BYTES))
    digest.update(text)
    if len(text) != length:
        raise Unsupported("its header is cut short, or longer than any header of plain numbers")
    return _parsed(text.decode("latin-1"))


def _parsed(text: str) -> Header:
    body = text.strip()
    found: dict[str, str] = {}
    if body.startswith("{") and body.endswith("}"):
        body, place = body[1:-1].strip(), 0
        while place < len(body):
            entry = ENTRY.match(body, place)
            if entry is None:
                break
            found |= {name: value for name, value in entry.groupdict().items() if value is not None}
            place = entry.end()
        else:
            with suppress(KeyError):
                return _described(found)
    raise Unsupported("its header does not describe plain numbers (structured and object dtypes are not)")


def _described(found: dict[str, str]) -> Header:
    dtype = DTYPES.get(found["code"])
    if dtype is None:
        raise Unsupported(f"torch has no dtype for NumPy's {found['code']!r}")
    order = {"<": "little", ">": "big"}.get(found["order"], sys.byteorder)
    sizes = tuple(int(size) for size in found["sizes"].split(",") if size.strip())
    if len(sizes) > MOST_DIMENSIONS:
        raise Unsupported(f"it has {len(sizes)} dimensions, and torch takes {MOST_DIMENSIONS} at most")
    return Header(dtype, order != sys.byteorder, found["is_fortran"] == "True", sizes)


def _data(file: io.BufferedReader, digest: hashlib._Hash, size_bytes: int) -> bytearray:
    held_bytes = os.fstat(file.fileno()).st_size - file.tell()
    if held_bytes != size_bytes:
        raise Unsupported(f"it holds {held_bytes} bytes of numbers where {size_bytes} are expected")
    data = bytearray(size_bytes)
    view = memoryview(data)
    for start in range(0, size_bytes, READ_BYTES):
        part = view[start : start + READ_BYTES]
        if file.readinto(part) != len(part):
            raise Unsupported("it became shorter while it was read")
        digest.update(part)
    return data


def _tensor(data: bytearray, header: Header) -> torch.Tensor:
    if not data:
        return torch.empty(header.shape, dtype=header.dtype, device="cpu")
    flat = torch.frombuffer(data, dtype=torch.uint8)
    if header.is_swapped:
        item_bytes = header.dtype.itemsize // (2 if header.dtype.is_complex else 1)
        flat = flat.view(-1, item_bytes).flip(1).reshape(-1)
    # A truth that is neither 0 nor 1 is none that torch can work with.
    numbers = flat.ne(0) if header.dtype == torch.bool else flat.view(header.dtype)
    if header.is_fortran:
        return (
            numbers.view(header.shape[::-1]).permute(tuple(reversed(range(len(header.shape))))).contiguous()
        )
    return numbers.view(header.shape)
