"""Price lists that were worked out before: the same for everybody, kept as bytes while they are young or nothing has changed."""

from __future__ import annotations

import json
import math
import threading
from collections import OrderedDict
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from sordino.privacy.number import as_epsilon
from sordino.server.clock import Clock
from sordino.session.preview import EPSILONS, Preview
from sordino.session.query import Query

__all__ = ["Quote", "Quotes", "Terms", "as_json"]

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
class Terms:
    """What a price list was asked with."""

    epsilon: float | None = None
    within: float | None = None
    within_rank: float | None = None


@dataclass(frozen=True)
class Quote:
    """A price list, and the id of a recorded answer that is good enough for the wish, and so free."""

    preview: Preview
    recorded: str | None

    @cached_property
    def body(self) -> bytes:
        return as_json({**self.preview.to_dict(), "recorded": self.recorded, "text": str(self.preview)})


@dataclass
class _Kept:
    quote: Quote
    stamp: tuple[int, int]  # charges in the book, and seals seen here, when it was worked out
    made: float
    seen: float  # when the book was last looked at


class Quotes:
    """Young price lists by question and terms. A question's own are dropped as soon as an answer to it is sealed here."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._lock = clock, threading.Lock()
        self._kept: OrderedDict[tuple[Query, Terms], _Kept] = OrderedDict()
        self._seals = 0

    def young(self, query: Query, terms: Terms) -> Quote | None:
        """A price list no older than a second; asks nobody."""
        kept = self._kept.get((query, terms))
        return kept.quote if kept is not None and self._clock.now() - kept.seen < YOUNG else None

    def of(self, query: Query, terms: Terms) -> Quote:
        """The price list: kept, if nobody has spent anything since, or worked out now."""
        if (found := self.young(query, terms)) is not None:
            return found
        now, stamp, key = self._clock.now(), (query.table.ledger.head.count, self._seals), (query, terms)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.stamp == stamp and now - kept.made < OLD:
                kept.seen = now
                return kept.quote
        made = _Kept(_worked_out(query, terms), stamp, now, now)
        with self._lock:
            self._kept[key] = made
            self._kept.move_to_end(key)
            while len(self._kept) > KEPT:
                self._kept.popitem(last=False)
        return made.quote

    def forget(self, query: Query) -> None:
        """An answer to this question has appeared."""
        with self._lock:
            self._seals += 1
            for key in [key for key in self._kept if key[0] is query]:
                del self._kept[key]


def _worked_out(query: Query, terms: Terms) -> Quote:
    prices = EPSILONS if terms.epsilon is None else (str(terms.epsilon),)
    found = query.preview(epsilons=prices, within=terms.within, within_rank=terms.within_rank)
    wish = query._wish(terms.within, terms.within_rank)
    price = None if terms.epsilon is None else as_epsilon(terms.epsilon)
    good = None if wish is None and price is None else query.recall(price, wish, ranks=terms.within_rank is not None)
    return Quote(found, None if good is None else good.id)
