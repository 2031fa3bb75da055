"""What one draw tells two neighbours apart: the laws really handed to the sampler, integrated pair by pair. A rule for every law."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.errors import QueryError
from sordino.privacy.certificate import Finite
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.dilation import Dilation
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, DiscreteLaplace, UniformInteger
from sordino.privacy.families import GaussianLaw, LaplaceLaw
from sordino.privacy.law import Placed
from sordino.privacy.pld import PrivacyLoss, of_laws
from sordino.privacy.sphere import PlacedVector

__all__ = ["NOTHING", "PathLoss", "between", "cells", "composed", "listed", "mass_upto", "merged", "together"]

Floats = NDArray[np.float64]
Pair = tuple[Floats, Floats]  # the probabilities of the same outcomes under both laws
TAILS = 10.0 ** -np.arange(15, 1, -1.0)
LEVELS = np.concatenate([TAILS, np.linspace(0.02, 0.98, 49), 1 - TAILS[::-1][:11]])


@dataclass(frozen=True)
class PathLoss:
    """Between P and Q: the largest ln P/Q and ln Q/P, the larger Kullback-Leibler divergence, and an outcome where ln P/Q is largest.

    zCDP needs a rho of at least that divergence, so it is a lower bound on rho, and the rho itself for Laplace and Gaussian laws.
    `mu_squared` is set for Gaussian shifts. `pairs` are finite laws whose product tells no more than the two laws do, and as much as they
    do up to the merging of outcomes with nearly equal ratio: what a statement with a delta is checked on.
    """

    there: float
    back: float
    rho: float
    pairs: Callable[[], list[Pair]] = field(default=list, repr=False, compare=False)
    mu_squared: float = 0.0
    best: Any = field(default=None, repr=False, compare=False)

    @property
    def sup(self) -> float:
        return max(self.there, self.back)

    @property
    def nothing(self) -> bool:
        return self.sup == 0


NOTHING = PathLoss(0.0, 0.0, 0.0)


def between(one: Any, other: Any) -> PathLoss:
    """What a draw from one law or the other tells. Laws of different kinds, and vectors of different lengths, cannot be compared."""
    if type(one) is not type(other):
        raise QueryError("SRD-105", f"{type(one).__name__} is drawn on one side and {type(other).__name__} on the other.", APART)
    match one:
        case Placed():
            return _placed(one, other)
        case PlacedVector():
            return _spherical(one, other)
        case DiscreteLaplace():
            return _discrete(one, other)
        case Bernoulli():
            return _coins(one, other)
        case ArgMax():
            _same(len(one.scores), len(other.scores))
            return listed(one.probabilities(), other.probabilities())
        case UniformInteger():
            return NOTHING if one == other else _runs([(one, 1.0)], [(other, 1.0)])
        case Categorical():
            return _choice(one, other)
    raise QueryError("SRD-108", f"no rule is known for {type(one).__name__}.", "Hand draw() a placed or discrete law.")


APART = "Both neighbours must draw from laws of one family and size; which of them is private."


def _same(one: int, other: int) -> None:
    if one != other:
        raise QueryError("SRD-105", f"{one} outcomes are drawn on one side and {other} on the other.", APART)


def listed(p: Any, q: Any) -> PathLoss:
    """Two finite laws over the same outcomes."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    seen = (p > 0) | (q > 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where(seen, np.log(p) - np.log(q), 0.0)
        there, back = (float(np.where(a > 0, a * r, 0.0).sum()) for a, r in ((p, ratio), (q, -ratio)))
    if not ratio.size or not np.abs(ratio).max() > 1e-12:
        return NOTHING
    low, high = float(-ratio.min()), float(ratio.max())
    return PathLoss(
        max(high, 0.0), max(low, 0.0), max(there, back, 0.0), lambda: [(p, q)], best=int(np.where(p > 0, ratio, -np.inf).argmax())
    )


