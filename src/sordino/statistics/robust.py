"""Huber's mean and other M-estimates of location."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import Any

from sordino.privacy.number import as_positive
from sordino.sensitivity.location import PSIS, read_curve
from sordino.statistics.fingerprint import fingerprint
from sordino.statistics.location import LocationStep
from sordino.statistics.port import Context, Plain, Ways
from sordino.statistics.trimming import MIDDLE_WAYS

__all__ = ["MEstimate", "huber_mean", "m_estimate"]


@dataclass(frozen=True)
class MEstimate(Plain):
    """The root of sum psi((x - m)/scale) = 0: a centre that rows far away move by no more than psi's bound allows.

    `scale` is public, about one standard deviation of the rows in the middle; without one it is found privately from the quartiles.
    """

    column: str
    psi: str | Callable[[float], float] = "huber"
    scale: Fraction | None = None

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


def huber_mean(column: str, scale: Any = None) -> MEstimate:
    """Huber's mean: rows within 1.345 scales of it count as they are, the others as if they were there."""
    return MEstimate(column, "huber", scale)


def m_estimate(column: str, psi: str | Callable[[float], float] = "huber", scale: Any = None) -> MEstimate:
    """The M-estimate of location for psi: "huber", "logcosh", or a bounded non-decreasing function of z = (x - m)/scale."""
    return MEstimate(column, psi, scale)
