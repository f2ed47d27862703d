"""Texts and bytes that are no suites: broken JSON, TOML and YAML, wrong encodings, bombs, garbage."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, TypeAlias

Made: TypeAlias = "tuple[str, bytes, bool]"
Make: TypeAlias = Callable[[dict[str, Any], random.Random], Made]


def wrong_text(suite: dict[str, Any], chance: random.Random) -> tuple[str, str, bytes, bool]:
    """What was done, the suffix of the file, its bytes, and whether it cannot be a suite any more."""
    make = chance.choice(MAKERS)
    suffix, data, sure = make(suite, chance)
    return make.__name__.strip("_"), suffix, data, sure


def _truncated(suite: dict[str, Any], chance: random.Random) -> Made:
    text = json.dumps(suite)
    return chance.choice((".json", ".yaml")), text[: chance.randrange(len(text))].encode(), True


def _cut_out(suite: dict[str, Any], chance: random.Random) -> Made:
    """One sign that JSON cannot do without is gone."""
    text = json.dumps(suite, indent=chance.choice((None, 1)))
    places = [place for place, sign in enumerate(text) if sign in "{}[]:" and not _in_text(text, place)]
    place = chance.choice(places)
    return ".json", (text[:place] + text[place + 1 :]).encode(), True


def _in_text(text: str, place: int) -> bool:
    return text[:place].replace('\\"', "").count('"') % 2 == 1


def _put_in(suite: dict[str, Any], chance: random.Random) -> Made:
    """Something JSON has not, at the beginning, between two values or at the end."""
    text = json.dumps(suite)
    wrong = chance.choice(
        ("// note\n", "/* */", "# note\n", ",", "'", "\\", "}", "]", "\x00", "undefined", "(", "\v")
    )
    places = [
        place for place in range(len(text)) if text.startswith(', "', place) and not _in_text(text, place)
    ]
    place = chance.choice((0, len(text), *places))
    return ".json", (text[:place] + wrong + text[place:]).encode(), True


def _repeated_key(suite: dict[str, Any], chance: random.Random) -> Made:
    text = json.dumps(suite)
    places = [place for place in range(len(text)) if text[place] == "{" and not _in_text(text, place)]
    place = chance.choice([place for place in places if text[place + 1] == '"'])
    first = text[place + 1 : text.index(": ", place)]
    suffix = chance.choice((".json", ".jsonl", ".yaml"))
    return suffix, f"{text[: place + 1]}{first}: 1, {text[place + 1 :]}".encode(), True


def _constant(suite: dict[str, Any], chance: random.Random) -> Made:
    name = chance.choice(("NaN", "Infinity", "-Infinity"))
    text = json.dumps({"opbench": 1, "cases": [{"op": "torch.mm", "args": [1], "seed": "HERE"}]})
    return chance.choice((".json", ".jsonl")), text.replace('"HERE"', name).encode(), True


def _long_number(suite: dict[str, Any], chance: random.Random) -> Made:
    digits = "9" * chance.choice((400, 5_000, 100_000))
    number = chance.choice((digits, f"-{digits}", f"1e{digits}", f"0.{digits}", f"1{digits}.5"))
    field = chance.choice(('"seed"', '"num_threads"', '"device"', '"weightt"'))
    return ".json", f'{{"opbench": 1, "cases": [{{"op": "torch.mm", {field}: {number}}}]}}'.encode(), True


def _surrogate(suite: dict[str, Any], chance: random.Random) -> Made:
    half = chance.choice((r"\ud800", r"\udfff", r"\udc00\ud800", r"ok \udbff ok"))
    place = chance.choice(
        ('"label": "{}"', '"tags": ["{}"]', '"args": ["{}"]', '"kwargs": {{"{}": 1}}', '"{}": 1')
    )
    text = f'{{"opbench": 1, "cases": [{{"op": "torch.mm", {place.format(half)}}}]}}'
    return chance.choice((".json", ".yaml")), text.encode(), True


def _brackets(suite: dict[str, Any], chance: random.Random) -> Made:
    depth = chance.choice((1_000, 10_000, 100_000))
    opening, closing = chance.choice((("[", "]"), ('{"a":', "}")))
    inner = opening * depth + "1" + closing * depth
    text = chance.choice((inner, f'{{"opbench": 1, "cases": {inner}}}', opening * depth))
    return chance.choice((".json", ".jsonl")), text.encode(), True


def _encoded(suite: dict[str, Any], chance: random.Random) -> Made:
    coding = chance.choice(("utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8-sig"))
    suffix = chance.choice((".json", ".jsonl", ".toml"))
    return suffix, json.dumps(suite).encode(coding), True


def _wrong_byte(suite: dict[str, Any], chance: random.Random) -> Made:
    data = json.dumps(suite).encode()
    place = chance.randrange(len(data) + 1)
    wrong = chance.choice((b"\xff", b"\xc0\x80", b"\xed\xa0\x80", b"\xf8\x88", b"\x80"))
    suffix = chance.choice((".json", ".jsonl", ".toml", ".yaml", ".yml"))
    return suffix, data[:place] + wrong + data[place:], True


def _nothing(suite: dict[str, Any], chance: random.Random) -> Made:
    texts = (
        "",
        " \n\t\n",
        "null",
        "[]",
        "{}",
        "3",
        '"text"',
        "true",
        "[1, 2]",
        "\n" * 1000,
        "-",
        "---",
        "# x",
    )
    return chance.choice((".json", ".jsonl", ".toml", ".yaml")), chance.choice(texts).encode(), True


def _garbage(suite: dict[str, Any], chance: random.Random) -> Made:
    data = chance.randbytes(chance.choice((1, 10, 1_000, 50_000)))
    magic = chance.choice((b"", b"\x89PNG\r\n", b"\x7fELF", b"PK\x03\x04", b"\x80\x04\x95", b"\x1f\x8b"))
    # No suite is so short, and none of what begins like this.
    return chance.choice((".json", ".jsonl", ".toml", ".yaml")), magic + data, True


def _changed_bytes(suite: dict[str, Any], chance: random.Random) -> Made:
    data = bytearray(json.dumps(suite).encode())
    for _ in range(chance.choice((1, 2, 5, 50))):
        place = chance.randrange(len(data))
        data[place : place + chance.randrange(3)] = bytes(
            chance.randrange(256) for _ in range(chance.randrange(3))
        )
    return chance.choice((".json", ".jsonl", ".yaml")), bytes(data), False


def _shuffled_text(suite: dict[str, Any], chance: random.Random) -> Made:
    parts = json.dumps(suite).split(" ")
    chance.shuffle(parts)
    return chance.choice((".json", ".jsonl", ".yaml", ".toml")), " ".join(parts).encode(), False


_BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join(f'*{before}' for _ in range(9))}]\n"
    for before, name in zip("abcdefgh", "bcdefghi", strict=True)
)
_YAML = (
    _BOMB,
    f"opbench: 1\nname: x\n{_BOMB}cases: *i\n",
    "opbench: 1\ncases: &c [*c]\n",
    "opbench: 1\ncases: &c [{op: torch.mm, args: *c}]\n",
    "&d {opbench: 1, cases: [{op: torch.mm, kwargs: *d}]}\n",
    "opbench: 1\ncases: *missing\n",
    "opbench: 1\ncases: [{op: !!python/object/apply:os.system ['true']}]\n",
    "opbench: 1\ncases: !!python/name:os.system\n",
    "opbench: 1\ncases: [{op: !mine torch.mm}]\n",
    "opbench: 1\ncases: [{op: torch.mm, seed: 2001-12-14}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [2001-12-14]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [2001-99-99]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [!!binary aGVsbG8=]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [!!binary é]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: !!set {a, b}}]\n",
    "opbench: 1\ncases: [{op: torch.mm, kwargs: {1: 2}}]\n",
    "opbench: 1\ncases: [{op: torch.mm, kwargs: {null: 2}}]\n",
    "opbench: 1\ncases: [{op: torch.mm, kwargs: {[a]: 2}}]\n",
    "opbench: 1\ncases: [{op: torch.mm, ? {a: 1} : 2}]\n",
    "opbench: 1\ncases: [{op: torch.mm, <<: 3}]\n",
    "opbench: 1\ncases: [{op: torch.mm, <<: {seed: x}}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [!!int x]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [!!float x]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [.nan], seed: .inf}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [!!timestamp x]}]\n",
    "opbench: 1\ncases: [{op: torch.mm, args: [0x], seed: 0b}]\n",
    "opbench: 1\ncases: [{op: torch.mm, seed: 190:20:30, weight: -1}]\n",
    "opbench: 1\ncases:\n\t- op: torch.mm\n",
    "opbench: 1\ncases: [{op: torch.mm}\n",
    "opbench: 1\n---\nopbench: 1\n",
    "%YAML 9.9\n---\nopbench: 1\n",
    "%TAG ! tag:\n--- !x\nopbench: 1\n",
    "opbench: 1\nopbench: 1\ncases: [{op: torch.mm}]\n",
    "'opbench: 1",
    "opbench: 1\ncases: |\n  - op: torch.mm\n",
    "- " * 2_000 + "x\n",
    "[" * 5_000,
    "{a: " * 5_000,
    "a" * 100_000 + ": 1\n",
    "? " * 3_000,
    "opbench: 1\ncases: [{op: torch.mm, seed: " + "9" * 5_000 + "}]\n",
    'opbench: 1\ncases: [{op: "\\ud800"}]\n',
    'opbench: 1\ncases: [{op: "\\UFFFFFFFF"}]\n',
    "opbench: 1\ncases: [{op: torch.mm, label: \x07}]\n",
)
_TOML = (
    "opbench = 1\ncases = []\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nop = 'torch.mm'\n",
    "opbench = 1\n[[cases]]\nop = torch.mm\n",
    "opbench = 1\n[cases]\nop = 'torch.mm'\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nseed = nan\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nseed = 0x\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nargs = [2001-12-14]\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nargs = [07:32:00]\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nargs = [1979-05-27T07:32:00Z]\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nargs = [99-99-99]\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nargs = [2001-99-99]\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nlabel = \"\\ud800\"\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nlabel = \"\\u0000\"\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nseed = " + "9" * 5_000 + "\n",
    "opbench = 1\n[[cases]]\nop = 'torch.mm'\nweight = 1e999\n",
    "opbench = 1\nx = " + "[" * 5_000 + "\n",
    "opbench = 1\ncases = " + "{a=" * 5_000 + "\n",
    "opbench = 1\n" + "a." * 5_000 + "b = 1\n",
    "[[[cases]]]\n",
    "opbench = 1\n[[cases]]\n[[cases.op]]\nx = 1\n",
    "\0",
    "opbench = '''\n",
)


def _odd_yaml(suite: dict[str, Any], chance: random.Random) -> Made:
    return chance.choice((".yaml", ".yml")), chance.choice(_YAML).encode(), True


def _odd_toml(suite: dict[str, Any], chance: random.Random) -> Made:
    return ".toml", chance.choice(_TOML).encode(), True


def _odd_lines(suite: dict[str, Any], chance: random.Random) -> Made:
    good = ['{"opbench": 1, "name": "x"}', '{"op": "torch.mm"}', '{"op": "torch.add"}']
    wrong = (
        "[]",
        "null",
        "3",
        '{"op": "torch.mm"}, ',
        "{}",
        good[0],
        '{"op": "torch.mul"',
        "x",
        good[1],
        '{"opbench": 2}',
    )
    good.insert(chance.randint(2, 3), chance.choice(wrong))
    ending = chance.choice(("\n", "\r\n", "\n\n"))
    return ".jsonl", ending.join(good).encode(), True


MAKERS: tuple[Make, ...] = (
    *(_truncated, _cut_out, _put_in, _repeated_key, _constant, _long_number, _surrogate, _brackets, _encoded),
    *(_wrong_byte, _nothing, _garbage, _changed_bytes, _changed_bytes, _shuffled_text, _odd_yaml, _odd_yaml),
    *(_odd_toml, _odd_lines),
)
