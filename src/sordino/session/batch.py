"""Several questions, one purse: priced by weights and targets, charged once, all or nothing."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.ledger import batch_cost
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_epsilon, as_positive
from sordino.session.execute import execute_batch
from sordino.session.member import Member
from sordino.session.price import Offer, as_wish, meets, price
from sordino.session.record import split
from sordino.session.release import Release

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.settled import Settled
    from sordino.session.table import Table

__all__ = ["Batch", "Member"]

NEAR = Fraction(95, 100)


@dataclass(eq=False)
class Batch:
    """Questions that are priced together and charged as one event.

    `ask` adds a question. One with `within=` gets the least price that meets it; the others share what is left of `epsilon` in proportion
    to their weights. Leaving the `with` block releases everything; an exception inside it releases and charges nothing.
    """

    table: Table
    epsilon: Fraction | None = None
    delta: Any = None
    analyst: str | None = None
    members: list[Member] = field(default_factory=list)
    done: bool = False

    def ask(self, question: Query | str, *, weight: Any = 1, within: Any = None) -> Member:
        """Add a question, or an SQL text, with its share of the purse or its own target."""
        if self.done:
            raise QueryError("SRD-208", "this batch has been released.", "Start another one.")
        query = self.table.sql(question) if isinstance(question, str) else question
        if getattr(query, "table", None) is None or query.table.ledger is not self.table.ledger:
            raise QueryError("SRD-208", "a batch takes questions about tables of one ledger.", "Build them from the same table or dataset.")
        wish = None if within is None else as_wish(within, tuple(query.asked.statistics))
        member = Member(query, as_positive(weight, "weight"), wish)
        self.members.append(member)
        return member

    def settle(self) -> list[Settled]:
        """Every question with its price: targets first, the rest by weight. Public facts only."""
        if not self.members:
            raise QueryError("SRD-208", "the batch asks nothing.", "Add questions with batch.ask(...).")
        offers = {id(m): price(m.query, m.wish, self.delta) for m in self.members if m.wish is not None}
        promised = sum((offer.epsilon for offer in offers.values()), Fraction(0))
        others = [member for member in self.members if member.wish is None]
        if others and self.epsilon is None:
            raise QueryError("SRD-101", "a batch needs a price.", "Give epsilon=, or within= for every question.")
        left = (self.epsilon or promised) - promised
        if left < 0 or (others and left <= 0):
            what = f"the targets alone cost epsilon {float(promised):.4g} of {float(self.epsilon or 0):.4g}."
            raise QueryError("SRD-101", what, "Ask for less accuracy, or give the batch a larger epsilon.")
        total = sum((member.weight for member in others), Fraction(0))
        plans = []
        for member in self.members:
            offer = offers.get(id(member)) or Offer(left * member.weight / total)
            plans.append(member.query.settle(offer.epsilon, self.delta, weights=offer.weights, way=offer.way))
        return plans

    @property
    def key(self) -> bytes:
        """What makes a repeat of the whole batch free."""
        return sha256(b"batch" + b"".join(member.query.key() for member in self.members)).digest()

    @property
    def cost(self) -> Cost:
        """What the batch would be charged now: the cheaper of the sum of its members and one composed event."""
        return batch_cost([plan.cost for plan in self.settle()], self.table.budget)

    def release(self, *, fresh: bool = False, request: str | None = None) -> list[Release]:
        """Charge once, then answer everything. A recorded batch of the same questions that is as good is returned at no price."""
        plans = self.settle()
        found = None if fresh else self._recall(plans)
        recalled = found is not None
        if found is None:
            together = f"one of {len(plans)} releases charged as one event"
            marked = [replace(plan, facts={**plan.facts, "batch": together}) for plan in plans]
            pairs = [(plan, member.query.table.engine) for plan, member in zip(marked, self.members, strict=True)]
            log = self.table.log_failure
            sealed = execute_batch(pairs, self.key, self.table.ledger, request=request, analyst=self.analyst, owner_log=log)
            found = split(sealed)
        for member, data in zip(self.members, found, strict=True):
            member.release = Release.from_bytes(data, recalled=recalled, query=member.query)
        self.done = True
        return self.releases

    def _recall(self, plans: list[Settled]) -> list[bytes] | None:
        """The newest recorded batch in which every answer cost at least as much, or is as accurate as wished."""
        near = NEAR if any(member.wish for member in self.members) else 1  # what targets leave for the others is known to a few percent
        for sealed in reversed(self.table.ledger.recall(self.key)):
            answers = split(sealed)
            parts = zip(self.members, plans, (Release.from_bytes(data) for data in answers), strict=True)
            if all(meets(r, m.wish) if m.wish else r.cost.exact.epsilon >= near * plan.cost.epsilon for m, plan, r in parts):
                return answers
        return None

    @property
    def releases(self) -> list[Release]:
        return [member.release for member in self.members if member.release is not None]

    def __enter__(self) -> Batch:
        return self

    def __exit__(self, kind: Any, *_: object) -> None:
        if kind is None and self.members and not self.done:
            self.release()

    def __repr__(self) -> str:
        state = "released" if self.done else "nothing read, nothing spent"
        return f"Batch of {len(self.members)} questions about {self.table.name!r}; {state}"


def as_batch(table: Table, epsilon: Any, delta: Any, analyst: str | None) -> Batch:
    return Batch(table, None if epsilon is None else as_epsilon(epsilon), delta, analyst)
