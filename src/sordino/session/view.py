"""How a release shows itself to people: one line, a table of text, HTML with a static picture."""

from __future__ import annotations

import datetime as dt
import html
import math
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.pictures import Picture, bars, intervals
from sordino.summaries import Refused

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["picture", "plottable", "to_html", "to_text"]

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


def _rows(release: Release, most: int) -> tuple[list[list[str]], int]:
    """Header and first rows, and how many more there are; a column empty by its kind, such as the ends of a rank bar, is left out."""
    table = {name: cells for name, cells in release.to_dict().items() if not (name.endswith(("_low", "_high")) and _empty(cells))}
    cut = [[shown(cell) for cell in cells[:most]] for cells in table.values()]
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
    more = [f"... {left:,} more rows"] if left else []
    return "\n".join([*about, *lines, *more, f"({_note(release)})"])


def to_html(release: Release) -> str:
    """A table and, for numbers, a static picture; no script."""
    (head, *body), left = _rows(release, MOST_ROWS)
    top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
    rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body)
    more = f"<p>{left:,} more rows</p>" if left else ""
    drawing = picture(release)._repr_html_() if plottable(release) else ""
    about = f"<p class='sordino-about'>{html.escape(release.about)}</p>" if release.about else ""
    return f"{about}<table><caption>{html.escape(_note(release))}</caption><tr>{top}</tr>{rows}</table>{more}{drawing}"


def _dots(release: Release) -> list[tuple[str, Any, Any, Any]]:
    """Label, value and ends of the first numbers of the first statistic."""
    name, release = release.names[0], release.arranged()
    keys = zip(*(cells[:MOST_DOTS] for cells in release.keys.values()), strict=True)
    groups = [" / ".join(map(shown, key)) for key in keys] if release.keys else [""]
    parts = (release.shapes.get(name) or {}).get("columns")
    ends = [release.answers.get(name + end, [None] * len(groups))[:MOST_DOTS] for end in ("", "_low", "_high")]
    dots = []
    for group, value, low, high in zip(groups, *ends, strict=True):
        if isinstance(value, dict):
            inside = [(shown(key), value[key], (low or {}).get(key), (high or {}).get(key)) for key in value]
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
