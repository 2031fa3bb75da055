"""The passages of the lecture notes that need correcting, in the order of the notes."""

from __future__ import annotations

from sordino.course import misprint
from sordino.course.erratum import Erratum
from sordino.course.textbook import additive, estimator, gaussian, smooth, stability

__all__ = ["PASSAGES"]

SMOOTH_NOTES = (
    Erratum(
        "000",
        "13.1.2",
        "Ridge regression is solved without its lambda, a new row adds the number x'x, and its influence is at most L/lambda_min.",
        "Solve with X'X + lambda I and add the matrix x x'. L contains |theta|, which depends on the data and must be bounded first.",
        (misprint.ridge_solution, misprint.ridge_row, estimator.ridge_bound),
    ),
    Erratum(
        "000",
        "13.2",
        "Local sensitivity is the largest q(x) - q(x').",
        "The largest |q(x) - q(x')|. Smoothing hands the gap to the neighbour who misses it, so the Laplace constants have room for it.",
        (smooth.one_sided_local,),
    ),
    Erratum(
        "000",
        "13.3",
        "beta decreases to 0, and S(x) < e^beta S(y) between neighbours.",
        "beta > 0 is fixed and public; S(x) <= e^beta S(y), or a constant query has no smooth bound.",
        (misprint.vanishing_beta, misprint.strict_smoothness),
    ),
    Erratum(
        "000",
        "13.3.2",
        "Admissible noise gives (eps, delta).",
        "The chain ends in (eps, (1 + e^{eps/2}) delta/2). True for Laplace noise by slack, false for admissible noise in general.",
        (smooth.admissible_laplace, smooth.admissible_any),
    ),
    Erratum(
        "000",
        "Lemma 13.2",
        "1/(1 + |z|^gamma) allows eps/(2 gamma + 1) for slide and dilation, and so does its d-fold product.",
        "eps/(2(gamma + 1)) (Nissim, Raskhodnikova, Smith 2007); slack saves one dimension. In d dimensions beta must be divided by d.",
        (smooth.generalized_cauchy, smooth.generalized_cauchy_product),
    ),
    Erratum(
        "000",
        "Lemmas 13.3, 13.4",
        "The Laplace density is e^{+|z|}; the Gaussian is called a Laplace distribution.",
        "e^{-|z|}; Gaussian. The constants hold, with far more noise than needed.",
        (misprint.growing_density, smooth.laplace_vector, smooth.gaussian_scalar),
    ),
    Erratum(
        "000",
        "last formula",
        "S = max over k >= 1 of 2^{-k eps} times the largest local sensitivity at distance k.",
        "e^{-k beta} with the beta of the noise in use, and k from 0: the table itself counts.",
        (smooth.powers_of_two,),
    ),
)

LAPLACE_NOTES = (
    Erratum(
        "001",
        "2, 2.2",
        "Lap(b) has variance b, and the risk is 1/(eps n)^2, for eps < 1/n.",
        "Variance 2 b^2, risk 2/(eps n)^2, for every eps > 0.",
        (additive.variance, additive.risk, additive.risk_condition),
    ),
    Erratum(
        "001",
        "2.1",
        "The mean of bits plus Lap(1/(eps n)) is eps-DP when a row is added.",
        "Not eps-DP for any eps: n differs, and so do the scales. Release noisy sums of ones and of zeros, or fix n and replace.",
        (additive.mean_add_one, lambda: additive.mean_add_one(n=100)),
    ),
    Erratum(
        "001",
        "5, delta",
        "(eps, delta) means eps-DP with probability 1/(1 - delta), and delta < 1/n is enough.",
        "P(loss > eps) <= delta is sufficient, not necessary; delta must lie far below 1/n.",
        (gaussian.loss_probability, gaussian.delta_below_one_over_n),
    ),
    Erratum(
        "001",
        "5, sigma",
        "sigma = Delta sqrt(c ln(1/delta))/eps with c^2 >= 2 ln(1.25/delta).",
        "The exact calibration of Balle and Wang 2018; the printed one is twice too wide at eps = 1 and too narrow at very large eps.",
        (gaussian.gaussian_garbled, lambda: gaussian.gaussian_garbled(70)),
    ),
    Erratum(
        "001",
        "5, norms",
        "Neighbours are x, y with |x - y|_1; the risk of d bits was O(d/(eps n)) and is now O(sqrt(d ln(1/delta))/(eps n)).",
        "|x - y|_1 <= 1; the first rate is that of Laplace noise, the second that of Gaussian noise.",
        (misprint.empty_distance, misprint.norms),
    ),
)

