"""Several statistics in one release: how they share the budget, and which of them share one draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

from sordino.errors import QueryError
from sordino.privacy.certificate import Part
from sordino.statistics.column_mean import Mean, Means
from sordino.statistics.column_sum import Sum
from sordino.statistics.column_variance import Bernstein, Variance
from sordino.statistics.distinct import CountDistinct
from sordino.statistics.grouping_sets import GroupingSets
from sordino.statistics.known import Known
from sordino.statistics.moments import ColumnMoments, Halves, MomentsStep
from sordino.statistics.port import Answer, Context, Counted, Groups, Priced, Statistic, Step, length_grid, public_size
from sordino.statistics.private_keys import CountedKeys, Keys
from sordino.statistics.row_count import Count, CountUnits, PredicateCounts, Present, PresentUnits
from sordino.summaries import Ask, Draw

__all__ = ["Drawing", "Merged", "Plan", "Single", "bundles", "plan_steps"]

KEYS_SHARE = Fraction(1, 4)  # of epsilon, for naming private groups
# mechanisms that take a delta wherever they are named
THRIFTY = ("published", "ptr", "ladder", "gaussian", "stability", "smooth_laplace", "smooth_gaussian")


@dataclass(frozen=True)
class Single(Priced):
    """One statistic with a draw of its own."""

    label: str
    step: Step
    counted: Counted | None = None

    @property
    def steps(self) -> dict[str, Step]:
        return {self.label: self.step}

    @property
    def parts(self) -> tuple[Part, ...]:
        return self.step.parts

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> dict[str, Sequence[Answer]]:
        return {self.label: self.step.release(ask, draw, groups)}


@dataclass(frozen=True)
class Merged(Priced):
    """Several statistics of one column, read off one drawn vector of moments: one price for all of them."""

    source: ColumnMoments
    kinds: tuple[tuple[str, str], ...]  # label, kind
    counted: Counted | None = None

    def __post_init__(self) -> None:
        _ = self.cost  # every refusal comes before the charge

    @property
    def steps(self) -> dict[str, Step]:
        return {label: MomentsStep(self.source, kind) for label, kind in self.kinds}

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.source.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> dict[str, Sequence[Answer]]:
        raw = self.source.release(ask, draw, groups)
        return {label: MomentsStep(self.source, kind).answers(raw) for label, kind in self.kinds}


Drawing = Single | Merged


@dataclass(frozen=True)
class Plan(Priced):
    """Everything one release will draw: first the private keys, if any, then the parts, and the whole price."""

    keys: Keys | CountedKeys | None
    draws: tuple[Drawing, ...]

    @property
    def parts(self) -> tuple[Part, ...]:
        return tuple(part for draw in (*([self.keys] if self.keys else []), *self.draws) for part in draw.parts)

    @cached_property
    def steps(self) -> dict[str, Step]:
        return {label: step for draw in self.draws for label, step in draw.steps.items()}


KIND = {Count: "count", Present: "count", Sum: "sum", Mean: "mean"}


def _kind(statistic: Statistic) -> str:
    return statistic.kind if isinstance(statistic, Variance) else KIND.get(type(statistic), "")


def bundles(statistics: Mapping[str, Statistic], context: Context) -> list[tuple[str, ...]]:
    """Which statistics share a draw: sum, mean, variance and std of one column, and a count of the same rows.

    A count of rows keeps the rows of a column only if nulls do not drop out of it, which its declared null policy says; a count of the
    rows in which the column has a value always does. Where the number of rows is public, a count beside them takes no part of the price.
    """
    columns: dict[str, list[str]] = {}
    for label, statistic in statistics.items():
        if isinstance(statistic, Sum | Mean | Variance) and statistic.shared:
            columns.setdefault(statistic.column, []).append(label)
    whole = next((c for c in columns if c in context.columns and context.columns[c].nulls != "drop"), None)
    counts = [label for label, statistic in statistics.items() if isinstance(statistic, Count)]
    if whole is not None and counts:
        columns[whole] += counts
    for label, statistic in statistics.items():
        if isinstance(statistic, Present) and statistic.column in columns:
            columns[statistic.column].append(label)
    together = {label: tuple(members) for members in columns.values() for label in members}
    return list(dict.fromkeys(together.get(label, (label,)) for label in statistics))


def _named(statistic: Statistic, way: str | None, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
    """The step of a named mechanism, or the planner's choice."""
    if way is None:
        return statistic.step(epsilon, delta, context)
    ways = statistic.ways(epsilon, delta, context)
    if way not in ways:
        what = f"{statistic.label} is not answered by mechanism {way!r}."
        raise QueryError("SRD-106", what, f"Use one of {', '.join(ways)}, or leave mechanism= out.")
    return ways[way]()


def _drawing(
    members: tuple[str, ...],
    statistics: Mapping[str, Statistic],
    epsilon: Fraction,
    delta: Fraction,
    context: Context,
    *,
    way: str | None = None,
) -> Drawing:
    chosen = [statistics[label] for label in members]
    if len(members) == 1:
        return Single(members[0], _named(chosen[0], way, epsilon, delta, context), chosen[0].counted(context))
    for statistic in chosen:
        _named(statistic, way, epsilon, delta, context)
    column = next(s.column for s in chosen if isinstance(s, Sum | Mean | Variance))
    grid = length_grid(context, column)
    size = public_size(context)
    source: ColumnMoments
    if any(isinstance(s, Variance) for s in chosen):
        source = Bernstein(column, grid, epsilon, context, delta, way)
    elif size is None:
        source = Halves(column, grid, epsilon, context, delta, way)
    else:
        source = Known(column, grid, epsilon, size, delta if context.adds_rho else Fraction(0), way)
    return Merged(source, tuple((label, _kind(s)) for label, s in zip(members, chosen, strict=True)))


