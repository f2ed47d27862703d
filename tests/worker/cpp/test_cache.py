from __future__ import annotations

import multiprocessing
import os
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from opbench.worker.cpp.cache import ABANDONED_S, IN_USE_S, MOST_HASHED_BYTES, Cache, digest

KEY, OTHER = digest("one"), digest("other")


def writes(text: str, sources: Sequence[str] = ()) -> Callable[[Path], Sequence[str]]:
    def fill(folder: Path) -> Sequence[str]:
        (folder / "file").write_text(text, encoding="utf-8")
        return sources

    return fill


def never(folder: Path) -> Sequence[str]:
    raise AssertionError(f"{folder} was made once more")


def text_of(folder: Path | None) -> str:
    assert folder is not None
    return (folder / "file").read_text(encoding="utf-8")


def test_what_was_made_is_found_and_not_made_again(tmp_path: Path) -> None:
    assert Cache(tmp_path).find(KEY) is None
    made = Cache(tmp_path).make(KEY, writes("text"))
    assert Cache(tmp_path).find(KEY) == made == Cache(tmp_path).make(KEY, never)
    assert Cache(tmp_path).find(OTHER) is None
    assert text_of(made) == "text"


def test_what_fails_leaves_nothing(tmp_path: Path) -> None:
    def fill(folder: Path) -> Sequence[str]:
        (folder / "half").write_text("a half", encoding="utf-8")
        raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        Cache(tmp_path).make(KEY, fill)
    assert Cache(tmp_path).find(KEY) is None
    assert not list(tmp_path.glob("tmp-*"))


