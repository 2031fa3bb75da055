"""Price lists that were worked out before: the same for everybody, kept as bytes while they are young or nothing has changed."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Any

from sordino.errors import SordinoError
from sordino.privacy.number import as_epsilon
from sordino.server.clock import Clock
from sordino.server.rules import Floor, Rules
from sordino.session.execute import rehearse
from sordino.session.preview import EPSILONS, Preview, PriceLine, price_line
from sordino.session.query import Query

__all__ = ["Quote", "QuoteTerms", "Quotes", "as_json", "times"]

KEPT = 1024  # price lists
YOUNG = 1.0  # seconds in which others may spend unseen: every price is checked again when it is paid
OLD = 60.0  # seconds after which a price list is worked out again anyway


def as_json(content: Any) -> bytes:
    """JSON in ASCII: names may hold anything, and endless numbers are null."""
    return json.dumps(_finite(content), default=str).encode("ascii")


def _finite(value: Any) -> Any:
    match value:
        case float() if not math.isfinite(value):
            return None
        case dict():
            return {str(name): _finite(item) for name, item in value.items()}
        case list() | tuple():
            return [_finite(item) for item in value]
    return value


@dataclass(frozen=True)
class QuoteTerms:
    """What a price list was asked with."""

    epsilon: float | None = None
    within: float | None = None
    within_rank: float | None = None


@dataclass(frozen=True)
class Quote:
    """A price list, the id of a recorded answer that is good enough for the wish, and so free, and when a paid one would leave."""

    preview: Preview
    recorded: str | None
    deadline: float | None = None  # seconds after the charge; None where the question is too dear

    @cached_property
    def body(self) -> bytes:
        return self._said(self.preview)

    def body_for(self, left: Fraction | None) -> bytes:
        """For one analyst: how many more a purse with so much left pays for."""
        if left is None:
            return self.body
        line = self.preview.best
        best = None if line is None else replace(line, more=times(line, left))
        lines = tuple(replace(line, more=times(line, left)) for line in self.preview.lines)
        return self._said(replace(self.preview, lines=lines, best=best))

    def _said(self, preview: Preview) -> bytes:
        wait = None if self.deadline is None else round(1000 * self.deadline)
        return as_json({**preview.to_dict(), "recorded": self.recorded, "deadline_ms": wait, "text": str(preview)})


def times(line: PriceLine, left: Fraction | None) -> int:
    """How often the budget and a purse with so much left pay for a line."""
    return line.more if left is None else max(0, min(line.more, int(left / Fraction(str(line.epsilon)))))


@dataclass
class _Kept:
    quote: Quote
    stamp: tuple[int, int]  # charges in the book, and seals seen here, when it was worked out
    made: float
    seen: float  # when the book was last looked at


class Quotes:
    """Young price lists by question and terms. A question's own are dropped as soon as an answer to it is sealed here."""

    def __init__(self, clock: Clock, rules: Mapping[str, Rules]) -> None:
        self._clock, self._rules, self._lock = clock, rules, threading.Lock()
        self._kept: OrderedDict[tuple[Query, QuoteTerms], _Kept] = OrderedDict()
        self._seals = 0

    def young(self, query: Query, terms: QuoteTerms) -> Quote | None:
        """A price list no older than a second; asks nobody."""
        kept = self._kept.get((query, terms))
        return kept.quote if kept is not None and self._clock.now() - kept.seen < YOUNG else None

    def of(self, query: Query, terms: QuoteTerms) -> Quote:
        """The price list: kept, if nobody has spent anything since, or worked out now."""
        if (found := self.young(query, terms)) is not None:
            return found
        now, stamp, key = self._clock.now(), (query.table.ledger.head.count, self._seals), (query, terms)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.stamp == stamp and now - kept.made < OLD:
                kept.seen = now
                return kept.quote
        made = _Kept(_worked_out(query, terms, self._rules[query.table.dataset]), stamp, now, now)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made.quote

    def forget(self, query: object) -> None:
        """An answer to this question has appeared."""
        with self._lock:
            self._seals += 1
            for key in [key for key in self._kept if key[0] is query]:
                del self._kept[key]


def _worked_out(query: Query, terms: QuoteTerms, rules: Rules) -> Quote:
    prices = EPSILONS if terms.epsilon is None else (str(terms.epsilon),)
    wished = {"within": terms.within, "within_rank": terms.within_rank}
    found = _sold(query, query.preview(epsilons=prices, **wished), rules.floor, wished)
    deadline = None
    try:
        plan = query.settle("1")
        rehearse(plan)
        deadline = rules.deadlines.of(plan, query.table)
    except SordinoError as error:
        found = replace(found, notes=(*found.notes, f"{error.what} {error.fix}"))
    wish = query._wish(terms.within, terms.within_rank)
    price = None if terms.epsilon is None else as_epsilon(terms.epsilon)
    good = None if wish is None and price is None else query.recall(price, wish, ranks=terms.within_rank is not None)
    return Quote(found, None if good is None else good.id, deadline)


def _sold(query: Query, found: Preview, floor: Floor, wished: dict[str, Any]) -> Preview:
    """The list without prices that are not sold, and a wish that needs less at the floor."""
    book = query.table.ledger

    def sold(line: PriceLine) -> bool:
        return Fraction(line.epsilon) >= floor.least if floor.least is not None else Fraction(line.loss) >= floor.loss(book)

    kept = replace(found, lines=tuple(filter(sold, found.lines)))
    if found.best is None or sold(found.best):
        return kept
    said = f"this wish needs epsilon {found.best.epsilon:.4g}; the least that is sold is {floor.said(book)}."
    best = price_line(query, floor.offer(query, **wished))
    return replace(kept, best=best, notes=(*found.notes, said))
