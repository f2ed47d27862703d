"""The documents are executed: a page is read from top to bottom in a folder of its own.

```json file=add.json      written to that file; with `suite` too, opened and checked as one
```toml file=...           the same, and so on for every language
```json case               one case, checked; without `case`, any JSON
```json values             a list of values, checked
```python                  executed; the blocks of a page share their names
```console                 commands behind `$ ` are executed; what follows them is their output
```console exit=2          ... and they end with this code (0, if it is not said)
```console checked         ... and their output is this one, where `...` stands for anything
```sh                      only read: its opbench commands must have flags that exist
"""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from opbench.cases.builders import checked_value
from opbench.cases.check import check_case
from opbench.cases.errors import UsageError
from opbench.cli.main import main
from opbench.cli.parser import VERBS, Parser
from opbench.sources import open_sources

ROOT = Path(__file__).resolve().parents[1]
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
FENCE = re.compile(r"^( *)```(\S*)([^\n`]*)\n(.*?)^\1```[ ]*$", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(?<!\\)\[[^\]]*\]\(([^)\s]+)\)|<img[^>]+src=\"([^\"]+)\"")


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


@dataclass
class Block:
    """A fenced block of a page."""

    language: str
    text: str
    line: int
    options: dict[str, str] = field(default_factory=dict)


def blocks(page: Path) -> Iterator[Block]:
    content = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(content):
        options = dict(part.partition("=")[::2] for part in match[3].split())
        indent = len(match[1])
        text = "".join(line[indent:] for line in match[4].splitlines(keepends=True))
        yield Block(match[2], text, content.count("\n", 0, match.start()) + 1, options)


@dataclass
class Command:
    """A command of a console block, and the output shown below it."""

    text: str
    shown: list[str] = field(default_factory=list)


def commands(text: str) -> list[Command]:
    found: list[Command] = []
    continued = False
    for line in text.splitlines():
        if continued:
            found[-1].text += " " + line.strip()
        elif line.startswith("$ "):
            found.append(Command(line[2:]))
        else:
            assert found, f"output without a command: {line!r}"
            found[-1].shown.append(line)
            continue
        continued = found[-1].text.endswith("\\")
        if continued:
            found[-1].text = found[-1].text[:-1].rstrip()
    return found


class Page:
    """Executes the blocks of a page, in the current folder."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.names: dict[str, Any] = {"__name__": "__page__"}

    def execute(self, block: Block) -> None:
        place = f"{self.name}:{block.line}"
        if "file" in block.options:
            path = Path(block.options["file"])
            assert not path.is_absolute(), place
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
            if "suite" in block.options:
                assert list(open_sources((str(path),))), place
        elif block.language == "python":
            with contextlib.redirect_stdout(io.StringIO()):
                exec(compile(block.text, place, "exec"), self.names)
        elif block.language == "json":
            document = json.loads(block.text)
            if "case" in block.options:
                check_case(document, file=place, allow_snippets=True)
            for value in document if "values" in block.options else ():
                checked_value(value, place)
        elif block.language == "console":
            for command in commands(block.text):
                self.run(command, block, place)

    def run(self, command: Command, block: Block, place: str) -> None:
        code, output = run(command.text)
        expected = int(block.options.get("exit", "0"))
        assert code == expected, f"{place}: $ {command.text}\nexit code {code}\n{output}"
        if "checked" in block.options:
            assert matches(command.shown, output), f"{place}: $ {command.text}\n{output}"


def run(text: str) -> tuple[int, str]:
    """Exit code and output of a command; both streams together, as a terminal shows them."""
    words = shlex.split(text)
    target = None
    if ">" in words:
        target = Path(words[words.index(">") + 1])
        words = words[: words.index(">")]
    if words[0] == "python":
        ended = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True, check=False)
        return ended.returncode, ended.stdout + ended.stderr
    if words[0] == "cat":
        return 0, "".join(Path(word).read_text(encoding="utf-8") for word in words[1:])
    assert words[0] == "opbench", text
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(words[1:])
    if target is not None:
        target.write_text(out.getvalue(), encoding="utf-8")
        return code, err.getvalue()
    return code, out.getvalue() + err.getvalue()


def matches(shown: list[str], output: str) -> bool:
    """Whether the output is the one shown; `...` stands for any text, a line of it for any lines."""
    pattern = ""
    for line in shown:
        if line.strip() == "...":
            pattern += r"(?:[^\n]*\n)*?"
        elif line.strip():
            pattern += ".*?".join(re.escape(part.rstrip()) for part in line.split("...")) + r"[ ]*\n"
    lines = [line.rstrip() + "\n" for line in output.splitlines() if line.strip()]
    return re.fullmatch(pattern, "".join(lines)) is not None


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("docs") / "docs.sqlite"


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_what_a_page_says_works(
    page: Path, store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OPBENCH_STORE", str(store))
    # As in an activated environment: shell commands start the `python` of PATH.
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    # What people see on a terminal of usual width.
    monkeypatch.setenv("COLUMNS", "100")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    reader = Page(name_of(page))
    for block in blocks(page):
        reader.execute(block)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_flags_exist(page: Path) -> None:
    for block in blocks(page):
        if block.language == "sh":
            for command in block.text.replace("\\\n", " ").splitlines():
                words = shlex.split(command, comments=True)
                if words[:1] == ["opbench"]:
                    parses(words[1:], f"{name_of(page)}:{block.line}")


def parser_of(verb: str) -> Parser:
    module = importlib.import_module(f"opbench.cli.{verb}")
    parser = Parser(prog=f"opbench {verb}")
    module.add_arguments(parser)
    return parser


def parses(words: list[str], place: str) -> None:
    if words[0] not in VERBS:
        assert words in (["--help"], ["--version"]), place
        return
    try:
        parser_of(words[0]).parse(words[1:])
    except UsageError as error:
        pytest.fail(f"{place}: opbench {shlex.join(words)}: {error}")


def anchors(page: Path) -> set[str]:
    """The places in a page that a link can lead to, named as GitHub names them."""
    found = set()
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ +(.+?) *$", text, re.MULTILINE):
        plain = re.sub(r"[^\w\- ]", "", re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower())
        found.add(plain.replace(" ", "-"))
    return found


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    for groups in LINK.findall(text):
        link = groups[0] or groups[1]
        if re.match(r"[a-z]+:", link):
            continue
        path, _, anchor = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        assert target.exists(), f"{link}: there is no {target}"
        if anchor:
            assert anchor in anchors(target), f"{link}: {target.name} has {sorted(anchors(target))}"


def test_every_page_can_be_reached() -> None:
    reached = {ROOT / "README.md"}
    ahead = [ROOT / "README.md"]
    while ahead:
        page = ahead.pop()
        for groups in LINK.findall(page.read_text(encoding="utf-8")):
            target = (page.parent / (groups[0] or groups[1]).partition("#")[0]).resolve()
            if target.suffix == ".md" and target.exists() and target not in reached:
                reached.add(target)
                ahead.append(target)
    assert not [name_of(page) for page in PAGES if page not in reached]
