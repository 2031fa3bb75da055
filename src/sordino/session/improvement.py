"""A better answer out of several: independent draws of one additive statistic, averaged by inverse variance."""

from __future__ import annotations

import logging
import math
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np

from sordino.errors import BudgetExceeded, QueryError, SordinoError
from sordino.session.card import Card
from sordino.session.noise_weight import NoiseWeight, step_noise
from sordino.session.price import LEAST, Wish, ceiling, price
from sordino.session.release import Release
from sordino.statistics.port import LEVEL

if TYPE_CHECKING:
    from sordino.session.query import Query

__all__ = ["NoiseWeight", "combine", "drawn_noise", "half_width", "improved", "noise_of", "second_price"]

log = logging.getLogger("sordino")
CELLS = 400  # cells per scale of the mean's noise


def drawn_noise(query: Query, release: Release) -> NoiseWeight | None:
    """The public noise of a recorded answer, by its own price and kind of noise; None where it is not a total plus noise."""
    own, gaussian = release.cost.exact, "Gaussian" in release.mechanism
    try:
        return noise_of(query, own.epsilon, own.delta, "gaussian" if gaussian else None)
    except SordinoError:
        return None


def noise_of(query: Query, epsilon: Any, delta: Any = None, way: str | None = None) -> NoiseWeight | None:
    """The public noise of the one statistic asked, if its draw is the total plus Laplace or Gaussian noise; None otherwise."""
    plan = query.settle(epsilon, delta, way=way)
    if plan.plan.keys is not None or len(plan.steps) != 1:
        return None
    (step,) = plan.steps.values()
    return step_noise(step)


def _weights(noises: list[NoiseWeight]) -> list[float]:
    total = math.fsum(1 / noise.variance for noise in noises)
    return [1 / noise.variance / total for noise in noises]


def half_width(noises: list[NoiseWeight]) -> float:
    """The 95% half-width of the inverse-variance mean of independent draws: their laws convolved on fine cells, cell errors added."""
    from scipy.signal import fftconvolve

    weights = _weights(noises)
    width = max(weight * noise.scale for weight, noise in zip(weights, noises, strict=True)) / CELLS
    law = np.ones(1)
    for weight, noise in zip(weights, noises, strict=True):
        law = fftconvolve(law, noise.cells(weight, width))
    middle = len(law) // 2
    outside = 2 * np.cumsum(law[middle + 1 :][::-1])[::-1]  # P(|cell| > i) for i = 0, 1, ...
    cell = int(np.argmax(outside <= 1 - LEVEL))
    slop = math.fsum(weight * noise.slop for weight, noise in zip(weights, noises, strict=True))
    return (cell + len(noises) / 2) * width + slop


def second_price(query: Query, known: list[NoiseWeight], wish: Wish) -> Fraction | None:
    """The least epsilon, to 1%, of one more draw that brings the mean to the width wished; None if a release of its own is no dearer."""
    (within,) = wish.values()

    def enough(epsilon: Fraction) -> bool:
        drawn = noise_of(query, epsilon)
        return drawn is not None and half_width([*known, drawn]) <= within

    try:
        most: Fraction | None = price(query, wish).epsilon
    except (QueryError, BudgetExceeded):
        most, _ = ceiling(query)  # out of reach for one draw, perhaps not for the mean
    if most is None or not enough(most):
        return None
    low, high = LEAST, most
    while high > low * Fraction(101, 100):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(10**9)
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


def combine(releases: list[Release], noises: list[NoiseWeight]) -> Release:
    """One release out of several: post-processing, under the id of the newest, with the price of the newest on it."""
    if len(releases) == 1:
        return releases[0]
    newest, weights = releases[-1], _weights(noises)
    if any(release.keys != newest.keys for release in releases):
        raise QueryError("SRD-105", "these answers are about different groups.", "Ask again with fresh=True.")
    far = half_width(noises)
    answers: dict[str, list[Any]] = {}
    for name in newest.names:  # one draw, under every name the caller gave it
        drawn = zip(*(release.answers[name] for release in releases), strict=True)
        values = [math.fsum(weight * value for weight, value in zip(weights, cells, strict=True)) for cells in drawn]
        answers |= {name: values, f"{name}_low": [v - far for v in values], f"{name}_high": [v + far for v in values]}
    card = Card(newest.card)
    card["post-processing"] = [*card.get("post-processing", []), f"inverse-variance mean of {', '.join(r.id for r in releases)}"]
    return replace(newest, answers=answers, card=card, raw={}, sealed=None)


def improved(query: Query, within: Any, analyst: str | None = None) -> Release:
    """A better answer to a question, at the price of what it still lacks; see `Query.improve`."""
    wish = query.wished(within)
    good = query.recall(None, wish)
    found = query.drawn_alike()
    if good is not None:
        return good
    known = [noise for item in found if (noise := drawn_noise(query, item)) is not None]
    additive = bool(found) and len(known) == len(found)
    if additive and half_width(known) <= min(wish.values()):
        return combine(found, known)
    cost = second_price(query, known, wish) if additive else None
    if cost is None:
        log.warning("sordino: averaging does not help here; this is a fresh release at full price")
        return query.release(within=within, fresh=True, analyst=analyst)
    found.append(query.release(epsilon=cost, fresh=True, analyst=analyst))
    return combine(found, [noise for item in found if (noise := drawn_noise(query, item)) is not None])
