"""Axes, pens and the sheet a picture is drawn on.

A finished picture, ready for a page, a notebook, a terminal or a file.
"""

from __future__ import annotations

import math
import re
import textwrap
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from html import escape
from itertools import pairwise
from os import PathLike
from pathlib import Path
from typing import Any

from sordino.errors import QueryError

__all__ = [
    "HUGE", "NARROW", "PENS", "WIDTH", "Axis", "Pen", "Picture", "floats", "heading", "number", "path", "safe", "sheet", "shorten", "tick",
    "words", "wrapped",
]  # fmt: skip

# XML 1.0 has no way to write these characters, not even escaped; one of them makes the whole file unreadable.
_UNWRITABLE = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def safe(text: object) -> str:
    """Text that may stand anywhere in SVG or HTML, between tags and inside quotes."""
    return escape(_UNWRITABLE.sub("\ufffd", str(text)), quote=True)


@dataclass(frozen=True, repr=False)
class Picture:
    """The same numbers drawn, drawn once more for a screen as narrow as a phone's, and written out for eighty columns."""

    svg: str
    text: str
    title: str = ""
    narrow: str = ""

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.svg

    def save(self, path: str | PathLike[str]) -> Path:
        """Write .svg, .html (one page, no script) or .txt, and say where it went."""
        file = Path(path)
        kind = file.suffix.lower()
        if kind == ".svg":
            content = self.svg
        elif kind == ".txt":
            content = self.text + "\n"
        elif kind == ".html":
            head = '<meta charset="utf-8"><meta name="color-scheme" content="light dark">'
            content = f'<!doctype html>\n<html lang="en">{head}<title>{safe(self.title)}</title>\n<body>{self.svg}</body></html>\n'
        else:
            raise QueryError("SRD-103", f"a picture cannot be saved as {kind or 'a file without an ending'!r}.", "Use .svg, .html or .txt.")
        file.write_text(content, encoding="utf-8", errors="replace")
        return file


WIDTH = 640
NARROW = 260  # letters keep their size on a phone: what is drawn has less room, not smaller words
_LETTER = 6.6  # width of a letter, at 12 pixels
HUGE = 1e150  # beyond this, or below its inverse on a log scale, an axis overflows; such values are left out and counted

# Inline in a page the drawing inherits the page's own text colour. Only a file of its own must choose one, and only there is svg the root.
_STYLE = "svg:root{color:#1b1f24;background:#ffffff}@media (prefers-color-scheme:dark){svg:root{color:#e8e6e3;background:#14171a}}"


@dataclass(frozen=True)
class Pen:
    """Colour, dash and marker together, so that a grey print still tells two series apart."""

    colour: str
    dash: str
    marker: str

    def line(self, points: str) -> str:
        dash = f' stroke-dasharray="{self.dash}"' if self.dash else ""
        return f'<path d="{points}" fill="none" stroke="{self.colour}" stroke-width="2"{dash}/>'

    def mark(self, x: float, y: float, size: float = 3.5) -> str:
        a, b, s = _short(x), _short(y), size
        shape = {
            "disc": f'<circle cx="{a}" cy="{b}" r="{s}" fill="{self.colour}"',
            "ring": f'<circle cx="{a}" cy="{b}" r="{s}" fill="none"',
            "square": f'<path d="M{a} {b}m{-s} {-s}h{2 * s}v{2 * s}h{-2 * s}z" fill="{self.colour}"',
            "diamond": f'<path d="M{a} {b}m0 {-s - 1}l{s + 1} {s + 1}l{-s - 1} {s + 1}l{-s - 1} {-s - 1}z" fill="none"',
            "cross": f'<path d="M{a} {b}m{-s} {-s}l{2 * s} {2 * s}m0 {-2 * s}l{-2 * s} {2 * s}" fill="none"',
            "triangle": f'<path d="M{a} {b}m0 {-s - 1}l{s + 1} {2 * s}h{-2 * s - 2}z" fill="{self.colour}"',
        }[self.marker]
        return f'{shape} stroke="{self.colour}" stroke-width="1.5"/>'


# Mid-tones: at least 3:1 against white and against the dark ground.
PENS = (
    Pen("#1f78b4", "", "disc"),
    Pen("#d55e00", "7 4", "square"),
    Pen("#0f8f6b", "2 3", "ring"),
    Pen("#b0609a", "10 3 2 3", "diamond"),
    Pen("#8a7a2a", "5 2 1 2 1 2", "triangle"),
    Pen("#7f7f7f", "1 4", "cross"),
)


