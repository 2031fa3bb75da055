"""From a wish about accuracy to a price: the least epsilon whose predicted half-width is small enough, by public facts alone."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import BudgetExceeded, QueryError, SordinoError
from sordino.privacy.number import as_positive, shown
from sordino.session.forecast import outlook
from sordino.session.recorded import public_rows
from sordino.statistics import bundles

if TYPE_CHECKING:
    from sordino.session.query import Query
    from sordino.session.release import Release
    from sordino.session.settled import Settled

__all__ = [
    "LEAST",
    "Offer",
    "Wish",
    "as_wish",
    "ceiling",
    "drawn_wish",
    "epsilon_of",
    "half_width_of",
    "meets",
    "price",
    "rank_width_of",
    "rank_wish",
    "rho_offer",
    "settled_at",
    "widths",
    "wish_of",
]

MOST = Fraction(20)  # above it a release has no meaningful privacy, and no accuracy is worth that
LEAST = Fraction(1, 10**6)
MOST_EPSILON = 10**4
LEAST_WIDTH, MOST_WIDTH = 1e-300, 1e300  # of a wish
MANY = 1_000  # rows at which two ways are compared where nobody knows their number
CLOSE = Fraction(101, 100)  # a price is found to 1%, and to 4% where every look is a simulation
Wish = dict[str, float]
Weights = Mapping[tuple[str, ...], Fraction]


@dataclass(frozen=True)
class Offer:
    """A price that meets a wish, and how it is divided among the draws of a release with several."""

    epsilon: Fraction
    weights: Weights | None = None
    way: str | None = None  # the mechanism, where the planner's first choice has no predictable error


def as_wish(within: Any, names: tuple[str, ...]) -> Wish:
    """The half-width wished for each statistic: one number for all of them, or a dict by name."""
    said = dict(within) if isinstance(within, Mapping) else dict.fromkeys(names, within)
    for name, width in said.items():
        if not isinstance(name, str) or name not in names:
            raise QueryError("SRD-103", f"within names {shown(name)}, which is not asked.", f"Name one of {', '.join(names)}.")
        number = isinstance(width, int | float | Fraction) and not isinstance(width, bool)
        if not number or not LEAST_WIDTH <= width <= MOST_WIDTH:  # compared exactly: a whole number may be beyond every double
            raise QueryError("SRD-103", f"within is {shown(width)}.", "Give a positive half-width in the statistic's unit.")
    if not said:
        raise QueryError("SRD-103", "within names no statistic.", "Give a half-width in the statistic's unit.")
    return {name: float(width) for name, width in said.items()}


def wish_of(query: Query, within: Any, within_rank: Any) -> Wish:
    """The wish in one of the two ways to say it: in the statistic's unit, or in ranks."""
    if within is not None and within_rank is not None:
        raise QueryError("SRD-101", "within and within_rank are two wishes.", "Give one of them.")
    return query.wished(within) if within_rank is None else rank_wish(within_rank, query)


def drawn_wish(query: Query, within: Any) -> Wish:
    """The half-width wished for each draw; of two wishes for the same the narrower one."""
    wish: Wish = {}
    for label, width in as_wish(within, tuple(query.asked.statistics)).items():
        first = query.labels.first(label)
        wish[first] = min(width, wish.get(first, width))
    return wish


def rank_wish(share: Any, query: Query) -> Wish:
    """A share of the rows as a number of ranks, for every statistic asked; needs a public number of rows."""
    number = isinstance(share, int | float | Fraction) and not isinstance(share, bool)
    if not number or not 0 < share < 1:
        raise QueryError("SRD-103", f"within_rank is {shown(share)}.", "Give a share of the rows, such as 0.01.")
    rows = public_rows(query)
    if rows is None:
        what = "a share of the rows means nothing while their number is unknown."
        raise QueryError("SRD-103", what, "Give size=, or release a count of the same rows first.")
    return dict.fromkeys(query.labels.drawn.statistics, float(share) * rows)


def widths(query: Query, offer: Offer, delta: Any = None, *, ranks: bool = False, names: Wish | None = None) -> dict[str, float | None]:
    """The predicted 95% half-width of each statistic at a price (in ranks, if so wished); None where public facts do not say."""
    view = outlook(query, guess=False)
    view = replace(view, twin=None) if ranks else view
    plan = query.settle(offer.epsilon, delta, weights=offer.weights, way=offer.way, rows=view.rows)
    wanted = [name for name in plan.names if names is None or name in names]
    found = {name: view.forecast(name, plan) for name in wanted}
    return {name: known.ranks if ranks else known.half_width for name, known in found.items()}


