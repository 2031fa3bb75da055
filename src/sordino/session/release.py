"""An answer, with everything public about how it was made."""

from __future__ import annotations

import html
import math
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.session import export
from sordino.session.card import Card
from sordino.session.record import decode, encode
from sordino.summaries import Refused

__all__ = ["Paid", "Release"]


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


@dataclass(frozen=True)
class Release:
    """One answer, or one per group, with price, bar, mechanism and claim card. `float(r)` is nan when the answer is "refused"."""

    answers: dict[str, list[Any]]  # per statistic: value, and name_low, name_high where the bar has them
    keys: dict[str, list[Any]]  # group columns, empty when ungrouped
    names: tuple[str, ...]
    cost: Paid
    mechanism: str
    bar: str = "none"
    id: str = ""
    card: Card = field(default_factory=Card)
    recalled: bool = field(default=False, compare=False)
    query: Any = field(default=None, compare=False, repr=False)

    @property
    def grouped(self) -> bool:
        return bool(self.keys)

    def _one(self, suffix: str = "") -> Any:
        column = self.answers.get(self.names[0] + suffix)
        return None if self.grouped or len(self.names) != 1 or not column else column[0]

    @property
    def value(self) -> Any:
        """The released value; None when the release has groups or several statistics (use to_dict)."""
        return self._one()

    @property
    def low(self) -> Any:
        return self._one("_low")

    @property
    def high(self) -> Any:
        return self._one("_high")

    @property
    def ranks(self) -> Any:
        """For rank bars: the ranks, as shares of the rows, between which the released value lies with 95% probability."""
        return self._one("_ranks")

    @property
    def refused(self) -> bool:
        return any(isinstance(value, Refused) for name in self.names for value in self.answers[name])

    def interval(self, level: float = 0.95) -> tuple[Any, Any] | None:
        """The interval at a level; only 95% is recorded unless the noise law is Laplace, whose width scales with ln(1/(1-level))."""
        if self.low is None or self.high is None:
            return None
        if level == 0.95:
            return self.low, self.high
        if not 0 < level < 1:
            raise QueryError("SRD-103", f"level is {level!r}.", "Give a level between 0 and 1.")
        if self.bar != "exact" or "laplace" not in self.mechanism.lower():
            raise QueryError("SRD-103", "this bar is known at 95% only.", "Ask for interval(0.95).")
        stretch = math.log(1 - level) / math.log(0.05)
        return self.value - (self.value - self.low) * stretch, self.value + (self.high - self.value) * stretch

    def __float__(self) -> float:
        return math.nan if self.refused else float(self.value)

    def map(self, function: Callable[[Any], Any]) -> Release:
        """Post-processing: any function of the value, at no price and under the same id; the bar does not survive it."""
        answers = {n: [v if isinstance(v, Refused) else function(v) for v in self.answers[n]] for n in self.names}
        card = Card(self.card)
        card["post-processing"] = [*card.get("post-processing", []), getattr(function, "__name__", "function")]
        return replace(self, answers=answers, bar="none", card=card)

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns in key order: the group columns, then each statistic with its bounds."""
        return {**self.keys, **self.answers}

    def to_bytes(self) -> bytes:
        """What the ledger seals. Canonical: the same release is the same bytes."""
        charged = None if self.cost.charged is None else [str(part) for part in self.cost.charged]
        facts = {"names": list(self.names), "mechanism": self.mechanism, "bar": self.bar, "id": self.id, "card": dict(self.card)}
        return encode({"answers": self.answers, "keys": self.keys, "cost": self.cost.exact.to_dict(), "charged": charged, **facts})

    @classmethod
    def from_bytes(cls, data: bytes, *, recalled: bool = False, query: Any = None) -> Release:
        record = decode(data)
        charged = record["charged"] and (Fraction(record["charged"][0]), Fraction(record["charged"][1]))
        cost = Paid(Cost.from_dict(record["cost"]), charged)
        facts = (tuple(record["names"]), cost, record["mechanism"], record["bar"], record["id"], Card(record["card"]))
        return cls(record["answers"], record["keys"], *facts, recalled=recalled, query=query)

    def to_json(self) -> str:
        return self.to_bytes().decode()

    def to_arrow(self) -> Any:
        return export.to_arrow(self)

    def to_pandas(self) -> Any:
        return export.to_pandas(self)

    def to_polars(self) -> Any:
        return export.to_polars(self)

    def to_parquet(self, path: str) -> None:
        export.to_parquet(self, path)

    def to_csv(self, path: str) -> None:
        export.to_csv(self, path)

    def improve(self, within: float, **options: Any) -> Release:
        """A better answer to the same question; see `Query.improve`."""
        if self.query is None:
            raise QueryError("SRD-105", "this release is not tied to a table.", "Ask the table again.")
        improved: Release = self.query.improve(self, within=within, **options)
        return improved

    def rows(self) -> list[list[str]]:
        """Header and rows as text, for people."""
        table = self.to_dict()
        shown = [name for name in table if not name.endswith("_ranks")]
        return [shown, *([_text(cell) for cell in row] for row in zip(*(table[name] for name in shown), strict=True))]

    def __str__(self) -> str:
        head = f"{self.mechanism}, {self.cost}" + (", recalled at no price" if self.recalled else "")
        if not self.grouped and len(self.names) == 1:
            bar = f" [{_text(self.low)}, {_text(self.high)}]" if self.low is not None else ""
            return f"{self.names[0]} = {_text(self.value)}{bar}  ({head}, bar: {self.bar})"
        rows = self.rows()
        widths = [max(len(row[i]) for row in rows[:42]) for i in range(len(rows[0]))]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in rows[:41]]
        more = [f"... {len(rows) - 41} more groups"] if len(rows) > 41 else []
        return "\n".join([*lines, *more, f"({head}, bar: {self.bar})"])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        head, *body = self.rows()
        top = "".join(f"<th scope='col'>{html.escape(cell)}</th>" for cell in head)
        rows = "".join("<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>" for row in body[:200])
        note = html.escape(f"{self.mechanism}, {self.cost}, bar: {self.bar}")
        return f"<table><caption>{note}</caption><tr>{top}</tr>{rows}</table>{self.plot()._repr_html_() if self._plottable() else ''}"

    def _plottable(self) -> bool:
        numbers = [value for value in self.answers[self.names[0]] if isinstance(value, int | float)]
        return len(numbers) == len(self.answers[self.names[0]]) > 0

    def plot(self) -> Any:
        """The first statistic as dots with their intervals, one line per group."""
        from sordino.pictures import intervals

        name = self.names[0]
        values = self.answers[name]
        labels = [" / ".join(map(str, key)) for key in zip(*self.keys.values(), strict=True)] if self.keys else [name]
        lows, highs = self.answers.get(f"{name}_low", values), self.answers.get(f"{name}_high", values)
        shown = [(a, v, b) for a, v, b in zip(lows, values, highs, strict=True)]
        bounds = [(v if a is None else a, v, v if b is None else b) for a, v, b in shown]
        return intervals(labels, [v for _, v, _ in bounds], [a for a, _, _ in bounds], [b for _, _, b in bounds], title=name, x=name)


def _text(value: Any) -> str:
    if isinstance(value, Refused):
        return "refused"
    if isinstance(value, float):
        return f"{value:,.6g}" if abs(value) < 1e6 else f"{value:,.0f}"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return "" if value is None else str(value)
