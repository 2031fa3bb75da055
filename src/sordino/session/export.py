"""A release in the formats people work with, the claim card always beside or inside."""

from __future__ import annotations

import contextlib
import csv
import math
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.errors import not_installed
from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["plain", "to_arrow", "to_csv", "to_pandas", "to_parquet", "to_polars"]

Where = str | os.PathLike[str]


def plain(release: Release) -> dict[str, list[Any]]:
    """Cells every format knows: refusals and endless ends become null, a bin two columns, a histogram in a cell a list of pairs."""
    out: dict[str, list[Any]] = {}
    bins = [word["cells"] for word in release.shapes.values() if word.get("cells") == "bin"]
    for name, cells in release.to_dict().items():
        if bins and (name == "bin" or name.endswith(" bin")):
            out |= {f"{name}_from": [_cell(low) for low, _ in cells], f"{name}_to": [_cell(high) for _, high in cells]}
        else:
            out[name] = [_cell(cell) for cell in cells]
    return out


def _cell(cell: Any) -> Any:
    match cell:
        case Refused():
            return None
        case float() if not math.isfinite(cell):
            return None
        case dict():
            return [{"key": _text(key), "count": count} for key, count in cell.items()]
        case tuple() | list() | frozenset():
            return [_cell(part) for part in cell]
    return cell


def _text(key: Any) -> Any:
    return " to ".join(map(str, key)) if isinstance(key, tuple) else key if key is None else str(key)


def _package(name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise not_installed(error) or error from None


def to_arrow(release: Release) -> Any:
    """A pyarrow table with the card, and what it is about, in its metadata."""
    pa = _package("pyarrow")
    table = pa.table(plain(release))
    said = {b"sordino.about": release.about.encode("utf-8", "replace"), b"sordino.card": release.card.to_json().encode("utf-8", "replace")}
    return table.replace_schema_metadata({**(table.schema.metadata or {}), **said})


def to_pandas(release: Release) -> Any:
    pd = _package("pandas")
    frame = pd.DataFrame(plain(release))
    frame.attrs |= {"sordino.about": release.about, "sordino.card": dict(release.card)}
    return frame


def to_polars(release: Release) -> Any:
    """A polars frame; it has no place for metadata, so what it is about is an attribute of this very frame, `sordino_about`."""
    frame = _package("polars").DataFrame(plain(release), strict=False)
    with contextlib.suppress(AttributeError):
        frame.sordino_about = release.about
    return frame


def to_parquet(release: Release, path: Where) -> None:
    """A Parquet file with the card in its metadata."""
    _package("pyarrow.parquet").write_table(to_arrow(release), os.fspath(path))


def to_csv(release: Release, path: Where) -> None:
    """The table as CSV and the card beside it, with what the table is about first, as <path>.card.json."""
    columns = plain(release)
    with Path(path).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    Path(f"{os.fspath(path)}.card.json").write_text(
        type(release.card)({"about": release.about, **release.card}).to_json(), encoding="utf-8"
    )
