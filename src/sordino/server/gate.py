"""The gate before a charge: whatever costs more than the owner's threshold stops here until the owner has said yes."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from sordino.errors import QueryError
from sordino.privacy.cost import Cost
from sordino.server.approval import STATES, Approval, Approvals
from sordino.server.problem import Refusal

if TYPE_CHECKING:
    from sordino.ledger import Book
    from sordino.server.errand import Errand

__all__ = ["Gate", "Shown", "shown", "verdict"]


@dataclass(frozen=True)
class Gate:
    """The threshold of one dataset and the queue of what is above it, for one plan."""

    approvals: Approvals
    above: Fraction
    plan: str

    def admit(self, errand: Errand, cost: Cost) -> None:
        """Let a price pass, or put it into the queue. Nothing is charged and no row is read on this side of the gate."""
        dataset, wish = errand.query.table.dataset, json.dumps(asdict(errand.wish), default=str)
        asked = Approval(dataset, errand.analyst, errand.request, self.plan, wish, errand.mark, str(cost.epsilon), str(cost.delta))
        known = self.approvals.find(asked.id)
        if known is not None and known.mark != asked.mark:
            raise QueryError("SRD-605", "this Idempotency-Key waits for another question or price.", "Use a new key for a new request.")
        if cost.epsilon <= self.above or errand.query.table.budget.more(cost, analyst=errand.analyst) < 1:
            return  # cheap enough; or too dear for the book, which says so itself
        if known is not None and known.state == "refused":
            raise Refusal(402, "SRD-509", "the owner refused this release.", "Ask for less, or talk to the owner.")
        if known is None or not known.covers(cost.epsilon, cost.delta):
            self.approvals.file(asked)
        elif known.state == "approved":
            return
        price = f"epsilon {float(cost.epsilon):.4g} is above {float(self.above):.4g}"
        what = f"{price}, so this release waits for the owner (approval {asked.id}); nothing was charged."
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


def shown(asked: Approval, book: Book) -> Shown:
    state = "released" if book.find(asked.request) is not None else asked.state
    price = float(Fraction(asked.epsilon)), float(Fraction(asked.delta))
    return Shown(asked.id, asked.dataset, asked.analyst, asked.key, asked.plan, asked.wished, *price, state)


def verdict(approvals: Approvals, book: Book, dataset: str, id: str, state: str) -> Shown:
    """What the owner says about an ask; the last word before the release counts."""
    found = approvals.find(id)
    if found is None or found.dataset != dataset:
        raise Refusal(404, "SRD-505", "nothing waits under this id.", "GET /v1/approvals lists what does.")
    if state not in STATES[1:]:
        raise QueryError("SRD-503", "the verdict is unknown.", f"Say {' or '.join(STATES[1:])}.")
    if book.find(found.request) is not None:
        raise Refusal(409, "SRD-605", "this ask was released already.", "What is released stays released.")
    decided = approvals.decide(id, state)
    assert decided is not None
    return shown(decided, book)
