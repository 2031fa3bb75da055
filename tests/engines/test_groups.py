"""Groups, ranges and drawn limits on PostgreSQL: the same integers as in DuckDB."""

from __future__ import annotations

from typing import Any

import pytest

from sordino.engines.postgres import Postgres

from .group_questions import answered, opened, rows
from .test_conformance import stored


def test_postgres_says_the_same_about_groups(postgres: Any) -> None:
    table = rows()
    with opened(table) as here, opened(stored(postgres.address, table)) as there:
        assert isinstance(there.engine, Postgres)
        expected, found = answered(here), answered(there)
        for name, answer in expected.items():
            assert found[name] == answer, name


def test_bounding_bites_in_these_questions(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another salt keeps other rows, so that equal integers say something."""
    with opened(rows()) as table:
        before = answered(table)
        monkeypatch.setattr("engines.group_questions.SALT", 12)
        after = answered(table)
        assert sum(before[name] != after[name] for name in before) > len(before) // 2
