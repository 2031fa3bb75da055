"""The rule that adds releases up, fixed when the ledger is made."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import NamedTuple

from sordino.ledger.budget import Budget
from sordino.privacy.composition import rho_cap, zcdp_epsilon
from sordino.privacy.cost import Cost
from sordino.privacy.number import round_up

__all__ = [
    "GRAIN", "Filter", "Price", "PureFilter", "ZcdpFilter", "grains", "grains_text", "of_grains", "open_filter", "price_of", "read_filter",
]  # fmt: skip

GRAIN = 10**60 * 232_792_560
"""Sums are kept in whole grains of 1/GRAIN: every decimal of up to 60 places, and every such decimal over 1..20, is a whole number of
grains, so tenths and thirds add up exactly; anything finer is rounded up, alone, so the total never depends on the order."""


def grains(value: Fraction) -> int:
    """This many grains, rounded up."""
    return -(-value.numerator * GRAIN // value.denominator)


def of_grains(count: int) -> Fraction:
    return Fraction(count, GRAIN)


@lru_cache(maxsize=4096)
def grains_text(text: str) -> int:
    """The grains of a fraction written as text; the head of a book is read back far more often than it is new."""
    return grains(Fraction(text))


class Price(NamedTuple):
    """What the filter charges: its loss (epsilon or rho) and delta, both whole grains."""

    loss: Fraction
    delta: Fraction

    @property
    def grains(self) -> tuple[int, int]:
        return grains(self.loss), grains(self.delta)

    def to_dict(self) -> dict[str, str]:
        return {"delta": str(self.delta), "loss": str(self.loss)}


def _on_grid(value: Fraction) -> Fraction:
    return value if GRAIN % value.denominator == 0 else of_grains(grains(value))


def price_of(cost: Cost, accounting: str) -> Price:
    """The price of one release."""
    return Price(_on_grid(cost.epsilon), _on_grid(cost.delta)) if accounting == "pure" else _zcdp_price(cost)


@lru_cache(maxsize=4096)
def _zcdp_price(cost: Cost) -> Price:
    # an exponential to sixty digits is slow, and the same queries come again and again
    return Price(_on_grid(cost.rho), _on_grid(cost.rho_delta))


class _Weighed:
    """Prices beside the cap they are taken from."""

    cap: Price

    def weight(self, price: Price) -> Fraction:
        """The share of the cap and the share of the pool of delta, added: the order of offers."""
        return price.loss / self.cap.loss + (price.delta / self.cap.delta if self.cap.delta else 0)


def _down(cap: Price) -> tuple[int, int]:
    return cap.loss.numerator * GRAIN // cap.loss.denominator, cap.delta.numerator * GRAIN // cap.delta.denominator


@dataclass(frozen=True)
class PureFilter(_Weighed):
    r"""Sum the epsilons and sum the deltas.

    Theorem. If each release is chosen, with its epsilon_i and delta_i, from all earlier answers, and none is made that would bring
    sum epsilon_i above epsilon or sum delta_i above delta, then everything released together is (epsilon, delta)-DP.
    Proof. Pure case: the likelihood ratio of a transcript is the product of the conditional ratios, so along every path its logarithm
    is at most sum epsilon_i <= epsilon; the stopping rule reads the transcript only. With deltas: each conditional pair equals, up to
    an event of mass delta_i revealing everything, a pair with ratio at most e^epsilon_i (Kairouz, Oh and Viswanath 2015); couple the
    events along the path, whose masses add to at most delta on every path, and apply the pure case outside them
    (Rogers, Roth, Ullman and Vadhan 2016, Theorem 3.6; Whitehouse, Ramdas, Rogers and Wu 2023). QED
    """

    cap: Price
    accounting = "pure"
    word = "epsilon"

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The cap in whole grains, rounded down."""
        return _down(self.cap)

    def epsilon(self, loss: Fraction) -> Fraction:
        """What this much loss guarantees as epsilon."""
        return loss

    def to_dict(self) -> dict[str, str]:
        return {"accounting": self.accounting, **self.cap.to_dict()}


@dataclass(frozen=True)
class ZcdpFilter(_Weighed):
    r"""Sum the rhos, with half of delta for the conversion and half for the releases' own deltas.

    Theorem. If each release is chosen from all earlier answers, release i being (delta_i, rho_i)-approximate zCDP given them, and none
    is made that would bring sum rho_i above the cap or sum delta_i above delta/2, then everything released together is
    (epsilon, delta)-DP.
    Proof. Let L_i be the conditional loss of release i. For each order a, M_i = exp((a-1) sum_{j<=i} (L_j - a rho_j)) is a
    supermartingale, since E[exp((a-1)(L_i - a rho_i)) | past] <= 1. The filter stops before sum rho exceeds the cap, so
    E[exp((a-1) sum L)] <= exp((a-1) a cap): the whole is cap-zCDP (Feldman and Zrnic 2021; Whitehouse et al. 2023, Theorem 1, also for
    the delta_i, whose masses add along every path). `rho_cap` turns the cap into (epsilon, delta/2), and the other half of
    delta bounds the sum of the delta_i. An (e, d) release enters as rho = e tanh(e/2) beside d; a Gaussian's own delta costs nothing
    because its rho holds without it. QED
    """

    cap: Price
    conversion: Fraction
    accounting = "zcdp"
    word = "rho"

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The cap in whole grains, rounded down."""
        return _down(self.cap)

    def epsilon(self, loss: Fraction) -> Fraction:
        """What this much rho guarantees as epsilon at half of the budget's delta."""
        return round_up(zcdp_epsilon(loss, self.conversion)) if loss else Fraction(0)

    def to_dict(self) -> dict[str, str]:
        return {"accounting": self.accounting, "conversion": str(self.conversion), **self.cap.to_dict()}


Filter = PureFilter | ZcdpFilter


def open_filter(budget: Budget) -> Filter:
    """The filter of a new ledger."""
    if budget.accounting == "pure":
        return PureFilter(Price(budget.epsilon, budget.delta))
    half = budget.delta / 2
    return ZcdpFilter(Price(rho_cap(budget.epsilon, half), half), half)


def read_filter(record: Mapping[str, str]) -> Filter:
    """The filter a ledger was made with; its cap is read, never recomputed."""
    cap = Price(Fraction(record["loss"]), Fraction(record["delta"]))
    if record["accounting"] == "pure":
        return PureFilter(cap)
    return ZcdpFilter(cap, Fraction(record["conversion"]))
