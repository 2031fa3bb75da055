"""How far the least-squares coefficients of a table can lie from what was drawn: an ellipsoid, from the public noise alone."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from sordino.mechanisms.normal_equations import Equations

__all__ = ["extent"]

Floats = NDArray[np.float64]


def extent(drawn: Equations, directions: Floats, level: float) -> tuple[Floats, Floats]:
    r"""Ends of every directions @ t at once, t any solution of X'X t = X'y; infinite where the noise hides the curvature.

    Theorem. With A, b the drawn X'X and X'y, sA and sb their noise and q the chi-squared quantile of the level with d degrees of freedom,
    t lies with at least that probability where |A t - b|^2 <= q (2 sA^2 |t|^2 + sb^2), an ellipsoid if A^2 - 2 q sA^2 is positive definite.
    Proof. A t - b = E t - e is Gaussian with covariance C = (sb^2 + sA^2 |t|^2) I + sA^2 t t', at most (sb^2 + 2 sA^2 |t|^2) I. Its squared
    length in units of C is chi-squared with d degrees of freedom, and no smaller than |A t - b|^2/(sb^2 + 2 sA^2 |t|^2). Writing
    H = A^2 - 2 q sA^2 I and c = H^-1 A b the set is (t - c)' H (t - c) <= c' H c - |b|^2 + q sb^2. QED
    """
    from scipy.special import chdtri

    A, b = np.array(drawn.square), np.array(drawn.moment)
    first, second, _ = drawn.noise
    q = float(chdtri(len(b), 1 - level))
    curve = A @ A - 2 * q * first**2 * np.eye(len(b))
    values = np.linalg.eigvalsh(curve)
    if values[0] <= 1e-9 * max(values[-1], 1e-300):
        far = np.full(len(directions), math.inf)
        return -far, far
    inverse = np.linalg.inv(curve)
    centre = inverse @ (A @ b)
    room = max(float(centre @ curve @ centre - b @ b + q * second**2), 0.0)
    half = np.sqrt(room * np.einsum("ij,jk,ik->i", directions, inverse, directions))
    return directions @ centre - half, directions @ centre + half