STABILITY_NOTES = (
    Erratum(
        "002",
        "propose-test-release",
        "The distance to LS >= B, threshold ln(1/delta)/eps; the symbols for distance, delta and Lap are mixed up.",
        "LS > B, or no table passes at B = 0; ln(1/(2 delta))/eps spends delta exactly.",
        (stability.propose_test_release, stability.propose_nothing, misprint.garbled_noise),
    ),
    Erratum(
        "002",
        "mode",
        "The mode is (eps, delta)-DP with the gap of the two largest counts as distance.",
        "Distance gap - 1 (add, remove) or ceil(gap/2) - 1 (replace), with a phantom competitor for keys nobody holds.",
        (stability.mode_add_remove, stability.mode_replace),
    ),
    Erratum(
        "002",
        "mode, success",
        "At a gap of ln(1/delta)/eps the mode is returned with probability 1 - delta.",
        "With probability 1/2; 1 - eta needs ln(1/(2 eta))/eps more.",
        (stability.mode_success,),
    ),
    Erratum(
        "002",
        "stable histogram",
        "Counts with Lap(1/eps), shown from 1 + ln(1/delta)/eps on, are (eps, delta)-DP.",
        "True when a row is added, with delta/2; a replaced row needs Lap(2/eps) and its threshold.",
        (stability.histogram_add_remove, stability.histogram_replace),
    ),
    Erratum(
        "003",
        "Gaussian proof",
        "P(Z > t sigma) <= exp(-t^2) in the last step.",
        "exp(-t^2/2), so the proof gives far less than it says; the claim itself holds for eps <= 1.",
        (gaussian.gaussian_tail, gaussian.gaussian_small_epsilon),
    ),
)

ROBUST_NOTES = (
    Erratum(
        "004",
        "tracing",
        "Membership is read off mean . X_i.",
        "Subtract a reference mean from both; otherwise the score measures how large a row is.",
        (misprint.tracing,),
    ),
    Erratum(
        "004",
        "Laplace mean",
        "Adding, deleting or changing a row: mean + Z/(n eps).",
        "For a changed row only, as in note 001, 2.1.",
        (additive.mean_any_change, additive.mean_change_one),
    ),
    Erratum(
        "004",
        "Gaussian mechanism",
        "sigma >= Delta_2 sqrt(2 ln(2/delta))/eps for every eps.",
        "The exact calibration; the printed one breaks at large eps.",
        (gaussian.gaussian_any_epsilon,),
    ),
    Erratum(
        "004",
        "vector query",
        "Noise p Delta/eps in each of p coordinates.",
        "Valid and loose: the L1 sensitivity over eps.",
        (additive.vector_composition,),
    ),
    Erratum(
        "004",
        "influence function",
        "The limit of (T((1-t)F + Delta_x) - T(F))/t; an M-estimator minimises a sum without theta in it.",
        "(1-t)F + t Delta_x; the sum of rho(x_i, theta) over theta.",
        (misprint.influence,),
    ),
    Erratum(
        "004",
        "noisy descent",
        "A minus sign, mu^(k) on both sides, noise eta B T/(eps n).",
        "A plus sign, mu^(k-1) inside, and 2 B T/(eps n) when a row is replaced.",
        (misprint.runaway_descent, estimator.descent),
    ),
    Erratum(
        "004",
        "smooth, 1-D",
        "beta = eps/(2 ln(1/delta)), Lap(2 SS/eps), for every eps.",
        "ln(2/delta) and eps < 1 (Nissim, Raskhodnikova, Smith 2007); the printed one is valid by slack at small eps only.",
        (smooth.smooth_scalar, lambda: smooth.smooth_scalar(12)),
    ),
    Erratum(
        "004",
        "smooth, p-D",
        "beta = eps/(4(p + 2 ln(2/delta))), Lap_p(SS/eps).",
        "Lap_p(2 SS/eps) with beta = eps/(4(p + ln(2/delta))): the slide may not spend all of eps.",
        (smooth.smooth_vector, lambda: smooth.smooth_vector(dimension=10)),
    ),
    Erratum(
        "004",
        "Chaudhuri-Hsu",
        "With probability 1 - eta the smooth sensitivity is below a bound from the gross error sensitivity.",
        "A statement about samples, useful for planning: some tables exceed it at every n, so it is no S.",
        (misprint.deviation_bound,),
    ),
    Erratum(
        "004",
        "Avella-Medina",
        "For n large enough, noise scaled by the empirical gross error sensitivity is (eps, delta)-DP.",
        "Only under conditions on the data; without them no n is large enough.",
        (estimator.plug_in, lambda: estimator.plug_in(n=100_001)),
    ),
)

PASSAGES: tuple[Erratum, ...] = (*SMOOTH_NOTES, *LAPLACE_NOTES, *STABILITY_NOTES, *ROBUST_NOTES)
