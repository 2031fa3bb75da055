"""The price on the Ask page: one offer with the statement it is for, what it buys, whose purse pays, and what is free already.

A page opens with a price whatever is asked: the wish that was typed, or one in the middle of the list, or, where public facts predict no
error in the statistic's unit, a price out of the list. The offer says its epsilon; the form that pays carries it as a ceiling.
"""

from __future__ import annotations

import math
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from sordino.errors import QueryError, SordinoError
from sordino.pictures import Picture
from sordino.server.auth import Person
from sordino.server.datasets import House, PlannedQuestion
from sordino.server.quote import Quote, QuoteTerms, times
from sordino.session.card import odds_sentence
from sordino.session.forecast import Forecast
from sordino.session.preview import Preview, PriceLine, rounded
from sordino.session.price import Offer, price
from sordino.session.query import Query
from sordino.session.recorded import public_rows
from sordino.session.release import Release
from sordino.session.spread import Spread, spreads
from sordino.session.view import shown
from sordino.statistics.column_quantile import Position

__all__ = ["PriceCard", "Slider", "Wished", "number", "price_card", "slider"]

MIDDLE = 0.5  # the price out of the list that is offered first
FREE = 5  # recorded answers that are offered for nothing


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
class Wished:
    """What the fields say about price and accuracy. An accuracy comes before a price: it has one."""

    within: float | None = None
    epsilon: float | None = None
    percent: float | None = None  # of the ranks, for one draw of a quantile
    interval: bool | None = None  # False: one draw for each quantile

    @classmethod
    def of(cls, fields: Mapping[str, str]) -> Wished:
        within, percent = number(fields.get("within"), "within"), number(fields.get("percent"), "the share of ranks")
        point = fields.get("interval") == "false"
        if not point:
            percent = None
        epsilon = number(fields.get("epsilon"), "epsilon") if within is None and percent is None else None
        return cls(None if percent is not None else within, epsilon, percent, False if point else None)

    @property
    def ranks(self) -> float | None:
        return None if self.percent is None else self.percent / 100

    @property
    def terms(self) -> QuoteTerms:
        return QuoteTerms(self.epsilon, self.within, self.ranks)

    @property
    def empty(self) -> bool:
        return self.within is None and self.epsilon is None and self.percent is None


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


@dataclass(frozen=True)
class PriceCard:
    """Everything the card shows. `line` is the offer; without one `problem` says why, and what is free is offered."""

    plan: str
    sql: str
    query: Query
    quote: Quote
    wished: Wished
    line: PriceLine | None
    slider: Slider | None
    left: Fraction | None  # of the analyst's purse, where there are purses
    free: tuple[tuple[str, str], ...]  # recorded answers to this question: id, and what it says of its error
    spreads: tuple[Spread, ...]  # simulated, before anything is paid
    key: str

    @property
    def preview(self) -> Preview:
        return self.quote.preview

    @property
    def more(self) -> int:
        return 0 if self.line is None else self.times(self.line)

    def times(self, line: PriceLine) -> int:
        """How often the budget and this analyst's purse pay for a line."""
        return times(line, self.left)

    @property
    def problem(self) -> str:
        """Why nothing can be paid, in words."""
        if self.line is None:
            return self.preview.problem or "nothing that is left of the budget buys an answer to this."
        if self.more < 1 and self.left is not None and self.line.more >= 1:
            return f"this costs epsilon {self.line.epsilon:.4g} and your purse has {float(self.left):.4g} left."
        return "" if self.more else f"this costs epsilon {self.line.epsilon:.4g}, more than the budget or its ceiling allows."

    @property
    def quantiles(self) -> bool:
        return any(isinstance(item, Position) for item in self.query.asked.statistics.values())

    @property
    def buys(self) -> str:
        """The error that is bought, in one phrase."""
        return "" if self.line is None else "; ".join(filter(None, (_buys(known, self.line) for known in self.line.forecasts)))

    @property
    def odds(self) -> str:
        return "" if self.line is None else odds_sentence(self.line.epsilon, self.line.delta)

    @property
    def rows(self) -> list[dict[str, Any]]:
        """The price list as a table: one row for each price and statistic; the line of the wish first."""
        preview = self.preview
        lines = preview.lines if preview.best is None else (preview.best, *preview.lines)
        return [
            {"wish": line is self.line, "epsilon": line.epsilon, "rows": line.rows, "name": known.name, "within": known.half_width,
             "ranks": known.ranks, "source": known.source, "charged": line.charged, "more": self.times(line), "appears": line.appears}
            for line in lines for known in line.forecasts
        ]  # fmt: skip

    @property
    def picture(self) -> Picture | None:
        """Error against price, with the offer marked."""
        plotted = any(known.half_width or known.ranks for line in self.preview.lines for known in line.forecasts)
        return self.preview.plot(self.line) if plotted and len(self.preview.lines) > 1 else None


