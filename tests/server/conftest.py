"""Servers for tests: opened on a fresh folder, always stopped."""

from __future__ import annotations

import pytest

from .hall import Visitor, write


@pytest.fixture
def hall(tmp_path):
    visitor = Visitor(write(tmp_path))
    yield visitor
    visitor.close()
    if (log := tmp_path / "owner.log").exists():  # shown beside a test that failed
        print(log.read_text(encoding="utf-8"))
