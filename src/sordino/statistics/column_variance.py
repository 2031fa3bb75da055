"""The variance and the standard deviation of a column, with divisor n, or n - 1 as in SQL.

Three Bernstein sums: count, mean and second moment of a column in one draw.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.schema.column import Grid, coarse_shift
from sordino.statistics.added import Floats, TotalNoise, boundary, radius, ratio_interval
from sordino.statistics.known import KnownVariance
from sordino.statistics.moments import Estimate, linear, read_off, scaled, unit_of
from sordino.statistics.port import Context, Groups, Plain, Ways, length_grid, public_size
from sordino.statistics.reach import Reach, Whole, read_totals
from sordino.statistics.registry import registered
from sordino.summaries import Ask, Draw
from sordino.summaries.totals import Item

__all__ = ["Bernstein", "Variance", "std", "variance"]

RARE = 0.001  # the share of the doubt that pays for not knowing the mean while the variance is bounded
NET = 5  # means tried in that interval, ends and middle included: in between v changes with the square of the distance


@dataclass(frozen=True)
class Bernstein:
    r"""sum (W-x)^2, sum 2x(W-x) and sum x^2 over grid integers x in 0..W, with Laplace noise of scale m W^2/epsilon on each.

    Theorem. The triple is epsilon-DP under add_remove, although n is private; under replace with scale 2 m W^2/epsilon, a filter
    included. It holds n, the mean and the second moment: n = (B0+B1+B2)/W^2, sum x = (B1/2 + B2)/W, sum x^2 = B2.
    Proof. For one row the three terms are non-negative and sum to ((W-x) + x)^2 = W^2 whatever x is, so one row moves the triple by
    exactly W^2 in L1 norm and m rows by at most m W^2. Two rows differ by at most the sum of their norms, 2 W^2, attained at 0 and W.
    The three identities are algebra. QED
    Gaussian noise: non-negative terms of sum W^2 have L2 norm at most W^2, and two such triples are at most sqrt(2) W^2 apart.
    Grids of more than 20 bits are first made coarser by a public power of two.
    """

    column: str
    grid: Grid
    epsilon: Fraction
    context: Context
    delta: Fraction = Fraction(0)
    way: str | None = None

    @property
    def shift(self) -> int:
        return coarse_shift(self.grid)

    @property
    def top(self) -> int:
        """W: the largest coarse integer."""
        return self.grid.width >> self.shift

    @cached_property
    def unit(self) -> Fraction:
        return unit_of(self.top**2, refine=True)

    @cached_property
    def noises(self) -> Mapping[str, TotalNoise]:
        square = Fraction(self.top**2)
        cut = 0 if self.unit.denominator == 1 else 3
        squared = (square**2, 2 * square**2)
        reach = Reach(square, 2 * square, self.context)
        return reach.noises(self.epsilon, self.delta, squared, scale=self.unit, rounded=cut, coordinates=3)

    @property
    def noise(self) -> TotalNoise:
        return self.noises[self.way or next(iter(self.noises))]

    @property
    def _row(self) -> float:
        return float(self.top**2 * self.unit)

    @property
    def scale(self) -> float:
        """The noise of each sum, in rows."""
        return float(self.noise.scale) / self._row

    @property
    def slop(self) -> float:
        return (self.noise.slop + 1) / self._row

    def locations(self, rows: Whole, total: Whole, squares: Whole) -> Whole:
        w = self.top
        sums = (rows * w * w - 2 * w * total + squares, 2 * w * total - 2 * squares, squares)
        return np.stack([scaled(part, self.unit) for part in sums], axis=-1)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats:
        items = (Item("rows", self.column), Item("coarse", self.column), Item("squares", self.column))
        return self.noise.around(self.locations(*read_totals(ask, items, groups)), draw) / self._row

    @property
    def _middle(self) -> Fraction:
        """The middle of a coarse cell above its lower end, in fine steps: what the floor took away on average."""
        return Fraction((1 << self.shift) - 1, 2)

    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate:
        step, cell = self.grid.step, 1 << self.shift
        if kind == "count":
            return linear(raw, (1.0, 1.0, 1.0), self.noise, self.scale, level)
        base, span = (self.grid.low + self._middle) * step, self.top * cell * step
        if kind == "sum":
            weights = [float(base), float(base + span / 2), float(base + span)]
            return linear(raw, weights, self.noise, self.scale, level)
        if kind == "mean":
            value, low, high = self._mean(raw, level)
            return float(base) + float(span) * value, float(base) + float(span) * low, float(base) + float(span) * high
        if kind in ("variance", "std", "var_samp", "stddev_samp"):
            found = self._sample(raw, level) if kind.endswith("samp") else self._variance(raw, level)
            value, low, high = (part * float(span) ** 2 for part in found)
            return (value, low, high) if kind in ("variance", "var_samp") else (np.sqrt(value), np.sqrt(low), np.sqrt(high))
        raise QueryError("SRD-106", f"{kind!r} cannot be read off Bernstein sums.", "Ask for count, sum, mean, variance or std.")

    def _mean(self, raw: Floats, level: float) -> Estimate:
        def scales(t: Floats) -> Sequence[Any]:
            return (1 - t) * self.scale, np.abs(0.5 - t) * self.scale, t * self.scale

        up, down = raw[..., 2] + raw[..., 1] / 2, raw[..., 0] + raw[..., 1] / 2
        return ratio_interval(up, down, scales, self.noise.tail, slop=self.slop, level=level)

    def _variance(self, raw: Floats, level: float) -> Estimate:
        r"""The variance over W^2, with an interval that holds with probability at least `level`.

        Theorem. At the true mean t and variance v (both over W, W^2) the number B2 ((1-t)^2 - v) - B1 (t (1-t) + v) + B0 (t^2 - v) is
        pure noise with a public law. The hull, over all t of a 1 - RARE interval of the mean, of the v that its tail does not reject at
        level + RARE, covers v with probability at least `level`.
        Proof. The sums of (x - t)^2 - v over the rows vanish at the truth; (x/W)^2 and its fellows are the three Bernstein terms. The
        mean's interval fails with probability RARE, the test at the true mean with 1 - level - RARE. QED
        Around the estimated mean v changes with t only to second order, so the price of not knowing t is small.
        """
        b0, b1, b2 = raw[..., 0], raw[..., 1], raw[..., 2]
        n = np.maximum(b0 + b1 + b2, 1.0)
        mean, first, last = self._mean(raw, 1 - RARE)
        value = np.clip(np.clip(b2 / n, 0.0, 1.0) - mean**2, 0.0, 0.25)
        net = first[..., None] + (last - first)[..., None] * np.linspace(0.0, 1.0, NET)
        t = np.concatenate([net, mean[..., None]], axis=-1)
        c0, c1, c2 = b0[..., None], b1[..., None], b2[..., None]

        def accept(v: Floats) -> Any:
            w0, w1, w2 = t**2 - v, t * (1 - t) + v, (1 - t) ** 2 - v
            noise = self.noise.tail([w * self.scale for w in (w0, w1, w2)], np.abs(c2 * w2 - c1 * w1 + c0 * w0) - self.slop)
            return noise >= 1 - level - RARE

        half = (last - first)[..., None] / (NET - 1)
        inner = np.clip(0.5, t - half, t + half)
        largest = inner * (1 - inner)  # no variance exceeds this for any mean nearer to t than to its neighbours in the net
        start = np.clip((c2 - 2 * t * (c2 + c1 / 2)) / n[..., None] + t**2, 0.0, largest)
        none = np.zeros_like(start)
        possible = accept(start) | accept(none) | accept(largest)  # means that no variance reconciles with the draw drop out
        low = np.where(possible, boundary(accept, start, none), 1.0).min(axis=-1)
        high = np.where(possible, boundary(accept, start, largest), 0.0).max(axis=-1)
        nearest, farthest = self._around(value, mean, n, level)
        return value, np.minimum(low, nearest), np.maximum(high, farthest)

    def _around(self, value: Floats, mean: Floats, n: Floats, level: float) -> tuple[Floats, Floats]:
        """As far as noise alone reaches from the estimate: what is added where an end of the range cut most of an interval away."""

        def accept(v: Floats) -> Any:
            weights = (mean**2 - v, mean * (1 - mean) + v, (1 - mean) ** 2 - v)
            return self.noise.tail([w * self.scale for w in weights], n * np.abs(v - value) - self.slop) >= 1 - level - RARE

        return boundary(accept, value, np.zeros_like(value)), boundary(accept, value, np.full_like(value, 0.25))

    def _sample(self, raw: Floats, level: float) -> Estimate:
        r"""The variance with divisor n - 1: v n/(n - 1) at the drawn number of rows, where a single row counts as two.

        Theorem. For n >= 2 the interval holds with probability at least `level`.
        Proof. n/(n - 1) falls with n. The interval of v fails with probability 1 - level - RARE, that of n, whose noise is a sum of public
        laws, with RARE; if neither fails, v n/(n - 1) lies between the product of the low ends' and of the high ends' factors. QED
        """
        rows, fewest, most = linear(raw, (1.0, 1.0, 1.0), self.noise, self.scale, 1 - RARE)
        value, low, high = self._variance(raw, level + RARE)
        numbers = (np.maximum(rows, 1.0), np.maximum(most, 2.0), np.maximum(fewest, 2.0))
        factor, least, largest = (n / np.maximum(n - 1, 1.0) for n in numbers)
        return value * factor, np.minimum(low * least, value * factor), np.maximum(high * largest, value * factor)

    def width(self, kind: str, rows: int, level: float) -> float:
        """The half-width before spending, at the ends of the range, where it is largest; for std the square root of the variance's."""
        far = radius(self.noise.tail, (self.scale,) * (3 if kind == "count" else 1), level)
        if kind == "count":
            return math.ceil(far)
        span = self.grid.length(self.grid.width)
        if kind == "sum":
            step = float(self.grid.step)
            ends = (self.grid.low * step, (self.grid.low + self.grid.high) * step / 2, self.grid.high * step)
            return radius(self.noise.tail, [self.scale * e for e in ends], level)
        if kind == "mean":
            return span * min(1.0, radius(self.noise.tail, (self.scale, self.scale / 2), level) / rows)
        share = min(0.25, far / rows)
        return span**2 * share if kind in ("variance", "var_samp") else span * math.sqrt(share)

    def rmse(self, kind: str, rows: int) -> float:
        """Likewise at the ends of the range."""
        noise, span, step = self.noise.rmse / self._row, self.grid.length(self.grid.width), float(self.grid.step)
        if kind == "count":
            return math.sqrt(3) * noise
        if kind == "sum":
            return noise * math.hypot(self.grid.low * step, (self.grid.low + self.grid.high) * step / 2, self.grid.high * step)
        if kind == "mean":
            return span * min(1.0, math.sqrt(1.25) * noise / rows)
        share = min(0.25, noise / rows)
        return span**2 * share if kind in ("variance", "var_samp") else span * math.sqrt(share)


