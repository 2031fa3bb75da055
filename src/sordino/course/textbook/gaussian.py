"""What the notes say about delta, and their Gaussian formulas."""

from __future__ import annotations

import math
from typing import Any

from sordino.course.textbook.verdict import TextbookVerdict, as_count, first_failure, judge, parameters
from sordino.privacy.cost import gaussian_delta

__all__ = ["rows"]

EXACT = "least sigma with Phi(mu/2 - eps/mu) - e^eps Phi(-mu/2 - eps/mu) <= delta, mu = Delta/sigma (Balle and Wang 2018)"


def _tight_mu(epsilon: float, delta: float) -> float:
    """The mean shift over sigma whose exact delta is the given one; delta grows with it."""
    low, high = 0.0, 1e4
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def _upper_tail(t: float) -> float:
    return math.erfc(t / math.sqrt(2)) / 2


def loss_probability(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """(eps, delta) is not eps with probability 1 - delta, let alone 1/(1 - delta), which exceeds one."""
    e, d = parameters(epsilon, delta)
    mu = _tight_mu(e, d)
    exceeds = _upper_tail(e / mu - mu / 2)
    evidence = f"the tightest Gaussian at this claim has P(loss > eps) = {exceeds:.3g} = {exceeds / d:.1f} delta"
    right = "P(loss > eps) <= delta implies (eps, delta); the converse is false"
    printed = f"eps-DP with probability 1/(1 - delta) = {1 / (1 - d):.7g}, above one"
    where, pair = ("001", "5 meaning of delta"), (e, d)
    return judge(where, printed, right, evidence, claimed=pair, true=pair, compares="P(loss>eps)", says=d, holds=exceeds)


def delta_below_one_over_n(n: int = 1000) -> TextbookVerdict:
    """Publishing every row with probability delta is (0, delta)-DP; from delta = 1/n on it publishes somebody in 63% of all cases.

    So delta < 1/n is necessary, as the note says. It is not enough: just below 1/n the chance is hardly smaller.
    """
    size = as_count(n, "n", 2)
    at, below = (-math.expm1(size * math.log1p(-share / size)) for share in (1, 0.99))
    pair = (0.0, 1 / size)
    evidence = f"every one of {size} rows published with probability 1/n: somebody's is with {at:.3f}; with 0.99/n, {below:.3f}"
    where, printed = ("001", "5 delta below 1/n"), "no delta unless delta < 1/n"
    right = "necessary; far below 1/n is safe: n delta is the chance"
    numbers: dict[str, Any] = {"compares": "P(somebody)", "says": 1 - math.exp(-1), "holds": at, "want": "above"}
    return judge(where, printed, right, evidence, claimed=pair, true=pair, **numbers)


def gaussian_garbled(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """c^2 took the place of c: twice the noise at small epsilon, and still no guarantee at large epsilon."""
    e, d = parameters(epsilon, delta)
    factor = math.sqrt(math.sqrt(2 * math.log(1.25 / d)) * math.log(1 / d))
    breaks = first_failure(lambda x: gaussian_delta(x / factor, x) - d, 0.1, 1e3)
    evidence = f"sigma {factor / e:.2f} where {1 / _tight_mu(e, d):.2f} is enough; broken from eps = {breaks:.1f} on at this delta"
    where, printed = ("001", "5 sigma"), "sigma = Delta sqrt(c ln(1/delta))/eps, c^2 >= 2 ln(1.25/delta)"
    return judge(where, printed, EXACT, evidence, claimed=(e, d), true=(e, gaussian_delta(e / factor, e)), beyond=breaks)


def _classic(delta: float) -> float:
    return math.sqrt(2 * math.log(2 / delta))


def gaussian_small_epsilon(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The claim is restricted to eps <= 1 and holds there, with 1.3 times the noise it needs."""
    e, d = parameters(epsilon, delta)
    evidence = f"sigma {_classic(d) / e:.3f} where {1 / _tight_mu(e, d):.3f} is enough"
    printed, true = "N(0, 2 Delta^2 ln(2/delta)/eps^2), eps <= 1", (e, gaussian_delta(e / _classic(d), e))
    return judge(("003", "Gaussian mechanism"), printed, EXACT, evidence, claimed=(e, d), true=true)


def gaussian_tail(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The last step squares t without halving; with the tail bound stated one line above, the proof gives (delta/2)^(9/16)."""
    e, d = parameters(epsilon, delta)
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
        reading="slip",
    )


def gaussian_any_epsilon(epsilon: Any = 10, delta: Any = 1e-6) -> TextbookVerdict:
    """sigma falls like 1/eps, but a Gaussian needs 1/sqrt(2 eps): without a range for eps the formula is wrong."""
    e, d = parameters(epsilon, delta)
    breaks = first_failure(lambda x: gaussian_delta(x / _classic(d), x) - d, 0.1, 1e3)
    evidence = f"broken from eps = {breaks:.3f} on at this delta"
    printed, true = "sigma >= Delta_2 sqrt(2 ln(2/delta))/eps", (e, gaussian_delta(e / _classic(d), e))
    return judge(("004", f"Gaussian, eps={e:g}"), printed, EXACT, evidence, claimed=(e, d), true=true, beyond=breaks)


def rows() -> list[TextbookVerdict]:
    """Every row of this file, at the parameters its evidence is usually quoted at."""
    return [
        loss_probability(),
        delta_below_one_over_n(),
        gaussian_garbled(),
        gaussian_small_epsilon(),
        gaussian_tail(),
        gaussian_any_epsilon(),
    ]