def _placed(one: Placed[Any], other: Placed[Any]) -> PathLoss:
    if (one.law, one.grid, one.low, one.high) != (other.law, other.grid, other.low, other.high):
        raise QueryError("SRD-105", "the noise has another shape, grid or range on the other side.", APART)
    a, b = (np.atleast_1d(np.asarray(side.location)) for side in (one, other))
    _same(a.size, b.size)
    scales = [np.array([float(s) for s in _scales(side, a.size)]) for side in (one, other)]
    moved = np.abs((a - b).astype(float))
    held = (moved > 0) | (scales[0] != scales[1])
    if not held.any():
        return NOTHING
    a, b, moved, s, t = a[held], b[held], moved[held], scales[0][held], scales[1][held]

    def pairs() -> list[Pair]:
        return [_binned(one.law, float(x), float(y), u, v) for x, y, u, v in zip(a, b, s.tolist(), t.tolist(), strict=True)]

    best = one.location
    if np.array_equal(s, t):
        shifts = moved / s
        if isinstance(one.law, LaplaceLaw):
            total = float(shifts.sum())
            return PathLoss(total, total, float((shifts + np.expm1(-shifts)).sum()), pairs, best=best)
        if isinstance(one.law, GaussianLaw):
            mu_squared = float((shifts**2).sum())
            return PathLoss(math.inf, math.inf, mu_squared / 2, pairs, mu_squared, best)
    there = back = rho = 0.0
    for x, y, u, v in zip(a, b, s.tolist(), t.tolist(), strict=True):
        slide, spread = abs(float(x - y)) / min(u, v), abs(math.log(u / v))
        sides = [Dilation(one.law, slide, spread, wide_first=first).sup() for first in (u > v, u <= v)]
        there, back = there + sides[0], back + sides[1]
        p, q = _binned(one.law, float(x), float(y), u, v)
        some = (p > 1e-250) & (q > 1e-250)  # rarer outcomes have lost their digits
        rho += listed(p[some], q[some]).rho
    return PathLoss(there, back, rho, pairs, best=best)


def _scales(law: Placed[Any], size: int) -> Sequence[Any]:
    return law.scale if isinstance(law.scale, Sequence) else [law.scale] * size


def _binned(law: Any, a: float, b: float, s: float, t: float) -> Pair:
    """Two placed laws on common intervals, cut where either has a round quantile: merging outcomes tells nothing new."""
    base = min(a, b)
    ends = np.unique(np.concatenate([(a - base) + s * law.quantile(LEVELS), (b - base) + t * law.quantile(LEVELS), [a - base, b - base]]))
    p, q = (cells(law, (ends - (place - base)) / scale) for place, scale in ((a, s), (b, t)))
    return p, q


def cells(law: Any, z: Floats) -> Floats:
    """The masses of the intervals cut at z, exact in both tails."""
    left, right = np.append(-np.inf, z), np.append(z, np.inf)
    above = law.tail(np.maximum(left, 0)) - law.tail(np.maximum(right, 0))
    below = law.tail(np.maximum(-right, 0)) - law.tail(np.maximum(-left, 0))
    return np.asarray(np.maximum((above + below) / 2, 0.0))


def mass_upto(law: Placed[Any] | DiscreteLaplace[Any], place: int, k: Any) -> Floats:
    """P(outcome <= k) of one coordinate at this place, for whole k."""
    k = np.asarray(k, float)
    if isinstance(law, DiscreteLaplace):
        b = float(law.scale)
        below = np.exp(np.minimum(k - place, 0.0) / b) / (1 + math.exp(-1 / b))
        return np.asarray(np.where(k < place, below, 1 - np.exp(-(np.maximum(k - place, 0.0) + 1) / b) / (1 + math.exp(-1 / b))))
    scale = float(law.scale if not isinstance(law.scale, Sequence) else law.scale[0])
    return np.asarray(law.law.cdf((k + law.grid / 2 - place) / scale))


