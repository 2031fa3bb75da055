"""One fit is one release: charged before the rows are read, rehearsed with nobody, recorded with its card."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from typing import Any

import numpy as np

from sordino.engines.port import Bounded as Port
from sordino.errors import QueryError, ReleaseFailed
from sordino.ledger import Asked, AskedLimits, Balance, Book, Entry
from sordino.models.rows import BoundedRows, ModelRows
from sordino.models.way import Way
from sordino.noise import draw as exact_draw
from sordino.noise import fresh_id
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import UniformInteger
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.frame import Frame
from sordino.schema.normal import encode as canonical
from sordino.session.card import SIDE_CHANNELS, TUNING, Card, odds_sentence
from sordino.session.encoding import decode, encode
from sordino.session.execute import execute, rehearse
from sordino.summaries import Draw
from sordino.summaries.moment import ONE

__all__ = ["Fitted", "ModelFit", "fitted"]

Open = Callable[[Frame], AbstractContextManager[Port]]
FRAME = Frame(PrivacyUnit())


@dataclass(frozen=True)
class Fitted:
    """What a fit released, and its claim card."""

    found: Mapping[str, Any]
    card: Card


@dataclass(frozen=True)
class ModelFit:
    """A fit before it happens: what `execute` needs to know of a release."""

    way: Way
    facts: dict[str, Any]  # for the card: model, bounds, relation

    @cached_property
    def key(self) -> bytes:
        """Never the same twice: the ledger cannot know whether an array is the one it has seen before."""
        return sha256(canonical([fresh_id(), {name: str(value) for name, value in self.facts.items()}]).encode("ascii")).digest()

    @property
    def asked(self) -> Asked:
        return Asked(self.key, limits=AskedLimits.of(FRAME.unit))

    @property
    def cost(self) -> Cost:
        return self.way.cost

    @property
    def mechanism(self) -> str:
        return self.way.name

    def converse(self, open_frame: Open, draw: Draw) -> tuple[None, Any]:
        with open_frame(FRAME) as rows:
            return None, self.way.converse(rows.ask, draw)

    def rehearse(self, draw: Draw) -> None:
        """The same conversation with no rows, recorded and thrown away."""
        width = int(self.facts["features"]) + 2
        found = self.way.converse(BoundedRows(np.empty((0, width)) * float(ONE), 0).ask, draw)
        encode({"found": dict(found), "card": dict(self.card())})

    def card(self, entry: Entry | None = None, balance: Balance | None = None) -> Card:
        """As of this fit's own charge; without a ledger it says so."""
        certificates = self.way.certificates()
        price = {"epsilon": str(self.cost.epsilon), "delta": str(self.cost.delta), "family": self.cost.family}
        if entry is None or balance is None:
            paid: dict[str, Any] = {"ledger": "not charged to any ledger"}
        else:
            so_far = {"epsilon": balance.spent, "delta": balance.spent_delta, "cap": balance.cap, "cap delta": balance.cap_delta}
            paid = {"release": entry.id, "so far": {**so_far, "accounting": balance.filter.accounting}}
        claims = {
            "mechanism": self.mechanism,
            "theorem": list(dict.fromkeys(c.theorem for c in certificates)),
            "assumes": list(dict.fromkeys(c.assumptions for c in certificates if c.assumptions)),
        }
        odds = odds_sentence(float(self.cost.epsilon), float(self.cost.delta))
        return Card({**self.facts, "this release": price, **paid, **claims, "tuning": TUNING, "side channels": SIDE_CHANNELS, "odds": odds})

    def record(self, groups: None, answers: Any, entry: Entry, balance: Balance) -> bytes:
        return encode({"found": dict(answers), "card": dict(self.card(entry, balance))})


def fitted(fit: ModelFit, rows: ModelRows, book: Book | None) -> Fitted:
    """Charge, look, draw. Without a book nothing is charged, and nothing else is different."""
    if book is None:
        return _uncharged(fit, rows)
    if fit.cost.delta and not book.terms.filter.cap.delta:
        raise QueryError("SRD-102", "the ledger's budget has no delta.", "Use delta=0, or a ledger whose budget has a delta.")
    sealed = decode(execute(fit, book, rows))
    return Fitted(sealed["found"], Card(sealed["card"]))


def _uncharged(fit: ModelFit, rows: ModelRows) -> Fitted:
    rehearse(fit)
    found = None
    try:
        with np.errstate(all="ignore"):
            salt = exact_draw(UniformInteger(0, 2**128 - 1))
            _, found = fit.converse(lambda frame: rows.bounded(frame, salt), exact_draw)
    except Exception:
        found = None
    if found is None:  # raised outside the handler, so that no cause travels with it
        raise ReleaseFailed("SRD-401", "the fit failed after its rows were read.", "Count its price as spent.")
    return Fitted(found, fit.card())
