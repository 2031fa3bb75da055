"""The public law of the noise in a count or a sum, in the unit of the answer: on cells, and as fresh draws for a simulation."""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sordino.privacy.law import output_grid
from sordino.statistics.added import Added
from sordino.statistics.column_sum import SumStep
from sordino.statistics.row_count import CountStep

__all__ = ["NoiseWeight", "step_noise", "uniforms"]


def uniforms(seed: bytes, shape: tuple[int, ...]) -> NDArray[np.float64]:
    """Even numbers between 0 and 1, neither included, by extending a public seed: for simulations, never for noise of an answer."""
    whole = np.frombuffer(hashlib.shake_128(seed).digest(4 * math.prod(shape)), np.uint32).reshape(shape)
    return (whole + 0.5) / 2**32


FAR = 32  # scales beyond which a Laplace law has no mass worth counting: e^-32


@dataclass(frozen=True)
class NoiseWeight:
    """The law of one additive draw in the statistic's own unit: whole multiples of `unit` for the discrete law, and a rounding error."""

    scale: float
    unit: float = 1.0
    discrete: bool = False
    slop: float = 0.0
    gaussian: bool = False

    @property
    def variance(self) -> float:
        return self.scale**2 * (1 if self.gaussian else 2)

    def draws(self, seed: bytes, shape: tuple[int, int]) -> NDArray[np.float64]:
        """Draws of this law for a simulation, the same for the same seed, with an even error of rounding."""
        from scipy.special import ndtri

        first, second, third = uniforms(seed, (3, *shape))
        if self.discrete:
            stay = -self.unit / self.scale
            drawn = (np.floor(np.log(first) / stay) - np.floor(np.log(second) / stay)) * self.unit
        else:
            drawn = self.scale * (ndtri(first) if self.gaussian else np.log(first / second))
        return np.asarray(drawn + (2 * third - 1) * self.slop)

    def spans(self, whole: float, half: float) -> bool:
        """Whether an interval of this length is one of this law's, whose half-width is known: an answer may be older than a declaration."""
        return abs(whole - 2 * half) <= 1e-6 * half + 2 * (self.unit + self.slop)

    def cells(self, weight: float, width: float) -> NDArray[np.float64]:
        """The law of weight times this noise on cells of a width, symmetric around the middle one."""
        from scipy.special import erfc

        reach = math.ceil(FAR * weight * self.scale / width) + 1
        if not self.discrete:
            ends = (np.arange(reach + 1) + 0.5) * width / (weight * self.scale)
            above = 0.5 * erfc(ends / math.sqrt(2)) if self.gaussian else np.exp(-ends) / 2
            side = np.concatenate([[1 - 2 * above[0]], above[:-1] - above[1:]])
        else:
            ratio = self.unit / self.scale
            k = np.arange(math.ceil(FAR / ratio) + 1)
            chance = math.tanh(ratio / 2) * np.exp(-k * ratio)
            at = np.rint(k * weight * self.unit / width).astype(np.int64)
            side = np.bincount(at, chance, minlength=reach + 1)
            side[0] += chance[1:][at[1:] == 0].sum()  # both signs of whatever falls into the middle
        return np.concatenate([side[:0:-1], side])


def step_noise(step: Any) -> NoiseWeight | None:
    """The public noise of a count or of a sum; None where a step draws something else."""
    if not isinstance(step, CountStep | SumStep):
        return None
    unit, cut = 1.0, 0.0
    if isinstance(step, SumStep):
        unit = float(step.grid.step / step.unit)
        cut = 0.0 if step.unit.denominator == 1 else unit
    whole = isinstance(step.noise, Added) and step.noise.discrete
    rounding = 0.0 if whole else output_grid(step.noise.scale) * unit / 2
    return NoiseWeight(float(step.noise.scale) * unit, unit, whole, rounding + cut, not isinstance(step.noise, Added))
