"""Randomized response: binary, k-ary, and one bit per option."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Finite
from sordino.privacy.cost import Cost
from sordino.privacy.discrete import Bernoulli, Categorical
from sordino.privacy.number import as_epsilon, exp_down, exp_up
from sordino.summaries import Ask, Draw, Value

__all__ = ["RandomizedResponse"]

FINE = 2**64


@listed("randomized response", "random mechanism 2", "optimal randomized response", note="001 1.2")
@dataclass(frozen=True)
class RandomizedResponse:
    r"""Report the true option with probability p, and each other option with probability q.

    Theorem. For neighbours that replace the answer, p = e^epsilon/(e^epsilon + k - 1) and q = 1/(e^epsilon + k - 1) are epsilon-DP and
    for no smaller epsilon; with one bit per option, keeping a one with probability 1/2 and raising a zero with probability
    1/(e^epsilon + 1) is epsilon-DP too. At epsilon = 0 the report is a fair coin.
    Proof. The largest ratio of two probabilities of one report is p/q = e^epsilon. Two one-hot vectors differ in two bits, with ratio
    (1/2)/q times (1-q)/(1/2) = (1-q)/q = e^epsilon. p is rounded down to a multiple of 2^-64, q up. QED
    """

    epsilon: Fraction
    options: int = 2
    encoding: str = "direct"

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon, zero=True))
        if isinstance(self.options, bool) or not isinstance(self.options, int) or self.options < 2:
            raise QueryError("SRD-103", f"options is {self.options!r}.", "Give the number of possible answers, at least 2.")
        if self.encoding not in ("direct", "unary"):
            raise QueryError("SRD-106", f"encoding {self.encoding!r} is unknown.", 'Use "direct" or "unary".')

    @property
    def keep(self) -> Fraction:
        """The probability p of reporting the truth (direct), or of keeping a one (unary)."""
        if self.encoding == "unary":
            return Fraction(1, 2)
        if self.epsilon == 0:
            return Fraction(1, self.options)
        grown = exp_down(self.epsilon)
        down = Fraction(math.floor(grown / (grown + self.options - 1) * FINE), FINE)
        return max(down, Fraction(1, self.options))  # at a tiny epsilon rounding down must not make the truth the rarest report

    @property
    def lie(self) -> Fraction:
        """The probability q of each other option (direct), or of raising a zero (unary)."""
        if self.encoding == "unary":
            return Fraction(math.ceil(FINE / (exp_up(self.epsilon) + 1)), FINE) if self.epsilon else Fraction(1, 2)
        return (1 - self.keep) / (self.options - 1)

    def probabilities(self, truth: int) -> dict[Any, float]:
        """The exact law of the report."""
        p, q = float(self.keep), float(self.lie)
        if self.encoding == "direct":
            return {option: p if option == truth else q for option in range(self.options)}
        chances = [p if option == truth else q for option in range(self.options)]
        reports = product((0, 1), repeat=self.options)
        return {bits: float(np.prod([c if b else 1 - c for b, c in zip(bits, chances, strict=True)])) for bits in reports}

    def certificate(self) -> Certificate:
        law = self if self.encoding == "direct" else replace(self, options=2)  # the bits of all other options have one law and cancel
        witness = Finite(law.probabilities(0), law.probabilities(1))
        return claim(self, Cost.pure(self.epsilon), witness, assumes="neighbours replace the answer")

    def release(self, ask: Ask, draw: Draw) -> Any:
        truth = ask(Value())
        if not 0 <= truth < self.options:
            raise QueryError("SRD-105", "the answer is not one of the options.", f"Code answers as 0 to {self.options - 1}.")
        if self.encoding == "unary":
            index = np.array([int(option != truth) for option in range(self.options)])
            return tuple(int(bit) for bit in np.atleast_1d(draw(Bernoulli((self.keep, self.lie), index))))
        common = self.lie.denominator * self.keep.denominator
        weights = [int((self.keep if option == truth else self.lie) * common) for option in range(self.options)]
        return draw(Categorical(tuple(weights)))

    def estimate(self, reports: Sequence[Any]) -> np.ndarray[Any, np.dtype[np.float64]]:
        """The unbiased share of each option: (observed share - q)/(p - q)."""
        if self.epsilon == 0:
            raise QueryError("SRD-101", "epsilon 0 reports are pure chance and carry no estimate.", "Use a positive epsilon.")
        if len(reports) == 0:
            raise QueryError("SRD-105", "there are no reports to estimate from.", "Collect at least one report.")
        if self.encoding == "unary":
            share = np.asarray(reports, float).mean(axis=0)
        else:
            share = np.bincount(np.asarray(reports, np.int64), minlength=self.options) / len(reports)
        return np.asarray((share - float(self.lie)) / float(self.keep - self.lie))

    def variance(self, share: float, n: int) -> float:
        """The variance of an estimate at a true share: [q(1-q) + f (p-q)(1-p-q)] / (n (p-q)^2)."""
        p, q = float(self.keep), float(self.lie)
        return (q * (1 - q) + share * (p - q) * (1 - p - q)) / (n * (p - q) ** 2)

    @classmethod
    def examples(cls) -> Sequence[RandomizedResponse]:
        one = Fraction(1)
        return (cls(one), cls(Fraction(1, 10)), cls(one, 5), cls(Fraction(3), 4, "unary"))
