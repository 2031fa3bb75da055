"""Spill folders, ledgers and ids of these tests are their own, and ids are the same in twin worlds."""

from __future__ import annotations

import tempfile
import uuid

import pytest
from tests.session.people import table


@pytest.fixture(autouse=True)
def _own_temporary_folder(tmp_path_factory, monkeypatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path_factory.mktemp("spills")))


@pytest.fixture(scope="session")
def opened_once():
    """The small table of people, opened once; take it with a fresh ledger."""
    with table() as people:
        yield people


@pytest.fixture
def _same_ids(monkeypatch) -> None:
    """A ledger's id is random and says nothing; in twin worlds it must not be the one thing that differs."""
    monkeypatch.setattr("sordino.ledger.budget.uuid.uuid4", lambda: uuid.UUID(int=7))
