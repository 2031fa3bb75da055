"""The error of a mean as an estimate of a population: that of the noise and that of having seen a sample, from released numbers alone."""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.statistics import std
from sordino.statistics.average import Mean

if TYPE_CHECKING:
    from sordino.session.release import Release

__all__ = ["total"]


def total(release: Release, level: float) -> tuple[Any, Any]:
    r"""An interval for the population mean, from a released mean and a released standard deviation of the same rows.

    Theorem. If the rows are independent draws from a population, their number is large and the standard deviation lies below the upper
    end of its own bar, the interval covers the population mean with probability at least `level`.
    Proof. The noise interval at (1 + level)/2 misses the mean of the rows with probability (1 - level)/2; the normal law puts the mean of
    the rows within z sigma/sqrt(n) of the population's except with the same probability. Add the two. Moving values into limits makes
    their standard deviation no larger. QED
    """
    query = release.query
    asked = None if query is None else query.asked.statistics.get(release.names[0])
    if not isinstance(asked, Mean) or len(release.names) != 1 or release.grouped:
        raise QueryError("SRD-105", "this release has no total interval.", "Ask a table for one mean, without groups.")
    spread = std(asked.column)
    spreads = [found.high for found in query.alone(**{spread.label: spread}).recorded() if found.high is not None]
    if not spreads:
        what = "nothing is known about the spread of these rows."
        raise QueryError("SRD-105", what, f"Release std({asked.column!r}) of the same rows first: the error of sampling follows from it.")
    rows = _rows(release)
    low, high = query.interval(release, (1 + level) / 2)
    far = NormalDist().inv_cdf((3 + level) / 4) * min(spreads) / math.sqrt(rows)
    return low - far, high + far


def _rows(release: Release) -> float:
    """How many rows were averaged: the declared size, a recorded count, or what the two drawn halves add up to."""
    from sordino.session.price import public_rows

    known = public_rows(release.query)
    drawn = release.raw.get(release.names[0]) or [()]
    if known is None and len(drawn[0]) in (2, 4):
        known = drawn[0][0] + drawn[0][1]
    if known is None or known < 2:
        raise QueryError("SRD-105", "the number of these rows is unknown.", "Declare size=, or release a count of the same rows first.")
    return float(known)
