"""Which engine reads a source: the one that is named, or the one the source belongs to."""

from __future__ import annotations

from typing import Any

from sordino.engines.source import open_source
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.schema.declaration import Delimited

__all__ = ["ENGINES", "open_engine"]

ENGINES = ("auto", "duckdb", "spark", "postgres")


def open_engine(source: Any, columns: tuple[Column, ...], engine: str = "auto", csv: Delimited | None = None) -> Any:
    """An engine over a source. Reads names and types only. "auto" takes DuckDB unless the rows live in Spark or PostgreSQL."""
    if engine not in ENGINES:
        raise QueryError("SRD-106", f"engine {engine!r} is unknown.", f"Use one of {', '.join(ENGINES)}.")
    home = _home(source) if engine == "auto" else engine
    if csv is not None and home != "duckdb":
        raise QueryError("SRD-205", f"{home} reads no CSV file, and the source says how its lines are written.", "Leave that out.")
    if home == "spark":
        from sordino.engines.spark import Spark

        return Spark(source, columns)
    if home == "postgres":
        from sordino.engines.postgres import Postgres

        return Postgres(source, columns)
    return open_source(source, columns, csv=csv)


def _home(source: Any) -> str:
    from sordino.engines.spark_session import is_frame

    text = source[0] if isinstance(source, tuple) and source else source
    if is_frame(source) or (isinstance(text, str) and text.startswith("spark:")):
        return "spark"
    return "postgres" if isinstance(text, str) and text.startswith(("postgres://", "postgresql://")) else "duckdb"
