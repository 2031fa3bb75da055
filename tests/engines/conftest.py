"""Spill folders of these tests live in a folder of their own; PostgreSQL is the private server of the ledger's tests."""

from __future__ import annotations

import tempfile

import pytest

from ledger.conftest import postgres  # noqa: F401


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("spills")))
