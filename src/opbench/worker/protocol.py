"""Frames between client and worker: four bytes of length, then UTF-8 JSON."""

from __future__ import annotations

import json
import socket
import struct
from typing import Any

PROTOCOL_VERSION = 1
# A thousand samples are some 20 kB; whatever is larger than this is not a reply.
MAX_FRAME_BYTES = 64 * 1024 * 1024

_LENGTH = struct.Struct(">I")
LENGTH_BYTES = _LENGTH.size


class ProtocolError(Exception):
    """The other side does not speak this protocol."""


def encode(message: Any) -> bytes:
    """The JSON of a message. Raises ValueError for what JSON has no words for."""
    text = json.dumps(message, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    # Half a surrogate pair, as in the message of an exception, has no UTF-8.
    return text.encode("utf-8", "replace")


def frame(payload: bytes) -> bytes:
    """The payload with its length in front."""
    if len(payload) > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame of {len(payload)} bytes is over the limit of {MAX_FRAME_BYTES}")
    return _LENGTH.pack(len(payload)) + payload


def frame_length(header: bytes) -> int:
    """How many bytes follow this header."""
    length: int = _LENGTH.unpack(header)[0]
    if length > MAX_FRAME_BYTES:
        raise ProtocolError(f"a frame announces {length} bytes, over the limit of {MAX_FRAME_BYTES}")
    return length


def receive(connection: socket.socket) -> bytes | None:
    """The next payload, or None when the other side has gone."""
    header = _exactly(connection, LENGTH_BYTES)
    return None if header is None else _exactly(connection, frame_length(header))


def _exactly(connection: socket.socket, size_bytes: int) -> bytes | None:
    parts = bytearray()
    while len(parts) < size_bytes:
        part = connection.recv(size_bytes - len(parts))
        if not part:
            return None
        parts += part
    return bytes(parts)
