"""AboveThreshold, the sparse vector: many questions, one answer, one price."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.mechanisms.laplace import check_scale
from sordino.mechanisms.listing import claim, listed
from sordino.privacy.certificate import Certificate, Finite
from sordino.privacy.cost import Cost
from sordino.privacy.families import LaplaceLaw
from sordino.privacy.number import as_epsilon, as_reach
from sordino.summaries import Ask, Draw, Refused, Value

__all__ = ["AboveThreshold"]


@listed("sparse vector", "above threshold", "AboveThreshold", note="003 composition of existing algorithms")
@dataclass(frozen=True)
class AboveThreshold:
    r"""The index of the first query whose noisy value reaches a noisy threshold, or "none".

    Theorem. With threshold noise Lap(D/e1) and query noise Lap(r/e2), where one unit moves each query by at most D and r bounds the
    spread max_i d_i - min_i d_i of the movements (2D in general, D if all move one way), the index is (e1+e2)-DP.
    Proof. Shift the threshold noise by the largest movement of the earlier queries: they stay below at a price of e1, and the deciding
    query must make up at most the spread, at a price of e2 (Lyu, Su and Li 2017, with the spread in place of 2D). All values are
    integers on one grid, so the same shifts are integer shifts of rounded Laplace noise. QED
    """

    epsilon: Fraction
    threshold: int = 0
    queries: int = 1
    sensitivity: int = 1
    spread: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "epsilon", as_epsilon(self.epsilon))
        if isinstance(self.threshold, bool) or not isinstance(self.threshold, int):
            raise QueryError("SRD-103", f"threshold is {self.threshold!r}.", "Give the threshold as a whole number of the queries' unit.")
        as_reach(self.sensitivity)
        as_reach(self.queries)
        object.__setattr__(self, "spread", as_reach(2 * self.sensitivity if self.spread is None else self.spread))
        check_scale(max(self.scales))

    @property
    def split(self) -> tuple[Fraction, Fraction]:
        """e1 and e2 in the ratio 1 : (r/D)^{2/3}, which minimises the variance of the comparison."""
        assert self.spread is not None
        share = Fraction(1 / (1 + (self.spread / self.sensitivity) ** (2 / 3))).limit_denominator(1000)
        return self.epsilon * share, self.epsilon * (1 - share)

    @property
    def scales(self) -> tuple[Fraction, Fraction]:
        assert self.spread is not None
        first, second = self.split
        return self.sensitivity / first, self.spread / second

    def probability(self, earlier: float, last: float, count: int) -> float:
        """P(`count` queries at value `earlier` stay below and the next one, at value `last`, reaches the threshold), by quadrature."""
        first, second = (float(scale) for scale in self.scales)
        reach = 60 * (first + second)
        net = np.linspace(-reach, reach, 400_001)
        below = _log_cdf((net - earlier) / second) * count
        above = _log_cdf((last - net) / second)
        logs = -np.abs(net) / first - math.log(2 * first) + below + above
        top = logs.max()
        return float(np.exp(top) * np.exp(logs - top).sum() * (net[1] - net[0]))

    def certificate(self) -> Certificate:
        assert self.spread is not None
        up, down = self.sensitivity, self.sensitivity - self.spread
        last = -25 * float(self.scales[1])
        witnesses = []
        for count in (0, 1, 10**6):
            p, q = self.probability(0, last, count), self.probability(up, last + down, count)
            witnesses.append(Finite([p, 1 - p], [q, 1 - q]))
        moved = f"one unit moves each query by at most {self.sensitivity}, and any two apart by at most {self.spread}"
        return claim(self, Cost.pure(self.epsilon), *witnesses, assumes=moved)

    def release(self, ask: Ask, draw: Draw) -> int | Refused:
        values = np.atleast_1d(np.asarray(ask(Value(dimension=self.queries)), np.int64))
        first, second = self.scales
        bar = draw(LaplaceLaw().at(self.threshold, first))  # no coarser output grid: the proof shifts by single steps
        noisy = draw(LaplaceLaw().at(values, second))  # every query is drawn, so the work does not tell the index
        reached = np.flatnonzero(np.asarray(noisy) >= bar)
        return int(reached[0]) if len(reached) else Refused("no query reached the threshold")

    @classmethod
    def examples(cls) -> Sequence[AboveThreshold]:
        return (cls(Fraction(1), 100, 10), cls(Fraction(1, 2), 0, 5, 3), cls(Fraction(2), 10, 4, 1, spread=1))


def _log_cdf(z: NDArray[np.float64]) -> NDArray[np.float64]:
    """ln of the Laplace cdf, exact far out on both sides."""
    return np.asarray(np.where(z < 0, np.minimum(z, 0) - math.log(2), np.log1p(-np.exp(-np.maximum(z, 0)) / 2)))