@dataclass(frozen=True)
class Axis:
    """A stretch of numbers laid along a stretch of paper."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    @classmethod
    def over(cls, values: Iterable[float], start: float, end: float, *, log: bool = False) -> Axis:
        seen = [v for v in values if abs(v) <= HUGE and (v >= 1 / HUGE or not log)]
        low, high = (min(seen), max(seen)) if seen else (1.0, 10.0)
        if log:
            low, high = (low / 2, high * 2) if low == high else (low, high)
        elif high - low <= max(1 / HUGE, 1e-12 * max(abs(low), abs(high))):
            room = abs(low) / 2 if abs(low) > 1 / HUGE else 1.0
            low, high = low - room, high + room
        return cls(low, high, start, end, log)

    def shows(self, value: float) -> bool:
        return self.low <= value <= self.high

    def at(self, value: float) -> float:
        """Where the value stands; what lies outside stands at the edge."""
        v = min(max(value, self.low), self.high)
        share = math.log(v / self.low) / math.log(self.high / self.low) if self.log else (v - self.low) / (self.high - self.low)
        return self.start + share * (self.end - self.start)

    def ticks(self) -> list[float]:
        if self.log and self.high / self.low >= 100:
            first, last = math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high) + 1e-9)
            stride = max(1, math.ceil((last - first) / 6))
            return [10.0**k for k in range(first, last + 1, stride)]
        if self.log and self.high / self.low >= 5:  # 1, 2, 5, 10, ...: even steps crowd at one end of such an axis
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            return [m * 10.0**k for k in powers for m in (1, 2, 5) if self.low * (1 - 1e-9) <= m * 10.0**k <= self.high * (1 + 1e-9)]
        return self._even()

    def _even(self) -> list[float]:
        rough = (self.high - self.low) / 5
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= rough * 0.999)
        first = math.ceil(self.low / step - 1e-9)
        marks = [(first + k) * step for k in range(12)]
        return [m for m in marks if m <= self.high + 1e-9 * step]

    def labelled(self) -> list[float]:
        """Ticks whose words do not touch: all of them, or on a logarithmic axis powers of ten, or every second, third, ..."""
        marks = self.ticks()
        tens = [m for m in marks if self.log and abs(math.log10(m) - round(math.log10(m))) < 1e-9]
        choices = [marks, *([tens] if len(tens) > 1 else [])]
        choices += [choices[-1][::stride] for stride in range(2, max(3, len(marks)))]
        return next((found for found in choices if self._apart(found)), marks[:1])

    def _apart(self, marks: Sequence[float]) -> bool:
        ends = [(self.at(m), len(number(m)) * _LETTER / 2 + 3) for m in marks]
        return all(abs(a - b) >= one + other for (a, one), (b, other) in pairwise(ends))

    def between(self) -> list[float]:
        """Where a logarithmic axis has its small marks: 2 to 9 of every power of ten, if those are not too many."""
        if not self.log or not 2 <= self.high / self.low <= 1e6:
            return []
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        return [m * 10.0**k for k in powers for m in range(1, 10) if self.low <= m * 10.0**k <= self.high]


def floats(values: Iterable[Any], what: str) -> list[float]:
    try:
        return [math.nan if v is None else float(v) for v in values]
    except (TypeError, ValueError, OverflowError):
        raise QueryError("SRD-105", f"{what} are not all numbers.", "Give numbers; None stands for a missing one.") from None


def number(value: float) -> str:
    """A number as short as it can be said."""
    if math.isnan(value):
        return "none"
    text = f"{value:.4g}" if abs(value) < 1e5 and value != round(value) else f"{value:,.0f}" if abs(value) < 1e6 else f"{value:.4g}"
    mantissa, e, exponent = text.partition("e")
    return f"{mantissa}e{int(exponent)}" if e else text


def shorten(text: object, length: int) -> str:
    line = " ".join(str(text).split())
    return line if len(line) <= length else line[: length - 1] + "…"


def _short(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def path(points: Sequence[tuple[float, float] | None]) -> str:
    """Joined points; None lifts the pen."""
    out, down = [], False
    for point in points:
        if point is not None:
            out.append(f"{'L' if down else 'M'}{_short(point[0])} {_short(point[1])}")
        down = point is not None
    return "".join(out)


def words(x: float, y: float, text: object, *, anchor: str = "start", size: int = 12, extra: str = "") -> str:
    return f'<text x="{_short(x)}" y="{_short(y)}" text-anchor="{anchor}" font-size="{size}" fill="currentColor"{extra}>{safe(text)}</text>'


def wrapped(text: object, letters: int, most: int = 3) -> list[str]:
    """A text on several lines, the last one cut where there is more."""
    lines = textwrap.wrap(" ".join(str(text).split()), letters) or [""]
    return lines if len(lines) <= most else [*lines[: most - 1], shorten(" ".join(lines[most - 1 :]), letters)]


def heading(title: str, width: float) -> tuple[list[str], float]:
    """The title of a drawing, on one line where there is room and on up to three elsewhere, and how much lower everything begins."""
    if width >= WIDTH:
        return [words(width / 2, 18, shorten(title, 84), anchor="middle", size=14)], 0
    lines = wrapped(title, int(width / _LETTER)) if title else []
    return [words(width / 2, 16 + 16 * k, line, anchor="middle", size=13) for k, line in enumerate(lines)], 16.0 * (len(lines) - 1)


def tick(at: float, y: float, text: str, width: float) -> str:
    """Words under a mark, moved inwards where they would stand over the edge."""
    half = len(text) * _LETTER / 2
    return words(min(max(at, half), width - half), y, text, anchor="middle")


def sheet(title: str, description: str, height: float, parts: Iterable[str], width: int = WIDTH) -> str:
    """The whole drawing; its title and description are what a screen reader says."""
    body = "\n".join(parts)
    name = "p" + sha256(f"{title}\0{description}\0{body}".encode(errors="replace")).hexdigest()[:10]
    tall = _short(height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {tall}" width="{width}" height="{tall}" role="img"'
        f' aria-labelledby="{name}t {name}d" font-family="system-ui, sans-serif">\n'
        f'<title id="{name}t">{safe(title)}</title>\n<desc id="{name}d">{safe(description)}</desc>\n<style>{_STYLE}</style>\n'
        f"{body}\n</svg>"
    )
