"""What a test answers, what it can be expected to see, and the random numbers its null is simulated with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.noise import draw
from sordino.privacy.families import GaussianLaw
from sordino.session.comparison import Compared
from sordino.session.release import Release

__all__ = ["SIMULATED", "Outcome", "Power", "binomial", "chance_of", "laplace", "normal", "null", "power_table"]

Floats = NDArray[np.float64]
SIMULATED = 999
FINE = 2**30
EXACT = 100.0  # a binomial law of a larger variance is drawn by its normal limit
SIZES, EPSILONS = (100, 300, 1_000, 10_000), (0.1, 0.5, 1.0)
ALTERNATIVES = 400


@dataclass(frozen=True, eq=False)
class Outcome:
    """A statistic, the probability of one as extreme under the null hypothesis, what was tested, and the release it is made of."""

    statistic: float
    p: float
    about: str
    release: Release = field(repr=False)

    def __repr__(self) -> str:
        return f"p = {self.p:.3g}, statistic {self.statistic:.4g}: {self.about}; {self.release.cost}"


@dataclass(frozen=True)
class Power:
    """How often a test at level 0.05 would see an effect, by rows and epsilon: simulated from public facts, free."""

    effect: str
    rows: tuple[int, ...]
    epsilons: tuple[float, ...]
    chances: tuple[tuple[float, ...], ...]  # rows x epsilons

    def at(self, rows: int, epsilon: float) -> float:
        return self.chances[self.rows.index(rows)][self.epsilons.index(epsilon)]

    def __str__(self) -> str:
        head = "rows".rjust(10) + "".join(f"epsilon {e:g}".rjust(14) for e in self.epsilons)
        lines = [f"{n:>10,}" + "".join(f"{c:14.2f}" for c in line) for n, line in zip(self.rows, self.chances, strict=True)]
        return "\n".join([f"power at level 0.05 against {self.effect}; nothing read, nothing spent", head, *lines])

    __repr__ = __str__


def power_table(
    effect: str, rows: Sequence[int] | None, epsilons: Sequence[float], test: Callable[[int, float], tuple[Floats, Floats]]
) -> Power:
    """From simulated statistics under the null hypothesis and under the effect."""

    def chance(n: int, epsilon: float) -> float:
        null, other = test(n, epsilon)
        return float(np.mean(other > np.quantile(null, 0.95)))

    known = tuple(SIZES if rows is None else rows)
    return Power(effect, known, tuple(epsilons), tuple(tuple(chance(n, e) for e in epsilons) for n in known))


def chance_of(statistic: Any, simulated: Floats) -> Any:
    """(1 + how many are as large)/(1 + how many): a p-value that is valid however few were simulated; for several, line by line."""
    return (1 + np.sum(simulated >= np.asarray(statistic)[..., None], axis=-1)) / (1 + simulated.shape[-1])


def normal(*shape: int) -> Floats:
    """Standard normal numbers from the one source of entropy."""
    count = math.prod(shape)
    if not count:
        return np.zeros(shape)
    drawn = draw(GaussianLaw().at(np.zeros(count, np.int64), Fraction(FINE)))
    return np.reshape(np.asarray(drawn, float) / FINE, shape)


def _even(*shape: int) -> Floats:
    from scipy.special import ndtr

    return np.asarray(np.clip(ndtr(normal(*shape)), 1e-12, 1 - 1e-12))


def laplace(scale: float, *shape: int) -> Floats:
    """Laplace noise of this scale."""
    even = _even(*shape) - 0.5
    return np.asarray(-scale * np.sign(even) * np.log1p(-2 * np.abs(even)))


def binomial(trials: Any, chance: Any, *shape: int) -> Floats:
    """Binomial counts by inversion, or by the normal limit where that is as good."""
    from scipy.special import bdtrik, ndtr

    n, p = np.broadcast_to(np.asarray(trials, float), shape), np.broadcast_to(np.clip(np.asarray(chance, float), 0.0, 1.0), shape)
    z, variance = normal(*shape), n * p * (1 - p)
    with np.errstate(all="ignore"):
        small = np.ceil(bdtrik(np.clip(ndtr(z), 1e-12, 1 - 1e-12), n, p))
    found = np.where(variance > EXACT, np.rint(n * p + z * np.sqrt(variance)), small)
    return np.clip(np.where(p <= 0, 0.0, np.where(p >= 1, n, np.nan_to_num(found))), 0.0, n)


def multinomial(total: Any, chances: Floats, repeats: int) -> Floats:
    """So many tables of counts that add up to the total, one binomial after another; for lines of totals and chances, lines of tables."""
    lines = np.asarray(chances, float)
    left = np.broadcast_to(np.asarray(total, float)[..., None], (*lines.shape[:-1], repeats))
    rest, out = np.ones(lines.shape[:-1]), np.zeros((*left.shape, lines.shape[-1]))
    for i in range(lines.shape[-1] - 1):
        share = np.where(rest > 0, lines[..., i] / np.maximum(rest, 1e-300), 0.0)
        out[..., i] = binomial(left, share[..., None], *left.shape)
        left, rest = left - out[..., i], rest - lines[..., i]
    out[..., -1] = left
    return out


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
