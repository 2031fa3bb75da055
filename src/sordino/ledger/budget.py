"""What the owner allows in all: one cap for the data, purses for analysts, a ceiling for one release.

The rule that adds releases up, fixed when the ledger is made.

What a ledger was made for: its dataset, relation, unit, budget and filter, written once in its first entry.
"""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

from sordino.errors import LedgerError, QueryError
from sordino.ledger.record import FORMAT, as_text, damaged, decoding
from sordino.pictures import Picture, bars
from sordino.privacy.composition import rho_cap, zcdp_epsilon
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_delta, as_epsilon, round_up
from sordino.privacy.relation import PrivacyUnit, Relation

__all__ = [
    "ACCOUNTING",
    "GRAIN",
    "Budget",
    "Filter",
    "Price",
    "PureFilter",
    "Terms",
    "ZcdpFilter",
    "grains",
    "grains_text",
    "of_grains",
    "open_filter",
    "price_of",
    "read_filter",
    "unit_of",
]

ACCOUNTING = ("pure", "zcdp")


def _purse(name: Any, cap: Any) -> tuple[str, Fraction]:
    if not isinstance(name, str) or not name:
        raise QueryError("SRD-106", f"analyst {name!r} has no usable name.", "Name analysts by non-empty text.")
    if isinstance(cap, Mapping):
        if set(cap) != {"epsilon"}:
            raise QueryError("SRD-106", f"the purse of {name} has the keys {sorted(map(str, cap))}.", "A purse is { epsilon = ... }.")
        cap = cap["epsilon"]
    return name, as_epsilon(cap)


@dataclass(frozen=True)
class Budget:
    """The most that may ever be spent on a dataset, by everybody, for ever.

    `epsilon` and `delta` bound the whole. `accounting` is the rule that adds releases up: "pure" sums epsilon and delta, "zcdp" sums
    rho and suits many small or Gaussian releases. `max_per_release` and the purses of `analysts` are plain sums of the releases' own
    epsilon. A purse is not a guarantee: recorded answers are open to every analyst of the dataset, so only the dataset cap bounds
    what one person or a coalition learns. With purses declared, a named analyst without one may not spend.
    """

    epsilon: Fraction
    delta: Fraction = Fraction(0)
    accounting: str = "pure"
    max_per_release: Fraction | None = None
    analysts: Mapping[str, Fraction] = field(default_factory=lambda: MappingProxyType({}), hash=False)

    def __init__(
        self,
        epsilon: Any,
        delta: Any = 0,
        accounting: str | None = None,
        max_per_release: Any = None,
        analysts: Mapping[str, Any] | None = None,
    ) -> None:
        rule = "pure" if accounting is None else accounting
        if rule not in ACCOUNTING:
            raise QueryError("SRD-106", f"accounting {accounting!r} is unknown.", 'Use "pure" or "zcdp".')
        put = object.__setattr__
        put(self, "epsilon", as_epsilon(epsilon))
        put(self, "delta", as_delta(delta, zero=True))
        put(self, "accounting", rule)
        put(self, "max_per_release", None if max_per_release is None else as_epsilon(max_per_release))
        put(self, "analysts", MappingProxyType(dict(sorted(_purse(*item) for item in (analysts or {}).items()))))
        if rule == "zcdp" and not self.delta:
            raise QueryError("SRD-102", "zcdp accounting needs a delta.", 'Give a delta such as 1e-6, or use accounting="pure".')

    def policy(self) -> dict[str, Any]:
        """The part an owner may change while the ledger lives: ceilings and purses."""
        ceiling = None if self.max_per_release is None else str(self.max_per_release)
        return {"analysts": {name: str(cap) for name, cap in self.analysts.items()}, "max_per_release": ceiling}

    def to_dict(self) -> dict[str, Any]:
        """Exact fractions as text."""
        return {"accounting": self.accounting, "delta": str(self.delta), "epsilon": str(self.epsilon), **self.policy()}

    @classmethod
    def from_dict(cls, record: Mapping[str, Any]) -> Budget:
        return cls(record["epsilon"], record["delta"], record["accounting"], record["max_per_release"], record["analysts"])

    def __getstate__(self) -> dict[str, Any]:
        return self.to_dict()

    def __setstate__(self, record: dict[str, Any]) -> None:
        self.__init__(**record)  # type: ignore[misc]

    def __str__(self) -> str:
        text = f"epsilon {float(self.epsilon):g}"
        return f"{text}, delta {float(self.delta):g} ({self.accounting})" if self.delta else f"{text} ({self.accounting})"

    def plot(self) -> Picture:
        """The cap for everybody, beside one release's ceiling and the purses."""
        ceiling = {} if self.max_per_release is None else {"one release": self.max_per_release}
        caps = {"everybody, for ever": self.epsilon, **ceiling, **self.analysts}
        return bars(caps, [float(cap) for cap in caps.values()], title=f"Budget: {self}", x="epsilon")

    def _repr_html_(self) -> str:
        return self.plot().svg


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


