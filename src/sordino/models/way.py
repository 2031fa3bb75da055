"""The ways to fit a line privately: each a conversation with the rows, priced and certified by the mechanisms it draws from."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from sordino.mechanisms.boosted_regression import BoostedRegression
from sordino.mechanisms.estimate import Estimate
from sordino.mechanisms.least_squares import LeastSquares
from sordino.mechanisms.logistic_regression import LogisticRegression
from sordino.mechanisms.normal_equations import NormalEquations, columns, solved
from sordino.mechanisms.objective_perturbation import ObjectivePerturbation
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.mechanisms.smooth_vector import SmoothVector
from sordino.models.rows import FARTHEST, STEP, LeftOver, Pairs
from sordino.privacy.certificate import Certificate, Part
from sordino.privacy.cost import Cost
from sordino.privacy.relation import Relation
from sordino.sensitivity.ridge import Ridge
from sordino.sensitivity.scale import ScaleLadder
from sordino.statistics.port import Priced
from sordino.summaries import Ask, Draw, Held, Rung
from sordino.summaries.moment import ONE, Gram

__all__ = ["Boosted", "EquationsWay", "Odds", "Pulled", "SmoothRidge", "Squares", "TheilSen", "Way"]

Found = Mapping[str, Any]  # theta, and where the noise has a public scale the estimate or the margin


class Way(Protocol):
    """A fit with its price settled."""

    @property
    def name(self) -> str: ...
    @property
    def cost(self) -> Cost: ...
    def certificates(self) -> Sequence[Certificate]: ...
    def converse(self, ask: Ask, draw: Draw) -> Found: ...


def _found(estimate: Estimate) -> Found:
    return {"theta": estimate.theta, "estimate": estimate.numbers()}


class _Single(Priced):
    """A way that is one mechanism, and costs what that costs."""

    mechanism: Any

    @property
    def parts(self) -> tuple[Part, ...]:
        return (Part(self.mechanism.certificate()),)


@dataclass(frozen=True)
class EquationsWay(_Single):
    """Least squares from noisy normal equations, in one look."""

    mechanism: NormalEquations
    name: str = "NormalEquations"

    def converse(self, ask: Ask, draw: Draw) -> Found:
        return _found(solved(self.mechanism.release(ask, draw)))


@dataclass(frozen=True)
class Squares(_Single):
    """Least squares: a pilot and one refinement."""

    mechanism: LeastSquares
    name: str = "LeastSquares"

    def converse(self, ask: Ask, draw: Draw) -> Found:
        return _found(self.mechanism.release(ask, draw))


@dataclass(frozen=True)
class Boosted(_Single):
    """Huber's estimator, or what it is with a wider clip, in rounds on clipped residuals."""

    mechanism: BoostedRegression
    name: str = "BoostedRegression"

    def converse(self, ask: Ask, draw: Draw) -> Found:
        line = self.mechanism.release(ask, draw)
        margin = {"centre": line.margin.centre, "spread": line.margin.spread, "hidden": line.margin.hidden}
        return {"theta": line.theta, "margin": margin}


@dataclass(frozen=True)
class Odds(_Single):
    """Logistic regression in rounds that are pooled."""

    mechanism: LogisticRegression
    name: str = "LogisticRegression"

    def converse(self, ask: Ask, draw: Draw) -> Found:
        return _found(self.mechanism.release(ask, draw))


@dataclass(frozen=True)
class Pulled(_Single):
    """Logistic regression as the minimum of a penalised loss with a random linear term: a point without an interval."""

    mechanism: ObjectivePerturbation
    name: str = "ObjectivePerturbation"

    def converse(self, ask: Ask, draw: Draw) -> Found:
        found = self.mechanism.release(ask, draw)
        return {"theta": found.theta, "penalty": found.penalty}


@dataclass(frozen=True)
class SmoothRidge(_Single):
    """Ridge regression in a ball with noise scaled by its smooth sensitivity: pure epsilon."""

    epsilon: Fraction
    dimension: int
    relation: str = "add_remove"
    name: str = "SmoothVector"

    @cached_property
    def mechanism(self) -> SmoothVector:
        return SmoothVector(self.epsilon, self.dimension)

    @cached_property
    def ridge(self) -> Ridge:
        """A quarter of the penalty at which the smooth bound is the local one everywhere: d/beta."""
        assert self.mechanism.beta is not None
        return Ridge(self.dimension, 1.0, self.dimension / (4 * float(self.mechanism.beta)), self.relation)

    @cached_property
    def ladder(self) -> ScaleLadder:
        assert self.mechanism.beta is not None
        return ScaleLadder(self.mechanism.beta, math.ceil(self.ridge.worst_case * STEP) + self._rounding)

    @property
    def _rounding(self) -> int:
        """How much further apart two solutions lie in whole steps: both are rounded, and each is computed to within a step."""
        return math.ceil(3 * math.sqrt(self.dimension))

    def rung(self, ask: Ask) -> Rung:
        """The solution in steps of its grid, and where its smooth sensitivity stands on the public ladder."""
        found = ask(Gram(columns(self.dimension))).values
        whole = found[0] if len(found) else np.zeros((self.dimension + 1,) * 2, object)
        sums = np.array([[float(v) / ONE**2 for v in line] for line in whole.tolist()])
        square, moment = sums[:-1, :-1], sums[:-1, -1]
        theta = self.ridge.solution(square, moment)
        rungs = self.ridge.ladder(float(np.linalg.eigvalsh(square)[0])).rungs(self.ladder.least_window)
        steps = np.ceil(rungs * STEP).astype(np.int64) + self._rounding
        public = tuple(self.ladder.scale(j) for j in range(self.ladder.last + 1))
        place: Any = np.rint(theta * STEP).astype(np.int64)
        return Rung(place, self.ladder.index(steps), public, step=Fraction(1, STEP))

    def converse(self, ask: Ask, draw: Draw) -> Found:
        return {"theta": self.mechanism.release(Held(self.rung(ask)), draw)}


@dataclass(frozen=True)
class TheilSen(Priced):
    """One predictor: the median slope of random pairs, then the median of what is left; pure epsilon, and no row can lever it."""

    epsilon: Fraction
    relation: str = "add_remove"
    rings: int = 10
    name: str = "QuantileExponential of slopes"

    @cached_property
    def steep(self) -> QuantileExponential:
        """A joining row takes out one slope of each ring and puts in two, a replaced one changes three: `Pairs` has the proof."""
        relation, price, moved = Relation.of(self.relation), self.epsilon * Fraction(19, 20), 3 * self.rings
        ends = (-FARTHEST, FARTHEST)
        return QuantileExponential(price, Fraction(1, 2), *ends, moved, relation, "arsinh", unit=STEP // 2)

    @cached_property
    def level(self) -> QuantileExponential:
        """Every row has a left-over, and only one moves: a twentieth of the price serves it as well as the rest serves the slope."""
        ends, relation = (-FARTHEST, FARTHEST), Relation.of(self.relation)
        return QuantileExponential(self.epsilon * Fraction(1, 20), Fraction(1, 2), *ends, 1, relation, "arsinh", unit=STEP // 2)

    @property
    def parts(self) -> tuple[Part, ...]:
        return Part(self.steep.certificate()), Part(self.level.certificate())

    def converse(self, ask: Ask, draw: Draw) -> Found:
        slope = int(self.steep.release(Held(ask(Pairs(self.rings, self.steep.request.radius))), draw))
        height = int(self.level.release(Held(ask(LeftOver(slope, self.level.request.radius))), draw))
        return {"theta": (height / STEP, slope / STEP)}
