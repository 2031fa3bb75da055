"""The notes' plain noise: coins, means of bits, Laplace vectors and what is said about their error."""

from __future__ import annotations

import math
from typing import Any

from sordino.course.textbook.verdict import TextbookVerdict, as_count, judge, parameters
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import LaplaceLaw

__all__ = ["rows"]


def two_coins() -> TextbookVerdict:
    """Heads: the truth; tails: a second coin. The four probabilities are counted."""
    truth, lie = 0.5 + 0.25, 0.25
    claimed, true = (math.log(3), 0.0), (max(abs(math.log(truth / lie)), abs(math.log((1 - truth) / (1 - lie)))), 0.0)
    return judge(("001", "1.1 two coins"), "loss ln 3", "as printed", "3/4 against 1/4", claimed=claimed, true=true)


def randomized_response(epsilon: Any = 1) -> TextbookVerdict:
    """Keep the bit with probability e^eps/(1 + e^eps)."""
    e, _ = parameters(epsilon)
    keep, flip = math.exp(e) / (math.exp(e) + 1), 1 / (math.exp(e) + 1)
    true = (abs(math.log(keep) - math.log(flip)), 0.0)
    return judge(("001", "1.2 randomized response"), "loss eps", "as printed", f"{keep:.4f}/{flip:.4f}", claimed=(e, 0.0), true=true)


def _slide_loss(shift: float) -> float:
    """The largest log-ratio of a Laplace law slid by so many scales: linear between its two kinks and flat beyond them."""
    return max(abs(z - shift) - abs(z) for z in (0.0, shift))


def _mean_delta(epsilon: float, smaller: int) -> float:
    """Tables of `smaller` and `smaller + 1` bits whose means differ by 1/(smaller + 1): in units of the narrower scale the slide is eps."""
    spread = math.log((smaller + 1) / smaller)
    return max(Dilation(LaplaceLaw(), epsilon, spread, wide_first=wide).delta(epsilon) for wide in (True, False))


def mean_add_one(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The proof cancels eps n/2 against eps n/2, but the longer table has eps (n+1)/2: two scales, so the loss has no end."""
    e, _ = parameters(epsilon)
    size = as_count(n, "n")
    evidence = f"n zeros against n zeros and a one, n = {size}: the log-ratio grows without end, and at eps delta is as shown"
    right = "n public and one bit replaced, or the two noisy sums of the ones and of the zeros, Lap(1/eps) each"
    true = (e, _mean_delta(e, size))
    return judge(("001", f"2.1 mean, add one, n={size}"), "mean + Lap(1/(eps n))", right, evidence, claimed=(e, 0.0), true=true)


def mean_change_one(epsilon: Any = 1) -> TextbookVerdict:
    """With n fixed both scales agree, and the slide is exactly eps scales."""
    e, _ = parameters(epsilon)
    true = (_slide_loss(e), 0.0)
    printed, evidence = "mean + Z/(n eps)", "one bit changed: the means differ by 1/n, eps scales"
    return judge(("004", "Laplace mean, change one"), printed, "as printed, n public", evidence, claimed=(e, 0.0), true=true)


def mean_any_change(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The same slides count adding and deleting a row as small changes; for those the formula fails as in note 001."""
    e, _ = parameters(epsilon)
    size = as_count(n, "n", 2)
    true = (e, max(_mean_delta(e, size), _mean_delta(e, size - 1)))
    evidence = f"n = {size}: one row deleted makes two scales; the proof's 1/n is right for a changed row only"
    where, right = ("004", "Laplace mean, delete one"), "as note 001 section 2.1"
    return judge(where, "mean + Z/(n eps)", right, evidence, claimed=(e, 0.0), true=true, reading="conditional")


def _laplace_variance(b: float) -> float:
    from scipy.integrate import quad

    return float(2 * b * b * quad(lambda z: z * z * math.exp(-z) / 2, 0, math.inf)[0])


def variance(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The scale b is called the variance."""
    e, _ = parameters(epsilon)
    b = 1 / (e * as_count(n, "n"))
    pair = (e, 0.0)
    return judge(
        ("001", "2 variance"),
        "Var Lap(b) = b",
        "2 b^2",
        f"integral of z^2 e^(-|z|/b)/(2b) at b = {b:g}",
        claimed=pair,
        true=pair,
        compares="variance",
        says=b,
        holds=_laplace_variance(b),
        want="equal",
    )


def risk(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The mean squared error lacks its factor two."""
    e, _ = parameters(epsilon)
    b, pair = 1 / (e * as_count(n, "n")), (e, 0.0)
    return judge(
        ("001", "2.2 risk"),
        "risk = 1/(eps^2 n^2)",
        "2/(eps^2 n^2)",
        "the same integral",
        claimed=pair,
        true=pair,
        compares="variance",
        says=b * b,
        holds=_laplace_variance(b),
        want="equal",
    )


def risk_condition(n: int = 10) -> TextbookVerdict:
    """eps < 1/n is asked for and never needed: (eps n)^2 Var is the same number on both sides of it."""
    size = as_count(n, "n")
    inside, outside = (eps_n**2 * _laplace_variance(1 / eps_n) for eps_n in (0.5, 50.0))
    pair = (0.5 / size, 0.0)
    evidence = f"(eps n)^2 Var = {inside:.6f} at eps = 1/(2n) and {outside:.6f} at eps = 50/n"
    return judge(
        ("001", "2.2 condition eps < 1/n"),
        "risk formula for eps < 1/n",
        "every eps > 0",
        evidence,
        claimed=pair,
        true=pair,
        compares="variance",
        says=inside,
        holds=outside,
        want="equal",
    )


def vector_laplace(epsilon: Any = 1, dimension: int = 3) -> TextbookVerdict:
    """L1 sensitivity over epsilon in every coordinate; a move along any split of the L1 ball reaches epsilon."""
    e, _ = parameters(epsilon)
    p = as_count(dimension, "dimension")
    true = (p * _slide_loss(e / p), 0.0)
    evidence = f"an equal move in {p} coordinates, their largest losses added"
    return judge(("001", "3 vector, L1"), "Lap(Delta_1/eps) each", "as printed", evidence, claimed=(e, 0.0), true=true)


def vector_composition(epsilon: Any = 1, dimension: int = 10) -> TextbookVerdict:
    """p Delta/eps is what composition needs; a histogram, where one person moves one coordinate, pays it p times over."""
    e, _ = parameters(epsilon)
    p = as_count(dimension, "dimension")
    true = (_slide_loss(e / p), 0.0)
    evidence = f"a histogram of {p} bins: one coordinate moves by eps/{p} scales; tight only if all coordinates move together"
    where = ("004", f"vector query, p={p}")
    return judge(where, "Lap(p Delta/eps) each", "Delta_1/eps, the L1 sensitivity", evidence, claimed=(e, 0.0), true=true)


def rows() -> list[TextbookVerdict]:
    """Every row of this file, at the parameters its evidence is usually quoted at."""
    return [
        two_coins(),
        randomized_response(),
        variance(),
        mean_add_one(n=10),
        mean_add_one(n=100),
        risk(),
        risk_condition(),
        vector_laplace(),
        mean_change_one(),
        mean_any_change(),
        vector_composition(),
    ]
