"""Was this person in the data? Membership read off released means.

Does a model remember who taught it? Membership by loss, and a planted canary.

Attacks on a shared table: the ceiling of all of them, two that try to reach it, and why closeness to real rows proves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.lab.finding import lower, upper
from sordino.lab.report import as_html, as_json, matrix, say
from sordino.pictures import Picture, roc
from sordino.privacy.relation import Relation
from sordino.share.schedule import FINE

__all__ = [
    "Ceiling",
    "Closeness",
    "Memorization",
    "Trace",
    "closest_record",
    "density_ratio",
    "memorization",
    "shadow",
    "share_ceiling",
    "trace",
]


@dataclass(frozen=True, repr=False)
class Trace:
    """The scores of members and of strangers; the further apart they lie, the more the means say about who was in."""

    dimension: int
    scores: tuple[float, ...]
    strangers: tuple[float, ...]

    @property
    def auc(self) -> float:
        """The chance that a member scores above a stranger; 1/2 is guessing."""
        out, inn = np.sort(self.strangers), np.asarray(self.scores)
        below = np.searchsorted(out, inn, side="left") + np.searchsorted(out, inn, side="right")
        return float(below.mean() / (2 * len(out)))

    def tpr(self, fpr: float = 0.01) -> float:
        """The share of members found when at most the share `fpr` of strangers is accused."""
        if not 0 <= fpr <= 1:
            raise QueryError("SRD-103", f"fpr is {fpr!r}.", "Give a rate from 0 to 1.")
        ranked = np.sort(self.strangers)[::-1]
        allowed = int(fpr * len(ranked) + 1e-9)
        return 1.0 if allowed == len(ranked) else float(np.mean(np.asarray(self.scores) > ranked[allowed]))

    def auc_interval(self, level: float = 0.95) -> tuple[float, float]:
        """Between which numbers the AUC over all such people lies: normal, with DeLong's variance of both samples."""
        inn, out = np.asarray(self.scores), np.asarray(self.strangers)
        over = [_beaten(inn, out), 1 - _beaten(out, inn)]
        spread = math.sqrt(sum(float(part.var(ddof=1)) / len(part) if len(part) > 1 else 0.25 for part in over))
        far = NormalDist().inv_cdf((1 + level) / 2) * spread
        return max(self.auc - far, 0.0), min(self.auc + far, 1.0)

    def tpr_interval(self, fpr: float = 0.01, level: float = 0.95) -> tuple[float, float]:
        """Between which shares of members are found at this threshold: Clopper and Pearson."""
        found, alpha = round(self.tpr(fpr) * len(self.scores)), (1 - level) / 2
        return float(lower(found, len(self.scores), alpha)), float(upper(found, len(self.scores), alpha))

    def __repr__(self) -> str:
        low, high = self.auc_interval()
        return say(
            [
                f"trace: AUC {self.auc:.3f} [{low:.3f}, {high:.3f}] from {self.dimension:,} means (guessing: 0.500)",
                f"  {self.tpr(0.01):.1%} of {len(self.scores):,} members found at 1% false alarms, {self.tpr(0.1):.1%} at 10%",
                f"  judged against {len(self.strangers):,} strangers",
            ]
        )

    def plot(self, after: Trace | None = None) -> Picture:
        """Hits against false alarms; `after` adds the same attack on private means."""
        series = {"these means": self._curve()} if after is None else {"before": self._curve(), "after": after._curve()}
        return roc(series, title=f"Tracing {len(self.scores):,} people in {self.dimension:,} means")

    def _curve(self) -> tuple[list[float], list[float]]:
        rates = sorted({0.0, 0.001, 0.01, *np.linspace(0, 1, 51).tolist()})
        return rates, [self.tpr(rate) for rate in rates]

    def to_json(self) -> str:
        return as_json(self, auc=self.auc, auc_interval=list(self.auc_interval()), tpr_at_1_percent=self.tpr(0.01))

    def _repr_html_(self) -> str:
        return as_html(self)


def _beaten(ones: Floats, others: Floats) -> Floats:
    """For each of the ones the share of the others below it, ties by half."""
    ranked = np.sort(others)
    both = np.searchsorted(ranked, ones, side="left") + np.searchsorted(ranked, ones, side="right")
    return np.asarray(both / (2 * len(ranked)))


