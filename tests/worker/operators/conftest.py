"""A registry that a test may write to."""

from __future__ import annotations

import pytest

from opbench.worker import load_operators, registry


@pytest.fixture
def empty_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    """No operator is registered, and none of what the test registers outlives it."""
    monkeypatch.setattr(registry, "_operators", {})
    monkeypatch.setattr(registry, "_problems", [])
    monkeypatch.setattr(load_operators, "_tried", set())
