"""Canonical JSON and content ids.

The id of a case is a hash of its canonical JSON without labels: the same on every machine, for
every Python and for any order of keys, and another as soon as something else is executed.
"""

from __future__ import annotations

import hashlib
import json
from typing import Any

import msgspec

from opbench.cases.model import LABEL_FIELDS, WORK_FIELDS, Case, Suite

# Part of every hash. Raise it when the meaning of an unchanged document changes.
IDENTITY_VERSION = 1
ID_LENGTH = 16


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces, ASCII only, and Python's shortest round-trip floats."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def digest(value: Any) -> str:
    """A short hash of the canonical JSON of plain data."""
    text = canonical_json([IDENTITY_VERSION, value])
    return hashlib.blake2b(text.encode(), digest_size=ID_LENGTH // 2).hexdigest()


def case_document(case: Case) -> dict[str, Any]:
    """The case as plain JSON data, defaults left out."""
    document: dict[str, Any] = msgspec.to_builtins(case)
    return document


def case_id(case: Case) -> str:
    """What is executed, as an id. Labels, position, host and time play no part."""
    document = case_document(case)
    return digest({key: value for key, value in document.items() if key not in LABEL_FIELDS})


def work_id(case: Case) -> str:
    """The call or snippet alone, as an id: inputs are drawn from it and the seed, so that they are
    equal in each direction, runtime, device and thread count."""
    document = case_document(case)
    return digest({key: document[key] for key in WORK_FIELDS if key in document})


def suite_fingerprint(suite: Suite) -> str:
    """A hash of the ids of all cases, in order."""
    state = hashlib.blake2b(digest_size=ID_LENGTH // 2)
    for case in suite:
        state.update(case_id(case).encode())
    return state.hexdigest()
