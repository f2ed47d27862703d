from __future__ import annotations

import socket
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opbench.worker import protocol

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(st.lists(JSON, min_size=1, max_size=5))
def test_frames_arrive_as_sent(messages: list[object]) -> None:
    import json

    ours, theirs = socket.socketpair()
    with ours, theirs:
        payloads = [protocol.encode(message) for message in messages]
        sender = threading.Thread(
            target=lambda: [ours.sendall(protocol.frame(payload)) for payload in payloads]
        )
        sender.start()
        received = [protocol.receive(theirs) for _ in payloads]
        sender.join()
        assert received == payloads
        assert [json.loads(payload or b"null") for payload in received] == messages


@pytest.mark.parametrize("part", [b"", b"\0\0", b"\0\0\0\5abc"])
def test_an_end_in_the_middle_is_an_end(part: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        ours.sendall(part)
        ours.close()
        assert protocol.receive(theirs) is None


def test_a_giant_frame_is_refused_before_it_is_read() -> None:
    with pytest.raises(protocol.ProtocolError, match="announces"):
        protocol.frame_length(b"\xff\xff\xff\xff")


def test_what_json_has_no_words_for_is_refused() -> None:
    with pytest.raises(ValueError, match="JSON"):
        protocol.encode({"value": float("nan")})
