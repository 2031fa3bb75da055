"""The notes' private estimators as printed: ridge by L/lambda_min, descent with half its noise, noise by a gross error sensitivity."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from sordino.course.textbook.verdict import TextbookVerdict, as_count, judge, parameters
from sordino.privacy.certificate import LaplaceShift
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw

__all__ = ["descent", "plug_in", "ridge_bound", "ridge_lipschitz", "rows"]


def ridge_bound(epsilon: Any = 1, n: int = 1000) -> TextbookVerdict:
    """The note leaves L open. Read as |x||y| = 1 it is too small: a row (1, -1) at theta = 10 has gradient 11."""
    e, _ = parameters(epsilon)
    size = as_count(n, "n")
    moved, curvature = _leverage(size)
    bound = 1 / curvature
    true = LaplaceShift(e * float(moved / bound)).sup()
    example = f"|x|, |y| <= 1, {size:,} rows (0.1, 1), one row (1, -1): theta moves by {float(moved):g}, L/lambda_min is {float(bound):g}"
    right = "L = |x| (|y| + |x| |theta|) with |theta| bounded beforehand, over lambda + lambda_min"
    where, printed = ("000", "13.1.2 bound"), "noise for L/lambda_min(X'X)"
    return judge(where, printed, right, example, claimed=(e, 0.0), true=(true, 0.0), reading="incomplete")


def ridge_lipschitz(n: int = 1000) -> TextbookVerdict:
    """Read as the slope of the loss at theta, L = |x| (|y| + |x| |theta|), the bound covers the move; but this L contains theta."""
    size = as_count(n, "n")
    moved, curvature = _leverage(size)
    bound = (1 + Fraction(10)) / curvature
    example = f"the same rows: L = 1 + |theta| = 11, L/lambda_min = {float(bound):g}, theta moves by {float(moved):g}"
    numbers: dict[str, Any] = {"compares": "move", "says": float(bound), "holds": float(moved)}
    where, right = ("000", "13.1.2 bound, L the slope"), "|theta| bounded beforehand"
    return judge(where, "move <= L/lambda_min(X'X)", right, example, claimed=(0.0, 0.0), true=(0.0, 0.0), **numbers)


def _leverage(size: int) -> tuple[Fraction, Fraction]:
    """How far one row (1, -1) moves the slope of many rows (0.1, 1), theta = 10, and their curvature."""
    curvature, theta = Fraction(size, 100), Fraction(10)
    return abs((-1 - theta) / (curvature + 1)), curvature


def descent(epsilon: Any = 1, steps: int = 10) -> TextbookVerdict:
    """A replaced row far to one side moves its term from B to -B at every step: 2B/n, and the noise of scale B T/(eps n) sees 2 eps/T."""
    e, _ = parameters(epsilon)
    rounds = as_count(steps, "steps")
    true = rounds * LaplaceShift(2 * e / rounds).sup()
    evidence = f"T = {rounds}, one row from far left to far right: each step slides 2 eps/T scales, the losses of independent draws add up"
    printed, right = "noise eta B T/(eps n) per step", "2 B T/(eps n) for replaced rows, B T/eps on the sum for added ones"
    return judge(("004", "descent, noise"), printed, right, evidence, claimed=(e, 0.0), true=(true, 0.0))


def plug_in(epsilon: Any = 1, delta: Any = 1e-6, n: int = 101, reach: float = 100.0) -> TextbookVerdict:
    r"""Huber location with c = 1 on (n-1)/2 rows at -H, as many at H, and one in the middle that a neighbour moves to H.

    With the row in the middle T = 0, one row lies within c, and the gross error sensitivity is n. After the move the balance
    (n+1)/2 (H - T) = (n-1)/2 gives T = H - (n-1)/(n+1); now (n+1)/2 rows lie within c and the sensitivity is 2n/(n+1). Both the centre
    and the width of the Gaussian noise jump, at every n.
    """
    e, d = parameters(epsilon, delta)
    size = as_count(n, "n", 3)
    unit = 5 * math.sqrt(2 * math.log(size) * math.log(2 / d)) / (e * size)
    wide, narrow = size * unit, 2 * size / (size + 1) * unit
    slide = (reach - (size - 1) / (size + 1)) / narrow
    true = max(Dilation(GaussianLaw(), slide, math.log(wide / narrow), wide_first=first).delta(e) for first in (True, False))
    evidence = f"n = {size:,}, rows at -{reach:g}, 0 and {reach:g}: noise of deviation {wide:.4g} on one table, {narrow:.4g} on the other"
    printed, right = "T + GES 5 sqrt(2 ln n ln(2/delta))/(eps n) Z", "a smooth bound, noisy descent, or a test of the curvature"
    return judge(("004", f"Avella-Medina, n={size}"), printed, right, evidence, claimed=(e, d), true=(e, true), reading="conditional")


def rows() -> list[TextbookVerdict]:
    """Every row of this file, at the parameters its evidence is usually quoted at."""
    return [ridge_bound(), ridge_lipschitz(), descent(), plug_in(), plug_in(n=100_001)]
