"""A picture of steps one after the other: chain."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from sordino.pictures.frame import WIDTH, sheet, shorten, words
from sordino.pictures.picture import Picture

__all__ = ["chain"]

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
