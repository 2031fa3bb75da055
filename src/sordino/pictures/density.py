"""Where numbers fall: a hill of bars around zero, and how far so many of them reach."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from sordino.pictures.picture import HUGE, NARROW, PENS, WIDTH, Axis, Picture, floats, heading, number, sheet, shorten, tick, words
from sordino.pictures.row import spark

__all__ = ["density"]

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
