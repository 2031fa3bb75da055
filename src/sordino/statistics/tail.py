"""Tails of sums of independent noises in closed form, and the intervals one gets by turning them round."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Floats", "Tail", "boundary", "gaussian_tail", "laplace_tail", "radius", "ratio_interval"]

Floats = NDArray[np.float64]
Tail = Callable[[Sequence[Any], Any], Floats]
APART = 1.001  # neighbouring scales are pulled apart by a thousandth: the closed form divides by differences of their squares
SMALLEST = 1e-6


def laplace_tail(scales: Sequence[Any], w: Any) -> Floats:
    r"""P(|sum_i s_i Z_i| > w) for independent Laplace Z_i.

    Theorem. For distinct scales it is sum_i A_i e^{-w/s_i} with A_i = prod_{j != i} s_i^2/(s_i^2 - s_j^2). Raising a scale raises it.
    Proof. The characteristic function prod 1/(1 + s_i^2 u^2) splits into partial fractions A_i/(1 + s_i^2 u^2), each A_i times that of
    a Laplace law. A symmetric unimodal law spread out by a factor puts less mass on every centred interval, also after adding an
    independent symmetric unimodal law (Wintner). QED
    Equal or vanishing scales are therefore replaced by slightly larger ones: the tail is never understated.
    """
    w = np.maximum(np.asarray(w, float), 0.0)
    s = np.sort(np.stack(np.broadcast_arrays(*(np.abs(np.asarray(scale, float)) for scale in scales))), axis=0)
    s[:-1] = np.maximum(s[:-1], SMALLEST * s[-1])
    for i in range(1, len(s)):
        s[i] = np.maximum(s[i], APART * s[i - 1])
    total = np.zeros(np.broadcast_shapes(s.shape[1:], w.shape))
    for i in range(len(s)):
        weight = np.ones(s.shape[1:])
        for j in range(len(s)):
            if j != i:
                weight = weight * s[i] ** 2 / (s[i] ** 2 - s[j] ** 2)
        total = total + weight * np.exp(-w / s[i])
    return np.clip(total, 0.0, 1.0)


def gaussian_tail(scales: Sequence[Any], w: Any) -> Floats:
    """P(|sum_i s_i Z_i| > w) for independent standard normal Z_i."""
    from scipy.special import erfc

    spread = np.sqrt(sum(np.asarray(s, float) ** 2 for s in scales))
    return np.asarray(erfc(np.maximum(np.asarray(w, float), 0.0) / spread / math.sqrt(2)))


def radius(tail: Tail, scales: Sequence[float], level: float) -> float:
    """The least w with P(|sum s_i Z_i| > w) <= 1 - level."""
    low, high = 0.0, max(abs(s) for s in scales)
    while float(tail(scales, high)) > 1 - level:
        high *= 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if float(tail(scales, middle)) > 1 - level else (low, middle)
    return high


def boundary(accept: Callable[[Floats], Any], inside: Floats, outside: Floats) -> Floats:
    """Walk from an accepted point towards a rejected one, in every coordinate at once; where the far end is accepted, go there."""
    far = np.asarray(accept(outside), bool)
    near, away = inside.copy(), outside.copy()
    for _ in range(36):
        middle = (near + away) / 2
        held = np.asarray(accept(middle), bool)
        near, away = np.where(held, middle, near), np.where(held, away, middle)
    return np.where(far, outside, np.where(np.asarray(accept(inside), bool), away, inside))


def ratio_interval(
    up: Floats, down: Floats, scales: Callable[[Floats], Sequence[Any]], tail: Tail, *, slop: float, level: float
) -> tuple[Floats, Floats, Floats]:
    r"""The share t = up/(up + down) of two noisy non-negative totals, with the interval of all t that the data do not contradict.

    Theorem. At the true share t the number (1 - t) up - t down is pure noise, with the public law of `scales(t)`; the t whose tail is
    at least 1 - level therefore cover the truth with probability `level`.
    Proof. (1 - t) A - t B = 0 for the totals A = t N, B = (1 - t) N. QED
    """
    share = np.clip(up / np.maximum(up + down, 1.0), 0.0, 1.0)

    def accept(t: Floats) -> Any:
        return tail(scales(t), np.abs((1 - t) * up - t * down) - slop) >= 1 - level

    return share, boundary(accept, share, np.zeros_like(share)), boundary(accept, share, np.ones_like(share))