def _spherical(one: PlacedVector, other: PlacedVector) -> PathLoss:
    """The closed form of `SphericalSpread`, at the slide and dilation of this pair."""
    nu, d = one.law.nu, one.law.dimension
    narrow, wide = sorted((float(one.scale), float(other.scale)))
    slide = float(np.linalg.norm((one.location - other.location).astype(float))) / narrow
    spread = math.log(wide / narrow)
    reach = (nu + d) / 2 * math.acosh(math.cosh(spread) + slide**2 * math.exp(-spread) / (2 * nu))
    if reach == 0:
        return NOTHING
    tilt = (nu - d) / 2 * spread  # ln N/W ranges over tilt' +- reach, with tilt' = (d - nu)/2 spread
    ends = (reach + tilt, reach - tilt) if one.scale > other.scale else (reach - tilt, reach + tilt)
    return PathLoss(*ends, 0.0, lambda: [(_response(max(ends)), _response(max(ends))[::-1])], best=one.location)


def _response(epsilon: float) -> Floats:
    p = 1 / (1 + math.exp(-epsilon))
    return np.array([p, 1 - p])


def _discrete(one: DiscreteLaplace[Any], other: DiscreteLaplace[Any]) -> PathLoss:
    if one.scale != other.scale:
        raise QueryError("SRD-105", "the scale of whole noise differs on the other side.", APART)
    a, b = (np.atleast_1d(np.asarray(side.location)) for side in (one, other))
    _same(a.size, b.size)
    held, g = a != b, 1 / float(one.scale)
    if not held.any():
        return NOTHING
    shifts = np.abs((a - b)[held].astype(float)) * g
    rho = float((shifts + np.expm1(-shifts) * (g / math.sinh(g) if g < 700 else 0.0)).sum())

    def pairs() -> list[Pair]:
        return [merged(one, int(x), int(y)) for x, y in zip(a[held], b[held], strict=True)]

    return PathLoss(float(shifts.sum()), float(shifts.sum()), rho, pairs, best=one.location)


