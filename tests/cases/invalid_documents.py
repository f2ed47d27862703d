"""Wrong suites, made from right ones: the n-th is the same on every machine.

Each says what was done to it, and `places`: where a problem must be found. Nothing here asks opbench what is
right; `sure` is False only where bytes were changed at random, and the result may happen to be a suite.
"""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from . import invalid_texts
from .documents import CALLS, SNIPPETS, Document

Change = Callable[[Document, random.Random], "tuple[str, ...]"]

TEXT = (3, 1.5, True, [], {}, ["x"], "nul \0", "half \ud800")
WHOLE = ("1", 1.5, 2.0, True, [], {}, [1], 10**400, -(10**30), "\ud800", float("nan"), float("inf"))
NUMBER = ("1", True, [], {}, 10**400, float("nan"), float("-inf"), "1e5")
NAME = (3, 1.5, False, [], {}, "", " ", "no such name", "\0", "x" * 100_000, "\ud83d")
LIST = (1, 1.5, True, "x", {}, {"0": 1})
OBJECT = (1, 1.5, True, "x", [1, 2], [[]])

# What no case may have in a field. (An empty list is `args` without arguments, and so on.)
CASE_FIELDS: dict[str, tuple[Any, ...]] = {
    "op": (*NAME, "torch..mm", ".mm", "mm.", "1mm", "a-b", "os.system('true')", "größe", "a::b::c", "a.b\n"),
    "args": (*LIST[:5], [float("nan")], [10**30], ["\ud800"]),
    "kwargs": (*OBJECT, {"": 1}, {"x" * 1000: 1}, {"a\0": 1}, {"\ud800": 1}),
    "build": (
        *LIST[:4],
        {"arg": [1]},
        {"args": 1},
        {"kwargs": [1]},
        {"args": [{"type": "nine"}]},
        {"dtype": 1},
        {"dtype": "int8"},
    ),
    "direction": (*NAME, "backwards", "FORWARD", "torch.forward"),
    "runtime": (*NAME, "eagre", "Eager"),
    "device": (*NAME, "gpu", "cuda:", "cuda:-1", "cuda:01", "cuda:999", "CPU", "cpu,cuda"),
    "num_threads": (*WHOLE, 0, -1, 4097),
    "seed": (*WHOLE, -1, 2**63),
    "label": TEXT,
    "sub_label": TEXT,
    "description": TEXT,
    "tags": (3, True, {}, "", [1], [""], [["a"]], ["\0"], ["t"] * 101),
    "weight": (*NUMBER, 0, -1, -0.0),
    "language": ("", "rust", "Python", 3, "cpp"),
}
TENSOR_FIELDS: dict[str, tuple[Any, ...]] = {
    "shape": (*LIST, None, [-1], [1.0], [True], ["3"], [None], [[2]], [2**63], [1] * 65, [2**40] * 3),
    "dtype": (*NAME, None, "flaot32", "float31", "torch.", "Float32", "int"[:2]),
    "strides": (*LIST, [-1], ["1"], [1] * 60, [2**63]),
    "storage_offset": (*WHOLE, -1, 2**63, None),
    "memory_format": (*NAME, "channel_last", "preserve_format"),
    "layout": (*NAME, None, "sparse", "csr", "sparse_bsr"),
    "density": (*NUMBER, -0.1, 1.5, None),
    "block_shape": (*LIST, [1], [1, 2, 3], [0, 1], [1, -1], ["1", 1], [2, 2]),
    "requires_grad": (1, 0, "true", [], {}, 1.5),
    "quantization": (1, True, [], {}, "per_row", {"scheme": "per_tensor", "axis": 1}, "per_tensor"),
    "device": (*NAME, "gpu"),
    "fill": (
        *([], {}, "norml", "integers", {"kind": "normal", "sdt": 1}, {"kind": "normal", "std": -1}),
        *({"kind": 3}, {"kind": None}, {"kind": "mask", "density": 2}, {"kind": "indices", "bound": 3}),
        *({"kind": "literal", "values": [1] * 777}, {"kind": "literal", "values": "1"}, "permutation"),
        *({"kind": "uniform", "low": 1, "high": 0}, {"kind": "uniform", "low": "0"}, {"kind": "sorted"}),
        *({"kind": "file", "path": "../x.npy"}, {"kind": "file", "path": "/x.npy"}, {"kind": "file"}),
        *(
            {"kind": "file", "path": "x.pt"},
            {"kind": "file", "path": "a\\x.npy"},
            {"kind": "file", "path": 3},
        ),
        *({"kind": "file", "path": "x.npy", "sha256": "00"}, {"kind": "constant", "value": [1]}),
    ),
}
# Sorted needs a dimension, and floats otherwise: it is wrong for the scalar tensor that gets these fields.
WRONG_TENSOR = {"type": "tensor", "shape": [], "dtype": "float32"}
VALUES: tuple[Any, ...] = (
    *({}, {"shape": [1]}, {"type": None}, {"type": 3}, {"type": "Tensor"}, {"type": "tenosr", "shape": [1]}),
    *(
        {"type": "int"},
        {"type": "int", "value": 1.5},
        {"type": "int", "value": "1"},
        {"type": "int", "value": True},
    ),
    *({"type": "int", "value": 1, "value_range": [1, 2]}, {"type": "int", "value_range": [2, 1]}),
    *(
        {"type": "int", "value_range": [1]},
        {"type": "int", "value_range": 3},
        {"type": "int", "value": 2**64},
    ),
    *({"type": "float"}, {"type": "float", "value": "many"}, {"type": "float", "value_range": ["nan", 1]}),
    *({"type": "float", "value": 10**400}, {"type": "float", "value": None, "value_range": None}),
    *({"type": "complex", "real": "i"}, {"type": "complex", "imaginary": 1}, {"type": "complex", "value": 1}),
    *({"type": "bool"}, {"type": "bool", "value": 1}, {"type": "bool", "value": "true"}),
    *(
        {"type": "str"},
        {"type": "str", "value": 3},
        {"type": "str", "value": "\0"},
        {"type": "none", "value": None},
    ),
    *({"type": "device", "value": "tpu"}, {"type": "dtype"}, {"type": "dtype", "value": "float"[::-1]}),
    *(
        {"type": "layout", "value": "dense"},
        {"type": "memory_format", "value": "nhwc"},
        {"type": "generator", "s": 1},
    ),
    *({"type": "slice", "step": 0}, {"type": "slice", "start": 1.5}, {"type": "slice", "stop": "3"}),
    *({"type": "list", "value": 3}, {"type": "list", "value": {"a": 1}}, {"type": "tuple", "values": [1]}),
    *({"type": "dict", "value": [1]}, {"type": "dict", "value": {"": 1}}, {"type": "ellipsis", "value": 1}),
    *(float("nan"), float("inf"), 2**64, -(2**63) - 1, 10**400, "\ud800", "a\0b"),
)
HEADER_FIELDS: dict[str, tuple[Any, ...]] = {
    "opbench": (0, 2, "1", 1.0, True, None, [], 10**30),
    "name": (*TEXT, None),
    "description": (*TEXT, None),
    "defaults": (
        1,
        "x",
        [],
        [1],
        {"op": "torch.mm"},
        {"args": []},
        {"seed": "x"},
        {"sede": 1},
        {"stmt": "x"},
    ),
    "cases": (None, {}, "x", 3, [], True, [None], [3], [[]], ["torch.mm"], [{}]),
}


