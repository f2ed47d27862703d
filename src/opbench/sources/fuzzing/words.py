"""Random words that depend on nothing but a seed, a name, and which item they are for.

Words are hashed, not generated one after the other: those of item 1,000,000 cost as much as those of
item 0, and what one name draws does not depend on which other names there are.
"""

from __future__ import annotations

import hashlib
import struct
from functools import cached_property
from typing import TypeAlias

WORD_BITS = 64
WORD_SPAN = 1 << WORD_BITS
WORDS = 8
# What a fuzzed stream is made of. Raise it when the same seed has to give other items.
STREAM_VERSION = 1
# Which item (its number, then the numbers of the mutations that lead to it), and which attempt at it.
Place: TypeAlias = tuple[int, ...]
Words: TypeAlias = tuple[int, ...]

_UNPACK = struct.Struct(f"<{WORDS}Q").unpack
_PACK = struct.Struct("<Q").pack


class Stream:
    """The words of one name under one seed: eight for each place and attempt."""

    def __init__(self, seed: int, name: str) -> None:
        self.seed = seed
        self.name = name

    @cached_property
    def _state(self) -> hashlib.blake2b:
        text = f"opbench fuzz {STREAM_VERSION}/{self.seed}/{self.name}/"
        return hashlib.blake2b(text.encode(), digest_size=WORDS * WORD_BITS // 8)

    def words(self, place: Place, attempt: int = 0) -> Words:
        """Eight independent words, each uniform in [0, 2 ** 64)."""
        state = self._state.copy()
        state.update(_PACK(attempt) + _PACK(place[0]))
        if len(place) > 1:
            state.update(b"".join(map(_PACK, place[1:])))
        return _UNPACK(state.digest())


def below(word: int, span: int) -> int:
    """A whole number in [0, span) from a word."""
    return word * span >> WORD_BITS


def share(word: int) -> float:
    """A number in [0, 1) with 53 bits from a word."""
    return (word >> 11) * 2.0**-53


def happens(word: int, probability: float) -> bool:
    """True with this probability."""
    return share(word) < probability
