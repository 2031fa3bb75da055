"""A figure of many releases with its standard error, and what may be said of the figures of one row.

Theorem. Let x_(1) <= ... <= x_(n) be the errors of n releases, and w_k the probability of ((k - 1)/n, k/n] under the Beta law with both
parameters (n + 1)/2. The median of n values resampled from them is x_(k) with probability w_k (n odd; for n even the two middle ones lie
so close that their mean has this law too, up to 1/n). Its standard deviation is the bootstrap's standard error of the median, with no
draw and no seed. (Maritz and Jarrett, 1978.)
Proof. The middle of n uniform values has that Beta law, and x_(k) is the quantile of the resampled law on ((k - 1)/n, k/n]. QED
Ties are in it: where more than half of the errors are one number, and by far, it is 0, as it should be.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import betainc

BEYOND = 2.0  # standard errors of a difference: one pair of equal laws in twenty-two is called different
CLOCK = 1.1  # measured once: by what factor two times or sizes have to differ
FAR = 4.0  # standard errors: a figure of ours so far from its own law is a mistake in the bench or in the library


@dataclass(frozen=True)
class Figure:
    """A number, its standard error, and how many releases stand behind it. Measured once where there is no standard error."""

    value: float
    error: float | None = None
    draws: int = 1


def median(values: Sequence[float]) -> Figure:
    x = np.sort(np.asarray(values, float))
    n = len(x)
    weights = np.diff(betainc((n + 1) / 2, (n + 1) / 2, np.arange(n + 1) / n))
    centred = x - np.median(x)
    spread = float(weights @ centred**2 - (weights @ centred) ** 2)
    return Figure(float(np.median(x)), math.sqrt(max(spread, 0.0)), n)


def mean(values: Sequence[float]) -> Figure:
    x = np.asarray(values, float)
    return Figure(float(x.mean()), float(x.std(ddof=1)) / math.sqrt(len(x)) if len(x) > 1 else None, len(x))


@dataclass(frozen=True)
class Verdict:
    """Lost, tied, won or alone; the peer that decides it, how many times better the better one is, and by how many standard errors."""

    kind: str
    rival: str = ""
    factor: float = 1.0
    apart: float | None = None


def verdict(row: Mapping[str, Any]) -> Verdict:
    """Lost: some peer is better beyond chance; of several the best of them. Won: we are better than each of them beyond chance."""
    own, others = row["values"].get("sordino"), {name: value for name, value in row["values"].items() if name != "sordino"}
    if own is None or not others:
        return Verdict("alone")
    ahead, behind, even = [], [], []
    for name in sorted(others, key=others.__getitem__, reverse=not row["lower_is_better"]):  # the best first
        apart, factor = _apart(row, name), _factor(own, others[name])
        better = (others[name] < own) == row["lower_is_better"]
        decided = factor > CLOCK if apart is None else apart > BEYOND
        (even if own == others[name] or not decided else ahead if better else behind).append(Verdict("", name, factor, apart))
    kind, of = ("lost", ahead) if ahead else ("tied", even) if even else ("won", behind)
    return Verdict(kind, of[0].rival, of[0].factor, of[0].apart)


def _apart(row: Mapping[str, Any], name: str) -> float | None:
    """How many standard errors of their difference lie between ours and theirs; None where either was measured once."""
    errors = row.get("errors", {})
    if "sordino" not in errors or name not in errors:
        return None
    far, error = abs(row["values"]["sordino"] - row["values"][name]), math.hypot(errors["sordino"], errors[name])
    return far / error if error else math.inf if far else 0.0


def _factor(own: float, theirs: float) -> float:
    small, large = sorted((abs(own), abs(theirs)))
    return 1.0 if small == large else large / small if small else math.inf


def follows(row: Mapping[str, Any]) -> bool:
    """Whether our figure is the one its law says, where that is known."""
    own = row["values"].get("sordino")
    if own is None or row.get("law") is None:
        return True
    return bool(abs(own - row["law"]) <= FAR * row["errors"]["sordino"] + 1e-3 * abs(row["law"]))  # kept with four digits
