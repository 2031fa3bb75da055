"""Releasing a whole number that comes with a ladder: smooth sensitivity with any noise, a published bound, propose-test-release."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from sordino.errors import QueryError
from sordino.mechanisms.propose_test_release import ProposeTestRelease
from sordino.mechanisms.published_bound import Published, PublishedBound
from sordino.mechanisms.smooth import NOISES, Smooth
from sordino.privacy.certificate import Certificate
from sordino.sensitivity.ladder import Ladder
from sordino.sensitivity.scale import ScaleLadder
from sordino.statistics.port import LEVEL
from sordino.summaries import Draw, Near, Refused, Rung, Stair

__all__ = ["FITS", "Drawn", "Located", "SmoothFit", "smoothness"]

SMOOTHS = {"smooth" if noise == "power_law" else f"smooth_{noise}": noise for noise in NOISES}
FITS = (*SMOOTHS, "published", "ptr")
NEEDS_DELTA = ("smooth_laplace", "smooth_gaussian", "published", "ptr")
LARGEST_BETA = Fraction(2)  # at absurd prices: scales far apart would round the noise up by as much
FARTHEST = 1_000_000  # steps to instability beyond this are not told apart; the distance stays 1-Lipschitz


BETAS = [Fraction(n, 40) for n in (4, 5, 6, 7, 8, 10, 12)]  # few values, because each is certified once
PUBLISHED_BETAS = [Fraction(n, 200) for n in (2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 30, 40)]  # the published bound is raised by dozens of rungs


def smoothness(way: str, epsilon: Fraction, hidden: float | None, far: float) -> Fraction:
    """beta over epsilon, by public facts: the least at which `hidden` steps of it outweigh a bound that is e^far times as wide.

    A smooth bound sees the public bounds through the steps it takes to get there; the tails of the noise grow heavy with beta.
    """
    betas = PUBLISHED_BETAS if way == "published" else BETAS
    if hidden is None:  # in doubt the middle; more where a statistic says that its bounds lie far
        return betas[5 if far else 3]
    return next((beta for beta in betas if float(beta * epsilon) * hidden >= far), betas[-1])


@dataclass(frozen=True)
class Located:
    """A statistic as a whole number between public ends, with the ladder of its sensitivity in the same steps."""

    value: int
    ladder: Ladder
    low: int
    high: int
    distance: int | None = None  # to the proposed bound, where it is known without the ladder


@dataclass(frozen=True)
class Drawn:
    """What was released: a whole number, the published scale of its noise if there is one, and the branch if there was a choice."""

    value: int
    scale: float | None = None
    branch: str = ""

    def ends(self, low: int, high: int, level: float = LEVEL) -> tuple[int, int]:
        """Laplace noise of a published scale: the interval at a level, cut to the public range."""
        assert self.scale is not None
        far = math.ceil(self.scale * math.log(1 / (1 - level))) + 1
        return max(self.value - far, low), min(self.value + far, high)


class _Public(Sequence[Fraction]):
    """The scales of a ladder as fractions, made when they are read: at small prices there are very many."""

    def __init__(self, ladder: ScaleLadder) -> None:
        self._ladder = ladder

    def __len__(self) -> int:
        return self._ladder.last + 1

    def __getitem__(self, place: Any) -> Any:
        return self._ladder.scale(range(len(self))[place])


@lru_cache(maxsize=128)
def _scales(beta: Fraction, top: int) -> tuple[ScaleLadder, Any]:
    ladder = ScaleLadder(beta, top)
    return ladder, _Public(ladder)


def _index(scales: ScaleLadder, ladder: Ladder, count: int) -> int:
    """`ScaleLadder.index` of the first `count` rungs, without those that cannot change it.

    Rung k raises the index to at most c(GS) - k, so from there on nothing is left to see.
    """
    top = int(scales.cover(scales.global_sensitivity))
    best, done, size = max(0, top - count), 0, 64
    while done < count and top - done > best:
        upto = min(done + size, count)
        reach = scales.cover(ladder.block(done, upto)) - np.arange(done, upto)
        best, done, size = max(best, int(reach.max())), upto, 2 * size
    return best


@dataclass(frozen=True)
class SmoothFit:
    """A mechanism for numbers with a ladder, at a price. `beta` is its smoothness over epsilon; `propose` a bound to test, in steps."""

    way: str
    epsilon: Fraction
    delta: Fraction
    beta: Fraction | None = None
    propose: Fraction | None = None
    otherwise: str = "refuse"

    def __post_init__(self) -> None:
        if self.way in NEEDS_DELTA and not self.delta:
            raise QueryError("SRD-102", f"mechanism {self.way!r} needs a delta.", 'Give delta=, or use mechanism="smooth".')
        if self.way == "ptr" and self.propose is None:
            what = "propose-test-release needs a proposed bound."
            raise QueryError("SRD-103", what, "Give propose=, a guess at the local sensitivity in the statistic's unit.")
        _ = self.mechanism  # every refusal comes before the charge

    @cached_property
    def mechanism(self) -> Smooth | PublishedBound | ProposeTestRelease:
        beta = None if self.beta is None else min(self.epsilon * self.beta, LARGEST_BETA)
        if self.way in SMOOTHS:
            noise = SMOOTHS[self.way]
            made = Smooth(self.epsilon, beta if noise == "power_law" else None, noise, self.spent)  # other noises have their own beta
            return made if made.beta is None or made.beta <= LARGEST_BETA else replace(made, beta=LARGEST_BETA)
        if self.way == "published":
            return PublishedBound(self.epsilon, self.delta, beta)
        assert self.propose is not None
        return ProposeTestRelease(self.epsilon, self.delta, self.propose, otherwise=self.otherwise)

    @property
    def bar(self) -> str:
        return "published" if self.way == "published" else "none"

    @property
    def spent(self) -> Fraction:
        """The delta that is really used."""
        return self.delta if self.way in NEEDS_DELTA else Fraction(0)

    @property
    def name(self) -> str:
        match self.mechanism:
            case Smooth(noise=noise):
                return f"Smooth, {noise}"
            case PublishedBound():
                return "PublishedBound"
        return f"ProposeTestRelease, otherwise {self.otherwise}"

    def certificate(self) -> Certificate:
        return self.mechanism.certificate()

    def window(self, top: int) -> int:
        """How many rungs are looked at, for a global sensitivity of `top` steps."""
        if isinstance(self.mechanism, ProposeTestRelease):
            return min(len(self.mechanism.table), FARTHEST)
        assert self.mechanism.beta is not None
        return _scales(self.mechanism.beta, top)[0].least_window

    def release(self, at: Located, draw: Draw) -> Drawn | Refused:
        """One draw around the statistic. What the mechanism asks is answered from the ladder."""
        return self.releases(at, draw, 1)[0]

    def releases(self, at: Located, draw: Draw, copies: int) -> list[Drawn | Refused]:
        """Several draws around the same place, whose ladder is climbed once; more than one only for a forecast on public rows."""
        top = int(at.ladder.top)
        count = self.window(top)

        @cache
        def reply(request: Any) -> Any:
            if isinstance(request, Stair):
                scales, public = _scales(request.beta, top)
                return Rung(at.value, _index(scales, at.ladder, count), public, at.low, at.high)
            if at.distance is not None:
                return Near(min(at.distance, count), at.value, top, at.low, at.high)
            above = at.ladder.rungs(count) > math.floor(request.above)
            return Near(int(above.argmax()) if above.any() else count, at.value, top, at.low, at.high)

        return [_drawn(self.mechanism.release(reply, draw)) for _ in range(copies)]


def _drawn(outcome: Any) -> Drawn | Refused:
    match outcome:
        case Refused():
            return outcome
        case Published():
            return Drawn(round(outcome.value), outcome.scale)
        case (value, branch):
            return Drawn(round(value), branch=branch)
    return Drawn(round(outcome))