def _buys(known: Forecast, line: PriceLine) -> str:
    name = f"{known.name} " if len(line.forecasts) > 1 else ""
    if known.half_width is not None and math.isfinite(known.half_width):
        mark = {"codebook": ", a guess on made-up rows", "twin": ", by the public twin"}.get(known.source, "")
        size = f" with {line.rows:,} rows" if line.rows else ""
        return f"{name}± {rounded(known.half_width)}{mark}{size}"
    if known.ranks is not None and math.isfinite(known.ranks):
        return f"{name}within {known.ranks:,.0f} ranks"
    return ""


def price_card(house: House, person: Person, name: str, sql: str, wished: Wished) -> PriceCard:
    """The card of a statement for one analyst. Nothing is read and nothing is spent."""
    plan = PlannedQuestion(name, sql)
    query = house.parsed(plan).ended(wished.interval, None, wished.ranks)
    left = house.purse_left(person, name)
    quote, line, wished = _offer(house, query, wished, left)
    at = slider(house.quotes.of(query, QuoteTerms()).preview, wished.within)
    free = () if line is not None and quote.recorded else tuple(_free(query))
    seen = () if line is None or quote.recorded else _spreads(query, line, wished)
    return PriceCard(plan.id, sql, query, quote, wished, line, at, left, free, seen, secrets.token_hex(16))


def _offer(house: House, query: Query, wished: Wished, left: Fraction | None) -> tuple[Quote, PriceLine | None, Wished]:
    """The price of what was wished; a wish of the page's own where nothing was, which is never a problem of the reader's."""
    listed = house.quotes.of(query, QuoteTerms())
    if not wished.empty:
        quote = house.quotes.of(query, wished.terms)
        if wished.epsilon is None:
            return quote, quote.preview.best, wished
        return Quote(listed.preview, quote.recorded, quote.deadline), next(iter(quote.preview.lines), None), wished
    if wished.interval is None and len(query.labels.drawn.statistics) == 1 and (middle := slider(listed.preview, None)) is not None:
        quote = house.quotes.of(query, QuoteTerms(within=middle.at))
        if (best := quote.preview.best) is not None and best.more >= 1 and (left is None or best.epsilon <= left):
            return quote, best, Wished(within=middle.at)
    able = [line for line in listed.preview.lines if line.more >= 1 and (left is None or line.epsilon <= left)]
    if not able:
        return listed, None, wished
    line = min(able, key=lambda line: abs(math.log(line.epsilon / MIDDLE)))
    at = Wished(epsilon=line.epsilon, interval=wished.interval)
    return Quote(listed.preview, house.quotes.of(query, at.terms).recorded, listed.deadline), line, at


def _free(query: Query) -> list[tuple[str, str]]:
    """Recorded answers to the question, the dearest first: a function of the book alone."""
    found: list[Release] = sorted(query.recorded(), key=lambda item: -item.cost.epsilon)
    return [(item.id, _said(item)) for item in found[:FREE]]


def _said(item: Release) -> str:
    name = item.names[0]
    ends = zip(item.answers.get(f"{name}_low", []), item.answers.get(f"{name}_high", []), strict=False)
    halves = [(high - low) / 2 for low, high in ends if isinstance(low, int | float) and isinstance(high, int | float)]
    return f"± {shown(float(f'{max(halves):.3g}'))}" if halves else f"epsilon {item.cost.epsilon:.4g}"


def _spreads(query: Query, line: PriceLine, wished: Wished) -> tuple[Spread, ...]:
    """Simulated answers at this price, by the plan that would be charged; nothing where nobody can make up rows."""
    try:
        offer = Offer(Fraction(1)) if wished.within is None else price(query, query.wished(wished.within))
        plan = query.settle(str(line.epsilon), rows=public_rows(query), weights=offer.weights, way=offer.way)
        return spreads(query, plan)
    except SordinoError:
        return ()
