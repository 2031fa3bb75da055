"""Means of groups compared: differences, ratios and percent changes with intervals about the population, from one release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError, builds
from sordino.privacy.number import as_epsilon, as_positive, shown
from sordino.statistics import mean, variance
from sordino.statistics.row_count import Present

if TYPE_CHECKING:
    from sordino.session.preview import Preview
    from sordino.session.query import Query
    from sordino.session.release import Release

__all__ = ["Compared", "Comparison", "Group", "compare", "holm"]

LARGEST = 20  # no wish is met at a higher price
MOST_WIDTH = 1e150  # its square is a double


@builds
def holm(chances: Sequence[float]) -> list[float]:
    r"""Holm's p-values of several tests, in their order: below a level they reject with that probability of any false rejection.

    Theorem. max over j <= i of (m - j + 1) p_(j), at most 1, is a family-wise p-value whatever the dependence.
    Proof. The first true hypothesis in order has at most m - j + 1 true ones left, and Bonferroni holds among them (Holm 1979). QED
    It is post-processing of released p-values.
    """
    out, worst = [0.0] * len(chances), 0.0
    for place, i in enumerate(sorted(range(len(chances)), key=lambda i: chances[i])):
        worst = max(worst, min(1.0, (len(chances) - place) * chances[i]))
        out[i] = worst
    return out


@dataclass(frozen=True)
class Group:
    """One group's drawn mean, and its variance as an estimate of the population's: of sampling, and of the noise."""

    mean: float
    rows: float
    sampling: float
    noise: float

    @property
    def variance(self) -> float:
        return self.sampling + self.noise


def _said(fix: str) -> str:
    return fix[0].upper() + fix[1:]


def compare(query: Query, column: str, by: str) -> Comparison:
    """The question; groups are public keys, the first of them the one the others are compared with."""
    keys = [key for key in query.asked.column(by).keys or () if key is not None]
    if len(keys) < 2:
        raise QueryError("SRD-203", f"{shown(by)} has no two public keys to compare.", f"{_said(query.asked.column(by).listing)}.")
    asked = query.group_by(by).agg(n=Present(column), mean=mean(column, method="clamped"), variance=variance(column))
    return Comparison(asked.by_laplace, column, by)


@dataclass(frozen=True, eq=False)
class Comparison:
    """A comparison before it is paid: count, mean and second moment of every group, in one draw."""

    query: Query
    column: str
    by: str

    def preview(self, **options: Any) -> Preview:
        """The price list of the means, counts and variances it is made of. Free."""
        return self.query.preview(**options)

    @builds
    def width(self, epsilon: Any, *, rows: int | None = None, spread: Any = None, level: float = 0.95) -> float:
        """The half-width to expect of a difference, noise and sampling together, from public facts. Free.

        For `rows` in all (the table's size), even groups, means at the end of the bounds, where the noise is largest, and a column whose
        standard deviation is `spread`, a sixth of its bounds unless given.
        """
        epsilon = as_epsilon(epsilon)
        source: Any = self.query.settle(epsilon).steps["mean"].source  # type: ignore[attr-defined]
        sampling, noise = self._variances(rows, spread)
        return _deviations(level, self._others) * math.sqrt(sampling + noise * float(source.scale) ** 2)

    @property
    def _others(self) -> int:
        return len([key for key in self.query.asked.columns[self.by].keys or () if key is not None]) - 1

    def _variances(self, rows: int | None, spread: Any) -> tuple[float, float]:
        """Of a difference, in the column's unit: of sampling, and of noise whose scale is one row."""
        held = self.query.table.size if rows is None else rows
        if held is None:
            what = "the width of a comparison depends on the number of rows."
            raise QueryError("SRD-107", what, "Declare size= with the table, or give rows=.")
        source: Any = self.query.settle(Fraction(1)).steps["mean"].source  # type: ignore[attr-defined]
        span, each = source.grid.length(source.grid.width), max(int(held) / (self._others + 1), 1.0)
        deviation = span / 6 if spread is None else _double(spread, "spread")
        return 2 * deviation**2 / each, 2 * span**2 * 2 * 1.25 / each**2

    def _price(self, within: Any, spread: Any) -> Fraction:
        """The least epsilon whose expected half-width is the wish: noise of scale b/epsilon, so it is solved by hand."""
        wish, (sampling, noise) = _double(within, "within"), self._variances(None, spread)
        far = _deviations(0.95, self._others)
        left = (wish / far) ** 2 - sampling
        source: Any = self.query.settle(Fraction(1)).steps["mean"].source  # type: ignore[attr-defined]
        epsilon = math.inf if left <= 0 else float(source.scale) * math.sqrt(noise / left)
        if epsilon > LARGEST:
            best = self.width(LARGEST, spread=spread)
            what = f"a difference within {wish:g} cannot be had: sampling alone moves it by {far * math.sqrt(sampling):.3g}, at 95%."
            raise QueryError("SRD-103", what, f"The best is {best:.3g}, at epsilon {LARGEST}. Wish for more than that, or give epsilon=.")
        return Fraction(f"{epsilon:.3g}") * Fraction(1001, 1000) if epsilon > 0 else Fraction(1, 1000)

    def release(
        self, *, epsilon: Any = None, within: Any = None, spread: Any = None, analyst: str | None = None, fresh: bool = False,
        request: str | None = None,
    ) -> Compared:  # fmt: skip
        """Pay once for all groups; a recorded answer at this price or more is free.

        `within` is a wish instead of a price: the half-width at 95% of a difference about the population, as `width` expects it.
        """
        if (epsilon is None) == (within is None):
            raise QueryError("SRD-101", "a comparison needs one price.", "Give epsilon=, or within=, the half-width of the difference.")
        if spread is not None:
            _double(spread, "spread")
        epsilon = self._price(within, spread) if epsilon is None else epsilon
        found = self.query.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        source: Any = self.query.settle(found.cost.exact.epsilon, found.cost.exact.delta).steps["mean"].source  # type: ignore[attr-defined]
        ends = float(source.grid.low * source.grid.step), source.grid.length(source.grid.width)
        return Compared(self, found, float(source.scale), ends)

    def __repr__(self) -> str:
        return f"Comparison(mean({self.column}) by {self.by}; nothing read, nothing spent)"


def _double(value: Any, name: str) -> float:
    """A positive number that is computed with in doubles, and so are its square and its parts."""
    number = as_positive(value, name)
    if number > MOST_WIDTH:
        raise QueryError("SRD-103", f"{name} is {shown(value)}.", f"Give a {name} of at most {MOST_WIDTH:g}.")
    return float(number)


@dataclass(frozen=True, eq=False)
class Compared:
    r"""Differences of group means against the first group: `difference`, `ratio`, `percent`, and `low`, `high` of the difference.

    Theorem. Let the rows of each group be independent draws of a population of mean m_k and variance s_k^2, and D the difference of two
    drawn means. D - (m_1 - m_0) has mean 0 and variance s_1^2/n_1 + s_0^2/n_0 + v_1 + v_0 to first order in 1/n, v_k the variance of the
    noise; its law is nearly normal, so D +- z times the root of the drawn variance covers at about its level.
    Proof. Groups are disjoint, so sampling and noise of both are independent. With t the mean over the range, the error of a mean is
    ((1 - t) e_2 + (1/2 - t) e_1 - t e_0)/n for the noises e of the three Bernstein sums, of variance 2 b^2 each, in rows. QED
    With more than two groups the level is divided among the differences (Bonferroni), so that all of them hold at once.
    """

    question: Comparison
    release: Release
    scale: float  # of the noise of each sum, in rows
    ends: tuple[float, float]  # the low bound of the column, and its range

    @cached_property
    def groups(self) -> dict[Any, Group]:
        """What was drawn of every group, in the order of the public keys."""
        found, (base, span), out = self.release, self.ends, {}
        columns = (found.keys[self.question.by], found.answers["n"], found.answers["mean"], found.answers["variance"])
        for key, n, centre, spread in zip(*columns, strict=True):
            if key is None:
                continue
            rows, t = max(float(n), 1.0), min(max((centre - base) / span, 0.0), 1.0)
            noise = 2 * self.scale**2 * ((1 - t) ** 2 + (0.5 - t) ** 2 + t**2) / rows**2
            out[key] = Group(float(centre), rows, float(spread) / rows, span**2 * noise)
        return out

    @property
    def reference(self) -> Any:
        """The first public key."""
        return next(iter(self.groups))

    @property
    def others(self) -> list[Any]:
        return list(self.groups)[1:]

    def _z(self, level: float) -> float:
        if isinstance(level, bool) or not isinstance(level, int | float) or not 0 < level < 1:
            raise QueryError("SRD-103", f"level is {shown(level)}.", "Give a level between 0 and 1.")
        return _deviations(level, len(self.others))

    def _one(self, values: Mapping[Any, Any]) -> Any:
        return values[self.others[0]] if len(self.others) == 1 else dict(values)

    def _differences(self) -> dict[Any, tuple[float, float]]:
        """Differences and their standard errors."""
        first = self.groups[self.reference]
        return {k: (self.groups[k].mean - first.mean, math.sqrt(self.groups[k].variance + first.variance)) for k in self.others}

    @property
    def difference(self) -> Any:
        """The mean of the other group less that of the first; by key where there are several."""
        return self._one({key: value for key, (value, _) in self._differences().items()})

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """About the difference in the population."""
        z, found = self._z(level), self._differences()
        return self._one({k: d - z * e for k, (d, e) in found.items()}), self._one({k: d + z * e for k, (d, e) in found.items()})

    @property
    def low(self) -> Any:
        return self.interval()[0]

    @property
    def high(self) -> Any:
        return self.interval()[1]

    @property
    def ratio(self) -> Any:
        """The mean of the other group over that of the first; None where that is zero."""
        first = self.groups[self.reference].mean
        return self._one({key: self.groups[key].mean / first if first else None for key in self.others})

    def ratio_interval(self, level: float = 0.95) -> Any:
        """Fieller's: all r for which mean - r first is within its error of 0; None where the first mean may be zero."""
        z, first = self._z(level), self.groups[self.reference]
        return self._one({key: _fieller(self.groups[key], first, z) for key in self.others})

    @property
    def percent(self) -> Any:
        """The change against the first group, in percent."""
        ratio = self.ratio if isinstance(self.ratio, dict) else {self.others[0]: self.ratio}
        return self._one({key: None if r is None else 100 * (r - 1) for key, r in ratio.items()})

    @property
    def p(self) -> Any:
        """Two-sided, that a difference is none: noise and sampling together. With several groups by Holm's method."""
        raw = [2 * NormalDist().cdf(-abs(d) / e) for d, e in self._differences().values()]
        return self._one(dict(zip(self.others, holm(raw), strict=True)))

    @property
    def about(self) -> str:
        """What was estimated."""
        many = "" if len(self.others) == 1 else f", all {len(self.others)} at once"
        return f"the population these rows are a sample of: noise and sampling, 95%{many}; values clamped to their bounds"

    def to_dict(self) -> dict[str, list[Any]]:
        """One row per group that is compared."""
        z = self._z(0.95)
        rows = [(key, d, d - z * e, d + z * e, self.groups[key].mean) for key, (d, e) in self._differences().items()]
        names = (self.question.by, "difference", "difference_low", "difference_high", f"mean({self.question.column})")
        return dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))

    def __repr__(self) -> str:
        lines = [
            f"{key} less {self.reference}: {d:.4g} [{d - self._z(0.95) * e:.4g}, {d + self._z(0.95) * e:.4g}]"
            for key, (d, e) in self._differences().items()
        ]
        return "\n".join([f"mean({self.question.column}) by {self.question.by}", *lines, f"about {self.about}", f"{self.release.cost}"])


def _deviations(level: float, differences: int) -> float:
    """How many standard errors a two-sided interval reaches if so many hold at once."""
    return NormalDist().inv_cdf(1 - (1 - level) / (2 * differences))


def _fieller(other: Group, first: Group, z: float) -> tuple[float, float] | None:
    a = first.mean**2 - z**2 * first.variance
    b = other.mean * first.mean
    c = other.mean**2 - z**2 * other.variance
    room = b * b - a * c
    if a <= 0 or room < 0:
        return None
    return (b - math.sqrt(room)) / a, (b + math.sqrt(room)) / a
