"""How much is spent, how much is left, and about how many more of a query that buys.

The sums so far and the owner's present ceilings: all that a refusal may depend on.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from html import escape
from typing import Any

from sordino.errors import BudgetExceeded
from sordino.ledger.budget import Budget, Filter, Price, grains, grains_text, of_grains, price_of
from sordino.ledger.record import canonical, decoding
from sordino.pictures import Picture, bars
from sordino.privacy.cost import Cost

__all__ = ["Balance", "LedgerTally"]


@dataclass
class LedgerTally:
    """Whole grains spent by everybody and by each analyst, with the policy in force and the versions seen.

    `naive` and `purses` are plain sums of the releases' own epsilon. The stores keep the tally beside the chain's head, in the same
    transaction as the entry that changed it, and replaying the entries gives the same tally.
    """

    loss: int = 0
    delta: int = 0
    naive: int = 0
    purses: dict[str, int] = field(default_factory=dict)
    policy: dict[str, Any] = field(default_factory=dict)
    versions: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, genesis: Mapping[str, Any]) -> LedgerTally:
        budget = genesis["budget"]
        return cls(policy={"analysts": budget["analysts"], "max_per_release": budget["max_per_release"]}, versions=[genesis["version"]])

    def to_text(self) -> str:
        """Exact fractions in canonical JSON."""
        state = {
            "delta": str(of_grains(self.delta)), "loss": str(of_grains(self.loss)), "naive": str(of_grains(self.naive)),
            "policy": self.policy, "purses": {name: str(of_grains(sum_)) for name, sum_ in self.purses.items()}, "versions": self.versions,
        }  # fmt: skip
        return canonical(state).decode("ascii")

    @classmethod
    def from_text(cls, text: str) -> LedgerTally:
        with decoding("the state of the sums"):
            state = json.loads(text)
            loss, delta, naive = (grains_text(state[name]) for name in ("loss", "delta", "naive"))
            purses = {name: grains_text(spent) for name, spent in state["purses"].items()}
            return cls(loss, delta, naive, purses, state["policy"], state["versions"])

    @property
    def spent(self) -> Price:
        return Price(of_grains(self.loss), of_grains(self.delta))

    def add(self, price: tuple[int, int], own: int, analyst: str | None) -> None:
        """Take a price, and the release's own epsilon for the plain sums, all in grains."""
        self.loss += price[0]
        self.delta += price[1]
        self.naive += own
        if analyst is not None:
            self.purses[analyst] = self.purses.get(analyst, 0) + own

    def apply(self, record: Mapping[str, Any]) -> None:
        """What an entry read back from the book does to the sums."""
        kind = record["kind"]
        if kind in ("charge", "adopt"):
            charged = record["charged"]
            price = grains_text(charged["loss"]), grains_text(charged["delta"])
            own = record["cost"]["epsilon"] if kind == "charge" else record["naive"]
            self.add(price, grains_text(own), record.get("analyst"))
        elif kind == "policy":
            self.policy = record["policy"]
        elif kind == "version":
            self.versions.append(record["version"])

    def admit(self, filter: Filter, price: tuple[int, int], epsilon: Fraction, analyst: str | None) -> None:
        """Refuse what a ceiling, a purse or the filter does not allow; every input is public."""
        ceiling = self.policy["max_per_release"]
        if ceiling is not None and epsilon > Fraction(ceiling):
            cap = Fraction(ceiling)
            raise BudgetExceeded(
                "SRD-303", f"this release asks for epsilon {_show(epsilon)} and one release may cost {_show(cap)}.",
                "Ask for a smaller epsilon or a wider error.", word="epsilon", asked=epsilon, left=cap, cap=cap,
            )  # fmt: skip
        purses = self.policy["analysts"]
        if analyst is not None and purses:
            cap = Fraction(purses.get(analyst, 0))
            left = cap - of_grains(self.purses.get(analyst, 0))
            if epsilon > left:
                raise BudgetExceeded(
                    "SRD-302", f"this release asks for epsilon {_show(epsilon)} and {analyst} has {_show(left)} of {_show(cap)} left.",
                    "Ask for less, or ask the owner for more.", word="epsilon", analyst=analyst, asked=epsilon, left=left, cap=cap,
                )  # fmt: skip
        limits = filter.limits
        if self.loss + price[0] > limits[0]:
            raise _refused(filter.word, price[0], self.loss, limits[0])
        if self.delta + price[1] > limits[1]:
            raise _refused("delta", price[1], self.delta, limits[1])


def _refused(word: str, asked: int, spent: int, cap: int) -> BudgetExceeded:
    facts = {"asked": of_grains(asked), "left": of_grains(max(0, cap - spent)), "cap": of_grains(cap)}
    return BudgetExceeded(
        "SRD-301", f"this release asks for {word} {_show(facts['asked'])} and {_show(facts['left'])} of {_show(facts['cap'])} is left.",
        "Ask for less, or reuse an answer that is already recorded.", word=word, **facts,
    )  # fmt: skip


def _show(value: Fraction) -> str:
    return f"{float(value):.6g}"


