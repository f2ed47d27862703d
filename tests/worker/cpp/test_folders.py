from __future__ import annotations

import os
from pathlib import Path

import pytest

from opbench.worker.cpp import folders
from opbench.worker.cpp.folders import cache_to_write, caches, distrust, temporary_folder, user_folder


def test_the_folder_is_where_caches_are(tmp_path: Path) -> None:
    assert user_folder({"XDG_CACHE_HOME": str(tmp_path)}) == tmp_path / "opbench" / "cpp"
    home = Path("~/.cache/opbench/cpp").expanduser()
    assert user_folder({}) == user_folder({"XDG_CACHE_HOME": "relative"}) == home


def test_it_is_the_users_alone(own_cache: Path) -> None:
    assert cache_to_write().folder == own_cache
    assert own_cache.stat().st_mode & 0o777 == 0o700
    assert [cache.folder for cache in caches()] == [own_cache]


def test_a_folder_that_others_may_write_to_is_not_used(own_cache: Path) -> None:
    own_cache.mkdir(parents=True)
    own_cache.chmod(0o777)
    assert caches() == []
    with pytest.warns(RuntimeWarning, match=r"kept in .*, and not in .*/cpp: others may write to it"):
        cache = cache_to_write()
    assert cache.folder == temporary_folder()
    assert temporary_folder().stat().st_mode & 0o777 == 0o700
    assert [cache.folder for cache in caches()] == [temporary_folder()]


def test_a_folder_of_somebody_else_is_not_used(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own_cache.mkdir(parents=True)
    owner = os.geteuid()
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    assert caches() == []
    assert distrust(own_cache, follow=True) == "it belongs to somebody else"


def test_a_folder_that_cannot_be_made_has_a_stand_in(own_cache: Path) -> None:
    own_cache.parent.parent.write_text("no folder", encoding="utf-8")
    with pytest.warns(RuntimeWarning, match=r"not in .*/cpp: "):
        assert cache_to_write().folder == temporary_folder()


def test_a_full_folder_has_a_stand_in(own_cache: Path) -> None:
    with pytest.warns(RuntimeWarning, match="no space left"):
        assert cache_to_write(full="no space left").folder == temporary_folder()


def test_a_link_in_the_folder_for_everybody_is_not_followed(own_cache: Path, tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir(mode=0o700)
    temporary_folder().symlink_to(mine)
    with pytest.raises(OSError, match=r"neither in .* \(full\) nor in .* \(it is not a folder\)"):
        cache_to_write(full="full")


def test_a_link_to_a_larger_disk_is(own_cache: Path, tmp_path: Path) -> None:
    disk = tmp_path / "disk"
    disk.mkdir(mode=0o700)
    own_cache.parent.mkdir(parents=True)
    own_cache.symlink_to(disk)
    assert cache_to_write().folder == own_cache


def test_a_read_only_folder_has_a_stand_in(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = folders.tempfile.TemporaryFile

    def refused(*, dir: Path) -> object:
        if dir == own_cache:
            raise OSError(30, "Read-only file system")
        return real(dir=dir)

    monkeypatch.setattr(folders.tempfile, "TemporaryFile", refused)
    with pytest.warns(RuntimeWarning, match="Read-only file system"):
        assert cache_to_write().folder == temporary_folder()
    assert own_cache in [cache.folder for cache in caches()]
