"""Several releases under one charge: as the sum of its members, or as one event with a price of its own."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from sordino.errors import QueryError, SordinoError
from sordino.ledger.budget import Budget
from sordino.ledger.clerk import Offer
from sordino.ledger.filter import open_filter, price_of
from sordino.privacy.cost import Cost
from sordino.privacy.number import LARGEST_EPSILON

if TYPE_CHECKING:
    from sordino.ledger.balance import Balance

__all__ = ["batch_cost", "offers"]

SHARE = 100  # one event may take this part of the delta pool beyond its members' own deltas


def _sum(costs: Sequence[Cost], accounting: str) -> Offer | None:
    epsilon, delta = sum((cost.epsilon for cost in costs), Fraction(0)), sum((cost.delta for cost in costs), Fraction(0))
    if epsilon > LARGEST_EPSILON or delta >= 1:
        return None
    whole = Cost.sum((cost, 1) for cost in costs)
    return Offer(whole, price_of(whole, accounting), "sum")


def _event(costs: Sequence[Cost], delta: Fraction, accounting: str) -> Offer | None:
    if not 0 < delta < 1:
        return None  # without delta the loss of independent releases adds up exactly, so one event is the sum
    try:
        from sordino.privacy.composition import compose

        cost = compose(list(costs), rule="pld", delta=delta)
    except (ImportError, SordinoError):
        return None
    return Offer(cost, price_of(cost, accounting), "pld")


def offers(costs: Sequence[Cost], budget: Budget) -> tuple[Offer, ...]:
    """Every way to pay for this batch, the least share of the budget first: a delta that saves hardly any loss is not spent.

    Theorem. A batch whose parameters are all fixed before its first answer may enter the filter as one event at any point of its
    composed privacy profile.
    Proof. Given the past, the joint law of the batch is a product of fixed pairs, whose profile the privacy-loss distribution bounds
    from above; the filter's theorem asks for one conditional guarantee per event and nothing about its inside. QED
    """
    if not costs:
        raise QueryError("SRD-103", "the batch is empty.", "Ask at least one question in a batch.")
    pool = budget.delta / (2 if budget.accounting == "zcdp" else 1)
    own = sum((cost.delta for cost in costs), Fraction(0))
    found = [_sum(costs, budget.accounting)]
    if len(costs) > 1:
        found += [_event(costs, delta, budget.accounting) for delta in dict.fromkeys((own, own + pool / SHARE))]
    usable = [offer for offer in found if offer is not None]
    if not usable:
        raise QueryError("SRD-101", "the batch as a whole is beyond any legal epsilon or delta.", "Split it, or ask for less.")
    rule = open_filter(budget)
    return tuple(sorted(usable, key=lambda offer: rule.weight(offer.price)))


def batch_cost(costs: Sequence[Cost], balance: Balance) -> Cost:
    """What a batch would be charged now: the cheapest offer that fits, or the cheapest one when none does."""
    choices = offers(costs, balance.budget)
    return next((offer.cost for offer in choices if balance.more(offer.cost)), choices[0].cost)
