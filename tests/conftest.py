"""What every test gets: folders of its own instead of the user's, and plain text instead of colours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# Without hypothesis' limits on time: a machine may be slow.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("patient")


@pytest.fixture(scope="session", autouse=True)
def own_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """No test reads or writes this user's store, cache or settings, not even through a subprocess."""
    base = tmp_path_factory.mktemp("user")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_DATA_HOME", str(base / "data"))
        patch.setenv("XDG_CACHE_HOME", str(base / "cache"))
        patch.setenv("XDG_CONFIG_HOME", str(base / "config"))
        patch.delenv("OPBENCH_STORE", raising=False)
        patch.delenv("OPBENCH_DEBUG", raising=False)
        for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "TTY_COMPATIBLE"):
            patch.delenv(name, raising=False)
        yield base
