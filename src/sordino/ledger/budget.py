"""What the owner allows in all: one cap for the data, purses for analysts, a ceiling for one release."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from types import MappingProxyType
from typing import Any

from sordino.errors import QueryError
from sordino.pictures import Picture, bars
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["ACCOUNTING", "Budget"]

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
