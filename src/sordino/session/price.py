"""From a wish about accuracy to a price: the least epsilon whose predicted half-width is small enough, by public facts alone."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import BudgetExceeded, QueryError
from sordino.statistics import count

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.release import Release

__all__ = ["LEAST", "Wish", "as_wish", "ceiling", "meets", "price", "public_rows", "widths"]

MOST = Fraction(20)  # above it a release has no meaningful privacy, and no accuracy is worth that
LEAST = Fraction(1, 10**6)
Wish = dict[str, float]


def as_wish(within: Any, names: tuple[str, ...]) -> Wish:
    """The half-width wished for each statistic: one number for all of them, or a dict by name."""
    said = dict(within) if isinstance(within, Mapping) else dict.fromkeys(names, within)
    for name, width in said.items():
        if name not in names:
            raise QueryError("SRD-103", f"within names {name!r}, which is not asked.", f"Name one of {', '.join(names)}.")
        number = isinstance(width, int | float | Fraction) and not isinstance(width, bool)
        if not number or not math.isfinite(width) or width <= 0:
            raise QueryError("SRD-103", f"within is {width!r}.", "Give a positive half-width in the statistic's unit.")
    if not said:
        raise QueryError("SRD-103", "within names no statistic.", "Give a half-width in the statistic's unit.")
    return {name: float(width) for name, width in said.items()}


def meets(release: Release, wish: Wish) -> bool:
    """Whether a recorded answer's own interval is narrow enough, in every group and part."""
    for name, width in wish.items():
        lows, highs = release.answers.get(f"{name}_low", [None]), release.answers.get(f"{name}_high", [None])
        halves = [half for low, high in zip(lows, highs, strict=True) for half in _halves(low, high)]
        if not halves or any(half is None or half > width for half in halves):
            return False
    return True


def _halves(low: Any, high: Any) -> list[Any]:
    if isinstance(low, dict):
        return [(high[key] - low[key]) / 2 for key in low]
    if isinstance(low, tuple):
        return [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    return [None if low is None or high is None else (high - low) / 2]


def public_rows(query: Query) -> int | None:
    """How many rows the question is about, as far as the public knows: the declared size, or the low end of a recorded count."""
    if query.asked.by:
        return None
    if query.asked.where is None and query.table.size is not None:
        return query.table.size
    counted = query.alone(count=count()).recorded()
    lows = [release.low for release in counted if release.low is not None and release.low > 0]
    return max(lows) if lows else None


def widths(query: Query, epsilon: Fraction, delta: Any = None) -> dict[str, float | None]:
    """The predicted 95% half-width of each statistic at a price; None where it is private or depends on an unknown number of rows."""
    plan, rows = query.settle(epsilon, delta), public_rows(query)
    found = {name: step.width(rows) for name, step in plan.steps.items()}
    return {name: found.get(name) for name in plan.names}


def price(query: Query, wish: Wish, delta: Any = None) -> Fraction:
    """The least epsilon, to 1%, at which every half-width is predicted to be small enough."""

    def missed(epsilon: Fraction) -> float:
        """How many times too wide the worst one is."""
        found = widths(query, epsilon, delta)
        unknown = [name for name in wish if found[name] is None]
        if unknown:
            what = f"the error of {unknown[0]} cannot be predicted from public facts."
            raise QueryError("SRD-103", what, "Give size=, release a count of the same rows first, or ask with epsilon=.")
        return max(width / wish[name] for name, width in found.items() if name in wish and width is not None)

    top, why = ceiling(query)
    if top is None or missed(top) > 1:
        best = {} if top is None else {name: width for name, width in widths(query, top, delta).items() if name in wish}
        reach = f"The best half-width is {', '.join(f'{width:.4g}' for width in best.values())} at epsilon {float(top):.4g}." if top else ""
        if top == MOST:
            raise QueryError("SRD-103", "this accuracy is out of reach.", f"{reach} Ask for that or more.", best=best)
        raise BudgetExceeded("SRD-301", f"this accuracy is out of reach: {why}.", reach, best=best)
    low, high = LEAST, top
    while high > low * Fraction(101, 100):
        middle = Fraction(f"{math.sqrt(low * high):.4g}")  # a price people can read
        low, high = (low, middle) if missed(middle) <= 1 else (middle, high)
    return high


def ceiling(query: Query) -> tuple[Fraction | None, str]:
    """The largest epsilon one more release may cost, and why; None when nothing is left."""
    balance = query.table.ledger.budget
    most, why = MOST, "epsilon is at most 20"
    declared = balance.tally.policy["max_per_release"]
    if declared is not None and Fraction(declared) < most:
        most, why = Fraction(declared), "one release may not cost more"
    if balance.filter.accounting == "pure" and balance.exact["left"] < most:
        most, why = balance.exact["left"], "no more is left"
    return (most, why) if most > LEAST else (None, why)
