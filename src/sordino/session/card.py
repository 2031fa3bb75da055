"""The claim card: what was promised, about whom, by which theorem, and what is not defended."""

from __future__ import annotations

import html
import json
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.pictures import Picture, bars
from sordino.privacy.cost import Cost, odds_sentence

if TYPE_CHECKING:
    pass

__all__ = ["NOT_DEFENDED", "NOT_LOCAL", "SIDE_CHANNELS", "TUNING", "Card", "Paid", "odds_sentence"]

SIDE_CHANNELS = "answers on a public integer grid; exact sampling; no error, shape, field or log line depends on the data"
TUNING = "bounds, grids, mechanism and the split of the price follow from public facts alone"

NOT_LOCAL = "not local: the file may hold line breaks in fields, so one open quote in one person's text could change the rows of others"
NOT_DEFENDED = (
    "root on the host, power or cache measurements, the time of a library call, and analysts who together watch how busy a server "
    "is, are not defended against; the library has no deadlines and no floor under a price, a server has both; "
    "an analyst's cap is a purse, not a guarantee: "
    "recorded answers are open to every analyst of the dataset, so only the dataset cap bounds what one person or a coalition learns"
)


class Card(dict[str, Any]):
    """A flat dictionary of public facts that can be shown to a privacy office."""

    def to_json(self) -> str:
        return json.dumps(self, indent=2, ensure_ascii=False, default=str)

    def _rows(self) -> list[tuple[str, str]]:
        out = []
        for name, value in self.items():
            if isinstance(value, dict):
                out += [(f"{name}: {inner}", str(item)) for inner, item in value.items()]
            elif isinstance(value, list | tuple):
                out.append((name, "; ".join(str(item) for item in value)))
            else:
                out.append((name, str(value)))
        return out

    def to_text(self) -> str:
        """One fact a line, for a terminal."""
        return "\n".join(f"{name}: {value}" for name, value in self._rows())

    def to_markdown(self) -> str:
        cells = [(name, value.replace("|", "\\|").replace("\n", " ")) for name, value in self._rows()]
        return "\n".join(["| fact | value |", "|---|---|", *(f"| {name} | {value} |" for name, value in cells)])

    def to_html(self) -> str:
        rows = "".join(f"<tr><th scope='row'>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>" for name, value in self._rows())
        return f"<table class='sordino-card'><caption>Claim card</caption>{rows}</table>"

    def plot(self) -> Picture:
        """How sure an even bet about a person can become by what this card covers: the odds sentence as a picture."""
        paid = self.get("this release") or self.get("this answer") or {}
        sure = 100 / (1 + math.exp(-min(float(Fraction(paid.get("epsilon", 0))), 700.0)))
        failing = float(Fraction(paid.get("delta", 0)))
        title = "An even bet about one person" + (f", except with probability {failing:.2g}" if failing else "")
        return bars(["before", "after, at most", "after, at least"], [50, sure, 100 - sure], title=title, x="% sure")

    def _repr_html_(self) -> str:
        return self.to_html() + self.plot().svg


@dataclass(frozen=True)
class Paid:
    """What a release cost: its own guarantee as floats, the exact fractions, and what the ledger's filter took."""

    exact: Cost
    charged: tuple[Fraction, Fraction] | None = None

    @property
    def epsilon(self) -> float:
        return float(self.exact.epsilon)

    @property
    def delta(self) -> float:
        return float(self.exact.delta)

    def __str__(self) -> str:
        return str(self.exact)
