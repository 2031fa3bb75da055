"""The lecture's definition of admissible noise, checked by integrating it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

from sordino.privacy.dilation import Dilation
from sordino.privacy.law import Noise
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["Admissible", "admissible"]


class Admissible(NamedTuple):
    """alpha and beta with how far each property is from failing: allowed over needed epsilon, so at least 1 means it holds."""

    alpha: float
    beta: float
    sliding: float
    dilation: float

    @property
    def holds(self) -> bool:
        return self.sliding >= 1 - 1e-6 and self.dilation >= 1 - 1e-6


def admissible(law: Noise, epsilon: Any, delta: Any = 0, *, alpha: float | None = None, beta: float | None = None) -> Admissible:
    r"""Check that a law is (alpha, beta)-admissible, or find the largest alpha and beta for which it is.

    Definition. For every |slide| <= alpha and |lambda| <= beta and every set S: P(Z in S) <= e^{epsilon/2} P(Z in S + slide) + delta/2,
    and P(Z in S) <= e^{epsilon/2} P(Z in e^lambda S) + delta/2.
    Theorem. Then f(x) + S(x)/alpha Z with a beta-smooth S is (epsilon, (1 + e^{epsilon/2}) delta/2)-DP.
    Proof. Slide to the neighbour's centre, then dilate to its scale: the second step's delta is multiplied by e^{epsilon/2}. QED
    The hockey sticks of a symmetric unimodal law grow with the slide, and those of a law without jumps with the dilation, so the end
    points decide; for a law with kinks a few smaller dilations are asked as well.
    """
    half, allowed = float(as_epsilon(epsilon)) / 2, float(as_delta(delta, zero=True)) / 2

    def slid(by: float) -> float:
        return _needed(lambda e: Dilation(law, by, 0.0).delta(e), lambda: Dilation(law, by, 0.0).sup(), allowed, half)

    def dilated(by: float) -> float:
        shares = (1.0, 0.5, 0.1, 0.01, 1e-4) if law.kinks else (1.0,)  # at a jump the smallest dilation is the worst
        pairs = [Dilation(law, 0.0, by * share, wide_first=wide) for share in shares for wide in (True, False)]
        return max(_needed(pair.delta, pair.sup, allowed, half) for pair in pairs)

    alpha = _largest(slid, half) if alpha is None else alpha
    beta = _largest(dilated, half) if beta is None else beta
    return Admissible(alpha, beta, half / max(slid(alpha), 1e-300), half / max(dilated(beta), 1e-300))


def _needed(delta: Callable[[float], float], sup: Callable[[], float], allowed: float, scale: float) -> float:
    """The least epsilon of one property at the allowed delta."""
    if allowed == 0:
        return sup()
    low, high = 0.0, scale
    while delta(high) > allowed:
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-6 * scale:
        middle = (low + high) / 2
        low, high = (middle, high) if delta(middle) > allowed else (low, middle)
    return high


def _largest(needed: Callable[[float], float], half: float) -> float:
    """The largest parameter whose property needs at most epsilon/2; zero if there is none."""
    low, high = 0.0, 1e-6
    while needed(high) <= half * (1 + 1e-9):
        low, high = high, 2 * high
        if high > 1e6:
            return math.inf
    while high - low > 1e-5 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if needed(middle) <= half * (1 + 1e-9) else (low, middle)
    return low
