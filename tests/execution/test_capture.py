from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from opbench.execution.capture import HEAD_BYTES, TAIL_BYTES, Capture


@given(st.lists(st.binary(max_size=5000), max_size=20))
def test_beginning_and_end_are_kept(parts: list[bytes]) -> None:
    whole = b"".join(parts)
    capture = Capture()
    for part in parts:
        capture.feed(part)
    text, dropped_bytes = capture.take()
    assert dropped_bytes == max(0, len(whole) - HEAD_BYTES - TAIL_BYTES)
    assert text.startswith(whole[:HEAD_BYTES].decode(errors="replace"))
    if dropped_bytes:
        assert text.endswith(whole[-TAIL_BYTES:].decode(errors="replace"))
        assert f"{dropped_bytes} bytes left out" in text
    assert capture.take() == ("", 0)


def test_a_gigabyte_takes_no_memory() -> None:
    capture = Capture()
    block = b"x" * (1 << 20)
    for _ in range(1024):
        capture.feed(block)
    text, dropped_bytes = capture.take()
    assert len(text) < 20_000
    assert dropped_bytes == (1 << 30) - HEAD_BYTES - TAIL_BYTES
