"""Suites in YAML: read by the safe loader, with repeated and merged keys refused and aliases bounded."""

from __future__ import annotations

from typing import Any

from opbench.cases.check_fields import INVALID
from opbench.cases.collect import Problems, describe
from opbench.cases.errors import UsageError
from opbench.cases.strict_json import TOO_DEEP

LARGEST_YAML = 16 << 20
# A few lines of aliases to aliases can stand for more values than there are atoms.
MOST_VALUES = 2_000_000
_MERGE = "tag:yaml.org,2002:merge"


def read_yaml(text: str, problems: Problems) -> Any:
    """The data that a YAML document holds, or INVALID with a problem noted."""
    if len(text) > LARGEST_YAML:
        problems.add(
            "",
            "too long for YAML",
            found=f"more than {LARGEST_YAML >> 20} MiB",
            expected="a suite of this size as .jsonl",
        )
        return INVALID
    try:
        import yaml
    except ImportError:
        raise UsageError("suites in YAML need PyYAML: pip install 'opbench[yaml]'") from None
    try:
        document = _load(yaml, text, problems)
        if _count(document) <= MOST_VALUES:
            return document
        problems.add(
            "",
            "its aliases stand for too many values",
            found=f"more than {MOST_VALUES} values",
            expected="fewer",
        )
    except RecursionError:
        problems.add("", TOO_DEEP, found="hundreds of levels", expected="a few")
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f" at line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        problems.add("", f"not YAML{where}", found=str(error.problem or error.context), expected="YAML")
    except yaml.YAMLError as error:
        problems.add("", "not YAML", found=" ".join(str(error).split())[:200], expected="YAML")
    except (ValueError, OverflowError, TypeError, AttributeError, LookupError):
        # The loader's own constructors stumble over odd scalars such as the date 2001-99-99.
        problems.add("", "not YAML", found="a value that is not of its type", expected="YAML")
    return INVALID


def _load(yaml: Any, text: str, problems: Problems) -> Any:
    loader = yaml.SafeLoader(text)
    try:
        node = loader.get_single_node()
        if node is None:
            return None
        before = problems.count
        _check_keys(yaml, node, problems)
        return loader.construct_document(node) if problems.count == before else INVALID
    finally:
        loader.dispose()


def _check_keys(yaml: Any, root: Any, problems: Problems) -> None:
    seen: set[int] = set()
    pending = [root]
    while pending:
        node = pending.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.SequenceNode):
            pending.extend(reversed(node.value))
        elif isinstance(node, yaml.MappingNode):
            keys: set[tuple[str, str]] = set()
            pending.extend(part for pair in reversed(node.value) for part in reversed(pair))
            for key, _ in node.value:
                if not isinstance(key, yaml.ScalarNode):
                    continue
                if key.tag == _MERGE:
                    # Merges of merges multiply, as aliases do, but before anyone can count.
                    problems.add(
                        "",
                        f"fields cannot be merged, at line {key.start_mark.line + 1}",
                        found='"<<"',
                        expected="the fields themselves, or defaults of the suite",
                    )
                elif (key.tag, key.value) in keys:
                    line = key.start_mark.line + 1
                    problems.add(
                        "",
                        f"a key stands twice in one object, again at line {line}",
                        found=describe(key.value),
                        expected="each key once",
                    )
                keys.add((key.tag, key.value))


def _count(document: Any) -> int:
    """How many values there are, those behind aliases each time they are used."""
    known: dict[int, int] = {}

    def count(item: Any) -> int:
        if not isinstance(item, (dict, list)):
            return 1
        if id(item) not in known:
            # An alias inside of what it stands for: no end.
            known[id(item)] = MOST_VALUES + 1
            parts = item.values() if isinstance(item, dict) else item
            known[id(item)] = 1 + sum(map(count, parts))
        return known[id(item)]

    return count(document)
