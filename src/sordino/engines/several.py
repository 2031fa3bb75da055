"""One engine over the tables of a dataset, so that a view can be read in one snapshot of one database."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn

from sordino.engines.database import RowReader
from sordino.engines.duckdb import DuckDB
from sordino.engines.postgres import Postgres
from sordino.engines.scan import SeveralSources
from sordino.errors import QueryError
from sordino.schema.frame import Frame

__all__ = ["SeparateTables", "together"]


class SeparateTables:
    """Tables in databases that do not see each other: every question of a view is refused, before anything is charged."""

    def check(self, frame: Frame) -> NoReturn:
        what = "these tables live in different databases, which do not see each other's rows."
        raise QueryError(
            "SRD-205", what, "Put them into one: files beside files, tables of one PostgreSQL server, or of one Spark session."
        )

    def bounded(self, frame: Frame, salt: int) -> NoReturn:
        self.check(frame)

    def close(self) -> None:
        return


def together(readers: Mapping[str, Any]) -> Any:
    """The engine of views over these tables. Reads nothing."""
    kinds = {type(reader) for reader in readers.values()}
    if kinds == {DuckDB}:
        portable = any(reader.portable for reader in readers.values())
        return DuckDB(SeveralSources.of({name: reader.source for name, reader in readers.items()}), (), portable=portable)
    servers = {reader._server for reader in readers.values() if isinstance(reader, Postgres)}
    if len(kinds) == 1 and len(servers) <= 1 and isinstance(first := next(iter(readers.values())), RowReader):
        joint = object.__new__(type(first))  # the same server or session, and a list of frames of its own
        joint.__dict__ |= {**first.__dict__, "_checked": set(), "beside": dict(readers)}
        return joint
    return SeparateTables()
