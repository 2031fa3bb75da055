"""Whether two groups have the same mean: the difference of a comparison against its simulated null."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.inference.outcome import ALTERNATIVES, EPSILONS, SIMULATED, Outcome, Power, chance_of, laplace, normal, power_table
from sordino.mechanisms.estimate import Estimate
from sordino.privacy.number import shown
from sordino.session.comparison import Compared, Comparison
from sordino.statistics.regression import FitStep, GroupsStep

__all__ = ["DifferenceTest", "estimates", "null", "simulated", "studentised", "t", "wald"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class DifferenceTest:
    r"""A test before it is paid: z is the difference of two drawn means over its standard error, noise and sampling together.

    Theorem. If the simulated z have the law of the drawn one under equal means, (1 + #{simulated >= drawn})/(1 + B) is a valid p-value.
    Proof. The drawn |z| is then one of B + 1 exchangeable numbers. QED
    They are made of sums of normal rows with the drawn sizes and variances and one pooled mean, and of the same noise; the estimates are
    read off them as off the release, so a variance that noise hides is as often too small there. Sizes are measured, not assumed.
    """

    comparison: Comparison

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


def estimates(raw: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows, mean and variance, the last two over the range, as a comparison reads them off drawn Bernstein sums."""
    rows = np.maximum(np.rint(raw.sum(axis=-1)), 1.0)
    total = np.maximum(raw.sum(axis=-1), 1.0)
    mean = np.clip((raw[..., 2] + raw[..., 1] / 2) / total, 0.0, 1.0)
    return rows, mean, np.clip(np.clip(raw[..., 2] / total, 0.0, 1.0) - mean**2, 0.0, 0.25)


def studentised(rows: Floats, mean: Floats, variance: Floats, scale: float) -> Floats:
    """|z| of two groups, the last axis, for noise of this scale in rows."""
    noise = 2 * scale**2 * ((1 - mean) ** 2 + (0.5 - mean) ** 2 + mean**2) / rows**2
    return np.asarray(np.abs(mean[..., 0] - mean[..., 1]) / np.sqrt((variance / rows + noise).sum(axis=-1)))


def simulated(rows: Floats, mean: Floats, variance: Floats, scale: float, repeats: int) -> Floats:
    """|z| under equal means, for each of several drawn pairs of groups (lines of these arrays): lines of so many."""
    shape = (*rows.shape[:-1], repeats, 2)
    n, v = (np.broadcast_to(part[..., None, :], shape) for part in (rows, variance))
    pooled = ((rows * mean).sum(axis=-1) / rows.sum(axis=-1))[..., None, None]
    centre = pooled + np.sqrt(v / n) * normal(*shape)
    spread = np.maximum(v * (1 + np.sqrt(2 / np.maximum(n - 1, 1.0)) * normal(*shape)), 0.0)
    square = spread + centre**2
    sums = np.stack([n * (1 - 2 * centre + square), 2 * n * (centre - square), n * square], axis=-1)
    return studentised(*estimates(sums + laplace(scale, *shape, 3)), scale)


def null(found: Compared, repeats: int) -> Floats:
    """The same for a released comparison."""
    base, span = found.ends
    groups = list(found.groups.values())
    rows, mean = np.array([group.rows for group in groups]), np.array([(group.mean - base) / span for group in groups])
    return simulated(rows, mean, np.array([group.sampling * group.rows for group in groups]) / span**2, found.scale, repeats)


def _source(comparison: Comparison, epsilon: Any) -> Any:
    return comparison.query.settle(epsilon).steps["mean"].source  # type: ignore[attr-defined]


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


def t(table: Any, column: str, *, by: str) -> DifferenceTest:
    """Whether a column has the same mean in two groups with public keys."""
    made = table.compare(column, by=by)
    keys = [key for key in made.query.asked.columns[by].keys or () if key is not None]
    if len(keys) != 2:
        raise QueryError("SRD-203", f"{by} has {len(keys)} groups.", "Compare two: for more, table.compare has a p-value for each.")
    return DifferenceTest(made)
