"""The notes' plain noise: coins, means of bits, Laplace vectors, Gaussian formulas and what is said about their error."""

from __future__ import annotations

import math
from typing import Any

from sordino.mechanisms.textbook.verdict import TextbookVerdict, as_count, first_failure, judge, pure_or_approximate
from sordino.privacy.cost import gaussian_delta
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import LaplaceLaw

__all__ = ["rows"]

EXACT = "least sigma with Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta, mu = Delta/sigma (Balle and Wang 2018)"


def two_coins() -> TextbookVerdict:
    """Heads: the truth; tails: a second coin. The four probabilities are counted."""
    truth, lie = 0.5 + 0.25, 0.25
    claimed, true = (math.log(3), 0.0), (max(abs(math.log(truth / lie)), abs(math.log((1 - truth) / (1 - lie)))), 0.0)
    return judge(("001", "1.1 two coins"), "loss ln 3", "as printed", "3/4 against 1/4", claimed=claimed, true=true)


def randomized_response(epsilon: Any = 1) -> TextbookVerdict:
    """Keep the bit with probability e^eps/(1 + e^eps)."""
    e, _ = pure_or_approximate(epsilon)
    keep, flip = math.exp(e) / (math.exp(e) + 1), 1 / (math.exp(e) + 1)
    true = (abs(math.log(keep) - math.log(flip)), 0.0)
    return judge(("001", "1.2 randomized response"), "loss eps", "as printed", f"{keep:.4f}/{flip:.4f}", claimed=(e, 0.0), true=true)


def _mean_delta(epsilon: float, smaller: int) -> float:
    """Tables of `smaller` and `smaller + 1` bits whose means differ by 1/(smaller + 1): in units of the narrower scale the slide is eps."""
    spread = math.log((smaller + 1) / smaller)
    return max(Dilation(LaplaceLaw(), epsilon, spread, wide_first=wide).delta(epsilon) for wide in (True, False))


