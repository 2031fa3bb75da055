"""The same pictures as text, at most eighty columns wide."""

from __future__ import annotations

import math
from collections.abc import Sequence

from sordino.pictures.frame import Axis, number, shorten

__all__ = ["bar_text", "curve_text", "interval_text", "spark", "table"]

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
