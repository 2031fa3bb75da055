"""The ladder of a table: how large the local sensitivity can get within k steps, for k = 0, 1, 2, ..."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.pictures import Picture, lines
from sordino.sensitivity.order import Array, Number, decay, whole

__all__ = ["Ladder"]

FIRST = 64  # rungs looked at before the first early stop


@dataclass(frozen=True, eq=False, repr=False)
class Ladder:
    """A(x, k) for one table x: non-decreasing in k, at least the local sensitivity of every table within distance k, never above `top`.

    `block(k0, k1)` gives the rungs k0 <= k < k1, `top` is the global sensitivity, and from rung `depth` on nothing changes.
    `quick(beta, K)`, where there is one, gives max e^(-beta k) A(x, k) over all k < K (further k do no harm) without listing the
    rungs. A ladder is legal when A(x, k) <= A(x', k + 1) for all neighbours; everything below rests on that one inequality.
    """

    block: Callable[[int, int], Array]
    top: Number
    depth: int
    quick: Callable[[float, int], float] | None = None

    @classmethod
    def flat(cls, value: Number) -> Ladder:
        """Every rung is the same number."""
        return cls(lambda k0, k1: np.full(k1 - k0, value), value, 0)

    def rungs(self, count: int) -> Array:
        """A(x, 0), ..., A(x, count - 1)."""
        return self.block(0, whole("count", count, 0)) if count else self.block(0, 1)[:0]

    def local(self) -> Any:
        """A(x, 0), the local sensitivity, as a plain number."""
        return self.block(0, 1)[0].item()

    def smooth(self, beta: float, window: int | None = None) -> float:
        """S(x) = max_k e^(-beta k) A(x, k), or with a public window K the larger of the first K terms and e^(-beta K) top.

        Theorem. S >= LS and S(x) <= e^beta S(x') for neighbours, for every window; the early stop does not change the value.
        Proof. The term k = 0 is at least LS(x). e^(-beta k) A(x, k) <= e^beta e^(-beta (k+1)) A(x', k+1), which is at most e^beta
        S(x'): for k + 1 < K it is one of the terms, for k + 1 = K it is at most e^(-beta K) top. Terms beyond k are at most
        e^(-beta k) top, so once that is no larger than the maximum so far nothing can change (Nissim, Raskhodnikova, Smith 2007).
        QED
        """
        rate, limit = decay(beta), None if window is None else whole("window", window, 0)
        best, done, size = 0.0, 0, FIRST
        while True:
            tail = math.exp(-rate * done) * self.top
            if tail <= best or done > self.depth or done == limit:
                return best if done > self.depth else max(best, float(tail))
            upto = done + size if limit is None else min(done + size, limit)
            if self.quick is not None:
                best = max(best, self.quick(rate, upto))
            else:
                best = max(best, float((np.exp(-rate * np.arange(done, upto)) * self.block(done, upto)).max()))
            done, size = upto, 3 * size if self.quick is not None else 2 * size

    def distance(self, above: float) -> int | float:
        """The least k with A(x, k) > above; infinity if there is none.

        Theorem. It moves by at most one between neighbours, and it is at most the number of steps to a table with LS > above.
        Proof. If A(x, k) > above then A(x', k + 1) > above. If LS(y) > above then A(x, d(x, y)) >= LS(y) > above. QED
        """
        if math.isnan(above):
            raise QueryError("SRD-103", "above is NaN.", "Give the proposed sensitivity as a number.")
        high = 0
        while not self.block(high, high + 1)[0] > above:
            if high == self.depth:
                return math.inf
            high = min(2 * high + 1, self.depth)
        low = high // 2 - 1
        while high - low > 1:
            middle = (low + high) // 2
            if self.block(middle, middle + 1)[0] > above:
                high = middle
            else:
                low = middle
        return high

    def people(self, rows: int, top: Number) -> Ladder:
        """The ladder of people with at most `rows` rows each, from the ladder of rows.

        Theorem. sum_{i < m} A(x, k m + i) bounds the sensitivity to a person within k people, and is a legal ladder again.
        Proof. k people are at most k m row steps, and one more person at most m further ones; the i-th starts within k m + i of x
        and moves f by at most A(x, k m + i). With x' one person, hence at most m rows away, A(x, k m + i) <= A(x', (k + 1) m + i)
        by m uses of legality. Taking the minimum with a constant keeps both properties. QED
        """
        if rows == 1:
            return self

        def block(k0: int, k1: int) -> Array:
            return np.asarray(np.minimum(self.block(k0 * rows, k1 * rows).reshape(-1, rows).sum(axis=1), top))

        return Ladder(block, top, -(-self.depth // rows))

    def plot(self, beta: float, count: int = 60) -> Picture:
        """The rungs A(k), and the envelope A(k) e^(-beta k) whose peak is the smooth sensitivity. NOT PRIVATE: it shows the data."""
        steps, rungs = np.arange(count), np.asarray(self.rungs(count), float)
        shown = {"A(k)": (steps, rungs), f"A(k) e^(-{decay(beta):g} k)": (steps, rungs * np.exp(-decay(beta) * steps))}
        return lines(shown, title=f"smooth sensitivity {self.smooth(beta):,.4g}", x="steps k away from the data", y="sensitivity")

    def larger(self, other: Ladder) -> Ladder:
        """Rung by rung the larger of two ladders; legal if both are."""
        mine, theirs = self.quick, other.quick
        both = None if mine is None or theirs is None else lambda beta, count: max(mine(beta, count), theirs(beta, count))
        depth = max(self.depth, other.depth)
        return Ladder(lambda k0, k1: np.maximum(self.block(k0, k1), other.block(k0, k1)), max(self.top, other.top), depth, both)

    def over(self, divisor: int) -> Ladder:
        """Every rung divided by the same public number."""
        quick = self.quick
        shrunk = None if quick is None else lambda beta, count: quick(beta, count) / divisor
        return Ladder(lambda k0, k1: self.block(k0, k1) / divisor, self.top / divisor, self.depth, shrunk)