def mean_add_one(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The proof cancels eps n/2 against eps n/2, but the longer table has eps (n+1)/2: two scales, so the loss has no end."""
    e, _ = pure_or_approximate(epsilon)
    size = as_count(n, "n")
    evidence = f"n zeros against n zeros and a one, n = {size}: the log-ratio grows without end, and at eps delta is as shown"
    right = "n public and one bit replaced, or the two noisy sums of the ones and of the zeros, Lap(1/eps) each"
    true = (e, _mean_delta(e, size))
    return judge(("001", f"2.1 mean, add one, n={size}"), "mean + Lap(1/(eps n))", right, evidence, claimed=(e, 0.0), true=true)


def mean_change_one(epsilon: Any = 1) -> TextbookVerdict:
    """With n fixed both scales agree, and the slide is exactly eps scales."""
    e, _ = pure_or_approximate(epsilon)
    true = (Dilation(LaplaceLaw(), e, 0.0).sup(), 0.0)
    printed, evidence = "mean + Z/(n eps)", "one bit changed: the means differ by 1/n, eps scales"
    return judge(("004", "Laplace mean, change one"), printed, "as printed, n public", evidence, claimed=(e, 0.0), true=true)


def mean_any_change(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The same slides count adding and deleting a row as small changes; for those the formula fails as in note 001."""
    e, _ = pure_or_approximate(epsilon)
    size = as_count(n, "n", 2)
    true = (e, max(_mean_delta(e, size), _mean_delta(e, size - 1)))
    evidence = f"n = {size}: one row deleted makes two scales; the proof's 1/n is right for a changed row only"
    where = ("004", "Laplace mean, delete one")
    return judge(where, "mean + Z/(n eps)", "as note 001 section 2.1", evidence, claimed=(e, 0.0), true=true)


def _laplace_variance(b: float) -> float:
    from scipy.integrate import quad

    return float(2 * b * b * quad(lambda z: z * z * math.exp(-z) / 2, 0, math.inf)[0])


def variance(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The scale b is called the variance."""
    e, _ = pure_or_approximate(epsilon)
    b = 1 / (e * as_count(n, "n"))
    holds, pair = _laplace_variance(b), (e, 0.0)
    evidence, asked = f"integral of z^2 e^(-|z|/b)/(2b) at b = {b:g}", {"compares": "variance", "want": "equal"}
    return judge(("001", "2 variance"), "Var Lap(b) = b", "2 b^2", evidence, claimed=pair, true=pair, says=b, holds=holds, **asked)  # type: ignore[arg-type]


def risk(epsilon: Any = 1, n: int = 10) -> TextbookVerdict:
    """The mean squared error lacks its factor two."""
    e, _ = pure_or_approximate(epsilon)
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
    e, _ = pure_or_approximate(epsilon)
    p = as_count(dimension, "dimension")
    true = (p * Dilation(LaplaceLaw(), e / p, 0.0).sup(), 0.0)
    evidence = f"an equal move in {p} coordinates, their largest losses added"
    return judge(("001", "3 vector, L1"), "Lap(Delta_1/eps) each", "as printed", evidence, claimed=(e, 0.0), true=true)


def vector_composition(epsilon: Any = 1, dimension: int = 10) -> TextbookVerdict:
    """p Delta/eps is what composition needs; a histogram, where one person moves one coordinate, pays it p times over."""
    e, _ = pure_or_approximate(epsilon)
    p = as_count(dimension, "dimension")
    true = (Dilation(LaplaceLaw(), e / p, 0.0).sup(), 0.0)
    evidence = f"a histogram of {p} bins: one coordinate moves by eps/{p} scales; tight only if all coordinates move together"
    where = ("004", f"vector query, p={p}")
    return judge(where, "Lap(p Delta/eps) each", "Delta_1/eps, the L1 sensitivity", evidence, claimed=(e, 0.0), true=true)


def _tight_mu(epsilon: float, delta: float) -> float:
    """The mean shift over sigma whose exact delta is the given one."""
    from scipy.optimize import brentq

    return float(brentq(lambda mu: math.log(gaussian_delta(mu, epsilon) / delta), 1e-3 * epsilon / math.sqrt(math.log(3 / delta)), 1e3))


def _upper_tail(t: float) -> float:
    return math.erfc(t / math.sqrt(2)) / 2


def loss_probability(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """(eps, delta) is not eps with probability 1 - delta, let alone 1/(1 - delta), which exceeds one."""
    e, d = pure_or_approximate(epsilon, delta)
    mu = _tight_mu(e, d)
    exceeds = _upper_tail(e / mu - mu / 2)
    evidence = f"the tightest Gaussian at this claim has P(loss > eps) = {exceeds:.3g} = {exceeds / d:.1f} delta"
    right = "P(loss > eps) <= delta implies (eps, delta); the converse is false"
    printed = "eps-DP with probability 1/(1 - delta)"
    where, pair = ("001", "5 meaning of delta"), (e, d)
    return judge(where, printed, right, evidence, claimed=pair, true=pair, compares="P(loss>eps)", says=d, holds=exceeds)


def delta_below_one_over_n(n: int = 1000) -> TextbookVerdict:
    """Publishing every row with probability delta is (0, delta)-DP, and at delta near 1/n it usually publishes somebody."""
    size = as_count(n, "n", 2)
    d = 0.99 / size
    somebody, pair = -math.expm1(size * math.log1p(-d)), (0.0, d)
    evidence = f"n = {size}, delta = {d:.3g}: somebody's row is published with probability {somebody:.3f}"
    where, printed, right = ("001", "5 delta below 1/n"), "delta < 1/n is enough", "delta far below 1/n: n delta is the chance"
    return judge(where, printed, right, evidence, claimed=pair, true=pair, compares="P(somebody)", says=d, holds=somebody)


def gaussian_garbled(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """c^2 took the place of c: twice the noise at small epsilon, and still no guarantee at large epsilon."""
    e, d = pure_or_approximate(epsilon, delta)
    factor = math.sqrt(math.sqrt(2 * math.log(1.25 / d)) * math.log(1 / d))
    breaks = first_failure(lambda x: gaussian_delta(x / factor, x) - d, 0.1, 1e3)
    evidence = f"sigma {factor / e:.2f} where {1 / _tight_mu(e, d):.2f} is enough; broken from eps = {breaks:.1f} on at this delta"
    where, printed = ("001", "5 sigma"), "sigma = Delta sqrt(c ln(1/delta))/eps, c^2 >= 2 ln(1.25/delta)"
    return judge(where, printed, EXACT, evidence, claimed=(e, d), true=(e, gaussian_delta(e / factor, e)))


def _classic(delta: float) -> float:
    return math.sqrt(2 * math.log(2 / delta))


def gaussian_small_epsilon(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The claim is restricted to eps <= 1 and holds there, with 1.3 times the noise it needs."""
    e, d = pure_or_approximate(epsilon, delta)
    evidence = f"sigma {_classic(d) / e:.3f} where {1 / _tight_mu(e, d):.3f} is enough"
    printed, true = "N(0, 2 Delta^2 ln(2/delta)/eps^2), eps <= 1", (e, gaussian_delta(e / _classic(d), e))
    return judge(("003", "Gaussian mechanism"), printed, EXACT, evidence, claimed=(e, d), true=true)


def gaussian_tail(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The last step squares t without halving; with the tail bound stated one line above, the proof gives (delta/2)^(9/16)."""
    e, d = pure_or_approximate(epsilon, delta)
    t = 3 / (2 * math.sqrt(2)) * math.sqrt(math.log(2 / d))
    evidence = f"P(Z > {t:.3f}) is as shown; exp(-t^2/2) = {math.exp(-t * t / 2):.2g} is what the proof proves"
    return judge(
        ("003", "Gaussian proof, tail"),
        "P(Z > t sigma) <= exp(-t^2)",
        "exp(-t^2/2)",
        evidence,
        claimed=(e, d),
        true=(e, gaussian_delta(e / _classic(d), e)),
        compares="P(BAD)",
        says=math.exp(-t * t),
        holds=_upper_tail(t),
    )


def gaussian_any_epsilon(epsilon: Any = 10, delta: Any = 1e-6) -> TextbookVerdict:
    """sigma falls like 1/eps, but a Gaussian needs 1/sqrt(2 eps): without a range for eps the formula is wrong."""
    e, d = pure_or_approximate(epsilon, delta)
    breaks = first_failure(lambda x: gaussian_delta(x / _classic(d), x) - d, 0.1, 1e3)
    evidence = f"broken from eps = {breaks:.3f} on at this delta"
    printed, true = "sigma >= Delta_2 sqrt(2 ln(2/delta))/eps", (e, gaussian_delta(e / _classic(d), e))
    return judge(("004", f"Gaussian, eps={e:g}"), printed, EXACT, evidence, claimed=(e, d), true=true)


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
        loss_probability(),
        delta_below_one_over_n(),
        gaussian_garbled(),
        gaussian_small_epsilon(),
        gaussian_tail(),
        mean_change_one(),
        mean_any_change(),
        gaussian_any_epsilon(),
        vector_composition(),
    ]
