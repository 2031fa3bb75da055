"""Huber's mean and other M-estimates of location.

Trimmed and winsorised means of a column: centres that a few wild rows do not move.

M-estimates of location: quartiles set the scale where none was given, then the root is released with noise that fits the data.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, partial
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.quantile_exponential import QuantileExponential
from sordino.privacy.certificate import Part
from sordino.privacy.number import as_positive, exact
from sordino.schema.column import Grid
from sordino.sensitivity.location import PSIS, Location, Ramps, read_curve
from sordino.statistics.custom import fingerprint
from sordino.statistics.mean_two_stage import QUARTILES, quartile_mechanism, quartile_share
from sordino.statistics.middle import MiddleStep
from sordino.statistics.port import (
    LEVEL,
    Answer,
    Context,
    Groups,
    Plain,
    ReachPrice,
    Redrawn,
    Ways,
    length_grid,
    one_unit,
    per_group,
    per_row,
)
from sordino.statistics.registry import Sealed, registered
from sordino.statistics.smooth_fit import SMOOTHS, Drawn, Located, SmoothFit, smoothness
from sordino.summaries import Ask, Draw, Held, Refused
from sordino.summaries.totals import Ranks, Rows, Sorted

__all__ = ["MIDDLE_WAYS", "LocationStep", "MEstimate", "Trimmed", "huber_mean", "m_estimate", "trimmed_mean", "winsorized_mean"]

MIDDLE_WAYS = (*SMOOTHS, "published")


@dataclass(frozen=True)
class Trimmed(Plain):
    """The mean without the smallest and largest share `trim` of the rows, or with these moved to the nearest row that is left."""

    column: str
    trim: Fraction = Fraction(1, 10)
    winsorized: bool = False
    sampled = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "trim", exact(self.trim, "trim"))
        if not 0 < self.trim < Fraction(1, 2):
            raise QueryError("SRD-103", f"trim is {float(self.trim):g}.", "Give the share cut at either end, between 0 and 0.5.")

    @property
    def kind(self) -> str:
        return "winsorized_mean" if self.winsorized else "trimmed_mean"

    @property
    def label(self) -> str:
        return f"{self.kind}({self.column})" if self.trim == Fraction(1, 10) else f"{self.kind}({self.column}, {float(self.trim):g})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        return {"statistic": self.kind, "column": self.column, "trim": str(self.trim)}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        def build(way: str) -> MiddleStep:
            return MiddleStep(self.column, self.trim, way, epsilon, delta, context, self.winsorized)

        return {way: partial(build, way) for way in MIDDLE_WAYS}


def _about(sealed: Sealed) -> str:
    cut = "left out" if sealed.said["statistic"] == "trimmed_mean" else "moved to the next kept value"
    share = f"{float(100 * Fraction(str(sealed.said['trim']))):.4g}%"
    return f"the mean of {sealed.of} with {share} of the rows at either end {cut}, which is not its mean{sealed.clamped}"


@registered(about=_about)
def trimmed_mean(column: str, trim: Any = "0.1") -> Trimmed:
    """The mean of the rows between the quantiles `trim` and 1 - `trim`."""
    return Trimmed(column, trim)


@registered(about=_about)
def winsorized_mean(column: str, trim: Any = "0.1") -> Trimmed:
    """The mean with the rows beyond the quantiles `trim` and 1 - `trim` moved to them."""
    return Trimmed(column, trim, winsorized=True)


REACH = 100  # quartile distances beyond the quartiles within which the root is looked for
NORMAL = 1.349  # quartile distance of a normal law, in standard deviations
MOST_RUNGS = 200_000
FINE = 24  # bits of the scale in the units the root is found in: sums over five million rows stay exact


@dataclass(frozen=True)
class LocationFrame:
    """The ends between which a root is looked for and the scale of its curve, in grid steps: public, or drawn."""

    low: int
    high: int
    scale: Fraction

    @property
    def shift(self) -> int:
        """The power of two of the units the root is found in: the scale keeps 24 bits."""
        return max(0, math.floor(self.scale).bit_length() - FINE)


@dataclass(frozen=True)
class LocationStep(Redrawn):
    r"""The root of sum psi((x - m)/scale) = 0 for a bounded non-decreasing psi.

    Theorem. With a public scale the root on the grid has the legal ladder of `Location`, and its release costs the whole price. Without
    one, the quartiles are drawn first at a price s each, the scale follows from their distance, the root is looked for within 100 of
    these distances of them, and takes epsilon - 2 s.
    Proof. Given the scale and the ends, psi is one fixed curve in whole numbers, and the root a fixed function of the table. They are
    functions of what was drawn. Moving values between the ends and cutting them to units of a public size are maps of rows. QED
    """

    column: str
    curve: tuple[tuple[float, ...], tuple[float, ...]]
    scale: Fraction | None
    way: str
    epsilon: Fraction
    delta: Fraction
    context: Context

    def __post_init__(self) -> None:
        _ = self.mechanisms  # every refusal comes before the charge
        if self.fit.window(self.grid.width) > MOST_RUNGS:
            raise QueryError("SRD-110", "at this price too many roots would have to be found.", "Ask with a larger epsilon.")

    @cached_property
    def grid(self) -> Grid:
        return length_grid(self.context, self.column)

    @cached_property
    def share(self) -> Fraction:
        """The part of epsilon each quartile takes."""
        return Fraction(0) if self.scale is not None else quartile_share(self.grid, self.epsilon, self.context)

    @cached_property
    def mechanisms(self) -> tuple[QuantileExponential, ...]:
        levels = QUARTILES if self.scale is None else ()
        return tuple(quartile_mechanism(self.grid, q, self.epsilon * self.share, self.context) for q in levels)

    @property
    def quantile_price(self) -> ReachPrice:
        return per_row(self.epsilon * self.share, self.context)

    @cached_property
    def price(self) -> ReachPrice:
        return per_group(self.epsilon * (1 - 2 * self.share), self.delta, self.context)

    @cached_property
    def fit(self) -> SmoothFit:
        rows = self.context.rows
        hidden = None if not rows else rows / (3 * self.context.limits.rows)  # a third of the rows can break the root
        widest = 2 * REACH if self.scale is None else self.grid.width / one_unit(self.grid)
        far = math.log(widest * rows) if rows else 0.0
        return SmoothFit(self.way, self.price.epsilon, self.price.delta, smoothness(self.way, self.price.epsilon, hidden, far))

    @property
    def bar(self) -> str:
        return self.fit.bar

    @property
    def covers(self) -> str:
        return "" if self.scale is not None else "the M-estimate at the drawn scale"

    @property
    def name(self) -> str:
        scaled = f"scale from quartiles at {float(200 * self.share):.3g}% of epsilon" if self.scale is None else "public scale"
        return f"{self.fit.name}, M-estimate, {scaled}"

    @property
    def parts(self) -> tuple[Part, ...]:
        drawn = tuple(self.quantile_price.part(mechanism.certificate()) for mechanism in self.mechanisms)
        return (*drawn, self.price.part(self.fit.certificate()))

    def repeated(self, ask: Ask, draw: Draw, groups: Groups, copies: int) -> list[list[Answer]]:
        """Per group several draws of the noise around one root, for a forecast on public rows; one draw is the release."""
        named = groups if self.context.private_keys else None
        frames = self._frames(ask, draw, named)
        answers = []
        for place, rows in enumerate(ask(Rows(self.column, named))):
            frame = frames[place] if self.scale is None else frames[0]
            found = self.location(rows, frame)
            drawn = self.fit.releases(Located(found.value, found.ladder(), 0, found.width), draw, copies)
            answers.append([self._said(one, frame) for one in drawn if not isinstance(one, Refused)])
        return answers

    def _frames(self, ask: Ask, draw: Draw, named: Groups) -> list[LocationFrame]:
        """Where each group's root is looked for, and the standard deviation its curve is stretched by."""
        if self.scale is not None:
            return [LocationFrame(0, self.grid.width, self.scale / self.grid.step)]
        found = []
        for windows in ask(Ranks(self.column, QUARTILES, max(m.radius for m in self.mechanisms), named)):
            pairs = zip(self.mechanisms, windows, strict=True)
            first, last = sorted(m.release(Held(window), draw) for m, window in pairs)
            width = max(last - first, 1)
            low, high = max(0, first - REACH * width), min(self.grid.width, last + REACH * width)
            found.append(LocationFrame(low, high, Fraction(width) / Fraction(str(NORMAL))))
        return found

    def location(self, rows: Sorted, frame: LocationFrame) -> Location:
        """The column between the frame's ends, in its units, with the curve in the same units."""
        knots, heights = self.curve
        psi = Ramps.through(knots, heights, max(1, round(frame.scale / 2**frame.shift)))
        x = np.clip(rows.values, frame.low, frame.high) - frame.low >> frame.shift
        most = Rows(self.column).most
        return Location(x, frame.high - frame.low >> frame.shift, psi, self.price.relation, self.context.limits.rows, most)

    def _said(self, drawn: Drawn, frame: LocationFrame, level: float = LEVEL) -> Answer:
        def mean(units: int) -> float:
            steps = frame.low + units * 2**frame.shift + Fraction(2**frame.shift - 1, 2)
            return float(self.grid.value(min(steps, Fraction(frame.high))))

        kept = (drawn.value, frame.low, frame.high, frame.scale.numerator, frame.scale.denominator)
        if drawn.scale is None:
            return Answer(mean(drawn.value), raw=kept)
        low, high = (mean(end) for end in drawn.ends(0, frame.high - frame.low >> frame.shift, level))
        return Answer(mean(drawn.value), low, high, raw=(*kept, drawn.scale))

    def interval(self, answer: Answer, level: float) -> tuple[Any, Any] | None:
        if self.bar == "none" or len(answer.raw) != 6:
            return None
        value, low, high, top, bottom = (int(part) for part in answer.raw[:-1])
        again = self._said(Drawn(value, answer.raw[-1]), LocationFrame(low, high, Fraction(top, bottom)), level)
        return again.low, again.high


