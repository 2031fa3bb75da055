"""Every test has a state directory of its own; tests that need PostgreSQL share one private server."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from pathlib import Path

import pytest

from .scenes import Server

POSTGRES = pytest.mark.xdist_group("postgres")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "state"
    monkeypatch.setenv("SORDINO_STATE", str(folder))
    return folder


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    try:
        server = Server()
    except FileNotFoundError as missing:
        if os.environ.get("CI") == "true":
            pytest.fail(str(missing))
        pytest.skip(str(missing))
    yield server
    server.close()


@pytest.fixture
def dataset() -> str:
    return f"people-{uuid.uuid4().hex[:8]}"


@pytest.fixture(params=[":memory:", "sqlite", pytest.param("postgres", marks=POSTGRES)])
def where(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Where a ledger may live; the same tests run against each."""
    if request.param == "sqlite":
        return str(tmp_path / "people.ledger")
    return request.getfixturevalue("postgres").address if request.param == "postgres" else request.param


@pytest.fixture(params=["sqlite", pytest.param("postgres", marks=POSTGRES)])
def durable(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return str(tmp_path / "people.ledger") if request.param == "sqlite" else request.getfixturevalue("postgres").address