def merged(law: Placed[Any] | DiscreteLaplace[Any], a: int, b: int, least: int | None = None) -> Pair:
    """One coordinate of whole noise around a or b; with `least`, outcomes under it are not told apart."""
    scale = float(law.scale[0] if isinstance(law.scale, Sequence) else law.scale)
    reach = 0 if isinstance(law, DiscreteLaplace) else math.ceil(9 * scale)
    low, high = min(a, b) - reach, max(a, b) + reach
    stride = max(1, (high - low) // 600)
    ends = np.arange(low - 1, high + stride, stride)
    if least is not None:
        ends = np.append(least - 1, ends[ends >= least])
    p, q = (np.diff(np.concatenate([[0.0], mass_upto(law, place, ends), [1.0]])) for place in (a, b))
    if isinstance(law, DiscreteLaplace) and ends[-1] >= high:  # 1 minus nearly 1 would lose the digits of a rare outcome
        p[-1], q[-1] = (math.exp(-(float(ends[-1]) - place + 1) / scale) / (1 + math.exp(-1 / scale)) for place in (a, b))
    return np.maximum(p, 0.0), np.maximum(q, 0.0)


def _coins(one: Bernoulli, other: Bernoulli) -> PathLoss:
    sides = []
    for side in (one, other):
        chances = np.array([float(p) for p in side.probabilities])
        away = np.array([float(1 - p) for p in side.probabilities])
        index = np.zeros(1, np.int64) if side.index is None else np.asarray(side.index)
        sides.append((chances[index], away[index]))
    _same(len(sides[0][0]), len(sides[1][0]))
    found = [listed([p, r], [q, s]) for p, r, q, s in zip(*sides[0], *sides[1], strict=True)]
    best = [loss.best == 0 if loss.best is not None else bool(p > 0.5) for loss, p in zip(found, sides[0][0], strict=True)]
    return together(found, best[0] if one.index is None else np.array(best))


def together(found: Sequence[PathLoss], best: Any = None) -> PathLoss:
    """Independent draws, one after the other."""
    told = [loss for loss in found if not loss.nothing]
    there, back, rho = (math.fsum(getattr(loss, name) for loss in told) for name in ("there", "back", "rho"))
    return PathLoss(there, back, rho, lambda: [pair for loss in told for pair in loss.pairs()], best=best)


def _choice(one: Categorical, other: Categorical) -> PathLoss:
    if one.cells is None or other.cells is None:
        _same(len(one.weights), len(other.weights))
        return listed(_chances(one), _chances(other))
    runs = [
        [(UniformInteger(start + 1, stop), w) for (start, stop), w in zip(law.cells(), _shares(law), strict=True) if stop > start]  # type: ignore[misc]
        for law in (one, other)
    ]
    return _runs(*runs)


def _chances(law: Categorical) -> NDArray[np.float64]:
    """Integers of any size are divided exactly."""
    total = sum(law.weights) if isinstance(law.weights, tuple) else float(np.sum(law.weights))
    return np.array([float(weight / total) for weight in law.weights])


def _shares(law: Categorical) -> list[float]:
    weights = np.asarray(law.weights, float)
    return [*(weights / weights.sum()).tolist()]


def _runs(one: list[tuple[UniformInteger, float]], other: list[tuple[UniformInteger, float]]) -> PathLoss:
    """Uniform inside cells: the loss is constant between the merged ends of both sides' cells. The best is an integer, not a cell."""
    ends = sorted({k for run, _ in (*one, *other) for k in (run.low - 1, run.high)})
    place = {end: i for i, end in enumerate(ends)}
    masses, widths = [], np.array([float(b - a) for a, b in pairwise(ends)])
    for side in (one, other):
        mass = np.zeros(len(widths))
        for run, share in side:
            cut = slice(place[run.low - 1], place[run.high])
            mass[cut] += share * (widths[cut] / (run.high - run.low + 1))
        masses.append(mass)
    found = listed(*masses)
    return found if found.nothing else PathLoss(found.there, found.back, found.rho, found.pairs, best=ends[found.best] + 1)


def compressed(p: Floats, q: Floats, levels: int = 1_000) -> Pair:
    """The same two laws with outcomes of nearly equal ratio told as one: a few levels are enough for a delta."""
    if len(p) <= levels:
        return p, q
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.where((p > 0) | (q > 0), np.log(p) - np.log(q), 0.0)
    inside = ratio[np.isfinite(ratio)]
    width = max(float(np.ptp(np.clip(inside, -50.0, 50.0))), 1e-9) / (levels - 10)
    level = np.where(np.isposinf(ratio), levels, np.where(np.isneginf(ratio), -levels, np.floor(np.clip(ratio, -50.0, 50.0) / width)))
    _, place = np.unique(level, return_inverse=True)
    return np.asarray(np.bincount(place, p), float), np.asarray(np.bincount(place, q), float)


def composed(losses: Iterable[PathLoss], epsilon: float) -> float:
    """The delta at this epsilon of independent draws together: exact for one pair of finite laws, from above for several.

    Theorem. What is returned exceeds the hockey stick of the draws by no more than the rounding of `PrivacyLoss`.
    Proof. Merged outcomes tell no more than the laws themselves; Gaussian shifts add by squares; the rest is composed. QED
    """
    told = [loss for loss in losses if not loss.nothing]
    mu_squared = sum(loss.mu_squared for loss in told)
    pairs = [pair for loss in told if not loss.mu_squared for pair in loss.pairs()]
    if not pairs:
        return gaussian_delta(math.sqrt(mu_squared), epsilon) if mu_squared else 0.0
    pairs = [compressed(*pair) for pair in pairs]
    if len(pairs) == 1 and not mu_squared:
        return Finite(pairs[0][0].tolist(), pairs[0][1].tolist()).delta(epsilon)
    whole = PrivacyLoss(mu_squared=Fraction(mu_squared))
    for p, q in pairs:
        whole = whole + of_laws(dict(enumerate(p / p.sum())), dict(enumerate(q / q.sum())))
    return whole.delta(epsilon)