def price(query: Query, wish: Wish, delta: Any = None, *, ranks: bool = False) -> Offer:
    """The offer that meets a wish and takes the least of this ledger, by its own rule: of the cap, and of the pool of delta.

    For each mechanism whose error public facts predict the least epsilon is found, to 1%. Where several independent draws are wished
    for, each is priced alone first, and the whole is divided in that proportion.
    """
    found, refused = [], None
    for way in _predictable(query, wish, delta, ranks=ranks):
        try:
            found.append(_least_offer(query, wish, delta, way, ranks=ranks))
        except SordinoError as error:
            refused = refused or error
    if not found:
        assert refused is not None
        raise refused
    if len(found) == 1:
        return found[0]
    balance, rows = query.table.budget, outlook(query, guess=False).rows
    return min(found, key=lambda o: balance.weight(query.settle(o.epsilon, delta, weights=o.weights, way=o.way, rows=rows).cost))


def settled_at(query: Query, rho: Any, wish: Wish, delta: Any = None, *, ranks: bool = False) -> Settled:
    """The plan at a price in rho, or at the least price of a wish."""
    if rho is not None:
        sold = rho_offer(query, rho, delta)
        return replace(query.settle(sold.epsilon, delta, way=sold.way), own_profile=True)
    offer = price(query, wish, delta, ranks=ranks)
    return query.settle(offer.epsilon, delta, weights=offer.weights, way=offer.way)


def _least_offer(query: Query, wish: Wish, delta: Any, way: str | None, *, ranks: bool) -> Offer:
    weights = _weights(query, wish, delta, ranks=ranks)

    def missed(epsilon: Fraction) -> float:
        """How many times too wide the worst one is."""
        found = widths(query, Offer(epsilon, weights, way), delta, ranks=ranks, names=wish)
        return max(width / wish[name] for name, width in found.items() if name in wish and width is not None)

    top, why = ceiling(query)
    if top is None or missed(top) > 1:
        found = {} if top is None else widths(query, Offer(top, weights, way), delta, ranks=ranks, names=wish)
        best = {name: width for name, width in found.items() if name in wish}
        word = "rank half-width" if ranks else "half-width"
        reach = f"The best {word} is {', '.join(f'{width:.4g}' for width in best.values())} at epsilon {float(top):.4g}." if top else ""
        if top == MOST:
            raise QueryError("SRD-103", "this accuracy is out of reach.", f"{reach} Ask for that or more.", best=best)
        raise BudgetExceeded("SRD-301", f"this accuracy is out of reach: {why}.", reach, best=best)
    simulated = not ranks and query.table.twin_rows is not None
    return Offer(_least(missed, top, CLOSE**4 if simulated else CLOSE), weights, way)


def _least(missed: Callable[[Fraction], float], top: Fraction, close: Fraction) -> Fraction:
    low, high = LEAST, top
    while high > low * close:
        middle = Fraction(f"{math.sqrt(low * high):.4g}")  # a price people can read
        low, high = (low, middle) if missed(middle) <= 1 else (middle, high)
    return high


def _predictable(query: Query, wish: Wish, delta: Any, *, ranks: bool) -> list[str | None]:
    """The ways to try: the planner's first choice (None), and for one statistic the others whose error is known in closed form.

    Where the first choice has no predictable error, the first other that has one; an error if none is.
    """
    found = widths(query, Offer(Fraction(1)), delta, ranks=ranks, names=wish)
    unknown = [name for name in wish if found[name] is None]
    one = len(query.labels.drawn.statistics) == 1 and query.asked.mechanism is None
    others: list[str | None] = []
    if one and (unknown or not ranks):
        (name,) = query.labels.drawn.statistics
        view, plan = outlook(query, guess=False), query.settle(Fraction(1), delta)
        ways = query.ways(name, Fraction(1), plan)  # which comes first may change with the price
        for way in ways[1:] if unknown else ways if len(ways) > 1 else ():
            with contextlib.suppress(SordinoError):
                known = view.forecast(name, query.settle(Fraction(1), delta, way=way, rows=view.rows)) if not unknown else None
                if known is not None and known.source == "closed form" and not (name in plan.steps and plan.steps[name].covers):
                    others.append(way)
                elif unknown and widths(query, Offer(Fraction(1), way=way), delta, ranks=ranks, names=wish)[name] is not None:
                    return [way]
    if not unknown and not one and not ranks and query.asked.mechanism is None and query.table.budget.filter.accounting == "zcdp":
        with contextlib.suppress(SordinoError):  # several totals: all of them by Gaussian noise, which a ledger that adds rho likes
            widths(query, Offer(Fraction(1), way="gaussian"), delta, names=wish)
            others.append("gaussian")
    if not unknown:
        return list(others) if one and set(others) == {"laplace", "gaussian"} else [None, *others]
    if ranks:
        raise QueryError("SRD-103", f"{unknown[0]} has no rank bar.", "Ask with within=, or with epsilon=.")
    what = f"the error of {unknown[0]} cannot be predicted from public facts."
    fix = "Give size= or release a count of the same rows first; for quantiles give twin= or ask with within_rank=; or give epsilon=."
    raise QueryError("SRD-103", what, fix)


