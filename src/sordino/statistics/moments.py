"""Answers computed from one drawn vector of moments: count, sum, mean, variance, std share it for one price."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Protocol

import numpy as np

from sordino.privacy.certificate import Part
from sordino.schema.column import Grid
from sordino.statistics.added import Added, AddedGaussian
from sordino.statistics.port import LEVEL, Answer, Groups, Priced
from sordino.statistics.read import Whole
from sordino.statistics.tail import Floats, radius
from sordino.summaries import Ask, Draw

__all__ = ["Estimate", "Moments", "MomentsStep", "linear", "scaled", "unit_of"]

BITS = 24
Estimate = tuple[Any, Any, Any]


def unit_of(row: int, *, refine: bool) -> Fraction:
    """The power of two that brings one row's contribution to 24 bits: noise spans millions of steps, and 2^38 rows fit in 64 bits.

    Without `refine` totals are only ever made coarser, so that small whole numbers stay whole.
    """
    power = BITS - row.bit_length()
    return Fraction(2) ** (power if refine else min(power, 0))


def scaled(totals: Whole, unit: Fraction) -> Whole:
    """floor(total * unit), exactly."""
    return np.asarray(totals * unit.numerator // unit.denominator)


def linear(raw: Floats, weights: Sequence[float], noise: Added | AddedGaussian, scale: float, level: float) -> Estimate:
    """A weighted sum of drawn numbers with its interval: the noise is the same weighted sum of public laws."""
    weight = np.asarray(weights, float)
    value = raw @ weight
    far = radius(noise.tail, [float(w) * scale for w in weight], level) if weight.any() else 0.0
    return value, value - far, value + far


class Moments(Protocol):
    """One drawn vector per group, and what can be computed from it. `raw` is in rows: the sum of its coordinates estimates n."""

    @property
    def grid(self) -> Grid: ...
    @property
    def noise(self) -> Added | AddedGaussian: ...
    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Floats: ...
    def estimate(self, kind: str, raw: Floats, level: float) -> Estimate: ...
    def width(self, kind: str, rows: int, level: float) -> float: ...
    def rmse(self, kind: str, rows: int) -> float: ...


@dataclass(frozen=True)
class MomentsStep(Priced):
    """One statistic read off a vector of moments."""

    source: Moments
    kind: str

    @property
    def bar(self) -> str:
        """The interval of a variance is a hull over means and holds with at least 95%; the others hold with exactly that."""
        return "bound" if self.kind in ("variance", "std", "var_samp", "stddev_samp") else "exact"

    def __post_init__(self) -> None:
        _ = self.cost  # every refusal comes before the charge

    @property
    def name(self) -> str:
        return f"{self.source.noise.name}, {type(self.source).__name__.lower()}"

    @property
    def parts(self) -> tuple[Part, ...]:
        return (self.source.noise.part,)

    def release(self, ask: Ask, draw: Draw, groups: Groups) -> Sequence[Answer]:
        return self.answers(self.source.release(ask, draw, groups))

    def answers(self, raw: Floats, level: float = LEVEL) -> list[Answer]:
        """Post-processing of the drawn vectors: no further price."""
        value, low, high = self.source.estimate(self.kind, raw, level)
        if self.kind == "count" or (self.kind == "sum" and self.source.grid.kind in ("int", "bool")):
            value = np.rint(value)  # the truth is whole, so the whole numbers inside the interval hold as often as the interval
            low, high = np.minimum(np.ceil(low), value), np.maximum(np.floor(high), value)
            return [Answer(int(v), int(a), int(b), raw=tuple(r)) for v, a, b, r in zip(value, low, high, raw.tolist(), strict=True)]
        return [Answer(float(v), float(a), float(b), raw=tuple(r)) for v, a, b, r in zip(value, low, high, raw.tolist(), strict=True)]

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any]:
        again = self.answers(np.array([answer.raw]), level)[0]
        return again.low, again.high

    def width(self, rows: int | None, level: float = LEVEL) -> float | None:
        if self.kind in ("count", "sum"):
            return self.source.width(self.kind, 1, level)
        return None if rows is None else self.source.width(self.kind, max(rows, 1), level)

    def rmse(self, rows: int | None) -> float | None:
        """The root mean squared error, where it depends on the data at the table for which it is largest."""
        if self.kind in ("count", "sum"):
            return self.source.rmse(self.kind, 1)
        return None if rows is None else self.source.rmse(self.kind, max(rows, 1))
