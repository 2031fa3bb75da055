"""Servers for tests: opened on a fresh folder, always stopped."""

from __future__ import annotations

import pytest

from .hall import Visitor, write


@pytest.fixture
def hall(tmp_path):
    visitor = Visitor(write(tmp_path))
    yield visitor
    visitor.close()
