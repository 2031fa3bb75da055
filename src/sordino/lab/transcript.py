"""What the draws of a release cost between two neighbours: the laws really handed to the sampler, integrated pair by pair."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.privacy.cost import gaussian_delta
from sordino.privacy.dilation import Dilation
from sordino.privacy.discrete import ArgMax, Bernoulli, DiscreteLaplace
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import Placed
from sordino.privacy.witness import Closed, Finite, GaussianShift, LaplaceShift, Witness

__all__ = ["Spent", "spent", "witness"]

ROUNDING = 1e-6  # relative, of integrals over a net


@dataclass(frozen=True)
class Spent:
    """The price of a transcript between two neighbours: the epsilon it needs (infinite without a delta), and delta at the claim.

    `exact` is false where delta is only bounded: by the worst release of this epsilon, or because other draws decide whether the one
    that differs is shown at all, as the test of propose-test-release does.
    """

    epsilon: float
    delta: float
    exact: bool = True

    def within(self, claim: tuple[float, float]) -> bool:
        epsilon, delta = claim
        return self.epsilon <= epsilon * (1 + ROUNDING) or self.delta <= delta * (1 + ROUNDING)


def spent(laws: Iterable[tuple[Any, Any]], claim: tuple[float, float]) -> Spent | None:
    r"""The price of all draws of one conversation, given the outcomes that were pinned; None where no rule applies.

    Theorem. With finite losses s_i the transcript needs at most their sum; with Gaussian shifts mu_i alone it is one Gaussian of shift
    sqrt(sum mu_i^2); a single draw that differs costs its own hockey stick.
    Proof. Given the same outcomes so far, neighbours draw from the two laws of a turn. Log-ratios of turns add; those of Gaussians
    are jointly Gaussian. Everything released is a function of the outcomes and of public facts. QED
    """
    turns = list(map(_plain, laws))
    found = [witness(one, other) for one, other in turns if one != other]
    if not found:
        return Spent(0.0, 0.0)
    if any(pair is None for pair in found):
        return None
    pairs: list[Witness] = [pair for pair in found if pair is not None]
    total = sum(pair.sup() for pair in pairs)
    if len(pairs) == 1:
        return Spent(total, pairs[0].delta(claim[0]), exact=len(turns) == 1 or all(map(_gaussian, turns)))
    if all(isinstance(pair, GaussianShift) for pair in pairs):
        mu = math.sqrt(sum(pair.mu**2 for pair in pairs if isinstance(pair, GaussianShift)))
        return Spent(math.inf, gaussian_delta(mu, claim[0]))
    if math.isfinite(total):
        return Spent(total, LaplaceShift(total, scalar=False).delta(claim[0]), exact=False)
    return None


def _gaussian(pair: tuple[_Turn, _Turn]) -> bool:
    return isinstance(getattr(pair[0].law, "law", None), GaussianLaw)


def _plain(pair: tuple[Any, Any]) -> tuple[_Turn, _Turn]:
    """Laws with arrays in them cannot be compared; as lists they can."""
    return _Turn(pair[0]), _Turn(pair[1])


class _Turn:
    def __init__(self, law: Any) -> None:
        self.law = law
        self.parts = {name: np.asarray(value).tolist() for name, value in vars(law).items()} if hasattr(law, "__dict__") else law

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Turn) and type(self.law) is type(other.law) and self.parts == other.parts

    __hash__ = None  # type: ignore[assignment]


def witness(one: Any, other: Any) -> Witness | None:
    """The loss between two laws of one turn, in both directions; None if their kind has no rule here."""
    one, other = (side.law if isinstance(side, _Turn) else side for side in (one, other))
    if type(one) is not type(other):
        return None
    match one:
        case DiscreteLaplace():
            moved = np.abs(np.asarray(one.location, float) - np.asarray(other.location, float)).sum()
            return LaplaceShift(float(moved) / float(one.scale), scalar=False) if one.scale == other.scale else None
        case Bernoulli() if one.index is None and other.index is None:
            p, q = float(one.probabilities[0]), float(other.probabilities[0])
            return Finite([p, 1 - p], [q, 1 - q])
        case ArgMax():
            return Finite(one.probabilities().tolist(), other.probabilities().tolist())
        case Placed() if one.law == other.law:
            return _placed(one, other)
    return None


def _placed(one: Placed[Any], other: Placed[Any]) -> Witness | None:
    moved = np.atleast_1d(np.abs(np.asarray(one.location, float) - np.asarray(other.location, float)))
    scales = [np.array([float(s) for s in _scales(side, moved.size)]) for side in (one, other)]
    narrow, wide = np.minimum(*scales), np.maximum(*scales)
    if np.array_equal(narrow, wide):
        if isinstance(one.law, LaplaceLaw):
            return LaplaceShift(float((moved / narrow).sum()), scalar=moved.size == 1)
        if isinstance(one.law, GaussianLaw):
            return GaussianShift(float(np.sqrt(((moved / narrow) ** 2).sum())))
    if moved.size > 1:
        return None
    slide, dilation = float(moved[0] / narrow[0]), float(np.log(wide[0] / narrow[0]))
    both = [Dilation(one.law, slide, dilation, wide_first=first) for first in (True, False)]
    return Closed(lambda epsilon: max(pair.delta(epsilon) for pair in both), max(pair.sup() for pair in both))


def _scales(law: Placed[Any], size: int) -> Sequence[Any]:
    return law.scale if isinstance(law.scale, Sequence) else [law.scale] * size
