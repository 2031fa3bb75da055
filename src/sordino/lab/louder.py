"""The twin that needs twice what the theorem needs: the same release drawn at twice its price. A check that passes it has no power."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Certificate
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.summaries import Ask, Draw

__all__ = ["claimed_by", "louder"]


def louder(mechanism: Any) -> Any:
    """The mechanism at twice its epsilon, or with its odds squared if it has none; None where no such mechanism can be made."""
    if not hasattr(mechanism, "epsilon"):
        return _Sharper(mechanism)
    changes: dict[str, Any] = {"epsilon": 2 * mechanism.epsilon}
    changes |= {f.name: None for f in fields(mechanism) if f.name == "beta" and f.default is None}  # it follows from epsilon
    try:
        return replace(mechanism, **changes)
    except QueryError:
        return None


def claimed_by(mechanism: Any, twin: Any) -> Certificate:
    """What the twin draws, sold at the mechanism's price."""
    drawn: Certificate = twin.certificate()
    return replace(drawn, cost=mechanism.certificate().cost)


@dataclass(frozen=True)
class _Sharper:
    """Coins and choices with their odds squared: the loss of every outcome doubles."""

    mechanism: Any

    def certificate(self) -> Certificate:
        found: Certificate = self.mechanism.certificate()
        squared = [_Squared(witness) for witness in found.witnesses]
        return replace(found, witnesses=tuple(squared))

    def release(self, ask: Ask, draw: Draw) -> Any:
        return self.mechanism.release(ask, lambda law: draw(_squared(law)))


@dataclass(frozen=True)
class _Squared:
    witness: Any

    def sup(self) -> float:
        return 2 * float(self.witness.sup())

    def delta(self, epsilon: float) -> float:
        return float(self.witness.delta(epsilon / 2))


def _squared(law: Any) -> Any:
    match law:
        case Bernoulli():
            return replace(law, probabilities=tuple(p * p / (p * p + (1 - p) * (1 - p)) for p in map(Fraction, law.probabilities)))
        case Categorical():
            squares = tuple(w * w for w in law.weights) if isinstance(law.weights, tuple) else np.asarray(law.weights) ** 2
            return replace(law, weights=squares)
    raise QueryError("SRD-108", f"{type(law).__name__} has no odds.", "Give the mechanism an epsilon.")
