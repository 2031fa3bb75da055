"""One paid matrix of second moments, and everything linear read off it at no further price."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError, builds
from sordino.mechanisms.normal_equations import Equations, solved
from sordino.privacy.number import shown
from sordino.session.release import as_level
from sordino.statistics.regression import Setting, placement
from sordino.statistics.regression_formula import parse
from sordino.statistics.second_moment import SecondMoments
from sordino.summaries.moment import COARSE

if TYPE_CHECKING:
    from sordino.session.preview import Preview
    from sordino.session.query import Query
    from sordino.session.release import Release

__all__ = ["Components", "FittedLine", "Moments", "MomentsQuery"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class MomentsQuery:
    """The question before it is paid."""

    query: Query

    def __post_init__(self) -> None:
        """Refused before it is paid for: what is read off the matrix needs it alone."""
        if self.query.asked.by or len(self.query.asked.statistics) != 1:
            raise QueryError("SRD-208", "second moments are asked alone and without groups.", "Ask a table, or the rows a where() keeps.")

    def preview(self, **options: Any) -> Preview:
        return self.query.preview(**options)

    def release(self, *, epsilon: Any, delta: Any = None, analyst: str | None = None, fresh: bool = False) -> Moments:
        """Pay once; correlations, components and regressions on any of these columns are free afterwards."""
        found = self.query.release(epsilon=epsilon, delta=delta, analyst=analyst, fresh=fresh)
        (step,) = self.query.settle(found.cost.exact.epsilon, found.cost.exact.delta).steps.values()
        return Moments(found, self.query, step.mechanism.noise)  # type: ignore[attr-defined]

    def __repr__(self) -> str:
        return f"{self.query!r}"


@dataclass(frozen=True)
class FittedLine:
    """Coefficients with their 95% ends: about this table's least squares, and about the population's for errors of one variance."""

    value: dict[str, float]
    low: dict[str, float]
    high: dict[str, float]
    total: tuple[dict[str, float], dict[str, float]]


@dataclass(frozen=True)
class Components:
    """Principal components of columns in half ranges of their bounds: variances with the deviation noise gives them, and loadings."""

    variances: tuple[float, ...]
    noise: tuple[float, ...]
    shares: tuple[float, ...]
    loadings: tuple[dict[str, float], ...]


@dataclass(frozen=True, eq=False)
class Moments:
    """A released matrix of second moments. Everything here is post-processing."""

    release: Release
    query: Query
    noise: float  # of a sum of products, in rows

    @property
    def names(self) -> tuple[str, ...]:
        (statistic,) = self.query.asked.statistics.values()
        return statistic.columns

    @cached_property
    def _drawn(self) -> SecondMoments:
        d = len(self.names) + 1
        return SecondMoments(np.reshape(np.array(self.release.value, float), (d, d)), self.noise)

    @cached_property
    def _halves(self) -> Floats:
        return np.array([placement(self.query.asked.narrowed[name], COARSE)[1] for name in self.names])

    @property
    def rows(self) -> float:
        """The drawn number of rows."""
        return self._drawn.rows

    @property
    def correlation(self) -> dict[str, dict[str, float]]:
        return self._named(self._drawn.correlation)

    @property
    def covariance(self) -> dict[str, dict[str, float]]:
        return self._named(self._drawn.covariance * np.outer(self._halves, self._halves))

    @property
    def partial(self) -> dict[str, dict[str, float]]:
        """Correlations with all other columns held fixed."""
        inverse = np.linalg.inv(self._drawn.covariance)
        scale = np.sqrt(np.diag(inverse))
        found = -inverse / np.outer(scale, scale)
        np.fill_diagonal(found, 1.0)
        return self._named(np.clip(found, -1.0, 1.0))

    def interval(self, first: str, second: str, level: float = 0.95, *, kind: str = "noise") -> tuple[float, float]:
        """Of a correlation: about this table's, or with kind="total" about the population's."""
        level = as_level(level)
        if not isinstance(kind, str) or kind not in ("noise", "total"):
            raise QueryError("SRD-106", f"kind {shown(kind)} is unknown.", 'Use "noise" or "total".')
        i, j = self._place(first), self._place(second)
        return self._drawn.correlation_ends(i, j, level, population=kind == "total")

    def pca(self, k: int = 2) -> Components:
        """The first k principal components; the noise is the same in every direction, and that of the number of rows scales them all."""
        if isinstance(k, bool) or not isinstance(k, int) or not 1 <= k <= len(self.names):
            raise QueryError("SRD-103", f"k is {shown(k)}.", f"Give a number of components from 1 to {len(self.names)}.")
        values, vectors = np.linalg.eigh(self._drawn.covariance)
        order = np.argsort(values)[::-1][:k]
        loadings = tuple(dict(zip(self.names, vectors[:, i].tolist(), strict=True)) for i in order)
        shares = values[order] / values.sum()
        noise = math.sqrt(2) * self.noise / self.rows * np.sqrt(1 + values[order] ** 2)
        return Components(tuple(values[order].tolist()), tuple(noise.tolist()), tuple(shares.tolist()), loadings)

    @builds
    def regress(self, formula: str) -> FittedLine:
        """Least squares of one of these columns on others of them; free, with bars."""
        columns = {name: self.query.asked.narrowed[name] for name in self.names}
        found = parse(formula, columns)
        if found.derived or found.required:
            raise QueryError("SRD-208", f"{shown(formula)} asks for more than these moments hold.", "Name columns of the matrix only.")
        places = [0, *(1 + self._place(part.column) for part in found.parts)]
        target, square, noise = 1 + self._place(found.target.column), self._drawn.square, self._drawn.noise
        normal = Equations(
            tuple(map(tuple, square[np.ix_(places, places)].tolist())), tuple(square[places, target].tolist()),
            float(square[target, target]), (noise, noise, math.sqrt(2) * noise),
        )  # fmt: skip
        estimate, setting = solved(normal), Setting(found, columns, bits=COARSE)
        value = setting.placed(estimate.theta)
        near, far = (estimate.half(setting.back[0], 0.95, population=about) for about in (False, True))
        return FittedLine(setting.named(value), setting.named(value - near), setting.named(value + near),
                    (setting.named(value - far), setting.named(value + far)))  # fmt: skip

    def _place(self, name: str) -> int:
        if not isinstance(name, str) or name not in self.names:
            raise QueryError("SRD-201", f"the matrix has no column {shown(name)}.", f"It has {', '.join(self.names)}.")
        return self.names.index(name)

    def _named(self, matrix: Floats) -> dict[str, dict[str, float]]:
        return {name: dict(zip(self.names, line.tolist(), strict=True)) for name, line in zip(self.names, matrix, strict=True)}

    def __repr__(self) -> str:
        z = NormalDist().inv_cdf(0.975)
        pairs = [(i, j) for i in range(len(self.names)) for j in range(i)]
        worst = max((z * self._drawn.correlation_noise(i, j) for i, j in pairs), default=0.0)
        return f"Moments({', '.join(self.names)}; {self.rows:,.0f} rows drawn; correlations within {worst:.2g} at 95%; {self.release.cost})"