def unit_of(unit: PrivacyUnit | Mapping[str, str] | str | None, dataset: str) -> dict[str, str]:
    """Whose privacy it is, in words that can be compared: a row of a named table, or a person known by a column of a declared type.

    How many rows a person may bring is a parameter of each release, not part of who is protected, so it is not kept here.
    """
    if isinstance(unit, Mapping):
        found = {str(name): str(value) for name, value in sorted(unit.items())}
        if set(found) not in ({"row_of"}, {"person"}, {"person", "type"}):
            raise QueryError("SRD-106", f"unit {found} is unknown.", 'Give {"row_of": table} or {"person": column, "type": type}.')
        return found if "row_of" in found else {"type": "id", **found}
    column = unit.column if isinstance(unit, PrivacyUnit) else unit
    return {"row_of": dataset} if column is None else {"person": column, "type": "id"}


@dataclass(frozen=True)
class Terms:
    """The first entry of a ledger. Everything but the budget's ceilings and purses is fixed for ever."""

    ledger: str
    dataset: str
    relation: Relation
    unit: Mapping[str, str]
    budget: Budget
    filter: Filter
    format: int = FORMAT  # that of the first entry: in a book begun in format 2 nothing older can be

    @classmethod
    def new(cls, budget: Budget, relation: str | Relation, unit: Any, dataset: str) -> Terms:
        name = as_text(dataset, "dataset")
        # an id only has to be unlike other ids; it protects nothing, so it is not drawn from the noise room
        return cls(uuid.uuid4().hex, name, Relation.of(relation), unit_of(unit, name), budget, open_filter(budget))

    def to_record(self, version: str) -> dict[str, Any]:
        return {
            "budget": self.budget.to_dict(), "dataset": self.dataset, "filter": self.filter.to_dict(), "format": self.format,
            "kind": "genesis", "ledger": self.ledger, "number": 0, "relation": str(self.relation), "unit": dict(self.unit),
            "version": version,
        }  # fmt: skip

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Terms:
        with decoding("the first entry of the ledger"):
            if record["kind"] != "genesis":
                raise damaged("the ledger does not begin with its terms.")
            return cls(
                record["ledger"], record["dataset"], Relation.of(record["relation"]), record["unit"],
                Budget.from_dict(record["budget"]), read_filter(record["filter"]), record["format"],
            )  # fmt: skip

    def check(self, *, budget: Budget | None, relation: str | Relation, unit: Any, dataset: str) -> None:
        """Refuse an opening under other terms: the sums in this book mean nothing under another relation, unit or cap."""
        declared = [
            ("dataset", self.dataset, dataset),
            ("relation", str(self.relation), str(Relation.of(relation))),
            ("unit", dict(self.unit), unit_of(unit, dataset)),
        ]
        if budget is not None:
            declared += [(name, getattr(self.budget, name), getattr(budget, name)) for name in ("epsilon", "delta", "accounting")]
        for name, kept, given in declared:
            if kept != given:
                raise LedgerError(
                    "SRD-604", f"the ledger was made for {name} {kept!s}, not {given!s}.",
                    f"Open it with {name} {kept!s}, or give the other data a ledger of their own.", name=name, kept=kept, given=given,
                )  # fmt: skip
