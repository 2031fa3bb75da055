"""Laws with finitely many or integer outcomes, as handed to `draw`: their probabilities are exact rationals or exact functions of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.law import LawOutcome, Place
from sordino.privacy.number import as_positive

__all__ = ["ArgMax", "Bernoulli", "Categorical", "DiscreteLaplace", "UniformInteger"]


@dataclass(frozen=True)
class Bernoulli(LawOutcome[bool | NDArray[np.bool_]]):
    """True with the given probability. With an index, one independent coin per entry: probabilities[index[i]]."""

    probabilities: Sequence[Fraction]
    index: NDArray[np.int64] | None = None

    @classmethod
    def of(cls, probability: Fraction) -> Bernoulli:
        if not 0 <= probability <= 1:
            raise QueryError("SRD-103", f"a coin with probability {float(probability):g}.", "Give a probability between 0 and 1.")
        return cls((probability,))


@dataclass(frozen=True)
class UniformInteger(LawOutcome[int]):
    """Each integer from low to high, both included, with equal probability."""

    low: int
    high: int


@dataclass(frozen=True)
class Categorical(LawOutcome[int]):
    """Index i with probability weights[i] / sum(weights). Integers of any size, or doubles read as exact rationals.

    Where the index is private, because a uniform integer inside the cell is drawn next and leaves instead, `cells` gives the integers
    start < k <= stop of each cell: the law of what leaves, for whoever checks it. It is private, and computed only when it is asked for.
    """

    weights: NDArray[np.float64] | tuple[int, ...]
    cells: Callable[[], Sequence[tuple[int, int]]] | None = field(default=None, repr=False, compare=False)


@dataclass(frozen=True)
class DiscreteLaplace(LawOutcome[Place]):
    r"""Integers with probability proportional to e^{-|k|/scale}, around a private integer location.

    Theorem. An integer shift of at most D costs D/scale, and P(K >= t) = e^{-t/scale}/(1 + e^{-1/scale}) for t >= 1.
    Proof. The ratio of two neighbouring probabilities is e^{+-1/scale}; sum the geometric tail. QED
    """

    scale: Fraction
    location: Place = 0  # type: ignore[assignment] # one number, where nothing is said

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", as_positive(self.scale, "scale"))

    def probability(self, k: Any) -> NDArray[np.float64]:
        b = float(self.scale)
        return np.asarray(math.tanh(0.5 / b) * np.exp(-np.abs(np.asarray(k, float)) / b))

    @property
    def variance(self) -> float:
        b = float(self.scale)
        return 2 * math.exp(-1 / b) / math.expm1(-1 / b) ** 2


@dataclass(frozen=True)
class ArgMax(LawOutcome[int]):
    r"""The index of the largest of scores[i]/scale + noise_i with independent noise: gumbel, exponential or laplace.

    Theorem. Gumbel noise gives the exponential mechanism's law, P(i) proportional to e^{scores[i]/scale}; exponential noise gives
    permute-and-flip; Laplace noise is report-noisy-max.
    Proof. Gumbel: P(i) = integral of its density times prod_j exp(-e^{-(z + s_i - s_j)}) = e^{s_i}/sum_j e^{s_j}. Exponential: Ding,
    Kifer, Sayed and others 2021, theorem 5. QED
    """

    scores: NDArray[np.int64]
    scale: Fraction
    noise: str

    def __post_init__(self) -> None:
        if self.noise not in ("gumbel", "exponential", "laplace"):
            raise QueryError("SRD-106", f"noise {self.noise!r} is unknown.", 'Use "gumbel", "exponential" or "laplace".')
        if len(self.scores) == 0:
            raise QueryError("SRD-105", "there is no candidate to choose from.", "Give at least one score.")

    def probabilities(self) -> NDArray[np.float64]:
        """The exact law of the index, for certificates and tests."""
        s = np.asarray(self.scores, float) / float(self.scale)
        s = s - s.max()
        if self.noise == "gumbel":
            return np.asarray(np.exp(s) / np.exp(s).sum())
        return _exponential_winner(s) if self.noise == "exponential" else _laplace_winner(s)


def _exponential_winner(s: NDArray[np.float64]) -> NDArray[np.float64]:
    """P(i) = p_i * integral over t in [0,1] of prod_{j != i} (1 - p_j t) dt with p = e^{s}: a uniform permutation met by coins."""
    p = np.exp(s)
    nodes, weights = np.polynomial.legendre.leggauss(max(8, len(p) // 2 + 2))  # exact for this polynomial degree
    t, w = (nodes + 1) / 2, weights / 2
    factors = 1 - np.outer(t, p)
    out = np.empty(len(p))
    for i in range(len(p)):
        out[i] = p[i] * np.sum(w * np.prod(np.delete(factors, i, axis=1), axis=1))
    return out


def _laplace_winner(s: NDArray[np.float64]) -> NDArray[np.float64]:
    from scipy.integrate import quad

    if len(s) == 2:  # the difference of two Laplace variables has tail e^{-d} (1/2 + d/4)
        gap = abs(float(s[0] - s[1]))
        loser = math.exp(-gap) * (0.5 + gap / 4)
        return np.array([loser, 1 - loser]) if s[0] < s[1] else np.array([1 - loser, loser])

    def integrand(z: float, i: int) -> float:
        others = z + s[i] - np.delete(s, i)
        cdf = np.where(others < 0, np.exp(np.minimum(others, 0)) / 2, 1 - np.exp(-np.maximum(others, 0)) / 2)
        return math.exp(-abs(z)) / 2 * float(np.prod(cdf))

    def win(i: int) -> float:
        kinks = sorted({0.0, *(float(x) for x in s - s[i])})
        ends = sorted({kink + away for kink in kinks for away in (-45.0, -8.0, 0.0, 8.0, 45.0)})  # quad overlooks a peak in a wide interval
        return float(sum(quad(integrand, a, b, args=(i,), epsabs=1e-15, epsrel=1e-12, limit=200)[0] for a, b in pairwise(ends) if b > a))

    return np.array([win(i) for i in range(len(s))])