@dataclass(frozen=True)
class MEstimate(Plain):
    """The root of sum psi((x - m)/scale) = 0: a centre that rows far away move by no more than psi's bound allows.

    `scale` is public, about one standard deviation of the rows in the middle; without one it is found privately from the quartiles.
    """

    column: str
    psi: str | Callable[[float], float] = "huber"
    scale: Fraction | None = None
    sampled = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", None if self.scale is None else as_positive(self.scale, "scale"))
        object.__setattr__(self, "curve", read_curve(self.psi))

    @property
    def label(self) -> str:
        return f"huber_mean({self.column})" if self.psi == "huber" else f"m_estimate({self.column})"

    @property
    def columns(self) -> tuple[str, ...]:
        return (self.column,)

    def question(self) -> dict[str, Any]:
        psi = self.psi if self.psi in PSIS else fingerprint(self.psi)
        scale = None if self.scale is None else str(self.scale)
        return {"statistic": "m_estimate", "column": self.column, "psi": psi, "scale": scale}

    def ways(self, epsilon: Fraction, delta: Fraction, context: Context) -> Ways:
        def build(way: str) -> LocationStep:
            return LocationStep(self.column, self.curve, self.scale, way, epsilon, delta, context)  # type: ignore[attr-defined]

        return {way: partial(build, way) for way in MIDDLE_WAYS}


def _centre(sealed: Sealed) -> str:
    psi = sealed.said["psi"]
    return f"the {psi if isinstance(psi, str) else 'M'} centre of {sealed.of}, which is not its mean{sealed.clamped}"


@registered(about=_centre)
def huber_mean(column: str, scale: Any = None) -> MEstimate:
    """Huber's mean: rows within 1.345 scales of it count as they are, the others as if they were there."""
    return MEstimate(column, "huber", scale)


@registered(about=_centre)
def m_estimate(column: str, psi: str | Callable[[float], float] = "huber", scale: Any = None) -> MEstimate:
    """The M-estimate of location for psi: "huber", "logcosh", or a bounded non-decreasing function of z = (x - m)/scale."""
    return MEstimate(column, psi, scale)