def trace(means: ArrayLike, people: Any, reference: Any) -> Trace:
    r"""Score <means - r, x - r> for every member x and for strangers, where r is the mean of other strangers.

    `people` are the rows behind the means, `reference` rows of people of the same kind who are not in the data. Every other row of the
    reference gives r, the rest are judged: a row that both made r and was judged would look less like a member than it is.

    Theorem. If the means do not depend on who of two exchangeable people was in the data, the expected AUC is 1/2.
    Proof. Given the means and r the score is one function of the row, and member and judged stranger may be swapped without changing the
    joint law. So either scores higher with the same chance; ties count half. QED (The statistic is that of Dwork, Smith, Steinke, Ullman
    and Vadhan 2015; without subtracting r it mostly measures how large a row is.)
    """
    inside, outside = matrix(people, "people"), matrix(reference, "reference")
    released: NDArray[np.float64] = np.asarray(means, float).ravel()
    if not len(released) == inside.shape[1] == outside.shape[1] or len(outside) < 2:
        what = f"{len(released)} means, people with {inside.shape[1]} columns and {len(outside)} strangers with {outside.shape[1]}."
        raise QueryError("SRD-105", what, "Give one mean per column, the same columns everywhere and at least two strangers.")
    r = outside[::2].mean(axis=0)
    gap = released - r
    return Trace(len(released), tuple(((inside - r) @ gap).tolist()), tuple(((outside[1::2] - r) @ gap).tolist()))


Floats = NDArray[np.float64]
Fit = Callable[[Floats, NDArray[Any]], Any]


@dataclass(frozen=True, repr=False)
class Memorization:
    """Losses of the rows a model was fitted on and of strangers, and how often a canary gave itself away.

    `auc` is the chance that a member's loss is the smaller one; `canary` how often the model fitted with the canary could be told from the
    one without it by the canary's own loss, as an advantage from 0 to 1.
    """

    members: tuple[float, ...]
    strangers: tuple[float, ...]
    canary: float
    low: float = 0.0  # of the canaries' advantage, with 95%
    high: float = 1.0

    @property
    def _scores(self) -> Trace:
        return Trace(1, tuple(-loss for loss in self.members), tuple(-loss for loss in self.strangers))

    @property
    def auc(self) -> float:
        return self._scores.auc

    def tpr(self, fpr: float = 0.01) -> float:
        """The share of members found when at most the share `fpr` of strangers is accused."""
        return self._scores.tpr(fpr)

    def __repr__(self) -> str:
        return say(
            [
                f"memorization: AUC {self.auc:.3f} by the loss alone (guessing: 0.500)",
                f"  {self.tpr(0.01):.1%} of {len(self.members):,} members found at 1% false alarms, {self.tpr(0.1):.1%} at 10%",
                f"  canaries are told apart with advantage {self.canary:.2f} [{self.low:.2f}, {self.high:.2f}] (0: never, 1: always)",
            ]
        )

    def plot(self, after: Memorization | None = None) -> Picture:
        """Hits against false alarms; `after` adds the same attack on a private model."""
        found = {"this model": self._scores._curve()}
        if after is not None:
            found = {"plain": self._scores._curve(), "private": after._scores._curve()}
        return roc(found, title=f"Membership of {len(self.members):,} people by their loss")

    def to_json(self) -> str:
        return as_json(self, auc=self.auc, tpr_at_1_percent=self.tpr(0.01))

    def _repr_html_(self) -> str:
        return as_html(self)


def memorization(
    fit: Fit, members: tuple[Any, Any], strangers: tuple[Any, Any], *, canaries: int = 20, fits: int = 8, seed: int = 1
) -> Memorization:
    r"""Attack a model: fit it on the members, then guess membership by how small a row's loss is.

    `fit(X, y)` returns a model with `predict_proba` or `predict`. Canaries are strangers whose label is wrong; the model is fitted
    `fits` times, each canary put in by a coin of its own, and the best threshold on a canary's loss, chosen on one half of the fits and
    judged on the other, tells those that were in from those that were not. One canary alone would say much about itself and little about
    the model: a tree may happen to have room for it. NOT PRIVATE: it holds the data.

    Theorem. If fitting is (epsilon, delta)-DP, every canary's true advantage is at most (e^epsilon - 1 + 2 delta)/(e^epsilon + 1), and so
    is their mean.
    Proof. The loss is post-processing of the model, and the coins of the other canaries are independent of this one's. For two laws with
    D_epsilon <= delta both ways the total variation distance is at most that (Kairouz, Oh and Viswanath 2015), and a threshold's
    advantage is at most the distance. QED
    """
    X, y = _pair(members, "members")
    X_out, y_out = _pair(strangers, "strangers")
    if X.shape[1] != X_out.shape[1]:
        what = f"members have {X.shape[1]} columns and strangers {X_out.shape[1]}."
        raise QueryError("SRD-105", what, "Give the same columns for both.")
    model = fit(X, y)
    inside, outside = _losses(model, X, y), _losses(model, X_out, y_out)
    planted = X_out[:canaries]
    wrong = np.array([_other(label, sorted(set(y.tolist()))) for label in y_out[:canaries].tolist()])
    if len(planted) * fits < 2:
        return Memorization(tuple(inside.tolist()), tuple(outside.tolist()), 0.0)
    rng = np.random.default_rng(seed)
    losses: list[Floats] = []
    there: list[NDArray[np.bool_]] = []
    for turn in range(fits):
        coins = rng.random(len(planted)) < 0.5 if turn % 2 == 0 else ~there[-1]  # in turns: everybody is in and out
        taught = fit(np.vstack([X, planted[coins]]), np.concatenate([y, wrong[coins]]))
        losses.append(_losses(taught, planted, wrong))
        there.append(coins)
    return Memorization(tuple(inside.tolist()), tuple(outside.tolist()), *_advantage(np.array(losses), np.array(there)))


