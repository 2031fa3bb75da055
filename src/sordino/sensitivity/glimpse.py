"""A sorted column of which only the ranks around one place are known."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sordino.sensitivity.order import Array, Order

__all__ = ["Glimpse"]


@dataclass(frozen=True, eq=False, repr=False)
class Glimpse(Order):
    """`values` are the ranks `first`, first + 1, ... of `size` rows; ranks that were not read count as the nearer bound.

    A ladder's rungs below a public window look at ranks near the quantile only, so on those it is the ladder of the whole column. The
    rungs beyond stand under the global sensitivity, which needs no data.
    """

    first: int = 1
    size: int = 0

    @property
    def n(self) -> int:
        return self.size

    def mirror(self) -> Glimpse:
        return replace(self, mirrored=not self.mirrored)

    def plain(self, first: int, last: int) -> Array:
        ranks = np.arange(first, last + 1)
        known = (ranks >= self.first) & (ranks < self.first + len(self.values)) & (ranks >= 1) & (ranks <= self.size)
        out: Array = np.where(ranks < self.first + len(self.values) // 2, self.lower, self.upper).astype(self.dtype)
        out = np.where(ranks < 1, self.lower, np.where(ranks > self.size, self.upper, out)).astype(self.dtype)
        out[known] = self.values[ranks[known] - self.first]
        return out
