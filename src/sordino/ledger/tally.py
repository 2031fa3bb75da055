"""The sums so far and the owner's present ceilings: all that a refusal may depend on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

from sordino.errors import BudgetExceeded
from sordino.ledger.filter import Filter, Price, grains_text, of_grains
from sordino.ledger.record import canonical

__all__ = ["Tally"]


@dataclass
class Tally:
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
    def of(cls, genesis: Mapping[str, Any]) -> Tally:
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
    def from_text(cls, text: str) -> Tally:
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