def _weights(query: Query, wish: Wish, delta: Any, *, ranks: bool) -> Weights | None:
    """What each draw needs when it is alone, to 1%; None with one draw, with private keys, or where some draw has no wish."""
    plan = query.settle(Fraction(1), delta)
    members = bundles(query.labels.drawn.statistics, plan.context)
    if len(members) == 1 or plan.context.private_keys or any(not set(m) & set(wish) for m in members):
        return None
    alone = {m: query.alone(**{label: query.asked.statistics[label] for label in m}) for m in members}

    def needed(members: tuple[str, ...]) -> Fraction:
        wishes = {label: wish[label] for label in members if label in wish}

        def missed(epsilon: Fraction) -> float:
            found = widths(alone[members], Offer(epsilon), delta, ranks=ranks, names=wishes)
            return max((width or 0) / wishes[name] for name, width in found.items() if name in wishes)

        return _least(missed, MOST, CLOSE)

    return {m: needed(m) for m in members}


def rho_offer(query: Query, rho: Any, delta: Any = None) -> Offer:
    """What a price in rho buys: of Laplace and Gaussian totals, which cost rho at different epsilons, the narrower."""
    first = Offer(epsilon_of(query, rho, delta))
    try:
        other = Offer(epsilon_of(query, rho, delta, "gaussian"), way="gaussian")
        plans = [query.settle(offer.epsilon, delta, way=offer.way) for offer in (first, other)]
    except SordinoError:  # some statistic has no such way, or the budget no delta
        return first
    wide = [[step.width(query.table.size or MANY) for step in plan.steps.values()] for plan in plans]
    ratios = [b / a for a, b in zip(*wide, strict=True) if a and b]
    return other if ratios and math.prod(ratios) < 1 else first


def epsilon_of(query: Query, rho: Any, delta: Any = None, way: str | None = None) -> Fraction:
    """The largest epsilon, to a hundredth of a percent, whose plan costs a zCDP ledger no more than rho."""
    if query.table.budget.filter.accounting != "zcdp":
        raise QueryError("SRD-101", "this ledger does not add rho.", 'Give epsilon=; rho= is for budgets with accounting="zcdp".')
    wanted = as_positive(rho, "rho")

    def fits(epsilon: Fraction) -> bool:
        return query.settle(epsilon, delta, way=way).cost.rho <= wanted

    low, high = LEAST, Fraction(1)
    while fits(high) and high < MOST_EPSILON:
        low, high = high, 2 * high
    while high > low * Fraction(10001, 10000):
        middle = Fraction(f"{math.sqrt(low * high):.6g}")
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def ceiling(query: Query) -> tuple[Fraction | None, str]:
    """The largest epsilon one more release may cost, and why; None when nothing is left."""
    balance = query.table.ledger.budget
    most, why = MOST, "epsilon is at most 20"
    declared = balance.tally.policy["max_per_release"]
    if declared is not None and Fraction(declared) < most:
        most, why = Fraction(declared), "one release may not cost more"
    if balance.filter.accounting == "pure" and balance.exact["left"] < most:
        most, why = balance.exact["left"], f"no more is left than epsilon {balance.left:.4g}"
    return (most, why) if most > LEAST else (None, why)


def meets(release: Release, wish: Wish, *, ranks: bool = False) -> bool:
    """Whether a recorded answer's own bar is narrow enough, in every group and part."""
    return all((rank_width_of(release, name) if ranks else half_width_of(release, name)) <= most for name, most in wish.items())


def half_width_of(release: Release, name: str) -> Any:
    """The half-width of the widest bar of one statistic; endless where some answer has none, or none in numbers."""
    lows, highs = release.answers.get(f"{name}_low", [None]), release.answers.get(f"{name}_high", [None])
    with contextlib.suppress(TypeError):
        halves = [half for low, high in zip(lows, highs, strict=True) for half in _halves(low, high)]
        if halves and all(half is not None and half <= math.inf for half in halves):
            return max(halves)
    return math.inf


def rank_width_of(release: Release, name: str) -> float:
    """How many ranks the bar of one statistic reaches; endless without such a bar."""
    return release.rank_bars[name][1] if name in release.rank_bars else math.inf


def _halves(low: Any, high: Any) -> list[Any]:
    if isinstance(low, dict):
        return [(high[key] - low[key]) / 2 for key in low]
    if isinstance(low, tuple):
        return [(b - a) / 2 for a, b in zip(low, high, strict=True)]
    return [None if low is None or high is None else (high - low) / 2]
