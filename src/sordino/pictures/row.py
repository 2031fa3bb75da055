"""Pictures with one row per label: bars, intervals, ladder.

The same pictures as text, at most eighty columns wide.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from sordino.errors import QueryError
from sordino.pictures.picture import NARROW, PENS, WIDTH, Axis, Pen, Picture, floats, heading, number, sheet, shorten, tick, words

__all__ = ["bar_text", "bars", "curve_text", "interval_text", "intervals", "ladder", "spark", "table"]

_BLOCKS = "▁▂▃▄▅▆▇█"
_NAME = 20  # columns for a label


def spark(values: Sequence[float], axis: Axis, width: int = 32) -> str:
    """One character per stretch of values; a dot where there is nothing to show."""
    stride = max(1, math.ceil(len(values) / width))
    out = []
    for k in range(0, len(values), stride):
        seen = [v for v in values[k : k + stride] if axis.shows(v)]
        share = (axis.at(seen[-1]) - axis.start) / (axis.end - axis.start) if seen else -1.0
        out.append("·" if share < 0 else _BLOCKS[min(7, int(share * 8))])
    return "".join(out)


def curve_text(title: str, named: Sequence[tuple[str, Sequence[float], Sequence[float]]], log_y: bool, x: str, y: str) -> str:
    """A sparkline per series, all on one scale, with its ends in numbers."""
    axis = Axis.over((v for _, _, ys in named for v in ys), 0, 1, log=log_y)
    rows = [shorten(title, 80)] if title else []
    for name, xs, ys in named:
        seen = [(a, b) for a, b in zip(xs, ys, strict=True) if math.isfinite(a) and math.isfinite(b)]
        ends = f"{number(seen[0][1])} to {number(seen[-1][1])}" if seen else "no values"
        rows.append(f"{shorten(name, _NAME):<{_NAME}} {spark(ys, axis):<32} {ends}"[:80])
    seen_x = [v for _, xs, _ in named for v in xs if math.isfinite(v)]
    if seen_x:
        scale = " (log scale)" if log_y else ""
        reach = f"{shorten(x or 'x', 24)} {number(min(seen_x))} to {number(max(seen_x))}"
        rows.append(shorten(f"{reach}; {shorten(y or 'y', 24)} {number(axis.low)} to {number(axis.high)}{scale}", 80))
    return "\n".join(rows)


def bar_text(title: str, labels: Sequence[str], values: Sequence[float], axis: Axis) -> str:
    rows = [shorten(title, 80)] if title else []
    for label, value in zip(labels, values, strict=True):
        share = (axis.at(value) - axis.start) / (axis.end - axis.start) if math.isfinite(value) else 0.0
        rows.append(f"{shorten(label, _NAME):<{_NAME}} {'█' * round(share * 42):<42} {number(value)}"[:80])
    return "\n".join(rows)


def interval_text(title: str, labels: Sequence[str], rows: Sequence[tuple[float, float, float]], axis: Axis) -> str:
    """A ruler per row: brackets for the ends, a star for the value."""

    def column(value: float) -> int:
        return round((axis.at(value) - axis.start) / (axis.end - axis.start) * 25)

    out = [shorten(title, 80)] if title else []
    for label, (value, low, high) in zip(labels, rows, strict=True):
        ruler = [" "] * 26
        if not (math.isnan(low) or math.isnan(high)):
            a, b = column(low), column(high)
            ruler[a : b + 1] = "-" * (b + 1 - a)
            ruler[a], ruler[b] = "[", "]"
        if not math.isnan(value):
            ruler[column(value)] = "*"
        said = f"{number(value)} [{number(low)}, {number(high)}]"
        out.append(f"{shorten(label, _NAME):<{_NAME}} |{''.join(ruler)}| {said}"[:80])
    return "\n".join(out)


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns of text; the first is a name, the others numbers."""
    width = max(8, min(14, (80 - _NAME - 8) // max(1, len(head) - 1) - 1))

    def row(cells: Sequence[str]) -> str:
        return (f"{shorten(cells[0], _NAME + 8):<{_NAME + 8}}" + "".join(f" {shorten(c, width):>{width}}" for c in cells[1:]))[:80].rstrip()

    return "\n".join(([shorten(title, 80)] if title else []) + [row(head), *(row(r) for r in rows)])


_ROW = 24  # height of one labelled row
_LEFT = 190  # room for the labels of rows


@dataclass(frozen=True)
class Paper:
    """Where things stand: labels beside their rows on wide paper, above them on narrow paper."""

    width: int
    right: float  # room beside the rows on wide paper
    down: float = 0.0

    @property
    def wide(self) -> bool:
        return self.width == WIDTH

    @property
    def each(self) -> int:
        return _ROW if self.wide else _ROW + 16

    def level(self, k: int) -> float:
        """The middle of a row."""
        return 42 + self.down + self.each * k + (0 if self.wide else 16)

    def on(self, axis: Axis) -> Axis:
        return replace(axis, start=_LEFT if self.wide else 8, end=self.width - (self.right if self.wide else 12))

    def height(self, rows: int) -> float:
        return 72 + self.down + self.each * rows


def _columns(labels: Iterable[Any], **columns: Iterable[Any]) -> tuple[list[str], list[list[float]]]:
    names = [str(label) for label in labels]
    lists = [floats(values, what) for what, values in columns.items()]
    if any(len(values) != len(names) for values in lists):
        raise QueryError("SRD-105", f"{len(names)} labels meet {[len(v) for v in lists]} values.", "Give one value per label.")
    return names, lists


def _rows(labels: Sequence[str], axis: Axis, title: str, x: str, paper: Paper) -> list[str]:
    """Labels, ticks and title of a picture with one row per label."""
    top = 30 + paper.down
    bottom = top + paper.each * len(labels)
    parts = heading(title, paper.width)[0]
    for mark in axis.labelled():
        at = axis.at(mark)
        parts.append(f'<path d="M{at:.1f} {top:.0f}V{bottom:.0f}" stroke="currentColor" stroke-opacity="0.15"/>')
        parts.append(tick(at, bottom + 16, number(mark), paper.width))
    if paper.wide:
        parts += [words(_LEFT - 8, top + _ROW * k + 16, shorten(label, 26), anchor="end") for k, label in enumerate(labels)]
    else:
        parts += [words(4, paper.level(k) - 14, shorten(label, 28)) for k, label in enumerate(labels)]
    return [*parts, words((axis.start + axis.end) / 2, bottom + 34, shorten(x, 60 if paper.wide else 38), anchor="middle")]


def _both(title: str, said: str, rows: int, right: float, draw: Callable[[Paper], list[str]]) -> tuple[str, str]:
    """The drawing on wide and on narrow paper."""
    papers = [Paper(width, right, heading(title, width)[1]) for width in (WIDTH, NARROW)]
    wide, narrow = (sheet(title, said, paper.height(rows), draw(paper), paper.width) for paper in papers)
    return wide, narrow


def bars(
    labels: Iterable[Any],
    values: Iterable[Any],
    *,
    title: str = "",
    x: str = "",
    log_x: bool = False,
    band: tuple[Iterable[Any], Iterable[Any]] | None = None,
) -> Picture:
    """One bar per label, with its number written beside it; a band is a whisker from low to high across the end of every bar."""
    names, (sizes, *ends) = _columns(labels, values=values, **({} if band is None else {"lows": band[0], "highs": band[1]}))
    scale = Axis.over([*([] if log_x else [0.0]), *sizes, *(v for end in ends for v in end)], _LEFT, WIDTH - 70, log=log_x)

    def draw(paper: Paper) -> list[str]:
        axis = paper.on(scale)
        zero = axis.at(axis.low if log_x else 0.0)
        parts = _rows(names, axis, title, x, paper)
        for k, size in enumerate(sizes):
            level = paper.level(k)
            if math.isfinite(size):
                a, b = sorted((zero, axis.at(size)))
                parts.append(f'<rect x="{a:.1f}" y="{level - 8:.0f}" width="{b - a:.1f}" height="{_ROW - 8}" fill="{PENS[0].colour}"/>')
            reach = [zero, *(axis.at(v) for v in (size, *(end[k] for end in ends)) if math.isfinite(v))]
            parts += [_whisker(axis, ends[0][k], ends[1][k], level)] if ends else []
            parts.append(words(max(reach) + 5, level + 4, number(size)) if paper.wide else _beside(paper, level, number(size)))
        return parts

    name = title or "Bars"
    said = "; ".join(_told(label, [column[k] for column in (sizes, *ends)]) for k, label in enumerate(names))
    banded = [(size, ends[0][k], ends[1][k]) for k, size in enumerate(sizes)] if ends else []
    text = interval_text(title, names, banded, scale) if ends else bar_text(title, names, sizes, scale)
    wide, narrow = _both(name, said, len(names), 70, draw)
    return Picture(wide, text, name, narrow)


def _beside(paper: Paper, level: float, text: str) -> str:
    """Words at the right end of a row's label, on narrow paper."""
    return words(paper.width - 4, level - 14, text, anchor="end")


def _told(name: str, numbers: Sequence[float]) -> str:
    value, *ends = map(number, numbers)
    return f"{name}: {value}" + (f", {ends[0]} to {ends[1]}" if ends else "")


def _whisker(axis: Axis, low: float, high: float, level: float) -> str:
    """From low to high in the colour of text, which shows on a bar and beside it; a foot at every end that is on the axis."""
    if math.isnan(low) or math.isnan(high):
        return ""
    feet = "".join(f"M{axis.at(v):.1f} {level - 5:.0f}v10" for v in (low, high) if math.isfinite(v))
    return f'<path d="M{axis.at(low):.1f} {level:.0f}H{axis.at(high):.1f}{feet}" fill="none" stroke="currentColor" stroke-width="2"/>'


def intervals(
    labels: Iterable[Any],
    values: Iterable[Any],
    lows: Iterable[Any],
    highs: Iterable[Any],
    *,
    title: str = "",
    x: str = "",
    log_x: bool = False,
) -> Picture:
    """A value between two ends per label; a missing value leaves an empty row, an endless end reaches the edge."""
    names, (middle, low, high) = _columns(labels, values=values, lows=lows, highs=highs)
    if any(a > b for a, b in zip(low, high, strict=True)):
        raise QueryError("SRD-105", "an interval has its ends reversed.", "Give lows first, highs second.")
    scale = Axis.over([*middle, *low, *high], _LEFT, WIDTH - 30, log=log_x)
    rows = list(zip(middle, low, high, strict=True))

    def draw(paper: Paper) -> list[str]:
        axis = paper.on(scale)
        parts = _rows(names, axis, title, x, paper)
        for k, (value, a, b) in enumerate(rows):
            level = paper.level(k)
            if not (math.isnan(a) or math.isnan(b)):
                left, right = axis.at(a), axis.at(b)
                ends = "".join(f"M{at:.1f} {level - 5:.0f}v10" for v, at in ((a, left), (b, right)) if math.isfinite(v))
                line = f"M{left:.1f} {level:.0f}H{right:.1f}{ends}"
                parts.append(f'<path d="{line}" fill="none" stroke="{PENS[0].colour}" stroke-width="2"/>')
            if not math.isnan(value):
                parts.append(PENS[0].mark(axis.at(value), level, 4))
        return parts

    name = title or "Intervals"
    said = "; ".join(f"{label}: {number(v)}, {number(a)} to {number(b)}" for label, (v, a, b) in zip(names, rows, strict=True))
    wide, narrow = _both(name, said, len(names), 30, draw)
    return Picture(wide, interval_text(title, names, rows, scale), name, narrow)


def ladder(labels: Iterable[Any], claimed: Iterable[Any], measured: Iterable[Any], *, title: str = "", x: str = "epsilon") -> Picture:
    """What was claimed (a tick) against what was measured (a bar), rung by rung; a bar past its tick gets a cross and the word."""
    names, (promise, found) = _columns(labels, claimed=claimed, measured=measured)
    scale = Axis.over([0.0, *promise, *found], _LEFT, WIDTH - 90)
    verdicts = ["refuted" if b > a else "holds" if b <= a else "open" for a, b in zip(promise, found, strict=True)]

    def draw(paper: Paper) -> list[str]:
        axis = paper.on(scale)
        parts = _rows(names, axis, title, x, paper)
        for k, (a, b) in enumerate(zip(promise, found, strict=True)):
            level, broken = paper.level(k), b > a
            pen = PENS[1] if broken else PENS[0]
            tip = axis.at(0.0 if math.isnan(b) else b)
            parts.append(f'<path d="M{axis.at(0):.1f} {level:.0f}H{tip:.1f}" stroke="{pen.colour}" stroke-width="8"/>')
            if not math.isnan(a):
                parts.append(f'<path d="M{axis.at(a):.1f} {level - 9:.0f}v18" stroke="currentColor" stroke-width="2"/>')
            if broken and paper.wide:
                parts += [Pen(pen.colour, "", "cross").mark(axis.end + 14, level), words(axis.end + 22, level + 4, "refuted")]
            elif broken:
                parts.append(_beside(paper, level, "refuted"))
        return parts

    rows = list(zip(names, map(number, promise), map(number, found), verdicts, strict=True))
    said = "; ".join(f"{name}: claimed {a}, measured {b}, {verdict}" for name, a, b, verdict in rows)
    wide, narrow = _both(title or "Claimed and measured", said, len(names), 90, draw)
    return Picture(wide, table(title, ["", "claimed", "measured", ""], rows), title or "Claimed and measured", narrow)
