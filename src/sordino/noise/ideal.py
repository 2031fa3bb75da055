"""The quantile of each law to any precision: the second opinion that makes a rounded draw exact.

`magnitude(law, cell, bits)` brackets the z whose two-sided tail probability lies between cell and cell + 1 over 2^bits. The float
quantiles of `privacy.law` are trusted to SLACK only after `self_check` has compared them with these.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from fractions import Fraction
from functools import lru_cache
from typing import Any

import numpy as np

from sordino.errors import QueryError, SordinoError
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw, StudentT

__all__ = ["SLACK", "exactly", "in_floats", "magnitude", "self_check"]

SLACK = 2.0**-42  # relative slack granted to a float quantile
CHECKED = 2.0**-46  # what the self-check demands, sixteen times tighter
FARTHEST = 2.0**255  # times the least scale of the float pass this is far beyond any integer a double can settle

_alone = threading.RLock()
os.register_at_fork(before=_alone.acquire, after_in_parent=_alone.release, after_in_child=_alone.release)


@lru_cache(maxsize=1)
def _context() -> Any:
    import mpmath

    return mpmath.MPContext()


@contextmanager
def exactly(bits: int) -> Iterator[Any]:
    """mpmath at this precision, one thread at a time: its precision and its tables of constants belong to the whole process."""
    with _alone, _context().workprec(bits):
        yield _context()


def in_floats(scale: Fraction) -> float:
    """A scale for the float pass. Beyond these limits every draw that is not settled anyway is refined with the exact scale."""
    return float(min(max(scale, Fraction(1, 2**200)), Fraction(2**200)))


def _fraction(mp: Any, value: Fraction) -> Any:
    return mp.mpf(value.numerator) / mp.mpf(value.denominator)


def _power_law(mp: Any, law: PowerLaw, v: Any) -> Any:
    a, beta = _fraction(mp, law.a), _fraction(mp, law.beta)
    peak = (1 - 1 / a) ** a
    beyond = peak / (1 - 1 / a) * (1 + 1 / a)
    mass = 1 - peak + beyond
    if v * mass <= beyond:
        constant = (1 - 1 / a) ** (a - 1) * (1 + 1 / a) ** (a + 1)
        return ((v * mass / constant) ** (-1 / a) - 1) / beta
    return (1 - (1 - (1 - v) * mass) ** (1 / a)) / beta


def _student_t(mp: Any, nu: int, v: Any) -> Any:
    if nu == 1:
        return mp.cot(mp.pi * v / 2)
    root = mp.sqrt(v * (2 - v))
    if nu == 2:
        return mp.sqrt(2) * (1 - v) / root
    third = mp.atan2(1 - v, root) / 3
    return 2 * mp.sqrt(2 * mp.sin(2 * third) * mp.sin(third) / root)


def _generalized_cauchy(mp: Any, law: GeneralizedCauchy, v: Any) -> Any:
    """Newton's method on the tail, safeguarded by bisection; the tail is strictly decreasing."""
    g = _fraction(mp, law.gamma)

    def tail(z: Any) -> Any:
        if z < 1:
            return 1 - mp.betainc(1 / g, 1 - 1 / g, 0, z**g / (1 + z**g), regularized=True)
        return mp.betainc(1 - 1 / g, 1 / g, 0, 1 / (1 + z**g), regularized=True)

    density = g * mp.sin(mp.pi / g) / mp.pi
    start = law.magnitude(max(float(v), 1e-300)).item()
    far = start > 1e9  # there the tail is density z^{1-g}/(g-1) to leading order, and Newton's steps from a poor start are too short
    low, high, z = mp.mpf(0), mp.inf, (density / (v * (g - 1))) ** (1 / (g - 1)) if far else mp.mpf(start)
    for _ in range(4 * mp.prec):
        gap = tail(z) - v
        low, high = (z, high) if gap > 0 else (low, z)
        step = gap * (1 + z**g) / density
        following = z + step
        if not low < following < high:
            following = (low + high) / 2 if high != mp.inf else 2 * z
        if abs(following - z) <= abs(z) * mp.mpf(2) ** (24 - mp.prec):
            return following
        z = following
    raise SordinoError("SRD-108", "the quantile of the generalised Cauchy law did not converge.")


def _one(mp: Any, law: Any, v: Any) -> Any:
    if v == 0:
        return mp.inf
    match law:
        case LaplaceLaw():
            return -mp.log(v)
        case GaussianLaw():
            return mp.sqrt(2) * mp.erfinv(1 - v)
        case StudentT():
            return _student_t(mp, law.nu, v)
        case PowerLaw():
            return _power_law(mp, law, v)
        case GeneralizedCauchy():
            return _generalized_cauchy(mp, law, v)
    raise QueryError("SRD-108", f"the law {law.name} has no exact sampler.", "Certify and plot it, or release with another noise.")


def magnitude(law: Any, cell: int, bits: int) -> tuple[Any, Any]:
    """Bounds on |Z| when the tail probability lies in [cell, cell+1] / 2^bits, as mpmath numbers of sufficient precision."""
    with exactly(3 * bits + 120) as mp:  # erfinv and 1 - (..)^(1/a) lose up to `bits` bits near the ends
        unit = mp.mpf(2) ** -bits
        wide = mp.mpf(2) ** -(bits + 20)
        small, large = _one(mp, law, (cell + 1) * unit), _one(mp, law, cell * unit)
        return max(mp.mpf(0), small * (1 - wide) - wide), large * (1 + wide) + wide


@lru_cache(maxsize=256)
def self_check(law: Any) -> None:
    """Compare this machine's float quantiles with mpmath's on a spread of probabilities, once per law and process."""
    tails = [2.0**-52, 2.0**-40, 2.0**-20, *np.linspace(0.003, 0.997, 19).tolist(), 1 - 2.0**-12, 1 - 2.0**-30, 1 - 2.0**-52]
    values = law.magnitude(np.array(tails))
    with exactly(240) as mp:
        for v, value in zip(tails, values, strict=True):
            truth = _one(mp, law, mp.mpf(v))
            beyond = truth > FARTHEST and value > FARTHEST / 2  # never settled in floats
            if not (beyond or abs(mp.mpf(float(value)) - truth) <= abs(truth) * CHECKED * law.strain):
                what = f"this machine's arithmetic is not accurate enough for the law {law.name}."
                raise SordinoError("SRD-108", what, "Run on hardware with IEEE 754 doubles and a current libm.")
