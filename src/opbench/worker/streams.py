"""Random words that depend on nothing but (seed, work id, argument path) and their position.

Word i of a stream is SplitMix64 of key + (i + 1) * golden ratio: integer arithmetic alone, so it is
the same on every machine, with every torch and any number of threads, whatever was drawn before.
Words come in chunks that fit a core's cache: a tensor of any size needs little memory besides itself.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache

import torch

# Two 32-bit halves of each are still fewer than torch's grain size (32768), so that no threads are started.
CHUNK_WORDS = 16_000
GOLDEN = 0x9E3779B97F4A7C15
FIRST_MULTIPLIER = 0xBF58476D1CE4E5B9
SECOND_MULTIPLIER = 0x94D049BB133111EB


@dataclass(frozen=True)
class Stream:
    """An endless, addressable sequence of random 64-bit words."""

    key: int

    def substream(self, name: str) -> Stream:
        """Another stream, independent of this one."""
        return Stream(_hashed(f"{self.key}/{name}"))

    def words(self, start: int, count: int) -> torch.Tensor:
        """`count` words (int64, all 64 bits random) from position `start` on."""
        base = wrapped(self.key + (start + 1) * GOLDEN)
        return mix(_multiples()[:count] + base if count <= CHUNK_WORDS else _ramp(count).add_(base))

    def halves(self, start: int, count: int) -> torch.Tensor:
        """`count` random 32-bit words (int32), two of each 64-bit word, low half first; `start` is even."""
        words = self.words(start // 2, (count + 1) // 2)
        pairs = words.view(torch.int32)
        if sys.byteorder == "big":
            pairs = pairs.view(-1, 2).flip(1).reshape(-1)
        return pairs[:count]

    def integer(self, span: int) -> int:
        """A whole number in [0, span), for a single value; `span` may have any size."""
        digest = hashlib.shake_128(str(self.key).encode()).digest(span.bit_length() // 8 + 16)
        return int.from_bytes(digest, "little") % span


def stream_for(seed: int, work_id: str, path: str) -> Stream:
    """The stream of one argument of one piece of work."""
    return Stream(_hashed(f"{seed}/{work_id}/{path}"))


def chunks(count: int, words_per_element: float = 1) -> Iterator[tuple[int, int]]:
    """(start, count) of the pieces that a fill of `count` elements is drawn in."""
    step = int(CHUNK_WORDS / words_per_element)
    for start in range(0, count, step):
        yield start, min(step, count - start)


def mix(words: torch.Tensor) -> torch.Tensor:
    """Scramble int64 words in place with SplitMix64's finaliser, a bijection, and return them."""
    shifted = torch.empty_like(words)
    _xor_shifted(words, 30, shifted)
    words.mul_(wrapped(FIRST_MULTIPLIER))
    _xor_shifted(words, 27, shifted)
    words.mul_(wrapped(SECOND_MULTIPLIER))
    _xor_shifted(words, 31, shifted)
    return words


def wrapped(word: int) -> int:
    """The signed 64-bit integer with the same low 64 bits."""
    word &= 0xFFFFFFFFFFFFFFFF
    return word - (1 << 64) if word >> 63 else word


def units32(halves: torch.Tensor) -> torch.Tensor:
    """Uniform float32 numbers in [0, 1) with 24 bits, from 32-bit words (overwritten)."""
    return (halves.bitwise_right_shift_(8).bitwise_and_(0xFFFFFF)).to(torch.float32).mul_(2.0**-24)


def units64(words: torch.Tensor) -> torch.Tensor:
    """Uniform float64 numbers in [0, 1) with 53 bits, from 64-bit words (overwritten)."""
    return (words.bitwise_right_shift_(11).bitwise_and_((1 << 53) - 1)).to(torch.float64).mul_(2.0**-53)


def _xor_shifted(words: torch.Tensor, bits: int, scratch: torch.Tensor) -> None:
    # torch's shift of int64 copies the sign; the mask makes it the shift of unsigned words.
    torch.bitwise_right_shift(words, bits, out=scratch)
    words.bitwise_xor_(scratch.bitwise_and_((1 << (64 - bits)) - 1))


@cache
def _multiples() -> torch.Tensor:
    return _ramp(CHUNK_WORDS)


def _ramp(count: int) -> torch.Tensor:
    return torch.arange(count, dtype=torch.int64, device="cpu").mul_(wrapped(GOLDEN))


def _hashed(text: str) -> int:
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
