"""The privacy loss of two laws: ln P(y)/Q(y) with y drawn from P, its largest value, its tail, and the delta it leaves at each epsilon.

The lecture's definition of admissible noise, checked by integrating it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from sordino.errors import QueryError
from sordino.privacy.certificate import Finite
from sordino.privacy.dilation import Dilation
from sordino.privacy.law import Noise, Placed
from sordino.privacy.number import as_delta, as_epsilon

__all__ = ["Admissible", "Loss", "admissible", "loss"]


@dataclass(frozen=True)
class Loss:
    r"""The privacy-loss random variable of P against Q, in that direction.

    Theorem. The least delta at epsilon is E_P[(1 - e^{epsilon - L})_+] = P(L > epsilon) - e^epsilon Q(L > epsilon), so
    P(L > epsilon) <= delta suffices for (epsilon, delta)-DP; the converse is false. For delta = 0 the three definitions agree: by events,
    by points, and by the largest loss.
    Proof. The best event is {L > epsilon}: adding points outside it or dropping points inside it lowers P(E) - e^epsilon Q(E). Dropping
    the second term bounds it by P(L > epsilon). If no point exceeds epsilon the best event is empty. QED
    """

    _pair: Any

    @property
    def sup(self) -> float:
        """The largest loss: the epsilon of pure DP in this direction."""
        if isinstance(self._pair, Finite):
            with np.errstate(divide="ignore"):
                seen = self._pair.p > 0
                return float(np.max(np.log(self._pair.p[seen]) - np.log(self._pair.q[seen])))
        return float(self._pair.sup())

    def tail(self, epsilon: float) -> float:
        """P(L > epsilon)."""
        if isinstance(self._pair, Finite):
            return float(self._pair.p[self._pair.p > math.exp(min(epsilon, 700.0)) * self._pair.q].sum())
        return float(self._pair.loss_tail(epsilon))

    def delta(self, epsilon: float) -> float:
        """The hockey stick: the least delta for which this direction is (epsilon, delta)-DP."""
        if isinstance(self._pair, Finite):
            return float(np.maximum(self._pair.p - math.exp(min(epsilon, 700.0)) * self._pair.q, 0).sum())
        return float(self._pair.delta(epsilon))

    def plot(self, upto: float | None = None) -> Any:
        """delta(epsilon) and the loss tail, side by side."""
        from sordino.pictures import lines

        end = upto or (min(self.sup, 6.0) if math.isfinite(self.sup) else 6.0)
        xs = np.linspace(0, end * 1.1, 60).tolist()
        series = {"delta(epsilon)": (xs, [self.delta(x) for x in xs]), "P(loss > epsilon)": (xs, [self.tail(x) for x in xs])}
        return lines(series, title="Privacy loss", x="epsilon", y="probability")

    def __repr__(self) -> str:
        return f"Loss(sup={self.sup:.6g}, delta(0)={self.delta(0.0):.6g}, delta(1)={self.delta(1.0):.6g})"


def loss(p: Any, q: Any) -> Loss:
    """The privacy loss of P against Q: two finite laws (mappings or lists of probabilities), or one noise law placed at two spots."""
    if isinstance(p, Placed) and isinstance(q, Placed):
        return Loss(_placed(p, q))
    listed, mapped = ((isinstance(p, kind) and isinstance(q, kind)) for kind in (list | tuple | np.ndarray, Mapping))
    if listed or mapped:
        pair = Finite(p, q)
        if len(pair.p) != len(pair.q):
            raise QueryError("SRD-105", "the two laws have different numbers of outcomes.", "List the same outcomes in the same order.")
        for law in (pair.p, pair.q):
            if len(law) == 0 or not np.all(law >= 0) or not abs(law.sum() - 1) < 1e-9:
                raise QueryError("SRD-105", "these are not probabilities.", "Give non-negative numbers that sum to 1.")
        return Loss(pair)
    raise QueryError("SRD-105", "these are not two laws.", "Give two finite laws, or one law placed twice: law.at(location, scale).")


def _placed(p: Placed[Any], q: Placed[Any]) -> Dilation:
    vectors = [part for law in (p, q) for part in (law.location, law.scale) if np.ndim(part) or not hasattr(part, "numerator")]  # type: ignore[arg-type]
    if p.law != q.law or vectors:
        raise QueryError("SRD-105", "the two laws are not one scalar law placed twice.", "Place the same law at two locations and scales.")
    (b_p, b_q), gap = (float(p.scale), float(q.scale)), abs(int(p.location) - int(q.location))  # type: ignore[arg-type]
    narrow = min(b_p, b_q)
    return Dilation(p.law, gap / narrow, math.log(max(b_p, b_q) / narrow), wide_first=b_p >= b_q)


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
