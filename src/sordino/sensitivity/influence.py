"""Influence functions of M-estimators and what follows from them: diagnostics for public data, never the scale of private noise.

How far one row moves a robust estimator on a large sample is known in closed form. On the table at hand it may be far more, which is why
noise scaled by it is not private; the smooth bounds in `location` and `ridge` are.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from sordino.errors import QueryError
from sordino.pictures import Picture, lines

__all__ = ["Curve", "Fit", "huber", "least_squares", "location", "planning_bound", "regression"]

Floats = NDArray[np.float64]
STEPS = 200


@dataclass(frozen=True)
class Curve:
    """psi, the derivative of a loss: odd and non-decreasing, with its own derivative and its supremum (infinite for least squares)."""

    psi: Callable[[Floats], Floats]
    slope: Callable[[Floats], Floats]
    bound: float
    name: str


def huber(c: float = 1.345) -> Curve:
    """Straight up to c, flat beyond."""
    if not 0 < c < math.inf:
        raise QueryError("SRD-103", f"c is {c!r}.", "Give a positive c; 1.345 is 95% efficient at the normal law.")
    return Curve(lambda r: np.clip(r, -c, c), lambda r: (np.abs(r) <= c).astype(float), c, f"huber({c:g})")


least_squares = Curve(lambda r: np.asarray(r, float), lambda r: np.ones_like(r, dtype=float), math.inf, "least squares")


@dataclass(frozen=True)
class Fit:
    r"""An M-estimate on a sample taken for the whole population: sum_i x_i psi(y_i - x_i'theta) = 0.

    Theorem. With M = E[x x' psi'(r)] the influence of a point (x, y) is IF(x, y) = M^-1 x psi(y - x'theta); over |x| <= B the gross error
    sensitivity is B sup|psi| / lmin(M); the estimator's asymptotic variance is V = M^-1 E[x x' psi(r)^2] M^-1, for a location
    E[psi^2]/(E psi')^2.
    Proof. Differentiate E_{(1-t)F + t Delta}[x psi(y - x'theta_t)] = 0 at t = 0: x psi - M theta' = 0. V is the second moment of IF. QED
    """

    rows: Floats
    target: Floats
    curve: Curve
    theta: Floats

    @property
    def residuals(self) -> Floats:
        return np.asarray(self.target - self.rows @ self.theta)

    @property
    def curvature(self) -> Floats:
        """M."""
        weighted = self.rows * self.curve.slope(self.residuals)[:, None]
        return np.asarray(self.rows.T @ weighted / max(len(self.target), 1))

    def influence(self, x: ArrayLike, y: ArrayLike) -> Floats:
        """IF at a point, or at several: one row of x and one y each."""
        rows = np.atleast_2d(np.asarray(x, float))
        pull = rows * self.curve.psi(np.atleast_1d(np.asarray(y, float)) - rows @ self.theta)[:, None]
        return np.asarray(np.linalg.solve(self.curvature, pull.T).T)

    def plot(self, *others: Fit, x: ArrayLike | None = None) -> Picture:
        """The influence of one more target y at row x (the mean row), of this fit and of others; its length if there are several terms."""
        row = self.rows.mean(axis=0) if x is None else np.asarray(x, float)
        middle, reach = float(row @ self.theta), 4 * float(np.median(np.abs(self.residuals))) or 1.0
        targets = np.linspace(middle - 2 * reach, middle + 2 * reach, 81)
        series: dict[str, tuple[Floats, Floats]] = {}
        for fit in (self, *others):
            found = fit.influence(np.tile(row, (len(targets), 1)), targets)
            name = fit.curve.name if fit.curve.name not in series else f"{fit.curve.name} ({len(series)})"
            series[name] = (targets, found[:, 0] if found.shape[1] == 1 else np.linalg.norm(found, axis=1))
        return lines(series, title="Influence of one more row", x="its target", y="n times the move")

    def gross_error_sensitivity(self, reach: float) -> float:
        """sup |IF| over |x| <= reach; infinite for least squares."""
        smallest = float(np.linalg.eigvalsh(self.curvature)[0])
        return reach * self.curve.bound / smallest if smallest > 0 else math.inf

    @property
    def variance(self) -> Floats:
        """V, the covariance of the root of n times the error."""
        score = self.rows * self.curve.psi(self.residuals)[:, None]
        inverse = np.linalg.inv(self.curvature)
        return np.asarray(inverse @ (score.T @ score / max(len(self.target), 1)) @ inverse)

    def fixed_scale(self, x: ArrayLike, y: float, share: float) -> Floats:
        """(T((1 - share) F + share Delta) - T(F)) / share: what a share of bad rows really does, not its limit."""
        if not 0 < share < 1:
            raise QueryError("SRD-103", f"share is {share!r}.", "Give the share of bad rows, between 0 and 1.")
        n = len(self.target)
        rows, target = np.vstack([self.rows, np.atleast_2d(np.asarray(x, float))]), np.append(self.target, y)
        weights = np.append(np.full(n, (1 - share) / n), share)
        return np.asarray((_root(rows, target, weights, self.curve) - self.theta) / share)

    def fixed_scale_sensitivity(self, points: ArrayLike, share: float) -> float:
        """The largest fixed-scale influence over bad rows (x, y), one per line of `points`, the target last."""
        lines = np.atleast_2d(np.asarray(points, float))
        return max(float(np.linalg.norm(self.fixed_scale(line[:-1], line[-1], share))) for line in lines)


def regression(rows: ArrayLike, target: ArrayLike, curve: Curve) -> Fit:
    """The M-estimate of a regression on public data; give a column of ones for the constant."""
    x, y = np.asarray(rows, float), np.asarray(target, float)
    if x.ndim != 2 or y.shape != (len(x),) or len(y) == 0 or not (np.isfinite(x).all() and np.isfinite(y).all()):
        raise QueryError("SRD-105", "rows and target do not fit.", "Give finite numbers: a row of terms for each target.")
    return Fit(x, y, curve, _root(x, y, np.full(len(y), 1 / len(y)), curve))


def location(sample: ArrayLike, curve: Curve) -> Fit:
    """The M-estimate of location: a regression on the constant alone."""
    y = np.asarray(sample, float).ravel()
    return regression(np.ones((len(y), 1)), y, curve)


def _root(x: Floats, y: Floats, weights: Floats, curve: Curve) -> Floats:
    """Iteratively reweighted least squares from the least-squares fit; for a non-decreasing psi the loss falls with every step."""
    theta = np.linalg.lstsq(x * np.sqrt(weights)[:, None], y * np.sqrt(weights), rcond=None)[0]
    for _ in range(STEPS):
        r = y - x @ theta
        pull = np.where(np.abs(r) > 1e-300, curve.psi(r) / np.where(np.abs(r) > 1e-300, r, 1.0), 1.0)
        heavy = weights * pull
        new = np.linalg.lstsq(x * np.sqrt(heavy)[:, None], y * np.sqrt(heavy), rcond=None)[0]
        if np.linalg.norm(new - theta) <= 1e-13 * (1 + np.linalg.norm(theta)):
            return np.asarray(new)
        theta = new
    return np.asarray(theta)


def planning_bound(sample: ArrayLike, *, c: float, width: float, n: int, beta: float, eta: float = 0.05) -> float:
    r"""How large the smooth sensitivity of Huber's location will be with probability 1 - eta, for n rows like this public sample.

    Theorem. With probability at least 1 - eta over a sample of n rows from F, S <= max(2 Gamma/n, R exp(-beta (sqrt(n ln(2/eta)/2) - 1))),
    Gamma the largest fixed-scale sensitivity at 1/n of any law within sqrt(2 ln(2/eta)/n) of F (Chaudhuri and Hsu 2012).
    Proof. See there; for Huber's estimator a law G within r of F has Gamma <= c/(least mass of [t - c, t + c] under F, less 2 r), t running
    over the centres such a G can have. QED
    It speaks about samples and not about a table, so it plans and never protects.
    """
    y = np.sort(np.asarray(sample, float).ravel())
    if len(y) == 0 or not 0 < eta < 1 or n < 1:
        raise QueryError("SRD-103", "the sample is empty, or n or eta is out of range.", "Give a public sample, n >= 1 and 0 < eta < 1.")
    radius = math.sqrt(2 * math.log(2 / eta) / n)
    far = width * math.exp(-beta * (math.sqrt(n * math.log(2 / eta) / 2) - 1))
    low, high = _centres(y, c, 2 * c * radius)
    centres = np.unique(np.concatenate([np.linspace(low, high, 201), y[(y >= low) & (y <= high)]]))
    held = np.searchsorted(y, centres + c, "right") - np.searchsorted(y, centres - c, "left")
    mass = float(held.min()) / len(y) - 2 * radius - 1 / n
    return max(2 * c / (mass * n), far) if mass > 0 else width


def _centres(y: Floats, c: float, slack: float) -> tuple[float, float]:
    """Where the mean of psi(y - t) can vanish if it is known up to `slack`."""

    def mean(t: float) -> float:
        return float(np.clip(y - t, -c, c).mean())

    ends = []
    for sign in (1.0, -1.0):
        low, high = float(y[0]) - c, float(y[-1]) + c
        for _ in range(80):
            middle = (low + high) / 2
            low, high = (middle, high) if mean(middle) > sign * min(slack, 0.999 * c) else (low, middle)
        ends.append((low + high) / 2)
    return ends[0], ends[1]
