"""A release in the formats people work with, the claim card always beside or inside."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["to_arrow", "to_csv", "to_pandas", "to_parquet", "to_polars"]


def _columns(release: Release) -> dict[str, list[Any]]:
    """Plain cells: refusals become null, rank pairs two columns."""
    out: dict[str, list[Any]] = {}
    for name, cells in release.to_dict().items():
        if name.endswith("_ranks"):
            out[f"{name}_low"] = [None if cell is None else cell[0] for cell in cells]
            out[f"{name}_high"] = [None if cell is None else cell[1] for cell in cells]
        else:
            out[name] = [None if isinstance(cell, Refused) else sorted(cell) if isinstance(cell, frozenset) else cell for cell in cells]
    return out


def to_arrow(release: Release) -> Any:
    """A pyarrow table with the card in its metadata."""
    import pyarrow as pa

    table = pa.table(_columns(release))
    return table.replace_schema_metadata({**(table.schema.metadata or {}), b"sordino.card": release.card.to_json().encode()})


def to_pandas(release: Release) -> Any:
    import pandas as pd

    return pd.DataFrame(_columns(release))


def to_polars(release: Release) -> Any:
    import polars as pl

    return pl.DataFrame(_columns(release), strict=False)


def to_parquet(release: Release, path: str | Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(to_arrow(release), str(path))


def to_csv(release: Release, path: str | Path) -> None:
    """The table as CSV and the card beside it, as <path>.card.json."""
    columns = _columns(release)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    Path(f"{path}.card.json").write_text(release.card.to_json(), encoding="utf-8")