@dataclass(frozen=True)
class Balance:
    """The state of a budget at one moment.

    `spent`, `left` and `cap` are epsilon as floats, `spent_delta`, `left_delta` and `cap_delta` their deltas, `naive` the plain sum of
    the releases' own epsilon and `percent` the share of the filter's cap that is gone. Under zCDP the filter adds rho, so `left` is the
    epsilon still to come if the cap were reached, not what one release may cost. `exact` holds the fractions.
    """

    budget: Budget
    filter: Filter
    tally: LedgerTally

    @property
    def exact(self) -> dict[str, Fraction]:
        spent = self.tally.spent
        # the cap's own theorem gives the budget's epsilon for any loss up to the cap, whatever the conversion rounds to
        epsilon = min(self.filter.epsilon(spent.loss), self.budget.epsilon)
        conversion = self.budget.delta - self.filter.cap.delta
        return {
            "spent": epsilon, "left": self.budget.epsilon - epsilon, "cap": self.budget.epsilon, "naive": of_grains(self.tally.naive),
            "spent_delta": spent.delta, "left_delta": max(Fraction(0), self.filter.cap.delta - spent.delta), "cap_delta": self.budget.delta,
            "conversion_delta": conversion, "loss": spent.loss, "left_loss": max(Fraction(0), self.filter.cap.loss - spent.loss),
            "cap_loss": self.filter.cap.loss,
        }  # fmt: skip

    @property
    def spent(self) -> float:
        return float(self.exact["spent"])

    @property
    def left(self) -> float:
        return float(self.exact["left"])

    @property
    def cap(self) -> float:
        return float(self.budget.epsilon)

    @property
    def spent_delta(self) -> float:
        return float(self.tally.spent.delta)

    @property
    def left_delta(self) -> float:
        return float(self.exact["left_delta"])

    @property
    def cap_delta(self) -> float:
        return float(self.budget.delta)

    @property
    def naive(self) -> float:
        return float(of_grains(self.tally.naive))

    @property
    def percent(self) -> float:
        spent, cap = self.tally.spent, self.filter.cap
        return 100 * max(_share(spent.loss, cap.loss), _share(spent.delta, cap.delta))

    @property
    def analysts(self) -> Mapping[str, tuple[float, float | None]]:
        """What each analyst spent, and may spend."""
        caps = self.tally.policy["analysts"]
        names = sorted({*caps, *self.tally.purses})
        return {n: (float(of_grains(self.tally.purses.get(n, 0))), float(Fraction(caps[n])) if n in caps else None) for n in names}

    def price(self, cost: Cost) -> Price:
        """What the filter would charge for this release."""
        return price_of(cost, self.filter.accounting)

    def share(self, cost: Cost) -> float:
        """The percent of the cap this release would take."""
        price = self.price(cost)
        return 100 * max(_share(price.loss, self.filter.cap.loss), _share(price.delta, self.filter.cap.delta))

    def weight(self, cost: Cost) -> Fraction:
        """What this release takes of the cap and of the pool of delta together: what a wish is priced to keep small."""
        return self.filter.weight(self.price(cost))

    def admit(self, cost: Cost, *, analyst: str | None = None) -> None:
        """Refuse what the book would refuse now, in its words; nothing is charged."""
        price = self.price(cost)
        self.tally.admit(self.filter, (grains(price.loss), grains(price.delta)), cost.epsilon, analyst)

    def more(self, cost: Cost, *, analyst: str | None = None) -> int:
        """How many more releases of this cost the budget, the ceiling and the analyst's purse allow, if nobody else spends."""
        ceiling, purses = self.tally.policy["max_per_release"], self.tally.policy["analysts"]
        if ceiling is not None and cost.epsilon > Fraction(ceiling):
            return 0
        price, cap = self.price(cost), self.filter.cap
        counts = [_times(price.loss, cap.loss, self.tally.loss), _times(price.delta, cap.delta, self.tally.delta)]
        if analyst is not None and purses:
            counts.append(_times(cost.epsilon, Fraction(purses.get(analyst, 0)), self.tally.purses.get(analyst, 0)))
        return min(count for count in counts if count is not None)

    def __str__(self) -> str:
        delta = f"; delta {self.spent_delta:.3g} of {self.cap_delta:.3g}" if self.budget.delta else ""
        return (
            f"spent {self.spent:.4g} of epsilon {self.cap:.4g} ({self.percent:.1f}% of the cap, {self.filter.accounting}), "
            f"left {self.left:.4g}{delta}; plain sum {self.naive:.4g}"
        )

    __repr__ = __str__

    def plot(self) -> Picture:
        """What is spent and what is left, in percent of the cap."""
        gone = min(100.0, self.percent)
        return bars(["spent", "left"], [gone, 100 - gone], title=f"Budget: {self.budget}", x="% of the cap")

    def _repr_html_(self) -> str:
        return f"<p>{escape(str(self))}</p>{self.plot().svg}"


def _share(part: Fraction, whole: Fraction) -> float:
    return float(part / whole) if whole else 0.0


def _times(price: Fraction, cap: Fraction, spent: int) -> int | None:
    if not price:
        return None
    return max(0, int((cap - of_grains(spent)) / of_grains(grains(price))))
