"""The notes' noise for a smooth sensitivity: admissible laws, their constants, and the easier formula at the end of note 000."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product
from typing import Any

from sordino.course.textbook.verdict import TextbookVerdict, as_count, first_failure, judge, parameters
from sordino.privacy.certificate import Dilated
from sordino.privacy.dilation import Dilation
from sordino.privacy.families import GaussianLaw, GeneralizedCauchy, LaplaceLaw
from sordino.privacy.number import exact

__all__ = ["rows"]

CELLS = 384  # cells of the upper bound: it exceeds the truth by less than one percent
CERTIFIED = "the least scale whose hockey stick is certified at this beta"


def _attained(slide: float, dilation: float, epsilon: float) -> float:
    """Laplace noise slid and dilated by exactly this much, the worse direction."""
    return max(Dilation(LaplaceLaw(), slide, dilation, wide_first=wide).delta(epsilon) for wide in (True, False))


def admissible_laplace(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """The chain ends in (1 + e^{eps/2}) delta/2, not delta; for the Laplace law of Lemma 13.3 the promise holds all the same."""
    e, d = parameters(epsilon, delta)
    true = Dilated(LaplaceLaw(), 2 / e, e / (2 * math.log(2 / d)), CELLS).delta(e)
    proved = (1 + math.exp(e / 2)) * d / 2
    evidence = f"Laplace, d = 1: the proof gives {proved:.3g}, the hockey stick is at most {true:.3g}"
    printed, right = "admissible noise is (eps, delta)-DP", "(eps, (1 + e^{eps/2}) delta/2) for every admissible law"
    return judge(("000", "13.3.2 with Laplace noise"), printed, right, evidence, claimed=(e, d), true=(e, true))


def admissible_any(epsilon: Any = 3, delta: Any = 1e-6) -> TextbookVerdict:
    r"""The same promise for every admissible law fails: Laplace noise of scale 2/eps cut off at +-T, with alpha = 1.

    Sliding by 1 stays within e^{eps/2} except on the edge it leaves, of mass r (e^{eps/2} - 1)/2 = delta/2 by the choice of T. Dilation by
    beta leaves two edges of width w = T (1 - e^-beta), delta/4 each by the choice of beta, and stays within e^{eps/2} elsewhere as w <= 1.
    So the law is (1, beta)-admissible. Sliding by e^-beta and dilating leaves one edge of width w + e^-beta, which the neighbour never
    reaches.
    """
    e, d = parameters(epsilon, delta)

    def edge(x: float) -> tuple[float, float, float]:
        r = d / math.expm1(x / 2)  # e^{-x T/2}/(1 - e^{-x T/2})
        cut, w = 2 * math.log1p(1 / r) / x, 2 * math.log1p(math.expm1(x / 2) / 2) / x
        return cut, w, r * math.expm1(x / 2 * (w + 1 - w / cut)) / 2

    cut, w, lost = edge(e)
    breaks = first_failure(lambda x: edge(x)[2] - d, 0.1, 50.0)
    beta = -math.log1p(-w / cut)
    evidence = f"Laplace cut off at {cut:.2f}, beta = {beta:.4f}: an event the neighbour never gives; broken from eps = {breaks:.2f} on"
    printed, right = "every admissible law is (eps, delta)-DP", "(eps, (1 + e^{eps/2}) delta/2), as the proof says"
    return judge(("000", f"13.3.2 any law, eps={e:g}"), printed, right, evidence, claimed=(e, d), true=(e, lost), reading="slip")


def one_sided_local(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """Without the absolute value only one of two neighbours sees the gap; smoothing hands it to the other, e^-beta smaller."""
    e, d = parameters(epsilon, delta)
    beta = e / (2 * math.log(2 / d))
    true = Dilated(LaplaceLaw(), 2 / e * math.exp(-beta), beta, CELLS).delta(e)
    evidence = "Laplace noise of Lemma 13.3, slides e^beta longer than S: valid by slack"
    return judge(("000", "13.2 LS without | |"), "LS = max q(x) - q(x')", "max |q(x) - q(x')|", evidence, claimed=(e, d), true=(e, true))


def generalized_cauchy(epsilon: Any = 1, gamma: Any = 2) -> TextbookVerdict:
    """The lost bracket in 2(gamma + 1) makes both constants larger; in one dimension there is room for it.

    By hand the loss is at most kappa slide + max(1, gamma-1) dilation with kappa = (gamma-1)^{1-1/gamma} <= max(1, gamma-1), and
    2 max(1, gamma-1) < 2 gamma + 1.
    """
    e, _ = parameters(epsilon)
    law = GeneralizedCauchy(exact(gamma, "gamma"))
    g = float(law.gamma)
    step = e / (2 * g + 1)
    true = Dilated(law, 1 / step, step, CELLS).sup()
    bound = ((g - 1) ** ((g - 1) / g) + max(1.0, g - 1)) * step
    evidence = f"largest log-ratio over all slides and dilations; by hand at most {bound:.3g}, below eps for every gamma"
    printed = "1/(1+|z|^gamma) is (eps/(2 gamma+1), eps/(2 gamma+1))-admissible"
    where = ("000", f"Lemma 13.2, gamma={g:g}")
    return judge(where, printed, "eps/(2(gamma+1)) for both (NRS 2007)", evidence, claimed=(e, 0.0), true=(true, 0.0))


def _product_loss(law: GeneralizedCauchy, step: float, d: int) -> float:
    """All of the slide in one coordinate, all coordinates dilated: the largest losses of independent coordinates add up."""
    pairs = [(Dilation(law, step, step, wide_first=wide), Dilation(law, 0.0, step, wide_first=wide)) for wide in (True, False)]
    return max(moved.sup() + (d - 1) * still.sup() for moved, still in pairs)


def generalized_cauchy_product(epsilon: Any = 1, gamma: Any = 2, dimension: int = 5) -> TextbookVerdict:
    """Dilation costs every coordinate, so beta must be divided by d; the note keeps the beta of one dimension."""
    e, _ = parameters(epsilon)
    law, d = GeneralizedCauchy(exact(gamma, "gamma")), as_count(dimension, "dimension")
    g = float(law.gamma)
    step = e / (2 * g + 1)
    first = next(k for k in range(1, 100) if _product_loss(law, step, k) > e)
    uneven = next(k for k in range(1, 100) if k * max(1.0, g - 1) * step > e / 2)
    evidence = f"broken from d = {first} on; dilation alone exceeds eps/2 from d = {uneven} on"
    printed, right = "the d-fold product is admissible with the same constants", "beta = eps/(2 d (gamma+1)), slides in L1 norm"
    where = ("000", f"Lemma 13.2, product d={d}")
    return judge(where, printed, right, evidence, claimed=(e, 0.0), true=(_product_loss(law, step, d), 0.0))


def laplace_vector(epsilon: Any = 1, delta: Any = 1e-6, dimension: int = 5) -> TextbookVerdict:
    """Slide for eps/2, then dilate: the norm is a Gamma(d) variable, and its tail is far below what the lemma allows."""
    from scipy.special import gammaincc

    e, d = parameters(epsilon, delta)
    p = as_count(dimension, "dimension")
    beta = e / (4 * (p + math.log(2 / d)))
    true = math.exp(e / 2) * float(gammaincc(p, (e / 2 + beta * p) / math.expm1(beta)))
    printed = "density e^{+|z|} 2^-d, alpha = eps/2, beta = eps/(4(d + ln(2/delta)))"
    evidence = f"d = {p}: delta at most as shown, with the sign of the exponent put right (as printed it has no finite mass)"
    return judge(("000", f"Lemma 13.3, d={p}"), printed, "e^{-|z|}; " + CERTIFIED, evidence, claimed=(e, d), true=(e, true))


def gaussian_scalar(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """Valid, with about five times the noise it needs."""
    e, d = parameters(epsilon, delta)
    alpha, beta = e / (5 * math.sqrt(2 * math.log(2 / d))), e / (4 * (1 + math.log(2 / d)))
    true = Dilated(GaussianLaw(), 1 / alpha, beta, CELLS).delta(e)
    printed, evidence = "alpha = eps/(5 sqrt(2 ln(2/delta))), beta = eps/(4(d + ln(2/delta)))", "d = 1, all slides and dilations"
    return judge(("000", "Lemma 13.4, d=1"), printed, CERTIFIED, evidence, claimed=(e, d), true=(e, true))


def powers_of_two(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """2^{-k eps} dilates by eps ln 2, far over the lemma's beta, and starting at k = 1 forgets the table's own local sensitivity.

    Every table of three bits is enumerated under f = 0, 1, 1, 1 + 2^eps for none to three ones, and S computed as printed.
    """
    e, d = parameters(epsilon, delta)
    value = (0.0, 1.0, 1.0, 1 + 2**e)
    tables = list(product((0, 1), repeat=3))
    apart = {(x, y): sum(a != b for a, b in zip(x, y, strict=True)) for x in tables for y in tables}
    local = {x: max(abs(value[sum(x)] - value[sum(y)]) for y in tables if apart[x, y] <= 1) for x in tables}
    scale = {x: 2 / e * max(2 ** (-apart[x, y] * e) * local[y] for y in tables if apart[x, y] >= 1) for x in tables}
    true = 0.0
    for x, y in (pair for pair, distance in apart.items() if distance == 1 and scale[pair[0]] <= scale[pair[1]]):
        true = max(true, _attained(abs(value[sum(x)] - value[sum(y)]) / scale[x], math.log(scale[y] / scale[x]), e))
    decay = _attained(e / 2, e * math.log(2), e)
    evidence = f"Laplace noise of Lemma 13.3 on tables of three bits; {decay:.3f} if only the decay is as printed"
    printed, right = "S = max_{k=1..n} 2^{-k eps} max LS", "S = max_{k>=0} e^{-k beta} max LS, beta of the lemma used"
    return judge(("000", "end, easier formula"), printed, right, evidence, claimed=(e, d), true=(e, true))


def smooth_scalar(epsilon: Any = 1, delta: Any = 1e-6) -> TextbookVerdict:
    """ln(1/delta) for ln(2/delta), and no range for eps: valid by slack where eps is small, and wrong where it is large."""
    e, d = parameters(epsilon, delta)

    def attained(x: float) -> float:
        return _attained(x / 2, x / (2 * math.log(1 / d)), x)

    true = attained(e)
    if true <= d:
        true = Dilated(LaplaceLaw(), 2 / e, e / (2 * math.log(1 / d)), CELLS).delta(e)
    breaks = first_failure(lambda x: attained(x) - d, 0.1, 100.0)
    evidence = f"broken from eps = {breaks:.2f} on at this delta; NRS 2007 ask for eps < 1"
    printed, right = "beta = eps/(2 ln(1/delta)), Lap(2 SS/eps)", "beta = eps/(2 ln(2/delta)) and eps < 1, or " + CERTIFIED
    where = ("004", f"smooth, 1-D, eps={e:g}")
    return judge(where, printed, right, evidence, claimed=(e, d), true=(e, true), beyond=breaks)


def _vector_delta(epsilon: float, beta: float, p: int) -> float:
    """Slide eps scales in one coordinate, dilate all p by beta: the loss of the other p - 1 is (e^beta - 1) Gamma - (p - 1) beta."""
    from scipy.integrate import quad

    one = Dilation(LaplaceLaw(), epsilon, beta)
    if p == 1:
        return one.delta(epsilon)

    def weighted(g: float) -> float:
        density = math.exp(-g + (p - 2) * math.log(g) - math.lgamma(p - 1)) if g else float(p == 2)
        return density * one.delta(epsilon - math.expm1(beta) * g + (p - 1) * beta)

    return float(quad(weighted, 0, p + 12 * math.sqrt(p) + 30, epsabs=1e-12, epsrel=1e-8, limit=200)[0])


def smooth_vector(epsilon: Any = 1, delta: Any = 1e-6, dimension: int = 1) -> TextbookVerdict:
    """The factor 2 of the one-dimensional case is missing: the slide alone spends all of eps, and the dilation goes to delta."""
    e, d = parameters(epsilon, delta)
    p = as_count(dimension, "dimension")

    def attained(k: int) -> float:
        return _vector_delta(e, e / (4 * (k + 2 * math.log(2 / d))), k)

    evidence = f"one coordinate slid, all dilated; {attained(10):.2g} at p = 10"
    printed, right = "beta = eps/(4(p + 2 ln(2/delta))), Lap_p(SS/eps)", "Lap_p(2 SS/eps), beta = eps/(4(p + ln(2/delta)))"
    return judge(("004", f"smooth, p-D, p={p}"), printed, right, evidence, claimed=(e, d), true=(e, attained(p)))


def rows() -> list[TextbookVerdict]:
    """Every row of this file, at the parameters its evidence is usually quoted at."""
    return [
        one_sided_local(),
        admissible_laplace(),
        admissible_any(),
        generalized_cauchy(),
        generalized_cauchy(gamma=Fraction(4)),
        generalized_cauchy_product(),
        laplace_vector(),
        gaussian_scalar(),
        powers_of_two(),
        smooth_scalar(),
        smooth_scalar(12),
        smooth_vector(),
    ]
