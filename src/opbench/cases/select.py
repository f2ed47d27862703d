"""Which cases of a suite are measured, and in which order."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator

import msgspec

from opbench.cases.errors import UsageError
from opbench.cases.identity import case_id
from opbench.cases.model import Case


def select(
    suite: Iterable[Case],
    *,
    keep: Callable[[Case], bool] | None = None,
    shuffle: int | None = None,
    shard: tuple[int, int] | None = None,
) -> Iterator[Case]:
    """The cases that `keep` keeps; of those the i-th of n shards; those in the order of a shuffle seed.

    Shard i of n has the kept cases i, i + n, i + 2n, ... in the suite's order: each case is in exactly one
    shard, and shards differ by at most one case. The order of a shuffle depends on the seed and the case
    ids alone, so it is the same everywhere. Only a shuffle holds cases in memory, in compact form.
    """
    if shard is not None and not 1 <= shard[0] <= shard[1]:
        raise UsageError(f"there is no shard {shard[0]} of {shard[1]}: they count from 1")
    chosen: Iterator[Case] = iter(suite) if keep is None else filter(keep, suite)
    if shard is not None:
        index, count = shard
        chosen = (case for position, case in enumerate(chosen) if position % count == index - 1)
    return chosen if shuffle is None else _shuffled(chosen, shuffle)


def _shuffled(cases: Iterable[Case], seed: int) -> Iterator[Case]:
    entries = [(_sort_key(case, seed), msgspec.json.encode(case)) for case in cases]
    entries.sort()
    decoder = msgspec.json.Decoder(Case)
    for _, encoded in entries:
        yield decoder.decode(encoded)


def _sort_key(case: Case, seed: int) -> bytes:
    return hashlib.blake2b(f"{seed}:{case_id(case)}".encode(), digest_size=8).digest()
