"""Pictures with two axes: lines, steps, roc.

A picture of steps one after the other: chain.

Where numbers fall: a hill of bars around zero, and how far so many of them reach.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import Any

from sordino.errors import QueryError
from sordino.pictures.picture import (
    HUGE,
    NARROW,
    PENS,
    WIDTH,
    Axis,
    Picture,
    floats,
    heading,
    number,
    path,
    sheet,
    shorten,
    tick,
    words,
    wrapped,
)
from sordino.pictures.row import curve_text, spark, table

__all__ = ["chain", "density", "lines", "roc", "steps"]

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


Mark = tuple[float, float, str]  # a point and what is said of it


def _grid(across: Axis, up: Axis, x: str, y: str, width: int) -> list[str]:
    """Frame, ticks and axis names of a picture with two axes; on narrow paper the name of the upward one stands above it."""
    left, right, bottom, top = across.start, across.end, up.start, up.end
    parts = [f'<path d="M{left} {top}V{bottom}H{right}" fill="none" stroke="currentColor"/>']
    small = "".join(f"M{across.at(v):.1f} {bottom}v3" for v in across.between()) + "".join(
        f"M{left} {up.at(v):.1f}h-3" for v in up.between()
    )
    parts += [f'<path d="{small}" stroke="currentColor" stroke-opacity="0.6"/>'] if small else []
    for mark in across.labelled():
        at = across.at(mark)
        parts += [f'<path d="M{at:.1f} {bottom}v5" stroke="currentColor"/>', tick(at, bottom + 18, number(mark), width)]
    for mark in up.ticks():
        at = up.at(mark)
        parts.append(f'<path d="M{left} {at:.1f}H{right}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(words(left - 7, at + 4, number(mark), anchor="end"))
    parts.append(words((left + right) / 2, bottom + 36, shorten(x, 80 if width == WIDTH else 30), anchor="middle"))
    middle = (top + bottom) / 2
    if width == WIDTH:
        parts.append(words(14, middle, shorten(y, 40), anchor="middle", extra=f' transform="rotate(-90 14 {middle:.1f})"'))
    elif y:
        parts.append(words(4, top - 8, shorten(y, 38)))
    return parts


def _marked(mark: Mark, across: Axis, up: Axis, width: int) -> list[str]:
    """A point that matters, with lines to both axes and words beside it, on the side where there is room."""
    x, y = across.at(mark[0]), up.at(mark[1])
    said = shorten(mark[2], 60 if width == WIDTH else 24)
    over = x + 9 + 7 * len(said) > width  # then below and to the left: what falls with the price is above there
    anchor, side, level = ("end", -9, y + 18) if over else ("start", 9, y - 9 if y > up.end + 24 else y + 18)
    return [
        f'<path d="M{across.start} {y:.1f}H{x:.1f}V{up.start}" fill="none" stroke="currentColor" stroke-dasharray="3 3"/>',
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{PENS[1].colour}" stroke="currentColor" stroke-width="2"/>',
        words(x + side, level, said, anchor=anchor, extra=' font-weight="700"'),
    ]


def _curves(
    named: Named, title: str, axes: tuple[str, str], log: tuple[bool, bool], *, stair: bool = False, mark: Mark | None = None
) -> Picture:
    x, y = axes
    said = [f"{y or 'y'} by {x or 'x'}."]
    across = Axis.over([*(v for _, xs, _ in named for v in xs), *([mark[0]] if mark else [])], 0, 1, log=log[0])
    up = Axis.over([*(v for _, _, ys in named for v in ys), *([mark[1]] if mark else [])], 0, 1, log=log[1])
    lost = 0
    for name, xs, ys in named:
        good = [(a, b) for a, b in zip(xs, ys, strict=True) if across.shows(a) and up.shows(b)]
        lost += len(xs) - len(good)
        if good:
            said.append(f"{name}: from {number(good[0][1])} at {number(good[0][0])} to {number(good[-1][1])} at {number(good[-1][0])}.")
    said += [f"{lost} points could not be drawn."] if lost else []
    said += [f"{mark[2]}: {number(mark[1])} at {number(mark[0])}."] if mark else []
    text = curve_text(title, named, log[1], x, y)
    name = title or "Curves"

    def drawn(width: int) -> str:
        each = 3 if width == WIDTH else 1  # names of curves on a line
        head, down = heading(title, width)
        lines = math.ceil(len(named) / each) if width == WIDTH or len(named) > 1 else 0
        top = 34 + down + 18 * lines + (0 if width == WIDTH else 14)
        left = 70 if width == WIDTH else 14 + 7 * max((len(number(v)) for v in up.ticks()), default=1)
        tall = 250 if width == WIDTH else 170
        flat, steep = replace(across, start=left, end=width - (20 if width == WIDTH else 10)), replace(up, start=top + tall, end=top)
        parts = [*head, *_grid(flat, steep, x, y, width)]
        for k, (label, xs, ys) in enumerate(named):
            pen = PENS[k % len(PENS)]
            points = _points(xs, ys, flat, steep, stair)
            found = [p for p in points if p is not None]
            parts.append(pen.line(path(points)))
            parts += [pen.mark(*p) for p in found[:: max(1, math.ceil(len(found) / 8))]]
            row, column = divmod(k, each)
            at, level = (70 if width == WIDTH else 4) + 190 * column, 36 + down + 18 * row
            if lines:
                parts += [pen.line(f"M{at} {level}h26"), pen.mark(at + 13, level)]
                parts.append(words(at + 32, level + 4, shorten(label, 24 if width == WIDTH else 33)))
        parts += _marked(mark, flat, steep, width) if mark else []
        return sheet(name, " ".join(said), top + tall + 45, parts, width)

    return Picture(drawn(WIDTH), text, name, drawn(NARROW))


def _points(xs: Iterable[float], ys: Iterable[float], across: Axis, up: Axis, stair: bool) -> list[tuple[float, float] | None]:
    """Places on paper; nothing where a scale does not reach."""
    points: list[tuple[float, float] | None] = []
    for a, b in zip(xs, ys, strict=True):
        if not (across.shows(a) and up.shows(b)):
            points.append(None)
            continue
        here = (across.at(a), up.at(b))
        if stair and points and points[-1] is not None:
            points.append((here[0], points[-1][1]))
        points.append(here)
    return points


def lines(
    series: Series, *, title: str = "", x: str = "", y: str = "", log_x: bool = False, log_y: bool = False, mark: Mark | None = None
) -> Picture:
    """Curves, one per name: {name: (xs, ys)}. What is missing or not on the scale leaves a gap; a mark is a point that matters."""
    return _curves(_named(series), title, (x, y), (log_x, log_y), mark=mark)


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
    return Picture(drawn.svg, text, drawn.title, drawn.narrow)


_STEP = 40  # from one box to the next
_LONG = 78  # letters in a box


def chain(steps: Iterable[Any], *, title: str = "") -> Picture:
    """Boxes from top to bottom, joined by arrows."""
    said = [" ".join(str(step).split()) for step in steps]
    name = title or "Steps"

    def drawn(width: int) -> str:
        head, down = heading(title, width)
        edge, parts, top = (40 if width == WIDTH else 2), list(head), 30 + down
        for k, step in enumerate(said):
            lines = [shorten(step, _LONG)] if width == WIDTH else wrapped(step, 36, 4)
            if k:
                parts.append(f'<path d="M{width / 2:.0f} {top - 13:.0f}v10m-4 -5l4 5l4 -5" fill="none" stroke="currentColor"/>')
            high = 26 + 15 * (len(lines) - 1)
            parts.append(
                f'<rect x="{edge}" y="{top:.0f}" width="{width - 2 * edge}" height="{high}" rx="4" fill="none" stroke="currentColor"/>'
            )
            parts += [words(width / 2, top + 17 + 15 * line, text, anchor="middle") for line, text in enumerate(lines)]
            top += high + _STEP - 26
        return sheet(name, "; then ".join(said), top + 10, parts, width)

    text = "\n".join(filter(None, [shorten(title, 80), *(shorten(f"{'-> ' if k else ''}{step}", 80) for k, step in enumerate(said))]))
    return Picture(drawn(WIDTH), text, name, drawn(NARROW))


BINS = 41  # odd, so that one stands in the middle
TALL = 110


def density(values: Iterable[Any], marks: Mapping[str, float], *, title: str = "", x: str = "") -> Picture:
    """Distances from zero as a hill; every mark is a half-width with its name, drawn under the hill."""
    seen = [value for value in floats(values, "values") if abs(value) <= HUGE]
    reach = max([*(abs(v) for v in marks.values()), *sorted(map(abs, seen))[: math.ceil(0.995 * len(seen))][-1:]], default=0.0)
    reach = reach if reach > 1 / HUGE else 1.0
    counts = [0] * BINS
    for value in seen:
        if abs(value) <= reach:
            counts[min(BINS - 1, int((value + reach) / (2 * reach) * BINS))] += 1
    scale = Axis(-reach, reach, 0, 1)
    most = max(counts) or 1
    inner = max(marks.values(), default=0.0)
    said = "; ".join(f"{name} within {number(float(f'{half:.3g}'))}" for name, half in marks.items())

    def drawn(width: int) -> str:
        head, down = heading(title, width)
        axis, top = replace(scale, start=12, end=width - 12), 30 + down
        bottom, parts, each = top + TALL, list(head), (width - 24) / BINS
        for k, count in enumerate(counts):
            middle = -reach + 2 * reach * (k + 0.5) / BINS
            high, faint = TALL * count / most, "" if abs(middle) <= inner else ' fill-opacity="0.35"'
            place = f'x="{12 + each * k + 0.5:.1f}" y="{bottom - high:.1f}" width="{each - 1:.1f}" height="{high:.1f}"'
            parts += [f'<rect {place} fill="{PENS[0].colour}"{faint}/>'] if count else []
        parts.append(f'<path d="M{axis.start} {bottom:.0f}H{axis.end}M{axis.at(0):.1f} {top:.0f}V{bottom + 4:.0f}" stroke="currentColor"/>')
        for mark in axis.labelled():
            parts.append(tick(axis.at(mark), bottom + 16, number(mark), width))
        level = bottom + 34
        for name, half in marks.items():
            left, right = axis.at(-half), axis.at(half)
            parts.append(words(width / 2, level, shorten(f"{name}: ± {number(float(f'{half:.3g}'))}", 38), anchor="middle"))
            line = f"M{left:.1f} {level + 9:.0f}H{right:.1f}M{left:.1f} {level + 5:.0f}v8M{right:.1f} {level + 5:.0f}v8"
            parts.append(f'<path d="{line}" fill="none" stroke="{PENS[1].colour}" stroke-width="2"/>')
            level += 30
        parts.append(words(width / 2, level, shorten(x, 60 if width == WIDTH else 38), anchor="middle"))
        return sheet(title or "Spread", f"{x or 'distance'}: {said}.", level + 8, parts, width)

    line = f"{spark([float(count) for count in counts], Axis(0, most, 0, 1), BINS)} {number(-reach)} to {number(reach)}"
    text = "\n".join(filter(None, [shorten(title, 80), shorten(line, 80), shorten(said, 80)]))
    return Picture(drawn(WIDTH), text, title or "Spread", drawn(NARROW))
