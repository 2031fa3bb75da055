"""The value some whole number of rows from an end: what privacy can say about a minimum or a maximum when n is not known."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from sordino.errors import QueryError
from sordino.mechanisms.listing import claim, listed
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Certificate
from sordino.privacy.cost import Cost
from sordino.privacy.number import as_reach
from sordino.privacy.relation import Relation
from sordino.summaries import RankWindow

__all__ = ["RankExponential"]


@listed("private minimum", "private maximum", "rank exponential", note="000 13.1.1 (minimum and maximum)")
@dataclass(frozen=True)
class RankExponential(QuantileExponential):
    r"""The quantile mechanism with the rank min(r - 1/2, n/2), counted from the lower or the upper end, in place of q n.

    Theorem. With Delta = m under either relation it is epsilon-DP, and for no smaller epsilon.
    Proof. Let up to m rows leave and up to m come. From the lower end, #{x<y} moves by the rows that left and came below y, and the
    target min(r - 1/2, n/2) by between none and half of the change of n. Their difference moves most when all come below y and nothing else
    happens, by m, or all leave below y, by -m; the same holds for #{x<=y}, and from the upper end with n minus both. The rest is the
    quantile mechanism's proof. QED
    The rank is public and n plays no part until the table has fewer than 2r rows.
    """

    rank: int = 1
    upper: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        as_reach(self.rank)
        if not isinstance(self.upper, bool):
            raise QueryError("SRD-103", f"upper is {self.upper!r}.", "Give True to count from the largest value, False from the smallest.")

    @property
    def reach(self) -> Fraction:
        return Fraction(self.max_rows)

    @property
    def request(self) -> RankWindow:
        return RankWindow(Fraction(int(self.upper)), self.rank + self.radius)

    def target(self, n: int) -> Fraction:
        near = min(Fraction(2 * self.rank - 1, 2), Fraction(n, 2))
        return n - near if self.upper else near

    def certificate(self) -> Certificate:
        """r rows at an end or beside it, as many at the other end, and one person joining at that end or moving there.

        The points between the two heaps, nearly all of them, lie half a rank beyond the target, and who comes pushes them m further
        away; the end itself lies as many before it and comes nearer.
        """
        m, r = self.max_rows, self.rank
        end, near = (self.high, self.high - 1) if self.upper else (self.low, self.low + 1)
        far = self.low if self.upper else self.high
        still = [end] * max(0, r - m - 1) + [near] * min(r, m + 1) + [far] * r
        pair = self._pair(still + [far] * (m if self.relation is Relation.REPLACE else 0), still + [end] * m)
        unit = f"{self.relation.value}; at most {m} rows per person"
        small = math.log((self.high - self.low) / 10**6) < self.epsilon or self.base == "arsinh"
        reason = "on a small grid no pair of tables attains the bound" if small else ""
        return claim(self, Cost.bounded_range(self.epsilon), pair, assumes=unit, loose=reason)

    @classmethod
    def examples(cls) -> Sequence[RankExponential]:
        wide = 2**44
        return (
            cls(Fraction(1), high=wide, rank=20),
            cls(Fraction(1, 10), high=wide, rank=300, upper=True, max_rows=2),
            cls(Fraction(1), high=wide, rank=20, upper=True, relation=Relation.REPLACE),
        )
