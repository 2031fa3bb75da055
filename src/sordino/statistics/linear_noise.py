"""The law of a weighted sum of independent public noises: how far it reaches with a given probability, and sums of noisy bins."""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["sum_radius"]

POINTS = 2**13  # cells of the law
FAR = 24.0  # standard deviations it is spread over, on either side
Floats = NDArray[np.float64]


def sum_radius(laplace: Floats, gaussian: float, level: float) -> float:
    r"""Within how much sum_j b_j L_j + s Z lies with probability `level`, for Laplace L_j of scales b_j and a normal Z of deviation s.

    Theorem. The answer is at least the exact one, up to the mass beyond 24 deviations, which is below 1e-14.
    Proof. The characteristic function is prod 1/(1 + b_j^2 t^2) e^{-s^2 t^2/2}; its values at the frequencies of a period of 48 deviations
    are the Fourier coefficients of the law wrapped around it, from which the mass of each cell follows. Two cells are added. QED
    Whole noise of a discrete law has a smaller tail than its continuous one, as its moment generating function is smaller.
    """
    scales = np.abs(np.asarray(laplace, float))
    scales = scales[scales > 0]
    if len(scales) == 0:
        from scipy.special import ndtri

        return float(gaussian * ndtri((1 + level) / 2))
    if len(scales) == 1 and gaussian == 0:
        return float(scales[0] * math.log(1 / (1 - level)))
    unit = math.sqrt(2 * float(scales @ scales) + gaussian**2)
    kinds, times = np.unique(np.round(scales / unit, 9), return_counts=True)
    return unit * _standard(tuple(kinds.tolist()), tuple(times.tolist()), round(gaussian / unit, 9), level)


@lru_cache(maxsize=4096)
def _standard(scales: tuple[float, ...], times: tuple[int, ...], gaussian: float, level: float) -> float:
    """The same for a sum of variance one: the mass of cells by the sinc of each coefficient, added up from the middle."""
    width = 2 * FAR / POINTS
    k = np.arange(1, 4 * POINTS)
    t = k * math.pi / FAR
    log = -0.5 * (gaussian * t) ** 2
    for scale, often in zip(scales, times, strict=True):
        log -= often * np.log1p((scale * t) ** 2)
    phi = np.exp(log)
    kept = phi > 1e-13
    k, t, phi = k[kept], t[kept], phi[kept]
    # P(|S| <= w) on the wrapped law: w/FAR + sum_k phi_k 2 sin(t_k w)/(t_k FAR)
    low, high = 0.0, FAR
    for _ in range(40):
        middle = (low + high) / 2
        inside = middle / FAR + float(np.sum(phi * 2 * np.sin(t * middle) / (t * FAR)))
        low, high = (middle, high) if inside < level else (low, middle)
    return high + 2 * width
