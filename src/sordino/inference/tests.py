"""Tests of counts: independence of two columns, equal proportions, a distribution that was foretold. One noisy table each.

Rank tests: two groups against each other, and pairs. Outliers and bounds do not matter to them.

Whether two groups have the same mean: the difference of a comparison against its simulated null.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError, builds
from sordino.inference.outcome import (
    ALTERNATIVES,
    EPSILONS,
    SIMULATED,
    Outcome,
    Power,
    chance_of,
    estimates,
    laplace,
    multinomial,
    normal,
    null,
    power_table,
    simulated,
    studentised,
)
from sordino.mechanisms.estimate import Estimate
from sordino.privacy.number import shown
from sordino.session.comparison import Comparison
from sordino.session.verbs import TableVerbs
from sordino.statistics.rank_test import RankTest
from sordino.statistics.regression import FitStep, GroupsStep

__all__ = [
    "CountsTest",
    "DifferenceTest",
    "RanksTest",
    "chi_square",
    "estimates",
    "independence",
    "mann_whitney",
    "null",
    "proportions",
    "signed_rank",
    "simulated",
    "studentised",
    "t",
    "wald",
]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class CountsTest:
    r"""A test before it is paid. The counts of all cells are drawn at once, with Laplace noise of scale b.

    Theorem. (1 + #{simulated >= drawn})/(1 + B) is a valid p-value if the simulated tables have the law of the drawn one under the null
    hypothesis; they are multinomial, of the drawn total and the drawn margins (or the foretold chances), plus the same noise.
    Proof. The drawn statistic is then one of B + 1 exchangeable numbers. QED
    The total and margins are drawn, not known: the law is right to first order, and the size is measured, not assumed. The distance
    from what is expected is weighed by its whole variance, E + 2 b^2: Pearson's statistic where there is no noise.
    """

    query: Any
    shape: tuple[int, ...]
    about: str
    chances: tuple[float, ...] | None = None  # foretold, for one column

    @builds
    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.03) -> Power:
        """How often it would see cells that are off by `effect` in a checkerboard, everything else even."""
        signs = np.indices(self.shape).sum(axis=0).ravel() % 2 * -2.0 + 1
        signs -= signs.mean()
        even = np.full(signs.size, 1 / signs.size) if self.chances is None else np.array(self.chances)
        other = np.clip(even + effect * signs, 0.0, None)
        other /= other.sum()

        def test(n: int, epsilon: float) -> tuple[Floats, Floats]:
            scale = self._scale(epsilon)
            return tuple(self._statistics(n, p, scale, ALTERNATIVES) for p in (even, other))  # type: ignore[return-value]

        return power_table(f"cells off by {effect:g} of the rows", rows or self._rows(), epsilons, test)

    def _rows(self) -> tuple[int, ...] | None:
        size = self.query.table.size
        return None if size is None else (int(size),)

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for the counts; the test is post-processing."""
        found = self.query.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        scale = self._scale(found.cost.exact.epsilon)
        drawn = np.array(found.answers["n"], float)
        value = float(self._distance(drawn, scale))
        return Outcome(value, float(self.p_values(drawn, scale, SIMULATED)), self.about, found)

    def p_values(self, drawn: Floats, scale: float, repeats: int) -> Floats:
        """Of a drawn table, or of lines of them; free, and for nobody's table where the counts are made up."""
        chances = np.broadcast_to(self._expected(drawn) if self.chances is None else np.array(self.chances), drawn.shape)
        chances = np.clip(chances, 0.0, None)
        total = np.rint(np.maximum(drawn.sum(axis=-1), 1.0))
        simulated = self._statistics(total, chances / chances.sum(axis=-1, keepdims=True), scale, repeats)
        return np.asarray(chance_of(self._distance(drawn, scale), simulated))

    def _scale(self, epsilon: Any) -> float:
        (step,) = self.query.settle(epsilon).steps.values()
        return float(step.noise.scale)

    def _statistics(self, total: Any, chances: Floats, scale: float, repeats: int) -> Floats:
        counts = multinomial(total, chances, repeats)
        return self._distance(counts + np.rint(laplace(scale, *counts.shape)), scale)

    def _expected(self, counts: Floats) -> Floats:
        """What every cell would hold: the foretold share of the total, or the product of its margins."""
        total = np.maximum(counts.sum(axis=-1, keepdims=True), 1.0)
        if self.chances is not None:
            return np.asarray(total * np.array(self.chances))
        cells = counts.reshape(*counts.shape[:-1], *self.shape)
        rows, columns = np.maximum(cells.sum(axis=-1), 0.5), np.maximum(cells.sum(axis=-2), 0.5)
        rows, columns = rows / rows.sum(axis=-1, keepdims=True), columns / columns.sum(axis=-1, keepdims=True)
        return np.asarray((rows[..., :, None] * columns[..., None, :]).reshape(counts.shape) * total)

    def _distance(self, counts: Floats, scale: float) -> Floats:
        expected = self._expected(counts)
        return np.asarray(((counts - expected) ** 2 / (np.maximum(expected, 0.5) + 2 * scale**2)).sum(axis=-1))

    def __repr__(self) -> str:
        return f"Test({self.about}; nothing read, nothing spent)"


def _rows(table: Any) -> Any:
    """The rows of a table that a test is about, or those a filter left of it."""
    if not isinstance(table, TableVerbs):
        raise QueryError("SRD-208", f"a test is about a table, not {shown(table)}.", "Give the table first: independence(people, ...).")
    rows = table._rows()
    if rows.asked.statistics:
        raise QueryError("SRD-208", "a test is asked alone, without other statistics.", "Give the table, or the rows a where() keeps.")
    return rows


def _keys(table: Any, name: str) -> tuple[Any, ...]:
    column = _rows(table).asked.column(name)
    keys = (False, True) if column.type == "bool" and column.keys is None else tuple(key for key in column.keys or () if key is not None)
    if len(keys) < 2 or (column.keys is not None and None in column.keys):
        raise QueryError("SRD-203", f"{shown(name)} has no two public keys.", f"Declare keys={{{shown(name)}: [...]}}, without null.")
    return keys


def _count(table: Any, *by: str) -> Any:
    from sordino.statistics import count

    return _rows(table).group_by(*by).agg(n=count()).by_laplace


@builds
def independence(table: Any, first: str, second: str) -> CountsTest:
    """Whether two columns with public keys are independent."""
    shape = len(_keys(table, first)), len(_keys(table, second))
    return CountsTest(_count(table, first, second), shape, f"{first} and {second} are independent")


@builds
def proportions(table: Any, outcome: str, *, by: str) -> CountsTest:
    """Whether the shares of an outcome are the same in all groups."""
    shape = len(_keys(table, by)), len(_keys(table, outcome))
    return CountsTest(_count(table, by, outcome), shape, f"the shares of {outcome} are the same for every {by}")


@builds
def chi_square(table: Any, column: str, expected: Mapping[Any, float] | None = None) -> CountsTest:
    """Whether the values of a column have these shares; equal ones unless given."""
    keys = _keys(table, column)
    shares = dict.fromkeys(keys, 1.0) if expected is None else dict(expected)
    numbers = all(isinstance(v, int | float) and not isinstance(v, bool) and 0 < v < float("inf") for v in shares.values())
    if set(shares) != set(keys) or not numbers:
        raise QueryError("SRD-103", f"expected is {shown(expected)}.", "Give a positive share for every public key, and no other.")
    total = sum(shares.values())
    return CountsTest(_count(table, column), (len(keys),), f"{column} has the expected shares", tuple(shares[key] / total for key in keys))


@dataclass(frozen=True, eq=False)
class RanksTest:
    r"""A test before it is paid: sizes and a rank statistic are drawn, and its null law is simulated, noise and sizes included.

    Theorem. Under the null hypothesis (the groups have one law; the differences are symmetric about zero) the doubled statistic has mean
    0 and variance n1 n2 (n1 + n2 + 1)/3 (2 n (n + 1)(2 n + 1)/3), less with ties, and is nearly normal.
    Proof. Mann and Whitney (1947), Wilcoxon (1945); each for twice the statistic about its mean. QED
    The numbers of rows are drawn, so each simulated law has sizes of its own.
    """

    query: Any
    about: str
    paired: bool

    @builds
    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.5) -> Power:
        """How often it would see a shift of `effect` standard deviations of normal values; of pairs, of their differences."""

        def test(n: int, epsilon: float) -> tuple[Floats, Floats]:
            each, groups = float(n if self.paired else n // 2), 1 if self.paired else 2
            drawn = [np.maximum(each + laplace(float(self._step(epsilon).sizes.scale), ALTERNATIVES), 1.0) for _ in range(2 * groups)]
            most, true = np.max(drawn[:groups], axis=0), [np.full(ALTERNATIVES, each)] * groups
            noise = self._scale(epsilon, most)
            null = self._deviation(drawn[groups:], most) * normal(ALTERNATIVES) + noise * laplace(1.0, ALTERNATIVES)
            moved = self._moved(each, effect) * self._weight(true, most)
            other = moved + self._deviation(true, most) * normal(ALTERNATIVES) + noise * laplace(1.0, ALTERNATIVES)
            return np.abs(null), np.abs(other)

        size = self.query.table.size
        return power_table(f"a shift of {effect:g} deviations", rows or (None if size is None else (int(size),)), epsilons, test)

    def _moved(self, each: float, effect: float) -> float:
        """Where the doubled statistic lies for normal values shifted by so many deviations."""
        pairs = NormalDist().cdf(effect * math.sqrt(2 if self.paired else 0.5))
        if not self.paired:
            return each**2 * (2 * pairs - 1)
        return each * (each - 1) * (2 * pairs - 1) + 2 * each * (2 * NormalDist().cdf(effect) - 1)

    def _scale(self, epsilon: Any, most: Any) -> Any:
        """Of the statistic's noise, where so many rows were drawn, or each of several numbers of them."""
        step = self._step(epsilon)
        price, least = step.parts[1].certificate.cost.epsilon, step.reach(0)
        return float(least / price) + float((step.reach(1) - least) / price) * most

    def _step(self, epsilon: Any) -> Any:
        (step,) = self.query.settle(epsilon).steps.values()
        return step

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for sizes and ranks; the test is post-processing."""
        found = self.query.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        answers = found.answers["ranks"]
        value, most, price = float(answers[0][0]), float(answers[0][2]), found.cost.exact.epsilon
        sizes = np.array([float(n) for _, n, _ in answers])
        chance = self.p_values(value, sizes, price, SIMULATED, most=most)
        return Outcome(value / 2, float(chance), self.about, found)

    def p_values(self, value: Any, sizes: Floats, epsilon: Any, repeats: int, *, most: Any = None) -> Floats:
        """For a drawn statistic and drawn sizes of groups at this price, or lines of them; `most` is the largest of the sizes."""
        wide = float(self._step(epsilon).sizes.scale)
        most = np.asarray(np.maximum(sizes.max(axis=-1), 1.0) if most is None else most)[..., None]
        drawn = [np.maximum(n[..., None] + laplace(wide, *n.shape, repeats), 1.0) for n in np.moveaxis(sizes, -1, 0)]
        noise = self._scale(epsilon, most) * laplace(1.0, *sizes.shape[:-1], repeats)
        simulated = normal(*sizes.shape[:-1], repeats) * self._deviation(drawn, most) + noise
        return np.asarray(chance_of(np.abs(value), np.abs(simulated)))

    def _deviation(self, sizes: Sequence[Floats], most: Any) -> Floats:
        """Of the weighed statistic under the null hypothesis."""
        if self.paired:
            (n,) = sizes
            variance = 2 * n * (n + 1) * (2 * n + 1) / 3
        else:
            first, second = sizes
            variance = first * second * (first + second + 1) / 3
        return np.asarray(np.sqrt(variance) * self._weight(sizes, most))

    def _weight(self, sizes: Sequence[Floats], most: Any) -> Floats:
        """What groups of these sizes weigh: the weights of the step, of many numbers at once."""
        if self.paired:
            share = np.maximum(sizes[0] / most, 1.0)
            return np.asarray(np.clip(16 / (15 * share) - share**2 / 15, 0.0, 1.0))
        first, second = (np.clip(1.5 - n / (2 * most), 0.0, 1.0) for n in sizes)
        return np.asarray(first * second)

    def __repr__(self) -> str:
        return f"Test({self.about}; nothing read, nothing spent)"


@builds
def mann_whitney(table: Any, column: str, *, by: str) -> RanksTest:
    """Whether a column has one law in two groups with public keys, or one of them tends to larger values."""
    rows = _rows(table)
    keys = rows.asked.column(by).keys or ()
    if len(keys) != 2 or None in keys:
        raise QueryError("SRD-203", f"{shown(by)} has no two public keys.", f"Declare two: keys={{{shown(by)}: [...]}}.")
    asked = rows.group_by(by).agg(ranks=RankTest(column, by))
    return RanksTest(asked, f"{column} has one law for both {by}", paired=False)


@builds
def signed_rank(table: Any, column: str) -> RanksTest:
    """Whether a column of differences is symmetric about zero, or leans to one side."""
    return RanksTest(_rows(table).agg(ranks=RankTest(column)), f"{column} is symmetric about zero", paired=True)


@dataclass(frozen=True, eq=False)
class DifferenceTest:
    r"""A test before it is paid: z is the difference of two drawn means over its standard error, noise and sampling together.

    Theorem. If the simulated z have the law of the drawn one under equal means, (1 + #{simulated >= drawn})/(1 + B) is a valid p-value.
    Proof. The drawn |z| is then one of B + 1 exchangeable numbers. QED
    They are made of sums of normal rows with the drawn sizes and variances and one pooled mean, and of the same noise; the estimates are
    read off them as off the release, so a variance that noise hides is as often too small there. Sizes are measured, not assumed.
    """

    comparison: Comparison

    @builds
    def preview(self, *, rows: Sequence[int] | None = None, epsilons: Sequence[float] = EPSILONS, effect: float = 0.5) -> Power:
        """How often it would see a shift of `effect` standard deviations between groups of equal size, bounds six deviations apart."""

        def test(n: int, epsilon: float) -> Any:
            each, wide = n / 2, 6.0  # in standard deviations
            noise = math.sqrt(2 * (0.25 + 0.25)) * wide * float(_source(self.comparison, epsilon).scale) / each
            error = math.sqrt(2 / each + 2 * noise**2)
            drawn = [math.sqrt(2 / each) * normal(ALTERNATIVES) + laplace(noise / math.sqrt(2), ALTERNATIVES, 2) @ [1, -1] for _ in "ab"]
            return abs(drawn[0]) / error, abs(drawn[1] + effect) / error

        size = self.comparison.query.table.size
        return power_table(f"a shift of {effect:g} deviations", rows or (None if size is None else (int(size),)), epsilons, test)

    def release(self, *, epsilon: Any, analyst: str | None = None, fresh: bool = False, request: str | None = None) -> Outcome:
        """Pay for the comparison; the test is post-processing."""
        found = self.comparison.release(epsilon=epsilon, analyst=analyst, fresh=fresh, request=request)
        ((value, error),) = found._differences().values()
        chance = float(chance_of(abs(value / error), null(found, SIMULATED)))
        return Outcome(value / error, chance, f"{self.comparison.column} has the same mean for every {self.comparison.by}", found.release)

    def __repr__(self) -> str:
        return f"Test({self.comparison.column} has the same mean for every {self.comparison.by}; nothing read, nothing spent)"


def _source(comparison: Comparison, epsilon: Any) -> Any:
    return comparison.query.settle(epsilon).steps["mean"].source  # type: ignore[attr-defined]


@builds
def wald(release: Any, *names: str) -> Outcome:
    r"""Whether coefficients of a released regression are all zero in the population: all but the intercepts unless some are named. Free.

    Theorem. For b near normal about its target with covariance V, b'V^-1 b is near chi-square with as many degrees of freedom as it has
    coordinates if the target is 0. V has the noise of the release, what shortened rows may have moved, and the sampling.
    Proof. A standard normal vector of that length, squared (Wald 1943). QED
    """
    found = getattr(release, "raw", {}).get(getattr(release, "names", ("",))[0])
    steps = {} if release.query is None else release.query.settle(release.cost.exact.epsilon, release.cost.exact.delta).steps
    (step,) = steps.values() if len(steps) == 1 else (None,)
    if not found or not isinstance(step, FitStep | GroupsStep) or len(found) != 1:
        raise QueryError("SRD-208", "this release has no coefficients to test.", "Give that of regress, logistic or m_regress, no groups.")
    known = list(step.setting.names)
    chosen = list(names) or [name for name, constant in zip(known, step.setting.constants, strict=True) if not constant]
    if any(name not in known for name in chosen) or len(set(chosen)) != len(chosen):
        raise QueryError("SRD-103", f"{shown(names)} are not its coefficients.", f"Name some of {', '.join(known)}, each once.")
    places, estimate, back = [known.index(name) for name in chosen], Estimate.of(found[0]), step.setting.back[0]
    spread = sum(np.array(part) for part in (estimate.noise, estimate.moved, estimate.sampling))
    whole = (back @ spread @ back.T)[np.ix_(places, places)]
    value = np.array([release.value[name] for name in chosen])
    from scipy.special import chdtrc

    statistic = float(value @ np.linalg.solve(whole, value))
    about = f"{', '.join(chosen)}: no effect on {step.setting.formula.target.name}"
    return Outcome(statistic, float(chdtrc(len(chosen), statistic)), about, release)


@builds
def t(table: Any, column: str, *, by: str) -> DifferenceTest:
    """Whether a column has the same mean in two groups with public keys."""
    made = _rows(table).compare(column, by=by)
    keys = [key for key in made.query.asked.columns[by].keys or () if key is not None]
    if len(keys) != 2:
        raise QueryError("SRD-203", f"{by} has {len(keys)} groups.", "Compare two: for more, table.compare has a p-value for each.")
    return DifferenceTest(made)
