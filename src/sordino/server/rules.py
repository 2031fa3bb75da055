"""What stands before a charge: a floor under every price, a deadline, and a gate where dear releases wait for the owner's yes.

All of it follows from public facts: the price, the question, and what the owner declared. Nothing is charged and no row is read here.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.ledger.budget import price_of
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon
from sordino.server.approval import LONGEST, STATES, Approval, Approvals
from sordino.server.auth import Person, owner_only
from sordino.server.deadline import Deadlines
from sordino.server.problem import Refusal
from sordino.server.shared_question import SharedQuestion
from sordino.session.price import Offer, epsilon_of, price, widths
from sordino.session.query import Query
from sordino.session.settled import Settled
from sordino.session.sharing import SharePlan

if TYPE_CHECKING:
    from sordino.ledger import Book
    from sordino.server.release_request import ReleaseRequest, Wish

__all__ = ["Floor", "Gate", "Rules", "Shown", "shown", "verdict"]

SHARE = 10_000  # a release takes at least this part of the cap, where the owner declares no floor
CLOSER = Fraction(101, 100)
ALIKE = 1 + Fraction(1, 10**9)  # a price on a form is a float


@dataclass(frozen=True)
class Floor:
    """The least a paid release may cost. What costs next to nothing could be asked without end, and every answer has a time and a value.

    Declared, it is an epsilon; otherwise a part of the cap in the unit its ledger adds up: epsilon, or rho.
    """

    least: Fraction | None = None

    def said(self, book: Book) -> str:
        """The floor in words."""
        unit = "rho" if self.least is None and book.terms.filter.accounting == "zcdp" else "epsilon"
        return f"{unit} {float(self.loss(book) if self.least is None else self.least):.4g}"

    @staticmethod
    def loss(book: Book) -> Fraction:
        """The floor where none is declared, in the unit the ledger adds up; a hair lower, so that its own price in floats passes."""
        return book.terms.filter.cap.loss / SHARE * (1 - Fraction(1, 10**9))

    def met(self, book: Book, cost: Cost) -> bool:
        if self.least is not None:
            return cost.epsilon >= self.least
        return price_of(cost, book.terms.filter.accounting).loss >= self.loss(book)

    def epsilon(self, query: Query, delta: Any = None, **plan: Any) -> Fraction:
        """The least epsilon, to a hundredth, at which this question may be sold."""
        book = query.table.ledger
        if self.least is not None or book.terms.filter.accounting == "pure":
            found = book.terms.filter.cap.loss / SHARE if self.least is None else self.least
        else:
            found = epsilon_of(query, book.terms.filter.cap.loss / SHARE, delta, plan.get("way")) * Fraction(10001, 10000)
        while not self.met(book, query.settle(found, delta, **plan).cost):
            found *= CLOSER
        return found

    def offer(self, query: Query, *, delta: Any = None, within: Any = None, within_rank: Any = None) -> Offer:
        """What a wish that needs less is sold for."""
        found = price(query, query._wish(within, within_rank) or {}, delta, ranks=within_rank is not None)
        return replace(found, epsilon=self.epsilon(query, delta, weights=found.weights, way=found.way))

    def priced(
        self, query: Query | SharedQuestion, *, epsilon: Any = None, delta: Any = None, within: Any = None, within_rank: Any = None
    ) -> Settled | SharePlan:
        """The plan of a wish, at the floor if it needs less, which its card says. A price below the floor is refused."""
        book = query.table.ledger
        plan: Settled | SharePlan = query.priced(epsilon=epsilon, delta=delta, within=within, within_rank=within_rank)
        if self.met(book, plan.cost):
            return plan
        needed = f"epsilon {float(plan.cost.epsilon):.4g}"
        if epsilon is not None or isinstance(query, SharedQuestion):
            what = f"{needed} is below {self.said(book)}, the least a release of this dataset costs."
            raise QueryError("SRD-305", what, "Ask with that or more; a recorded answer is free.")
        offer = self.offer(query, delta=delta, within=within, within_rank=within_rank)
        sold = query.settle(offer.epsilon, delta, weights=offer.weights, way=offer.way)
        return replace(sold, facts={**sold.facts, "floor": f"the wish needs {needed}; sold at {self.said(book)}, the least there is"})


@dataclass(frozen=True)
class Rules:
    """What stands between a question and its charge, in this order."""

    floor: Floor
    deadlines: Deadlines
    gate: Gate | None = None  # where dear releases wait for the owner

    def priced(self, query: Query | SharedQuestion, wish: Wish) -> Settled | SharePlan:
        """The plan of a wish at a price that is not above the one its caller agreed to, or a refusal that names the new one."""
        plan = self.floor.priced(query, **wish.price)
        if wish.at_most is None:
            return plan
        most = as_epsilon(wish.at_most)
        if plan.cost.epsilon <= most * ALIKE:
            return plan
        agreed = _at(query, wish, most) if wish.epsilon is None and isinstance(query, Query) else None
        if agreed is not None and self.floor.met(query.table.ledger, agreed.cost):
            return agreed
        what = f"this costs epsilon {float(plan.cost.epsilon):.4g} now, more than the {float(most):.4g} that was agreed to."
        raise Refusal(409, "SRD-512", what, "Look at the new price and pay that, or ask for less.")


def _at(query: Query, wish: Wish, most: Fraction) -> Settled | None:
    """The same wish at the agreed price, if that still meets it as closely as prices are found."""
    ranks = wish.within_rank is not None
    wanted = query._wish(wish.within, wish.within_rank) or {}
    offer = replace(price(query, wanted, wish.delta, ranks=ranks), epsilon=most)
    found = widths(query, offer, wish.delta, ranks=ranks, names=wanted)
    if any(width is None or width > wanted[name] * float(CLOSER**2) for name, width in found.items() if name in wanted):
        return None
    plan = query.settle(most, wish.delta, weights=offer.weights, way=offer.way)
    return plan if plan.cost.epsilon <= most * ALIKE else None


@dataclass(frozen=True)
class Gate:
    """The threshold of one dataset and the queue of what is above it, for one plan."""

    approvals: Approvals
    above: Fraction
    plan: str

    def admit(self, requested: ReleaseRequest, cost: Cost) -> None:
        """Let a price pass, or put it into the queue. Nothing is charged and no row is read on this side of the gate."""
        dataset, wish = requested.query.table.dataset, json.dumps(asdict(requested.wish), default=str)
        price = str(cost.epsilon), str(cost.delta)
        asked = Approval(
            dataset, requested.analyst, requested.request, self.plan, wish, requested.mark, *price, reason=requested.reason[:LONGEST]
        )
        known = self.approvals.find(asked.id)
        if known is not None and known.mark != asked.mark:
            raise QueryError("SRD-605", "this Idempotency-Key waits for another question or price.", "Use a new key for a new request.")
        if cost.epsilon <= self.above or requested.query.table.budget.more(cost, analyst=requested.analyst) < 1:
            return  # cheap enough; or too dear for the book, which says so itself
        if known is not None and known.state == "withdrawn":
            raise Refusal(409, "SRD-605", "this ask was withdrawn.", "Ask anew, with a new Idempotency-Key.")
        if known is not None and known.state == "refused":
            said = f" The owner says: {known.note}" if known.note else ""
            raise Refusal(402, "SRD-509", f"the owner refused this release.{said}", "Ask for less, or talk to the owner.")
        if known is None or not known.covers(cost.epsilon, cost.delta):
            self.approvals.file(asked)
        elif known.state == "approved":
            return
        above = f"epsilon {float(cost.epsilon):.4g} is above {float(self.above):.4g}"
        what = f"{above}, so this release waits for the owner (approval {asked.id}); nothing was charged."
        raise Refusal(402, "SRD-508", what, "Ask again with the same Idempotency-Key once it is approved.")


@dataclass(frozen=True)
class Shown:
    """An ask as owner and analyst see it. Its state is "released" once the ledger knows its request."""

    id: str
    dataset: str
    analyst: str
    key: str
    plan: str
    wish: dict[str, object]
    epsilon: float
    delta: float
    state: str
    reason: str
    note: str


def shown(asked: Approval, book: Book) -> Shown:
    state = "released" if book.find(asked.request) is not None else asked.state
    price = float(Fraction(asked.epsilon)), float(Fraction(asked.delta))
    return Shown(asked.id, asked.dataset, asked.analyst, asked.key, asked.plan, asked.wished, *price, state, asked.reason, asked.note)


def verdict(approvals: Approvals, book: Book, dataset: str, id: str, state: str, *, by: Person, note: str = "") -> Shown:
    """What the owner says about an ask, or its analyst who withdraws it; the last word before the release counts."""
    found = approvals.find(id)
    if found is None or found.dataset != dataset or (state == "withdrawn" and found.analyst != by.name):
        raise Refusal(404, "SRD-505", "nothing waits under this id.", "GET /v1/approvals lists what does.")
    if state not in STATES[1:]:
        raise QueryError("SRD-503", "the verdict is unknown.", f"Say {' or '.join(STATES[1:])}.")
    if state != "withdrawn":
        owner_only(by)
        if found.state == "withdrawn":
            raise Refusal(409, "SRD-605", "this ask was withdrawn by its analyst.", "There is nothing to decide.")
    if book.find(found.request) is not None:
        raise Refusal(409, "SRD-605", "this ask was released already.", "What is released stays released.")
    decided = approvals.decide(id, state, note)
    assert decided is not None
    return shown(decided, book)