def _other(label: Any, classes: list[Any]) -> Any:
    """A label that is wrong, where there are several."""
    return label if len(classes) < 2 else next(value for value in classes if value != label)


def _advantage(losses: Floats, there: NDArray[np.bool_]) -> tuple[float, float, float]:
    """The advantage on one half of the fits of the threshold that is best on the other, never below 0, and its interval."""
    first, second = (slice(0, None, 4), slice(1, None, 4)), (slice(2, None, 4), slice(3, None, 4))
    chosen, judged = (np.concatenate([np.atleast_2d(losses[part]) for part in half]) for half in (first, second))
    learned, known = (np.concatenate([np.atleast_2d(there[part]) for part in half]) for half in (first, second))
    if not judged.size:
        chosen, learned = losses[::2], there[::2]
        judged, known = losses[1::2], there[1::2]

    def hits(values: Floats, coins: NDArray[np.bool_], cut: float) -> tuple[int, int, int, int]:
        return int((values[coins] <= cut).sum()), int(coins.sum()), int((values[~coins] <= cut).sum()), int((~coins).sum())

    def gained(counts: tuple[int, int, int, int]) -> float:
        return counts[0] / max(counts[1], 1) - counts[2] / max(counts[3], 1)

    cut = max(chosen.ravel().tolist(), key=lambda value: gained(hits(chosen, learned, value)))
    inn, n, out, m = hits(judged, known, cut)
    below = float(lower(inn, max(n, 1), 0.0125) - upper(out, max(m, 1), 0.0125))
    above = float(upper(inn, max(n, 1), 0.0125) - lower(out, max(m, 1), 0.0125))
    return max(gained((inn, n, out, m)), 0.0), max(below, 0.0), min(max(above, 0.0), 1.0)


def _pair(given: Any, word: str) -> tuple[Floats, NDArray[Any]]:
    try:
        X, y = np.asarray(given[0], float), np.asarray(given[1])
    except (TypeError, ValueError, IndexError, KeyError):
        raise QueryError("SRD-105", f"{word} is not (X, y).", "Give a matrix of numbers and one label per row.") from None
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or not len(X):
        raise QueryError("SRD-105", f"{word} is not (X, y).", "Give a matrix of numbers and one label per row.")
    return X, y


def _losses(model: Any, X: Floats, y: ArrayLike) -> Floats:
    """Log loss of a classifier, squared error otherwise; one number per row."""
    labels = np.asarray(y)
    if hasattr(model, "predict_proba"):
        chances, classes = np.asarray(model.predict_proba(X), float), list(model.classes_)
        places = [classes.index(label) if label in classes else None for label in labels.tolist()]
        own = np.array([0.0 if place is None else row[place] for row, place in zip(chances, places, strict=True)])
        return np.asarray(-np.log(np.clip(own, 1e-12, 1.0)))
    return np.asarray((np.asarray(model.predict(X), float) - labels.astype(float)) ** 2)


Codes = NDArray[np.int64]


@dataclass(frozen=True, repr=False)
class Ceiling:
    """How well anybody who knows everybody else could tell whether one person is in the table, from the drawn counts and the report."""

    mu: float
    measured: int

    @property
    def auc(self) -> float:
        return NormalDist().cdf(self.mu / math.sqrt(2))

    def __repr__(self) -> str:
        best = f"AUC {self.auc:.3f} at best from {self.measured} measured marginals and the report (guessing: 0.500)"
        return say([f"membership: {best}", f"  the likelihood ratio is normal with mu {self.mu:.3f}; choices and names are not counted"])

    def to_json(self) -> str:
        return as_json(self, auc=self.auc)


