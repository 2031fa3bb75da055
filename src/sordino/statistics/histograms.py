"""The histogram of a column: counts of public keys or bins, or of keys nobody listed."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import pairwise
from typing import Any

from sordino.errors import QueryError
from sordino.mechanisms.laplace_histogram import LaplaceHistogram
from sordino.mechanisms.stable_histogram import StableHistogram
from sordino.privacy.certificate import Part
from sordino.privacy.number import exact
from sordino.privacy.relation import Limits, Relation
from sordino.schema.column import shown
from sordino.statistics.added import AddedGaussian, discrete_radius, gaussian_radius
from sordino.statistics.column_mode import public_values, refuse_private_groups
from sordino.statistics.port import LEVEL, Answer, Context, Counted, Groups, Plain, Priced, Shape, Step, Ways, column_of, grid_of
from sordino.statistics.ranges import LEAST_BINS, MOST_BINS, BinNoise, RangesStep, coefficients
from sordino.statistics.reach import read_cells, root_up, tally
from sordino.statistics.registry import Sealed, registered
from sordino.summaries import Ask, Draw, Held
from sordino.summaries.totals import Item

__all__ = ["BinsStep", "Histogram", "cdf", "histogram", "noise_radius", "stable_histogram"]


def stable_histogram(epsilon: Fraction, delta: Fraction, limits: Limits, relation: Relation) -> StableHistogram:
    """Laplace or Gaussian noise, whichever hides less: the lower public threshold."""
    facts = (limits.touched, limits.rows, relation, limits.total)
    laplace = StableHistogram(epsilon, delta, "laplace", *facts)
    # one key: Laplace noise wins; very many keys: the exact Gaussian bound is slow to compute
    if not 1 < limits.touched <= 64 or epsilon > 20:
        return laplace
    gaussian = StableHistogram(epsilon, delta, "gaussian", *facts)
    return gaussian if gaussian.threshold < laplace.threshold else laplace


def noise_radius(mechanism: LaplaceHistogram | StableHistogram, level: float) -> int:
    """Within how many a noisy count lies with probability `level`."""
    gaussian = isinstance(mechanism, StableHistogram) and mechanism.noise == "gaussian"
    return gaussian_radius(mechanism.scale, level) if gaussian else discrete_radius(mechanism.scale, level)


def noise_rmse(mechanism: LaplaceHistogram | StableHistogram) -> float:
    """The root mean square of the noise of one count."""
    gaussian = isinstance(mechanism, StableHistogram) and mechanism.noise == "gaussian"
    return float(mechanism.scale) if gaussian else 1 / (math.sqrt(2) * math.sinh(min(float(1 / mechanism.scale) / 2, 700.0)))


@dataclass(frozen=True)
class BinsStep(Priced):
    """Noisy counts by key, one dict per group; the interval of each count holds on its own, before any threshold."""

    mechanism: LaplaceHistogram | StableHistogram
    labels: tuple[Any, ...] | None = None  # what the keys 0, 1, ... of bins mean
    bar: str = "exact"

    @property
    def shown_from(self) -> int | None:
        """The noisy count from which a key nobody listed is shown."""
        return self.mechanism.threshold if isinstance(self.mechanism, StableHistogram) else None

    @property
    def name(self) -> str:
        if isinstance(self.mechanism, StableHistogram):
            return f"StableHistogram, {self.mechanism.noise}, counts under {self.mechanism.threshold} are withheld"
        return "LaplaceHistogram"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        found = read_cells(ask, Item("rows"), groups)
        cells = {(i, key): count for i, part in enumerate(found) for key, count in part.items()}
        drawn: dict[Any, int] = dict(self.mechanism.release(Held(tally(cells)), draw))
        answers: list[dict[Any, int]] = [{} for _ in found]
        for (i, key), count in drawn.items():
            answers[i][self._label(key)] = count
        plain = [Answer(counts) for counts in answers]
        return [Answer(answer.value, *self.interval(answer, LEVEL)) for answer in plain]

    def _label(self, key: Any) -> Any:
        return key if self.labels is None else self.labels[key]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        radius = noise_radius(self.mechanism, level)
        return {k: v - radius for k, v in answer.value.items()}, {k: v + radius for k, v in answer.value.items()}

    def width(self, rows: int | None, level: float = LEVEL) -> float:
        return float(noise_radius(self.mechanism, level))

    def noise_of_bins(self, answers: Sequence[Answer]) -> dict[str, Any] | None:
        """What the interval of any range needs; None where the cells are no bins, or there are several groups of them."""
        return BinNoise(float(self.mechanism.scale), False).said() if self.labels is not None and len(answers) == 1 else None

    def rmse(self, rows: int | None) -> float:
        """Of one count; of one that is shown, where small ones are withheld."""
        return noise_rmse(self.mechanism)


@dataclass(frozen=True)
class Histogram(Plain):
    r"""Counts of a column's values, or of its bins.

    Theorem. With N rows of a person that count, whole noise of scale N/epsilon (2 N/epsilon under replace) on public keys or bins is
    epsilon-DP; keys nobody listed are shown from a public threshold on, which costs delta.
    Proof. The column is part of the groups when contributions are bounded, so the counts move by at most N (2 N) in L1 norm. QED
    """

    column: str
    bins: int | tuple[Any, ...] | None = None
    keys: tuple[Any, ...] | None = None
    columns: tuple[str, ...] = ()
    ranges: bool = False  # whether ranges of bins matter more than single ones

    def __post_init__(self) -> None:
        if self.bins is not None and self.keys is not None:
            raise QueryError("SRD-103", "a histogram has bins or keys, not both.", "Give one of them.")
        if isinstance(self.bins, int) and (isinstance(self.bins, bool) or not 1 <= self.bins <= 1_000_000):
            raise QueryError("SRD-103", f"bins is {self.bins!r}.", "Give the number of bins, or their edges.")
        self.question()  # what cannot be written down is refused here, and not when it is priced

    @property
    def label(self) -> str:
        return f"{'cdf' if self.ranges else 'histogram'}({self.column})"

    @property
    def takes_delta(self) -> bool:
        return self.ranges

    def edges(self, context: Context) -> tuple[int, ...] | None:
        """The cut points in grid steps above the lower bound, for bins of equal width or at the given values."""
        column = column_of(context, self.column)
        if self.bins is None:
            return None
        grid = grid_of(context, self.column)
        if isinstance(self.bins, int):
            many = min(self.bins, grid.width) if self.ranges else self.bins  # no more bins than values
            steps = [-(-grid.width * i // many) for i in range(many + 1)]
        elif column.type in ("date", "timestamp"):
            steps = [replace(column, bounds=(edge, edge)).grid().low - grid.low for edge in self.bins]
        else:
            steps = [-(-exact(edge, "an edge") // grid.step) - grid.low for edge in self.bins]
        if len(steps) < 2 or any(a >= b for a, b in pairwise(steps)):
            raise QueryError("SRD-103", "the bins are empty or out of order.", "Give at least two rising edges, one grid step apart.")
        return tuple(int(step) for step in steps)

    def counted(self, context: Context) -> Counted:
        edges = self.edges(context)
        if edges is not None:
            return Counted(self.column, tuple(range(len(edges) - 1)), edges)
        return Counted(self.column, self.keys if self.keys is not None else public_values(column_of(context, self.column)))

    def shape(self, label: str) -> Shape:
        return {"cells": "key" if self.bins is None else "bin", "count": "count" if label == self.label else label}

    def question(self) -> dict[str, Any]:
        bins = [str(b) for b in self.bins] if isinstance(self.bins, tuple) else self.bins
        keys = None if self.keys is None else [str(key) for key in self.keys]
        return {"statistic": "histogram", "column": self.column, "bins": bins, "keys": keys, **({"ranges": True} if self.ranges else {})}

    def needs_delta(self, context: Context) -> bool:
        return self.counted(context).keys is None

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        counted = self.counted(context)
        if self.ranges and context.grouped:
            raise QueryError("SRD-203", "ranges are counted without groups.", "Ask for histogram by group, or filter with where().")
        plain = {"laplace" if counted.keys is not None else "stability": lambda: self._plain(epsilon, delta, context)}
        if not self.ranges or not delta or counted.edges is None or not LEAST_BINS < len(counted.edges) <= MOST_BINS + 1:
            return plain
        return {"gaussian": lambda: self._ranged(epsilon, delta, context), **plain}

    def _ranged(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        counted = self.counted(context)
        assert counted.edges is not None
        grid, limits = grid_of(context, self.column), context.cells(len(counted.edges) - 1)
        labels = tuple((grid.value(a), grid.value(b)) for a, b in pairwise(counted.edges))
        apart = 2 if context.unit.relation is Relation.REPLACE else 1  # squared: non-negative columns are at most the root of two apart
        reach = root_up(Fraction(limits.counted**2 * apart * sum(c * c for c in coefficients(len(labels)))))
        return RangesStep(AddedGaussian(epsilon, delta, reach, len(labels)), labels)

    def step(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        refuse_private_groups(context, self.label)
        if self.ranges and (first := next(iter(self.ways(epsilon, delta, context)))) == "gaussian":
            return self.ways(epsilon, delta, context)[first]()
        return self._plain(epsilon, delta, context)

    def _plain(self, epsilon: Fraction, delta: Fraction, context: Context) -> Step:
        counted = self.counted(context)
        limits = context.cells(None if counted.keys is None else len(counted.keys))
        if counted.keys is None:
            return BinsStep(stable_histogram(epsilon, delta, limits, context.unit.relation))
        groups = range(len(context.keys) if context.keys else 1)
        keys = tuple((i, key) for i in groups for key in counted.keys)
        labels = None
        if counted.edges is not None:
            grid = grid_of(context, self.column)
            labels = tuple((grid.value(a), grid.value(b)) for a, b in pairwise(counted.edges))
        return BinsStep(LaplaceHistogram(epsilon, keys, limits.touched, limits.rows, context.unit.relation, limits.total), labels)


def _about(sealed: Sealed) -> str:
    return f"the number of rows at each {'value' if sealed.said.get('bins') is None else 'bin'} of {sealed.of}"


@registered(
    about=_about, cells=True, menu=(13, "histogram"),
    examples=(
        ("", ("sex",), {}), (" of private keys", ("zip",), {}), (" of given keys", ("zip",), {"keys": ["z0", "z9"]}),
        (" of bins", ("income",), {"bins": 4}), (" of edges", ("age",), {"bins": [0, 18, 65, 120]}),
    ),
)  # fmt: skip
def histogram(
    column: str, *, bins: int | Iterable[Any] | None = None, keys: Iterable[Any] | None = None, ranges: bool = False
) -> Histogram:
    """Counts by value (declared keys, the public keys given here, or private ones) or by bin (a number of equal bins, or their edges).

    With `ranges` ranges of bins matter more than single bins: see `cdf`.
    """
    edges = bins if bins is None or isinstance(bins, int) else _listed("bins", bins)
    if ranges and bins is None:
        raise QueryError("SRD-103", "ranges are ranges of bins.", "Give bins=, a number of them or their edges.")
    return Histogram(column, edges, None if keys is None else _listed("keys", keys), ranges=bool(ranges))


def cdf(column: str, *, bins: int | Iterable[Any] = 256) -> Histogram:
    """Counts of bins whose ranges are what matters: with a delta and 64 bins or more the noise of a range grows with a logarithm."""
    return histogram(column, bins=bins, ranges=True)


def _listed(word: str, values: Any) -> tuple[Any, ...]:
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise QueryError("SRD-103", f"{word} is {shown(values)}.", f"Give the {word} as a list, such as {word}=[1, 2, 3].")
    return tuple(values)
