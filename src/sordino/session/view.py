"""How a release shows itself to people: one line, a table of text, HTML with a static picture.

A release in the formats people work with, the claim card always beside or inside.
"""

from __future__ import annotations

import contextlib
import csv
import datetime as dt
import html
import math
import os
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError, not_installed
from sordino.pictures import Picture, bars, intervals
from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["picture", "plain", "plottable", "to_arrow", "to_csv", "to_html", "to_pandas", "to_parquet", "to_polars", "to_text"]

MOST_LINES, MOST_ROWS, MOST_DOTS = 40, 200, 60


def shown(value: Any) -> str:
    """A cell for people. Keys come from the data, so control characters are spelled out before a terminal sees them."""
    match value:
        case Refused():
            return "refused"
        case None:
            return ""
        case bool():
            return str(value)
        case float() if math.isfinite(value):
            return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
        case int():
            return f"{value:,}"
        case tuple() | list():
            return "(" + ", ".join(shown(part) for part in value) + ")"
        case dict():
            return "{" + ", ".join(f"{shown(key)}: {shown(item)}" for key, item in value.items()) + "}"
        case dt.datetime():
            return value.replace(tzinfo=None).isoformat(sep=" ")
    text = str(value)
    return text if text.isprintable() else ascii(text)[1:-1]


def _key(key: Any) -> str:
    """A key for people: a whole number is a name here, as a year is, and has no commas."""
    if isinstance(key, int) and not isinstance(key, bool):
        return str(key)
    return "(" + ", ".join(map(_key, key)) + ")" if isinstance(key, tuple) else shown(key)


def _bins(bins: list[Any]) -> list[str]:
    """Bins of a histogram for people, each with its lower end inside; the upper end of the last is inside, too."""
    ends = [bin[1] for bin in bins if isinstance(bin, tuple) and len(bin) == 2]
    last = max(ends, default=None)
    said = []
    for bin in bins:
        pair = isinstance(bin, tuple) and len(bin) == 2
        said.append(f"[{shown(bin[0])}, {shown(bin[1])}{']' if bin[1] == last else ')'}" if pair else _key(bin))
    return said


def _names(release: Release) -> dict[str, Any]:
    """How the columns that name groups, keys or bins are spelled."""
    found: dict[str, Any] = dict.fromkeys(release.keys, lambda cells: list(map(_key, cells)))
    for shape in release.shapes.values():
        if shape.get("cells"):
            found[shape["cells"]] = _bins if shape["cells"] == "bin" else lambda cells: list(map(_key, cells))
    return found


def _none_shown(release: Release) -> str:
    """Why an answer by private keys has no rows, and what would change that; empty where there are some."""
    withheld = release.card.get("withheld")
    if not release.grouped or not withheld or any(release.keys.values()):
        return ""
    several = int(release.card["privacy unit"]["max_groups"]) > 1
    fewer = ", fewer groups of a person by limit(groups=)" if several else ""
    in_file = release.query is not None and release.query.table.in_file
    listed = "public keys (values = [...] in the dataset file)" if in_file else "public keys="
    return f"no group is shown: {withheld}; a larger epsilon or delta{fewer}, or {listed} would change that"


def _rows(release: Release, most: int) -> tuple[list[list[str]], int]:
    """Header and first rows, and how many more there are; a column empty by its kind, such as the ends of a rank bar, is left out."""
    table = {name: cells for name, cells in release.to_dict().items() if not (name.endswith(("_low", "_high")) and _empty(cells))}
    names = _names(release)
    cut = [names[name](cells)[:most] if name in names else [shown(cell) for cell in cells[:most]] for name, cells in table.items()]
    more = max((len(cells) for cells in table.values()), default=0) - most
    return [list(table), *(list(row) for row in zip(*cut, strict=True))], max(more, 0)


def _empty(cells: list[Any]) -> bool:
    return all(cell is None for cell in cells)


