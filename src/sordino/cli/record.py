"""Releases and price lists in 80 columns: the table as it is where it fits, otherwise one record per row."""

from __future__ import annotations

from typing import Any

from sordino.cli.door import width

__all__ = ["fitted", "priced"]

MOST = 40  # records on a screen


def fitted(release: Any) -> str:
    """Text of a release whose rows are never broken in the middle."""
    text = str(release)
    about = [release.about] if release.about else []
    *rows, last = text.splitlines()[len(about) :]
    if all(len(row) <= width() for row in rows):
        return text
    return "\n".join([*about, *_records(release), last])


def priced(preview: Any) -> str:
    """Text of a price list whose rows are never broken in the middle."""
    lines, about = str(preview).splitlines(), 1 + bool(preview.about)
    first, lines = lines[:about], lines[about:]
    head, *body = preview._table()
    table, rest = lines[: len(body) + 1], lines[len(body) + 1 :]
    if any(len(line) > width() for line in table):
        table = ["; ".join(f"{name} {cell}" for name, cell in zip(head, row, strict=True) if cell) for row in body]
    return "\n".join([*first, *table, *rest])


def _records(release: Any) -> list[str]:
    from sordino.session.view import shown

    table = release.to_dict()
    rows = [dict(zip(table, cells, strict=True)) for cells in zip(*table.values(), strict=True)]
    ends = {name + end for name in table for end in ("_low", "_high") if name + end in table}
    keys = [name for name in table if name in release.arranged().keys]
    lines = []
    for row in rows[:MOST]:
        lines.append(", ".join(f"{key} = {shown(row[key])}" for key in keys))
        for name in table:
            if name in keys or name in ends:
                continue
            low, high = row.get(f"{name}_low"), row.get(f"{name}_high")
            lines.append(f"  {name}: {shown(row[name])}" + ("" if low is None else f" [{shown(low)}, {shown(high)}]"))
    return [*filter(None, lines), *([f"... {len(rows) - MOST:,} more rows"] if len(rows) > MOST else [])]
