"""A better answer out of several: independent draws of one additive statistic, averaged by inverse variance."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from sordino.errors import QueryError
from sordino.session.card import Card
from sordino.session.release import Release
from sordino.statistics.added import Added
from sordino.statistics.port import LEVEL
from sordino.statistics.rows import CountStep
from sordino.statistics.tail import laplace_tail, radius
from sordino.statistics.total import SumStep

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["Noise", "combine", "half_width", "noise_of", "second_price"]


@dataclass(frozen=True)
class Noise:
    """The law of one additive draw in the statistic's own unit: scale times a Laplace variable, and at most `slop` of rounding."""

    scale: float
    slop: float


def noise_of(query: Query, epsilon: Fraction) -> Noise | None:
    """The public noise of the one statistic asked, if its draw is the total plus Laplace noise; None otherwise."""
    plan = query.settle(epsilon)
    if plan.plan.keys is not None or len(plan.steps) != 1:
        return None
    (step,) = plan.steps.values()
    if not isinstance(step, CountStep | SumStep) or not isinstance(step.noise, Added):
        return None
    unit = float(step.grid.step / step.unit) if isinstance(step, SumStep) else 1.0
    return Noise(float(step.noise.scale) * unit, (step.noise.slop + 1) * unit)


def _weights(noises: list[Noise]) -> list[float]:
    total = math.fsum(1 / noise.scale**2 for noise in noises)
    return [1 / noise.scale**2 / total for noise in noises]


def half_width(noises: list[Noise]) -> float:
    r"""The 95% half-width of the inverse-variance mean of independent draws.

    Theorem. The mean errs by sum_i w_i s_i Z_i with independent Laplace Z_i, up to the largest slop; the tail of the sum is closed.
    Proof. Every outcome is the total plus s_i Z_i, rounded by at most slop_i, and the weights sum to one. QED
    """
    weights = _weights(noises)
    scales = [weight * noise.scale for weight, noise in zip(weights, noises, strict=True)]
    return radius(laplace_tail, scales, LEVEL) + max(noise.slop for noise in noises)


def second_price(query: Query, known: list[Noise], within: float, most: Fraction) -> Fraction | None:
    """The least epsilon, to 1%, of one more draw that brings the mean to `within`; None if even `most` does not."""

    def enough(epsilon: Fraction) -> bool:
        drawn = noise_of(query, epsilon)
        return drawn is not None and half_width([*known, drawn]) <= within

    low, high = Fraction(1, 10**6), most
    if not enough(high):
        return None
    while high > low * Fraction(101, 100):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(10**9)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def combine(releases: list[Release], noises: list[Noise]) -> Release:
    """One release out of several: post-processing, under the id of the newest, with the price of the newest on it."""
    if len(releases) == 1:
        return releases[0]
    newest, name, weights = releases[-1], releases[-1].names[0], _weights(noises)
    if any(release.keys != newest.keys for release in releases):
        raise QueryError("SRD-105", "these answers are about different groups.", "Ask again with fresh=True.")
    drawn = zip(*(release.answers[name] for release in releases), strict=True)
    values = [math.fsum(weight * value for weight, value in zip(weights, cells, strict=True)) for cells in drawn]
    far = half_width(noises)
    answers: dict[str, list[Any]] = {
        name: values, f"{name}_low": [value - far for value in values], f"{name}_high": [value + far for value in values],
    }  # fmt: skip
    card = Card(newest.card)
    card["post-processing"] = [*card.get("post-processing", []), f"inverse-variance mean of {', '.join(r.id for r in releases)}"]
    return replace(newest, answers=answers, card=card, raw={})
