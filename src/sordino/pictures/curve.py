"""Pictures with two axes: lines, steps, roc.

A picture of steps one after the other: chain.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from itertools import pairwise
from typing import Any

from sordino.errors import QueryError
from sordino.pictures.picture import PENS, WIDTH, Axis, Picture, floats, number, path, sheet, shorten, words
from sordino.pictures.row import curve_text, table

__all__ = ["chain", "lines", "roc", "steps"]

Series = Mapping[str, tuple[Iterable[Any], Iterable[Any]]]
Named = list[tuple[str, list[float], list[float]]]


def _named(series: Series) -> Named:
    if not isinstance(series, Mapping):
        raise QueryError("SRD-105", "series is not a mapping.", "Give {name: (xs, ys)}.")
    named = []
    for name, pair in series.items():
        try:
            a, b = pair
        except (TypeError, ValueError):
            raise QueryError("SRD-105", f"series {name!r} is not a pair.", "Give {name: (xs, ys)}.") from None
        xs, ys = floats(a, "x values"), floats(b, "y values")
        if len(xs) != len(ys):
            raise QueryError("SRD-105", f"series {name!r} has {len(xs)} x and {len(ys)} y values.", "Give as many x as y.")
        named.append((str(name), xs, ys))
    return named


def _grid(across: Axis, up: Axis, x: str, y: str) -> list[str]:
    """Frame, ticks and axis names of a picture with two axes."""
    left, right, bottom, top = across.start, across.end, up.start, up.end
    parts = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor"/>']
    for tick in across.ticks():
        at = across.at(tick)
        parts += [f'<path d="M{at:.1f} {bottom}v5" stroke="currentColor"/>', words(at, bottom + 18, number(tick), anchor="middle")]
    for tick in up.ticks():
        at = up.at(tick)
        parts.append(f'<path d="M{left} {at:.1f}H{right}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(words(left - 7, at + 4, number(tick), anchor="end"))
    parts.append(words((left + right) / 2, bottom + 36, shorten(x, 80), anchor="middle"))
    middle = (top + bottom) / 2
    parts.append(words(14, middle, shorten(y, 40), anchor="middle", extra=f' transform="rotate(-90 14 {middle:.1f})"'))
    return parts


def _curves(named: Named, title: str, axes: tuple[str, str], log: tuple[bool, bool], stair: bool = False) -> Picture:
    x, y = axes
    top = 34 + 18 * math.ceil(len(named) / 3)
    across = Axis.over((v for _, xs, _ in named for v in xs), 70, WIDTH - 20, log=log[0])
    up = Axis.over((v for _, _, ys in named for v in ys), top + 250, top, log=log[1])
    parts = [words(WIDTH / 2, 18, shorten(title, 84), anchor="middle", size=14), *_grid(across, up, x, y)]
    said, lost = [], 0
    for k, (name, xs, ys) in enumerate(named):
        pen = PENS[k % len(PENS)]
        points: list[tuple[float, float] | None] = []
        for a, b in zip(xs, ys, strict=True):
            if not (across.shows(a) and up.shows(b)):
                points.append(None)
                lost += 1
                continue
            here = (across.at(a), up.at(b))
            if stair and points and points[-1] is not None:
                points.append((here[0], points[-1][1]))
            points.append(here)
        drawn = [p for p in points if p is not None]
        parts.append(pen.line(path(points)))
        parts += [pen.mark(*p) for p in drawn[:: max(1, math.ceil(len(drawn) / 8))]]
        row, column = divmod(k, 3)
        left, level = 70 + 190 * column, 36 + 18 * row
        parts += [pen.line(f"M{left} {level}h26"), pen.mark(left + 13, level), words(left + 32, level + 4, shorten(name, 24))]
        good = [(a, b) for a, b in zip(xs, ys, strict=True) if across.shows(a) and up.shows(b)]
        if good:
            said.append(f"{name}: from {number(good[0][1])} at {number(good[0][0])} to {number(good[-1][1])} at {number(good[-1][0])}.")
    if lost:
        said.append(f"{lost} points could not be drawn.")
    text = curve_text(title, named, log[1], x, y)
    heading = title or "Curves"
    return Picture(sheet(heading, " ".join([f"{y or 'y'} by {x or 'x'}.", *said]), top + 295, parts), text, heading)


def lines(series: Series, *, title: str = "", x: str = "", y: str = "", log_x: bool = False, log_y: bool = False) -> Picture:
    """Curves, one per name: {name: (xs, ys)}. What is missing or not on the scale leaves a gap."""
    return _curves(_named(series), title, (x, y), (log_x, log_y))


def steps(series: Series, *, title: str = "", x: str = "", y: str = "", log_x: bool = False, log_y: bool = False) -> Picture:
    """Stairs, for what stays constant between two points: a ledger, a distribution function."""
    return _curves(_named(series), title, (x, y), (log_x, log_y), stair=True)


def roc(series: Series, *, title: str = "", log: bool = False) -> Picture:
    """Hits against false alarms, {name: (fpr, tpr)}, with the diagonal of guessing; log shows the corner where privacy is decided."""
    named = []
    for name, xs, ys in _named(series):
        if any(not 0 <= v <= 1 for v in (*xs, *ys)):
            raise QueryError("SRD-105", f"{name!r} has rates outside 0 and 1.", "Give false and true positive rates.")
        order = sorted(zip(xs, ys, strict=True))
        named.append((name, [a for a, _ in order], [b for _, b in order]))
    chance = sorted({v for _, xs, _ in named for v in xs} | {0.0, 1.0})
    drawn = _curves([*named, ("guessing", chance, chance)], title, ("false positive rate", "true positive rate"), (log, log))
    rows = []
    for name, xs, ys in named:
        corners = [(0.0, 0.0), *zip(xs, ys, strict=True), (1.0, 1.0)]
        area = sum((b[0] - a[0]) * (a[1] + b[1]) / 2 for a, b in pairwise(corners))
        reached = [max((t for f, t in corners if f <= limit), default=0.0) for limit in (0.001, 0.01, 0.1)]
        rows.append([name, *(f"{v:.3f}" for v in (area, *reached))])
    text = table(title, ["", "AUC", "TPR at .1%", "TPR at 1%", "TPR at 10%"], rows)
    return Picture(drawn.svg, text, drawn.title)


_STEP = 40  # from one box to the next
_LONG = 78  # letters in a box


def chain(steps: Iterable[Any], *, title: str = "") -> Picture:
    """Boxes from top to bottom, joined by arrows."""
    said = [" ".join(str(step).split()) for step in steps]
    parts = [words(WIDTH / 2, 18, shorten(title, 84), anchor="middle", size=14)]
    for k, text in enumerate(said):
        top = 30 + _STEP * k
        parts.append(f'<rect x="40" y="{top}" width="{WIDTH - 80}" height="26" rx="4" fill="none" stroke="currentColor"/>')
        parts.append(words(WIDTH / 2, top + 17, shorten(text, _LONG), anchor="middle"))
        if k:
            parts.append(f'<path d="M{WIDTH / 2:.0f} {top - 13}v10m-4 -5l4 5l4 -5" fill="none" stroke="currentColor"/>')
    heading = title or "Steps"
    text = "\n".join(filter(None, [shorten(title, 80), *(shorten(f"{'-> ' if k else ''}{step}", 80) for k, step in enumerate(said))]))
    return Picture(sheet(heading, "; then ".join(said), 40 + _STEP * len(said), parts), text, heading)
