"""An audit of a single run: many canaries, each included by a coin, and a guess at every coin from the one output."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from html import escape

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.lab.finding import CONSISTENT, REFUTED, as_claim, as_confidence, exit_code, lower, plain
from sordino.noise import draw
from sordino.pictures import Picture, lines
from sordino.privacy.discrete import Bernoulli
from sordino.summaries import Draw

__all__ = ["Guess", "OneRun", "one_run", "p_value"]

SHARES = (0.02, 0.1, 0.3, 0.5, 0.7, 1.0)  # of the canaries that are guessed; each takes an equal part of the error
NET = 50  # points per claimed epsilon at which an approximate claim is tested


@dataclass(frozen=True)
class Guess:
    """So many canaries were guessed, so many rightly, and what that says about epsilon."""

    guesses: int
    right: int
    epsilon_lower: float
    p_value: float


@dataclass(frozen=True, repr=False)
class OneRun:
    """What one run gave away about its canaries. The curve has one point for every number of guesses; all of them hold at once."""

    claimed: tuple[float, float]
    canaries: int
    curve: tuple[Guess, ...]
    confidence: float

    @property
    def epsilon_lower(self) -> float:
        return max(point.epsilon_lower for point in self.curve)

    @property
    def p_value(self) -> float:
        """How likely so many right guesses are if the claim is true, over all numbers of guesses tried."""
        return min(1.0, min(point.p_value for point in self.curve) * len(self.curve))

    @property
    def verdict(self) -> str:
        return REFUTED if self.p_value < 1 - self.confidence else CONSISTENT

    @property
    def exit_code(self) -> int:
        return exit_code(self.verdict)

    def __repr__(self) -> str:
        epsilon, delta = self.claimed
        best = max(self.curve, key=lambda point: point.epsilon_lower)
        return (
            f"one run: {self.verdict}, claimed epsilon {epsilon:.6g}, delta {delta:.6g}\n"
            f"  epsilon is at least {self.epsilon_lower:.4f} at the claimed delta\n"
            f"  witness: {best.right:,} of {best.guesses:,} guesses are right ({best.right / best.guesses:.1%})\n"
            f"  {self.canaries:,} canaries, one run, confidence 1 - {1 - self.confidence:.2g}"
        )

    def plot(self) -> Picture:
        """The bound by how many canaries were guessed, under the claim."""
        sizes = [point.guesses for point in self.curve]
        series = {"lower bound": (sizes, [p.epsilon_lower for p in self.curve]), "claimed": (sizes, [self.claimed[0]] * len(sizes))}
        return lines(series, title=f"One run: {self.verdict}", x="canaries guessed", y="epsilon, lower bound")

    def to_json(self) -> str:
        shown = {"epsilon_lower": self.epsilon_lower, "p_value": self.p_value, "verdict": self.verdict}
        return json.dumps(plain({**asdict(self), **shown}), allow_nan=False)

    def _repr_html_(self) -> str:
        return f"<pre>{escape(repr(self))}</pre>{self.plot().svg}"


def p_value(right: int, guesses: int, epsilon: float, *, delta: float = 0.0, canaries: int | None = None) -> float:
    r"""How likely so many right guesses are at most, if one run is (epsilon, delta)-DP in each canary's presence.

    Theorem. Let every canary be included by a fair coin of its own, and let the output choose which r of m coins to guess, and how.
    With q = e^epsilon/(1 + e^epsilon) and W ~ Binomial(r, q), P(at least v right) <= P(W >= v) if the run is epsilon-DP, and
    P(at least v right) <= P(W >= v) + 2 m delta max_{i >= 1} P(v - i <= W < v)/i if it is (epsilon, delta)-DP.
    Proof. Given the output y and the coins before i, the two values of coin i have likelihoods that are averages, over the coins after
    i, of neighbouring ones: their ratio is at most e^epsilon, and by Bayes a guess at coin i is right with probability at most q,
    whatever the earlier ones were. So the number of right guesses, given y, is stochastically at most W. The approximate form is
    the main theorem of Steinke, Nasr and Jagielski, "Privacy auditing with one (1) training run" (2023). QED
    """
    from scipy.stats import binom

    q = 1 / (1 + math.exp(-min(epsilon, 700.0)))
    beta = float(binom.sf(right - 1, guesses, q))
    if delta == 0 or right == 0:
        return beta
    last = max(0, math.floor(guesses * q - 40 * math.sqrt(guesses * q * (1 - q))) - 1)  # what lies below has no mass and cannot win
    window = np.arange(right - 1, min(last, right - 1) - 1, -1)
    most = float((np.cumsum(binom.pmf(window, guesses, q)) / np.arange(1, window.size + 1)).max())
    return min(1.0, beta + 2 * (canaries or guesses) * delta * most)


def one_run(
    release: Callable[[NDArray[np.bool_]], Sequence[float]],
    canaries: int,
    *,
    claimed: float | tuple[float, float],
    guesses: Sequence[int] | None = None,
    confidence: float = 1 - 1e-5,
    draw: Draw = draw,
) -> OneRun:
    """Include each of `canaries` by a fair coin, call `release(included)` once, and guess the coins from what comes out.

    `release` gives one number per canary, larger where the canary looks present (nan: not shown, taken as absent): for a group-by with a
    canary row per key that is the released count. The highest are guessed present, the lowest absent, as many of each. `guesses` are
    the total numbers of guesses to try, fixed before the run; each spends an equal part of 1 - confidence.
    """
    claim, alpha = as_claim(claimed), 1 - as_confidence(confidence)
    if isinstance(canaries, bool) or not isinstance(canaries, int) or not 10 <= canaries <= 10**8:
        raise QueryError("SRD-103", f"canaries is {canaries!r}.", "Give a whole number from 10 to a hundred million.")
    tried = sorted({2 * round(share * canaries / 2) for share in SHARES} - {0}) if guesses is None else sorted(set(guesses))
    if not tried or not all(isinstance(r, int) and 2 <= r <= canaries and r % 2 == 0 for r in tried):
        raise QueryError("SRD-103", f"guesses are {tried!r}.", "Give even whole numbers from 2 to the number of canaries.")
    epsilon, delta = claim
    if all(p_value(r, r, epsilon, delta=delta, canaries=canaries) * len(tried) >= alpha for r in tried):
        what = "even if every guess were right, this claim could not be refuted."
        raise QueryError("SRD-103", what, "Use more canaries, a smaller delta or a lower confidence.")
    coins = np.asarray(draw(Bernoulli((Fraction(1, 2),), np.zeros(canaries, np.int64))), bool)
    scores = np.asarray(release(coins), float)
    if scores.shape != (canaries,):
        raise QueryError("SRD-105", f"release gave {scores.shape} scores.", "Return one number per canary, in their order.")
    order = np.argsort(np.where(np.isnan(scores), -np.inf, scores), kind="stable")
    points = []
    for r in tried:
        right = int(np.count_nonzero(coins[order[-r // 2 :]]) + np.count_nonzero(~coins[order[: r // 2]]))
        reached = p_value(right, r, epsilon, delta=delta, canaries=canaries)
        points.append(Guess(r, right, _epsilon(right, r, alpha / len(tried), claim, canaries), reached))
    return OneRun(claim, canaries, tuple(points), float(confidence))


def _epsilon(right: int, guesses: int, alpha: float, claim: tuple[float, float], canaries: int) -> float:
    r"""The largest epsilon below which the guesses refute every claim.

    Proof. Without delta the tail grows with epsilon: invert it. With delta, claims are tested on a net; if the bound lies above the true
    epsilon then the net point just above the truth was refuted, and it is a true claim. QED
    """
    epsilon, delta = claim
    if delta == 0:
        q = float(lower(right, guesses, alpha))
        return max(0.0, math.log(q) - math.log1p(-q)) if q < 1 else math.inf
    step = (epsilon or 1.0) / NET
    k = 0
    while k < 40 * NET and p_value(right, guesses, (k + 1) * step, delta=delta, canaries=canaries) < alpha:
        k += 1
    return k * step