def _note(release: Release) -> str:
    ranks = {name: reach for name, (_, reach) in release.rank_bars.items() if math.isfinite(reach)}
    far = "".join(f", {f'{name} ' if len(release.names) > 1 else ''}within {reach:,.4g} ranks" for name, reach in ranks.items())
    left = "" if release.more is None else f", budget for about {release.more:,} more like it"
    free = ", recalled at no price" if release.recalled else ""
    return f"{release.mechanism}, {release.cost}, bar: {release.bar}{far}{left}{free}"


def to_text(release: Release) -> str:
    """What it is about; then one line for one value, a table of at most forty rows for more."""
    about = [release.about] if release.about else []
    if not release.grouped and len(release.names) == 1 and release.names[0] not in release.shapes:
        ends = f" [{shown(release.low)}, {shown(release.high)}]" if release.low is not None else ""
        return "\n".join([*about, f"{release.names[0]} = {shown(release.value)}{ends}  ({_note(release)})"])
    rows, left = _rows(release, MOST_LINES)
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows]
    more = [f"... {left:,} more rows"] if left else [none] if (none := _none_shown(release)) else []
    return "\n".join([*about, *lines, *more, f"({_note(release)})"])


def to_html(release: Release) -> str:
    """A table and, for numbers, a static picture; no script."""
    (head, *body), left = _rows(release, MOST_ROWS)
    top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    more = f"<p>{left:,} more rows</p>" if left else f"<p>{html.escape(none)}</p>" if (none := _none_shown(release)) else ""
    drawing = picture(release)._repr_html_() if plottable(release) else ""
    about = f"<p class='sordino-about'>{html.escape(release.about)}</p>" if release.about else ""
    return f"{about}<table><caption>{html.escape(_note(release))}</caption><tr>{top}</tr>{rows}</table>{more}{drawing}"


def _dots(release: Release) -> list[tuple[str, Any, Any, Any]]:
    """Label, value and ends of the first numbers of the first statistic."""
    name, release = release.names[0], release.arranged()
    keys = zip(*(cells[:MOST_DOTS] for cells in release.keys.values()), strict=True)
    groups = [" / ".join(map(_key, key)) for key in keys] if release.keys else [""]
    parts = (release.shapes.get(name) or {}).get("columns")
    ends = [release.answers.get(name + end, [None] * len(groups))[:MOST_DOTS] for end in ("", "_low", "_high")]
    dots = []
    for group, value, low, high in zip(groups, *ends, strict=True):
        if isinstance(value, dict):
            named = zip(_bins(list(value)), value, strict=True)
            inside = [(text, value[key], (low or {}).get(key), (high or {}).get(key)) for text, key in named]
        elif parts is not None and isinstance(value, tuple):
            inside = list(zip(parts, value, low or [None] * len(value), high or [None] * len(value), strict=True))
        else:
            inside = [("" if group else name, value, low, high)]
        dots += [(" / ".join(filter(None, (group, label))), v, a, b) for label, v, a, b in inside]
    return dots


def plottable(release: Release) -> bool:
    """Whether the first statistic is made of numbers."""
    dots = _dots(release)
    return bool(dots) and all(isinstance(value, int | float) and not isinstance(value, bool) for _, value, _, _ in dots)


def picture(release: Release) -> Picture:
    """The first statistic, one line per group, bin or part: dots with their ends, or for a histogram bars with a band."""
    if not plottable(release):
        raise QueryError("SRD-105", "this release has no numbers to draw.", "Print it, or use to_dict().")
    dots = _dots(release)[:MOST_DOTS]
    lows, highs = [v if a is None else a for _, v, a, _ in dots], [v if b is None else b for _, v, _, b in dots]
    labels, values, name = [label for label, *_ in dots], [v for _, v, _, _ in dots], release.names[0]
    if isinstance(release.answers[name][0], dict):  # counts by bin or key: bars, with a band where there is one
        band = None if all(a is None for _, _, a, _ in dots) else (lows, highs)
        return bars(labels, values, title=name, x=name, band=band)
    return intervals(labels, values, lows, highs, title=name, x=name)


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
