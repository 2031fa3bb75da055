"""Intervals around what a number of a table can be within k rows of it, and around what one more row can do to it there.

The arithmetic that keeps both true.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from sordino.sensitivity.order import Array

__all__ = ["Enclosure", "Ends", "product", "ratio"]

Ends = tuple[Any, Any]  # the lower and the upper end, for one k or many


def product(a: Ends, b: Ends) -> Ends:
    """Every product of a number of one interval and a number of the other; nothing times anything is nothing."""
    with np.errstate(all="ignore"):
        corners = np.stack(np.broadcast_arrays(a[0] * b[0], a[0] * b[1], a[1] * b[0], a[1] * b[1]))
    corners = np.where(np.isnan(corners), 0.0, corners)
    return corners.min(axis=0), corners.max(axis=0)


def ratio(a: Ends, b: Ends) -> Ends:
    """Every quotient; anything where the lower interval holds zero."""
    apart = (b[0] > 0) | (b[1] < 0)
    with np.errstate(all="ignore"):
        low, high = product(a, (np.where(apart, 1 / np.where(apart, b[1], 1.0), 0.0), np.where(apart, 1 / np.where(apart, b[0], 1.0), 0.0)))
    return np.where(apart, low, -np.inf), np.where(apart, high, np.inf)


def less(a: Ends, b: Ends) -> Ends:
    return a[0] - b[1], a[1] - b[0]


def both(a: Ends, b: Ends) -> Ends:
    """What lies in both; where rounding left nothing, what lies between them."""
    low, high = np.maximum(a[0], b[0]), np.minimum(a[1], b[1])
    return np.minimum(low, high), np.maximum(low, high)


@dataclass(frozen=True, eq=False, repr=False)
class Enclosure:
    r"""A number e of tables around x: [low, high] for K + 1 distances, and [down, up] for every kind of move at K of them.

    Theorem. Let e(y) be in [low_k, high_k] for every table y within k rows of x, and e(z) - e(y) in [down_mk, up_mk] for every z that
    a move of kind m makes of y. The same holds for what the operations below make of such numbers, so A(k) = max_m max(-down, up) is
    at least the local sensitivity of every table within k rows. If what is around x at k lies inside what is around each neighbour x'
    at k + 1, then that holds for the results, too, and A(x, k) <= A(x', k + 1).
    Proof. A sum moves by the sum of the moves. a'b' - ab = da b' + a db = da b + a' db. a'/b' - a/b = (da - (a/b) db)/b' = (da - (a'/b')
    db)/b. min(a', b') - min(a, b) lies between the smaller and the larger of da and db, and is da where a is the smaller on both sides.
    sqrt a' - sqrt a is da/(sqrt a' + sqrt a), and at most sqrt |da|. A number moves from k to z by at most what the intervals at k
    and k + 1 allow. On a path of k rows the j-th starts within j of x: e(y) is e(x) plus k moves, the j-th in [min_m down_mj, max_m
    up_mj]. Every one of these is a set of sums, products and quotients of numbers of the intervals, or an intersection of such sets:
    larger intervals give larger results. For the path: from x' to x is a move of its own, in [min_m down_m0, max_m up_m0] at x', and
    the j-th move from x is inside the (j + 1)-st from x'. QED
    """

    low: Array
    high: Array
    down: Array
    up: Array
    possible: Array  # whether there is such a move at all: nobody leaves an empty table

    @classmethod
    def constant(cls, value: float, like: Enclosure) -> Enclosure:
        same, still = np.full_like(like.low, value), np.zeros_like(like.down)
        return cls(same, same, still, still, like.possible)

    @property
    def here(self) -> Ends:
        return self.low[:-1], self.high[:-1]

    @property
    def next(self) -> Ends:
        return self.low[1:], self.high[1:]

    @property
    def there(self) -> Ends:
        """After the move, for each kind."""
        return both(self.next, (self.low[:-1] + self.down, self.high[:-1] + self.up))

    @property
    def step(self) -> Ends:
        return self.down, self.up

    @property
    def rungs(self) -> Array:
        """A(0), ..., A(K - 1)."""
        far = np.where(self.possible, np.maximum(-self.down, self.up), 0.0).max(axis=0)
        return np.asarray(np.maximum.accumulate(np.maximum(far, 0.0)))

    def tight(self, limits: tuple[float, float] = (-np.inf, np.inf)) -> Enclosure:
        """The same number known better: by public limits, by the path that leads there, and by where a move starts and ends."""
        fall = np.where(self.possible, np.minimum(self.down, 0.0), 0.0).min(axis=0)
        rise = np.where(self.possible, np.maximum(self.up, 0.0), 0.0).max(axis=0)
        walked = self.low[0] + np.concatenate(([0.0], np.cumsum(fall))), self.high[0] + np.concatenate(([0.0], np.cumsum(rise)))
        low, high = both(both((self.low, self.high), walked), (np.float64(limits[0]), np.float64(limits[1])))
        down, up = both(self.step, less((low[1:], high[1:]), (low[:-1], high[:-1])))
        return replace(self, low=low, high=high, down=down, up=up)

    def __neg__(self) -> Enclosure:
        return replace(self, low=-self.high, high=-self.low, down=-self.up, up=-self.down)

    def __add__(self, other: Enclosure) -> Enclosure:
        moved = {"down": self.down + other.down, "up": self.up + other.up}
        return replace(self, low=self.low + other.low, high=self.high + other.high, **moved)

    def __mul__(self, other: Enclosure) -> Enclosure:
        low, high = product((self.low, self.high), (other.low, other.high))
        one = _plus(product(self.step, other.there), product(self.here, other.step))
        two = _plus(product(self.step, other.here), product(self.there, other.step))
        down, up = both(one, two)
        return replace(self, low=low, high=high, down=down, up=up)

    def squared(self) -> Enclosure:
        """Better than a product: a number is equal to itself."""
        ends = np.stack((self.low**2, self.high**2))
        low = np.where((self.low <= 0) & (self.high >= 0), 0.0, ends.min(axis=0))
        down, up = product(self.step, _plus(self.here, self.there))
        return replace(self, low=low, high=ends.max(axis=0), down=down, up=up)

    def over(self, other: Enclosure, limits: tuple[float, float] = (-np.inf, np.inf)) -> Enclosure:
        """A quotient; what is learnt about it on the way there bounds its moves again."""
        low, high = ratio((self.low, self.high), (other.low, other.high))
        found = replace(self, low=low, high=high, down=np.full_like(self.down, -np.inf), up=np.full_like(self.up, np.inf)).tight(limits)
        for _ in range(2):
            one = ratio(less(self.step, product(found.here, other.step)), other.there)
            two = ratio(less(self.step, product(found.there, other.step)), other.here)
            found = replace(found, **dict(zip(("down", "up"), both(found.step, both(one, two)), strict=True))).tight(limits)
        return found

    def or_nobody(self) -> Enclosure:
        """A number of rows to divide by: where there may be none of them, nothing is known about the quotient."""
        none = self.low <= 0
        return replace(
            self, low=np.where(none, np.minimum(self.low, 0.0), self.low), high=np.where(none, np.maximum(self.high, 0.0), self.high)
        )

    def least(self, other: Enclosure) -> Enclosure:
        """The smaller of two numbers."""
        down, up = np.minimum(self.down, other.down), np.maximum(self.up, other.up)
        for one, two in ((self, other), (other, self)):
            alone = (one.high[:-1] < two.low[:-1]) & (one.there[1] < two.there[0])
            down, up = np.where(alone, one.down, down), np.where(alone, one.up, up)
        return replace(self, low=np.minimum(self.low, other.low), high=np.minimum(self.high, other.high), down=down, up=up)

    def root(self) -> Enclosure:
        """The square root of what is above zero."""
        above = -(-self).least(Enclosure.constant(0.0, self))
        low, high = np.sqrt(above.low), np.sqrt(above.high)
        with np.errstate(all="ignore"):
            steep = ratio(above.step, _plus((low[1:], high[1:]), (low[:-1], high[:-1])))
            flat = -np.sqrt(np.maximum(-above.down, 0.0)), np.sqrt(np.maximum(above.up, 0.0))
        down, up = both(steep, flat)
        return replace(above, low=low, high=high, down=down, up=up)


def _plus(a: Ends, b: Ends) -> Ends:
    return a[0] + b[0], a[1] + b[1]