@dataclass(frozen=True)
class Invalid:
    """One wrong document. `places` are beginnings of JSON paths, each of which must have a problem."""

    what: str
    suffix: str
    data: bytes
    places: tuple[str, ...] = ()
    sure: bool = True


def invalid_documents(count: int, start: int = 0) -> Iterator[Invalid]:
    """The first so many wrong documents, or the next ones from a start."""
    return (invalid_document(index) for index in range(start, start + count))


def invalid_document(index: int) -> Invalid:
    """The n-th wrong document."""
    chance = random.Random(index)
    if chance.random() < 0.3:
        what, suffix, data, sure = invalid_texts.wrong_text(valid_suite(chance), chance)
        return Invalid(f"{index}: {what}", suffix, data, (), sure)
    suite = valid_suite(chance)
    changes = chance.sample(CHANGES, k=chance.choice((1, 1, 1, 2, 3)))
    places: list[str] = []
    for change in changes:
        places += change(suite, chance)
    what = f"{index}: " + ", ".join(change.__name__.strip("_") for change in changes)
    # What one change did another may have removed with the whole it was in.
    certain = tuple(places) if len(changes) == 1 else ()
    text = json.dumps(suite)
    if (
        chance.random() < 0.25
        and isinstance(suite.get("cases"), list)
        and suite["cases"]
        and "opbench" in suite
    ):
        header = {name: value for name, value in suite.items() if name != "cases"}
        lines = "\n".join(map(json.dumps, [header, *suite["cases"]]))
        return Invalid(what, ".jsonl", lines.encode(), tuple(_line_of(place) for place in certain))
    # YAML takes NaN for a text, and its reader refuses depth before anyone knows where that is.
    suffixes = (".json",) if "NaN" in text or "Infinity" in text or len(text) > 10_000 else (".json", ".yaml")
    return Invalid(what, chance.choice(suffixes), text.encode(), certain)


def _line_of(place: str) -> str:
    if not place.startswith("cases["):
        # Cases that are none are lines of their own.
        return "line" if place == "cases" else "line 1"
    number, _, rest = place.removeprefix("cases[").partition("]")
    return f"line {int(number) + 2}{rest}"


def valid_suite(chance: random.Random) -> Document:
    """A suite with nothing wrong: a few of the examples, no two alike."""
    cases = copy.deepcopy(chance.sample(_WITHOUT_FILES, k=chance.randint(1, 4)))
    suite: Document = {"opbench": 1, "cases": cases}
    if chance.random() < 0.3:
        suite["defaults"] = {"seed": 3, "tags": ["some"]}
    if chance.random() < 0.3:
        suite["name"] = "some cases"
    return suite