@pytest.mark.parametrize(
    "harm", ["shorter", "changed", "no file", "no manifest", "half a manifest", "empty folder"]
)
def test_a_broken_entry_is_made_again(tmp_path: Path, harm: str) -> None:
    folder = Cache(tmp_path).make(KEY, writes("text"))
    file, manifest = folder / "file", folder / "manifest.json"
    if harm == "shorter":
        os.truncate(file, 2)
    elif harm == "changed":
        file.write_text("TEXT", encoding="utf-8")
    elif harm == "half a manifest":
        os.truncate(manifest, manifest.stat().st_size // 2)
    if harm in ("no file", "empty folder"):
        file.unlink()
    if harm in ("no manifest", "empty folder"):
        manifest.unlink()
    assert Cache(tmp_path).find(KEY) is None
    assert text_of(Cache(tmp_path).make(KEY, writes("text"))) == "text"
    assert Cache(tmp_path).find(KEY) == folder


@pytest.mark.parametrize(
    "manifest", ["[]", "{}", '{"files": 1, "sources": {}}', '{"files": {"x": []}, "sources": []}']
)
def test_a_manifest_that_is_none_is_no_entry(tmp_path: Path, manifest: str) -> None:
    folder = Cache(tmp_path).make(KEY, writes("text"))
    (folder / "manifest.json").write_text(manifest, encoding="utf-8")
    assert Cache(tmp_path).find(KEY) is None


def test_a_large_file_is_known_by_its_size(tmp_path: Path) -> None:
    def fill(folder: Path) -> Sequence[str]:
        with open(folder / "file", "wb") as file:
            file.truncate(MOST_HASHED_BYTES + 1)
        return ()

    folder = Cache(tmp_path).make(KEY, fill)
    assert Cache(tmp_path).find(KEY) == folder
    os.truncate(folder / "file", MOST_HASHED_BYTES)
    assert Cache(tmp_path).find(KEY) is None


def test_an_entry_goes_out_of_date_with_what_it_was_made_from(tmp_path: Path) -> None:
    source = tmp_path / "mine.h"
    source.write_text("first", encoding="utf-8")
    Cache(tmp_path).make(KEY, writes("from the first", [str(source)]))
    source.write_text("other", encoding="utf-8")
    assert Cache(tmp_path).find(KEY) is None
    assert text_of(Cache(tmp_path).make(KEY, writes("from the other", [str(source)]))) == "from the other"
    source.unlink()
    assert Cache(tmp_path).find(KEY) is None


def test_what_is_in_an_entry_is_found_by_name(tmp_path: Path) -> None:
    folder = Cache(tmp_path).make(KEY, writes("text"), names=["a", "b"])
    assert Cache(tmp_path).find_named("b") == (folder, 1)
    assert Cache(tmp_path).find_named("c") is None
    for text in ("", "x", f"{KEY}", f"{KEY} b", f"../{KEY} 0", f"{OTHER} 0"):
        (tmp_path / "names" / "b").write_text(text, encoding="utf-8")
        assert Cache(tmp_path).find_named("b") is None


def aged(folder: Path, seconds: float) -> None:
    at = time.time() - seconds
    os.utime(folder / "manifest.json", (at, at))


def test_beyond_the_limit_what_was_used_least_recently_goes(tmp_path: Path) -> None:
    keys = [digest(number) for number in range(4)]
    for age, key in enumerate(keys):
        folder = Cache(tmp_path).make(key, writes("x" * 3000), names=[f"name-{key}"])
        aged(folder, 10 * IN_USE_S - age)
    cache = Cache(tmp_path, limit_bytes=10_000)
    # The oldest is used now, so the second has to go, and the third as well.
    assert cache.find(keys[0]) is not None
    cache.make(OTHER, writes("x" * 3000))
    assert [cache.find(key) is not None for key in [*keys, OTHER]] == [True, False, False, True, True]
    assert sorted(path.name for path in (tmp_path / "names").iterdir()) == sorted(
        f"name-{key}" for key in (keys[0], keys[3])
    )


def test_what_may_be_in_use_stays_whatever_the_limit(tmp_path: Path) -> None:
    cache = Cache(tmp_path, limit_bytes=1)
    cache.make(KEY, writes("text"))
    cache.make(OTHER, writes("text"))
    assert cache.find(KEY) is not None


def test_what_a_killed_process_left_is_removed(tmp_path: Path) -> None:
    left, busy = tmp_path / "tmp-left", tmp_path / "tmp-busy"
    for folder in (left, busy):
        folder.mkdir()
        (folder / "file").write_text("x", encoding="utf-8")
    long_ago = time.time() - 2 * ABANDONED_S
    os.utime(left, (long_ago, long_ago))
    Cache(tmp_path).make(KEY, writes("text"))
    assert not left.exists()
    assert busy.exists()


def make_slowly(folder: Path, log: Path, locks: bool) -> None:
    def fill(temporary: Path) -> Sequence[str]:
        with open(log, "a", encoding="utf-8") as file:
            file.write("x")
        time.sleep(0.3)
        return writes("text")(temporary)

    if not locks:
        import fcntl

        fcntl.flock = unsupported  # type: ignore[assignment]
    assert text_of(Cache(folder).make(KEY, fill)) == "text"


def unsupported(*_: object) -> None:
    raise OSError("there are no locks here")


@pytest.mark.parametrize("locks", [True, False])
def test_processes_that_make_the_same_entry_all_get_it(tmp_path: Path, locks: bool) -> None:
    context = multiprocessing.get_context("fork")
    log = tmp_path / "log"
    folder = tmp_path / "cache"
    folder.mkdir()
    processes = [context.Process(target=make_slowly, args=(folder, log, locks)) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    # With locks only one of them has to do it.
    assert len(log.read_text(encoding="utf-8")) == 1 if locks else 3
    assert Cache(folder).find(KEY) is not None
    assert not list(folder.glob("tmp-*"))


def test_a_cache_that_cannot_be_written_to_is_good_to_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Cache(tmp_path).make(KEY, writes("text"))

    def refused(*_: object, **__: object) -> None:
        raise PermissionError("read-only")

    monkeypatch.setattr(os, "utime", refused)
    assert Cache(tmp_path).find(KEY) == folder