@dataclass(frozen=True)
class Variance(Plain):
    """The variance of a bounded column, from three Bernstein sums, or by itself where n is public.

    `root` asks for its square root, `sample` divides by n - 1, not n.
    """

    column: str
    root: bool = False
    sample: bool = False

    @property
    def kind(self) -> str:
        return ("stddev_samp" if self.root else "var_samp") if self.sample else "std" if self.root else "variance"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    @property
    def ranged(self) -> bool:
        return self.kind == "std"

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        grid, size = length_grid(context, self.column), public_size(context)
        if size is not None:
            return read_off(KnownVariance(self.column, grid, epsilon, size, delta if context.adds_rho else Fraction(0)), self.kind)
        return read_off(Bernstein(self.column, grid, epsilon, context, delta), self.kind)


@registered(about="the variance of {of}{clamped}", sql=("VAR_POP",), together=True, adds=True, menu=(9, "variance"))
def variance(column: str) -> Variance:
    """The variance of a column."""
    return Variance(column)


@registered(
    about="the standard deviation of {of}{clamped}", sql=("STDDEV_POP",), together=True, adds=True, menu=(8, "standard deviation"),
    examples=(("", ("age",), {}),),
)  # fmt: skip
def std(column: str) -> Variance:
    """The standard deviation of a column."""
    return Variance(column, root=True)


@registered(about="the sample variance of {of}{clamped}", sql=("VARIANCE",), adds=True, verb=False)
def var_samp(column: str) -> Variance:
    """The variance of a column, divided by n - 1."""
    return Variance(column, sample=True)


@registered(about="the sample standard deviation of {of}{clamped}", sql=("STDDEV", "STDDEV_SAMP"), adds=True, verb=False)
def stddev_samp(column: str) -> Variance:
    """The root of that."""
    return Variance(column, root=True, sample=True)
