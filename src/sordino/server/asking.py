"""What the Ask page knows about a price: the list, the wish, the slider between cheap and accurate."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from sordino.errors import QueryError
from sordino.session.preview import Preview

__all__ = ["Slider", "number", "rows_of", "slider"]


def number(text: str | None, name: str) -> float | None:
    """A number typed into a field, or nothing."""
    if not text or not text.strip():
        return None
    try:
        value = float(text.replace(",", ""))
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value <= 0:
        raise QueryError("SRD-103", f"{name} is {text!r:.40}.", f"Give {name} as a positive number.")
    return value


@dataclass(frozen=True)
class Slider:
    """From the least accurate to the most accurate line of the price list, on a logarithmic scale."""

    low: float
    high: float
    at: float

    @property
    def place(self) -> int:
        """0 to 100, where the slider stands."""
        if self.high <= self.low:
            return 50
        return round(100 * (1 - math.log(min(max(self.at, self.low), self.high) / self.low) / math.log(self.high / self.low)))


def slider(preview: Preview, within: float | None) -> Slider | None:
    """The range of half-widths the price list offers; None where the error cannot be predicted in the statistic's unit."""
    widths = [f.half_width for line in preview.lines for f in line.forecasts if f.half_width and math.isfinite(f.half_width)]
    if not widths:
        return None
    middle = math.sqrt(min(widths) * max(widths))
    return Slider(min(widths), max(widths), within or float(f"{middle:.2g}"))


def rows_of(preview: Preview) -> list[dict[str, Any]]:
    """The price list as a table: one row for each price and statistic; the line of the wish first."""
    lines = preview.lines if preview.best is None else (preview.best, *preview.lines)
    return [
        {"wish": line is preview.best, "epsilon": line.epsilon, "rows": line.rows, "name": known.name, "within": known.half_width,
         "ranks": known.ranks, "source": known.source, "charged": line.charged, "more": line.more, "appears": line.appears}
        for line in lines for known in line.forecasts
    ]  # fmt: skip