def plan_steps(
    statistics: Mapping[str, Statistic],
    epsilon: Fraction,
    delta: Fraction,
    context: Context,
    *,
    way: str | None = None,
    weights: Mapping[tuple[str, ...], Fraction] | None = None,
) -> Plan:
    """Split one price among several statistics, by public facts alone.

    Statistics of one column that keep the same rows are read off one draw: the two halves for count, sum and mean (the plain sum where n
    is public), the three Bernstein sums as soon as variance or std is among them. Private group keys take a quarter of epsilon; if the
    count of rows is asked too, keys and counts are one draw where that hides fewer keys. What is left of epsilon is divided equally
    among independent draws (quantiles have one per level, iqr two), or by `weights`, one for each bundle. Delta is divided equally among
    the keys, the parts that need it, and those totals whose Gaussian noise is narrower than Laplace noise at such a share of it.
    The price is the sum of the parts'. `way` names the mechanism for every statistic; without it each takes the first of
    its ways.
    """
    if not statistics:
        raise QueryError("SRD-103", "there is nothing to compute.", "Ask for at least one statistic.")
    private = context.private_keys
    members = bundles(statistics, context)
    needy = members if way in THRIFTY else [m for m in members if any(statistics[label].needs_delta(context) for label in m)]
    willing = [m for m in members if m not in needy and any(statistics[label].takes_delta for label in m)]
    if (needy or private) and not delta:
        raise QueryError("SRD-102", "private keys need a delta.", "Give delta, or declare the keys.")
    weights = weights or {m: Fraction(sum(statistics[label].weight for label in m) if len(m) == 1 else 1) for m in members}
    left = epsilon * (1 - KEYS_SHARE) if private else epsilon
    shares = {m: left * weight / sum(weights.values()) for m, weight in weights.items()}
    takers, free = [*needy, *willing], [m for m in members if m not in needy and m not in willing] if way is None and delta else []
    if private:  # a count of rows may be drawn with its keys
        free = [m for m in free if len(m) > 1 or not isinstance(statistics[m[0]], Count)]
    each, takers = _delta_shares(takers, free, statistics=statistics, shares=shares, delta=delta, context=context)
    keys = _keys(shares, statistics, epsilon * KEYS_SHARE, each, context) if private else None
    drawn = (keys.label,) if isinstance(keys, CountedKeys) else None
    offered = {m: each if m in takers else Fraction(0) for m in members}
    return Plan(keys, tuple(_drawing(m, statistics, share, offered[m], context, way=way) for m, share in shares.items() if m != drawn))


def _delta_shares(
    takers: list[tuple[str, ...]],
    free: list[tuple[str, ...]],
    *,
    statistics: Mapping[str, Statistic],
    shares: Mapping[tuple[str, ...], Fraction],
    delta: Fraction,
    context: Context,
) -> tuple[Fraction, list[tuple[str, ...]]]:
    """An equal share of delta for the keys and for everybody who takes one, and who that is: of those free to choose, all who gain by it.

    Whoever gains by a share gains by a larger one, so those who do not are left out until nobody is.
    """
    while True:
        each = delta / max(len(takers) + len(free) + context.private_keys, 1)
        gain = [m for m in free if _gains(m, statistics, shares[m], each, context)]
        if gain == free:
            return each, [*takers, *free]
        free = gain


def _gains(members: tuple[str, ...], statistics: Mapping[str, Statistic], epsilon: Fraction, delta: Fraction, context: Context) -> bool:
    """Whether Gaussian noise at this share of delta is narrower than Laplace noise for nothing."""
    if len(members) == 1:
        statistic = statistics[members[0]]
        total = isinstance(
            statistic, Means | PredicateCounts | Count | CountDistinct | CountUnits | GroupingSets | Present | PresentUnits | Sum | Variance
        )
        if not total and not (isinstance(statistic, Mean) and statistic.shared):
            return False
        return next(iter(statistic.ways(epsilon, delta, context))) == "gaussian"
    drawn = _drawing(members, statistics, epsilon, delta, context)
    return isinstance(drawn, Merged) and drawn.source.noise.name == "Gaussian"


def _keys(
    shares: Mapping[tuple[str, ...], Fraction], statistics: Mapping[str, Statistic], epsilon: Fraction, delta: Fraction, context: Context
) -> Keys | CountedKeys:
    """People decide which keys are named; or rows do, together with the count that is asked anyway, if that hides no more.

    One draw of the count has the narrower interval, as nothing is set aside for naming. It also names more if its threshold in rows is at
    most the threshold in people times the rows a person has in a group: half of those that count there, as far as the public knows.
    (Both sides are public: thresholds follow from the price and the limits.)
    """
    keys = Keys(epsilon, delta, context)
    count = next((m for m in shares if len(m) == 1 and isinstance(statistics[m[0]], Count)), None)
    if count is None:
        return keys
    both = CountedKeys(epsilon + shares[count], delta, context, count[0])
    return both if both.threshold <= keys.usual * max(Fraction(context.limits.rows, 2), Fraction(1)) else keys
