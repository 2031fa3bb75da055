"""What every test shares: a state directory of its own, so that no ledger's witness outlives the test that made it."""

import pytest


@pytest.fixture(autouse=True)
def _state(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path_factory.mktemp("state")))
