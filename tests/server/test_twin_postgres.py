"""The walks of two worlds over PostgreSQL: the same table in its columns of text, one awkward person more, everything shown is equal."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import psycopg
import pyarrow as pa
import pytest

from engines.test_conformance import stored
from ledger.conftest import POSTGRES, postgres  # noqa: F401

from .hall import columns, write
from .test_twin import WALKS, alike, both


@POSTGRES
@pytest.mark.parametrize("walk", WALKS)
def test_nothing_a_server_over_postgres_shows_depends_on_one_person(tmp_path, monkeypatch, postgres, walk):  # noqa: F811
    def in_postgres(folder: Path, *, rows: list[str], **declared: Any) -> Path:
        address, _, made = stored(postgres.address, pa.table(columns(rows))).rpartition("&table=")
        with psycopg.connect(address, autocommit=True) as connection:
            connection.execute("DROP TABLE IF EXISTS admissions")
            connection.execute(f"ALTER TABLE {made} RENAME TO admissions")
        return write(folder, rows=rows, source=f"{address}&table=admissions", **declared)

    alike(walk, *both(tmp_path, monkeypatch, walk, store=in_postgres, brief=True))
