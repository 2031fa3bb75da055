"""Which differences between groups survive the noise."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from typing import Any

from sordino.session.release import Release
from sordino.session.view import shown

__all__ = ["Pair", "compared"]

MOST = 8  # groups; more make a table nobody reads


@dataclass(frozen=True)
class Pair:
    """Two groups of one release. Intervals of 95% that do not meet: with at least 90% the noise alone does not explain the difference."""

    one: str
    other: str
    difference: float
    survives: bool


def compared(release: Release) -> list[Pair]:
    """Every pair of the first groups, where the first statistic has numbers with ends; a function of the release alone."""
    name = release.names[0]
    ends = [release.answers[name + end] for end in ("", "_low", "_high") if name + end in release.answers]
    if not release.grouped or len(ends) < 3:
        return []
    keys = [" / ".join(map(shown, key)) for key in zip(*release.keys.values(), strict=True)]
    rows = [row for row in zip(keys, ends[0], ends[1], ends[2], strict=True) if all(map(_real, row[1:]))][:MOST]
    return [Pair(a, b, float(y - x), bool(hx < ly or hy < lx)) for (a, x, lx, hx), (b, y, ly, hy) in combinations(rows, 2)]


def _real(cell: Any) -> bool:
    return isinstance(cell, int | float) and not isinstance(cell, bool)