def share_ceiling(shared: Any) -> Ceiling:
    r"""The likelihood-ratio attack on the drawn numbers of a shared table, in closed form, given what was chosen and named.

    Theorem. Given which marginals were chosen and which categories were named, for a person with one row whose every neighbour is known,
    the log-likelihood ratio of the drawn counts and distances is N(+-mu^2/2, mu^2) with mu^2 = sum 1/sigma_i^2 over the marginals and at
    most K/sigma_e^2 for K reported distances; no test on these numbers has a larger AUC than Phi(mu/sqrt 2). Where a row is replaced,
    two cells of each marginal move, and a distance by two.
    Proof. Neyman and Pearson: the ratio of two Gaussians shifted by one in one cell of each marginal; a distance moves by at most one. QED
    The table follows from these numbers and from the choices and the names, which are not counted: the price on the card covers them.
    """
    record = shared.record
    scales, parts = record["scales"], record["parts"]
    columns, chosen, reported = len(record["first"]), len(record["chosen"]), len(record["distances"])
    moved = 2 if shared.release.card.get("privacy unit", {}).get("relation") == Relation.REPLACE.value else 1
    squares = moved * (columns * (parts / scales["first"]) ** 2 + chosen * (parts / scales["measured"]) ** 2)
    squares += reported * (moved * parts * FINE / scales["report"]) ** 2 if reported else 0.0
    return Ceiling(math.sqrt(squares), columns + chosen)


def density_ratio(made: ArrayLike, members: ArrayLike, strangers: ArrayLike, reference: ArrayLike) -> Trace:
    """Is a row denser in the shared table than among people of its kind? The mean log ratio over all pairs of columns, of codes.

    `members` were in the private table, `strangers` and `reference` are others of the same population. (Breugel and others 2023.)
    """
    tables = [np.asarray(rows, np.int64) for rows in (made, members, strangers, reference)]
    if any(rows.ndim != 2 or rows.shape[1] != tables[0].shape[1] or not len(rows) for rows in tables):
        raise QueryError("SRD-103", "the tables do not have the same columns.", "Give four matrices of codes with the same columns.")
    sizes = np.max([rows.max(axis=0) for rows in tables], axis=0) + 1
    score = [np.zeros(len(tables[1])), np.zeros(len(tables[2]))]
    for i, j in combinations(range(tables[0].shape[1]), 2):
        cells = [rows[:, i] * sizes[j] + rows[:, j] for rows in tables]
        here, there = ((np.bincount(cells[k], minlength=sizes[i] * sizes[j]) + 1) / (len(cells[k]) + 1) for k in (0, 3))
        ratio = np.log(here) - np.log(there)
        score[0] += ratio[cells[1]]
        score[1] += ratio[cells[2]]
    return Trace(tables[0].shape[1], tuple(score[0].tolist()), tuple(score[1].tolist()))


def shadow(make: Callable[[Codes], ArrayLike], rows: ArrayLike, outlier: ArrayLike, *, tables: int = 100) -> Trace:
    """Shared tables made with and without a planted outlier, told apart by how many of their rows look like it, pair by pair.

    `make(rows)` makes one shared table of codes from private codes. Scores of tables with the outlier are the members'.
    """
    if isinstance(tables, bool) or not isinstance(tables, int) or tables < 2:
        raise QueryError("SRD-103", f"tables is {tables!r}.", "Give at least 2 shadow tables of each kind.")
    private, one = np.asarray(rows, np.int64), np.asarray(outlier, np.int64)
    pairs = list(combinations(range(len(one)), 2))

    def score(held: Codes) -> float:
        made = np.asarray(make(held), np.int64)
        same = made == one
        return float(sum((same[:, i] & same[:, j]).sum() for i, j in pairs))

    inside = [score(np.concatenate([private, one[None]])) for _ in range(tables)]
    outside = [score(private) for _ in range(tables)]
    return Trace(len(pairs), tuple(inside), tuple(outside))


@dataclass(frozen=True, repr=False)
class Closeness:
    """Distances to the closest real row, of a made-up table and of fresh real rows: what people print as evidence, and it is none."""

    made: float
    fresh: float
    exposed: bool

    @property
    def passes(self) -> bool:
        """What the usual reading would say: made-up rows are no closer to the private ones than strangers are."""
        return self.made >= self.fresh

    def __repr__(self) -> str:
        reading = "passes" if self.passes else "fails"
        truth = "and holds a private row as it was" if self.exposed else "and holds no copy of the outlier"
        return say(
            [f"distance to the closest record: median {self.made:.3g}, of strangers {self.fresh:.3g}: the table {reading}", f"  {truth}"]
        )

    def to_json(self) -> str:
        return as_json(self, passes=self.passes)


def closest_record(made: ArrayLike, private: ArrayLike, strangers: ArrayLike, outlier: ArrayLike) -> Closeness:
    """The median number of differing columns to the closest private row, of made-up rows and of strangers; and is the outlier there?

    A table whose rows are all shuffled but for one outlier that stays as it is passes, and exposes the outlier. So no claim rests on it.
    """
    table, real, others, one = (np.asarray(rows, np.int64) for rows in (made, private, strangers, outlier))

    def closest(rows: Codes) -> float:
        return float(np.median([(row != real).sum(axis=1).min() for row in rows[:500]]))

    return Closeness(closest(table), closest(others), bool((table == one).all(axis=1).any()))