_WITHOUT_FILES = [case for case in CALLS if "file" not in json.dumps(case)]


def _some_case(suite: Document, chance: random.Random) -> tuple[Any, str]:
    cases = suite.get("cases")
    if not isinstance(cases, list) or not cases or not isinstance(cases[0], dict):
        suite["cases"] = cases = [copy.deepcopy(_WITHOUT_FILES[0])]
    index = chance.randrange(len(cases))
    return cases[index], f"cases[{index}]"


def _case_field(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    name = chance.choice([name for name in CASE_FIELDS if name != "language"])
    case[name] = copy.deepcopy(chance.choice(CASE_FIELDS[name]))
    return (f"{place}.{name}",) if case[name] != "" or name != "op" else (place,)


def _language(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    case["language"] = chance.choice(CASE_FIELDS["language"])
    return (f"{place}.language",)


def _tensor_field(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    name = chance.choice(list(TENSOR_FIELDS))
    case["args"] = [
        *_list(case.get("args")),
        WRONG_TENSOR | {name: copy.deepcopy(chance.choice(TENSOR_FIELDS[name]))},
    ]
    return (f"{place}.args[{len(case['args']) - 1}]",)


def _value(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    wrong = copy.deepcopy(chance.choice(VALUES))
    for _ in range(chance.choice((0, 0, 1, 3))):
        wrong = chance.choice(
            ([wrong], {"type": "tuple", "value": [wrong]}, {"type": "dict", "value": {"a": wrong}})
        )
    if chance.random() < 0.3:
        case["kwargs"] = {"wrong": wrong}
        return (f"{place}.kwargs.wrong",)
    case["args"] = [*_list(case.get("args")), wrong]
    return (f"{place}.args[{len(case['args']) - 1}]",)


def _header_field(suite: Document, chance: random.Random) -> tuple[str, ...]:
    name = chance.choice(list(HEADER_FIELDS))
    suite[name] = copy.deepcopy(chance.choice(HEADER_FIELDS[name]))
    return (name,)


def _misspelt(suite: Document, chance: random.Random) -> tuple[str, ...]:
    found = [(item, place) for item, place in _fixed_objects(suite, "") if item]
    item, place = chance.choice(found)
    name = chance.choice(list(item))
    at = chance.randrange(len(name))
    wrong = chance.choice(
        (name[:at] + name[at:].swapcase(), name + "s", "_" + name, name[:at] + "x" + name[at:])
    )
    item[wrong] = item.pop(name)
    return (place,)


def _missing(suite: Document, chance: random.Random) -> tuple[str, ...]:
    required = {"opbench", "op", "cases", "shape", "type", "kind", "bound", "total"}
    found = [
        (item, place, name)
        for item, place in _fixed_objects(suite, "")
        for name in item
        if name in required or (name == "value" and item.get("type") in ("int", "long", "bool", "dtype"))
    ]
    if not found:
        return ()
    item, place, name = chance.choice(found)
    del item[name]
    return (place,)


def _nested(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    deep: Any = []
    for _ in range(chance.choice((30, 60, 120))):
        deep = [deep] if chance.random() < 0.5 else {"type": "tuple", "value": [deep]}
    case["args"] = [deep]
    return (f"{place}.args[0]",)


def _twice(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, _ = _some_case(suite, chance)
    again = copy.deepcopy(case)
    again["label"] = "the same under another name"
    suite["cases"].append(again)
    return (f"cases[{len(suite['cases']) - 1}]",)


def _snippet(suite: Document, chance: random.Random) -> tuple[str, ...]:
    _some_case(suite, chance)
    suite["cases"].append(copy.deepcopy(chance.choice(SNIPPETS)))
    return (f"cases[{len(suite['cases']) - 1}]",)


def _too_many(suite: Document, chance: random.Random) -> tuple[str, ...]:
    case, place = _some_case(suite, chance)
    if chance.random() < 0.5:
        case["args"] = [0] * 10_001
        return (f"{place}.args",)
    case["kwargs"] = {f"a{number}": 0 for number in range(10_001)}
    return (f"{place}.kwargs",)


CHANGES: tuple[Change, ...] = (
    *(_case_field, _case_field, _tensor_field, _tensor_field, _value, _value, _language, _header_field),
    *(_misspelt, _misspelt, _missing, _nested, _twice, _snippet),
)
CHANGES_THAT_ARE_LARGE: tuple[Change, ...] = (_too_many,)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _fixed_objects(item: Any, place: str) -> Iterator[tuple[Document, str]]:
    """The objects whose names of fields are given, with their places: not those of named arguments."""
    if isinstance(item, list):
        for index, part in enumerate(item):
            yield from _fixed_objects(part, f"{place}[{index}]")
    elif isinstance(item, dict):
        yield item, place
        for name, part in item.items():
            where = f"{place}.{name}" if place else name
            if name == "kwargs" or (name == "value" and item.get("type") == "dict"):
                for key, inner in part.items() if isinstance(part, dict) else ():
                    yield from _fixed_objects(inner, f"{where}.{key}")
            elif name != "quantization" or isinstance(part, dict):
                yield from _fixed_objects(part, where)
