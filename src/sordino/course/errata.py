"""The errors of the lecture notes, what is right, and what was measured: `python -m sordino.course.errata > docs/errata.md`.

One erratum: a passage of the notes, what is right, and the computations that judge it as printed.

The passages of the lecture notes that need correcting or are easily misread, in the order of the notes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import groupby

from sordino.course import misprint
from sordino.course.textbook import additive, estimator, gaussian, smooth, stability
from sordino.course.textbook.verdict import WORDS, TextbookVerdict

__all__ = ["ORDER", "PASSAGES", "Erratum", "figure", "page", "rows"]

ORDER = WORDS
Judge = Callable[[], TextbookVerdict]


@dataclass(frozen=True)
class Erratum:
    """A passage quoted in at most twelve words, the right statement, and what is computed about it: sums and integrals, never samples.

    `evidence` judges what the passage claims. `aside` shows what it does not claim and a reader might take from it; it never counts.
    """

    note: str
    place: str
    quote: str
    printed: str
    right: str
    evidence: tuple[Judge, ...]
    aside: tuple[Judge, ...] = ()

    def verdicts(self) -> tuple[TextbookVerdict, ...]:
        return tuple(judge() for judge in self.evidence)

    def asides(self) -> tuple[TextbookVerdict, ...]:
        return tuple(judge() for judge in self.aside)

    def verdict(self) -> str:
        """The gravest word of the evidence; one that leaks only beyond some epsilon says which."""
        gravest = min(self.verdicts(), key=lambda found: ORDER.index(found.word))
        return _said(gravest)


def _said(found: TextbookVerdict) -> str:
    return f"leaks beyond ε {found.beyond:.4g}" if found.word == "leaks beyond" else found.word


def figure(found: TextbookVerdict) -> str:
    """The measured number in a line; a slip that is no claim about privacy speaks through its example alone."""
    if not any(found.claimed):
        return f"{_said(found)}: {found.evidence}"
    at = f" at epsilon {found.claimed[0]:.4g}" if found.claimed[0] else ""
    return f"{_said(found)}{at}: {found.compares} {found.says:.4g} printed, {found.holds:.4g} found; {found.evidence}"


SMOOTH_NOTES = (
    Erratum(
        "000",
        "13.1.2 solution",
        "In linear regression, the goal is to solve",
        "Ridge regression is solved without its lambda, and a new row adds the number x'x.",
        "Solve with X'X + lambda I and add the matrix x x'.",
        (misprint.ridge_solution, misprint.ridge_row),
    ),
    Erratum(
        "000",
        "13.1.2 bound",
        "which yields better convergence bound",
        "A row moves the solution by at most L/lambda_min, L not defined.",
        "With L the slope of the loss it covers the move; this L contains |theta|, which must be bounded first.",
        (estimator.ridge_lipschitz, estimator.ridge_bound),
    ),
    Erratum(
        "000",
        "13.2",
        "it measures the stability of a query at a particular dataset",
        "Local sensitivity is the largest q(x) - q(x').",
        "The largest |q(x) - q(x')|. Smoothing hands the gap to the neighbour who misses it, so the Laplace constants have room for it.",
        (smooth.one_sided_local,),
    ),
    Erratum(
        "000",
        "Definition 13.3.1",
        "For β ↓ 0, the β smooth sensitivity of f is",
        "beta decreases to 0.",
        "A fixed public beta > 0.",
        (misprint.vanishing_beta,),
    ),
    Erratum(
        "000",
        "13.3.1 (ii)",
        "The two property that one should satisfy to smooth out",
        "S(x) < e^beta S(y) between neighbours.",
        "S(x) <= e^beta S(y), or a constant query has no smooth bound.",
        (misprint.strict_smoothness,),
    ),
    Erratum(
        "000",
        "13.3.2",
        "satisfies (ε, δ)-DP",
        "Admissible noise gives (eps, delta).",
        "The proof is right and prints (1 + e^{eps/2}) delta/2; the sentence before drops it. Delta itself is true for Laplace noise.",
        (smooth.admissible_laplace, smooth.admissible_any),
    ),
    Erratum(
        "000",
        "13.3.2 last line",
        "= e^ε P(f(x′) ∈ S) + (e^{ε/2} + 1) δ/2",
        "The chain ends in f(x').",
        "It ends in A(x').",
        (misprint.answer_without_noise,),
    ),
    Erratum(
        "000",
        "Lemma 13.2",
        "Moreover, the d-dimensional product of independent copies of h",
        "1/(1 + |z|^gamma) allows eps/(2 gamma + 1) for slide and dilation, and so does its d-fold product.",
        "eps/(2(gamma + 1)) (Nissim, Raskhodnikova, Smith 2007); slack saves one dimension. In d dimensions beta must be divided by d.",
        (smooth.generalized_cauchy, smooth.generalized_cauchy_product),
    ),
    Erratum(
        "000",
        "Lemmas 13.3, 13.4",
        "the d-dimensional Laplace distribution",
        "The Laplace density is e^{+|z|}; the Gaussian is called a Laplace distribution.",
        "e^{-|z|}; Gaussian. The constants hold, with far more noise than needed.",
        (misprint.growing_density, smooth.laplace_vector, smooth.gaussian_scalar),
    ),
    Erratum(
        "000",
        "last formula",
        "An easier way to solve this optimization is:",
        "S = max over k >= 1 of 2^{-k eps} times the largest local sensitivity at distance k.",
        "e^{-k beta} with the beta of the noise in use, and k from 0: the table itself counts.",
        (smooth.powers_of_two,),
    ),
)

LAPLACE_NOTES = (
    Erratum(
        "001",
        "2, 2.2",
        "with mean = 0, and, variance = 1/(εn)",
        "Lap(b) has variance b, and the risk is 1/(eps n)^2, for eps < 1/n.",
        "Variance 2 b^2, risk 2/(eps n)^2, for every eps > 0.",
        (additive.variance, additive.risk, additive.risk_condition),
    ),
    Erratum(
        "001",
        "2.1",
        "(this will change according to which y we are selecting)",
        "The mean of bits plus Lap(1/(eps n)) is eps-DP when a row is added.",
        "Not eps-DP for any eps: n differs, and so do the scales. Release noisy sums of ones and of zeros, or fix n and replace.",
        (additive.mean_add_one, lambda: additive.mean_add_one(n=100)),
    ),
    Erratum(
        "001",
        "5, delta below 1/n",
        "we don't use δ unless we can guarantee that δ < 1/n",
        "delta < 1/n is asked for.",
        "Necessary, as it says; far below 1/n is what is safe.",
        (gaussian.delta_below_one_over_n,),
    ),
    Erratum(
        "001",
        "5, meaning of delta",
        "we can achieve ε - differential privacy with probability 1/(1−δ)",
        "(eps, delta) is eps-DP with probability 1/(1 - delta).",
        "That is above one. P(loss > eps) <= delta is sufficient, not necessary.",
        (gaussian.loss_probability,),
    ),
    Erratum(
        "001",
        "5, sigma",
        "Instead of Laplace noise, we add gaussian noise",
        "sigma = Delta sqrt(c ln(1/delta))/eps with c^2 >= 2 ln(1.25/delta).",
        "The exact calibration of Balle and Wang 2018; the printed one is twice too wide at eps = 1 and too narrow at very large eps.",
        (gaussian.gaussian_garbled, lambda: gaussian.gaussian_garbled(70)),
    ),
    Erratum(
        "001",
        "5, definition",
        "∀E ⊂ S, ∀x, y s.t.",
        "Neighbours are x, y with |x - y|_1.",
        "|x - y|_1 <= 1.",
        (misprint.empty_distance,),
    ),
    Erratum(
        "001",
        "5, risk",
        "Currently the risk is (2016)",
        "The risk of d bits was O(d/(eps n)) and is now O(sqrt(d ln(1/delta))/(eps n)).",
        "Both are right: the first rate is that of Laplace noise, the second that of Gaussian noise.",
        (misprint.norms,),
    ),
)

STABILITY_NOTES = (
    Erratum(
        "002",
        "propose-test-release",
        "Thm: PTR is (2ε, δ)-DP.",
        "The threshold is ln(1/delta)/eps.",
        "True, with delta/2; ln(1/(2 delta))/eps spends delta exactly.",
        (stability.propose_test_release,),
    ),
    Erratum(
        "002",
        "propose-test-release, step 2",
        "distance from D to D′ s.t.",
        "The distance to LS >= B.",
        "LS > B, as in its own Case 1; with >= no table passes at B = 0.",
        (stability.propose_nothing,),
    ),
    Erratum(
        "002",
        "propose-test-release, symbols",
        "where distance is # points that change",
        "The symbols for distance, delta and Lap are mixed up, Z ~ Lap(eps/delta).",
        "Z ~ Lap(1/eps).",
        (misprint.garbled_noise,),
    ),
    Erratum(
        "002",
        "mode",
        "PTR w/ β = 0 !",
        "The mode is (eps, delta)-DP with the gap of the two largest counts as distance.",
        "Distance gap - 1 (add, remove) or ceil(gap/2) - 1 (replace), with a phantom competitor for keys nobody holds.",
        (stability.mode_add_remove, stability.mode_replace),
    ),
    Erratum(
        "002",
        "mode, success",
        "as long as diff b/w largest and 2nd largest count",
        "At a gap of ln(1/delta)/eps the mode is returned with probability 1 - delta.",
        "With probability 1/2; 1 - eta needs ln(1/(2 eta))/eps more. The proof fits twice the lead.",
        (stability.mode_success,),
    ),
    Erratum(
        "002",
        "stable histogram",
        "(add 1 to D)",
        "Counts with Lap(1/eps), shown from 1 + ln(1/delta)/eps on, are (eps, delta)-DP.",
        "True for its own neighbours, an added row, with delta/2. A replaced row needs Lap(2/eps) and its threshold.",
        (stability.histogram_add_remove,),
        (stability.histogram_replace,),
    ),
)

LOSS_NOTES = (
    Erratum(
        "003",
        "lemma",
        "Fix x ∼ x′, event E ⊆ Y.",
        "The sum runs over all y outside BAD, once with index x', and equals e^eps P(A(x') in E).",
        "Over y in E and outside BAD, and <=.",
        (misprint.event_forgotten,),
    ),
    Erratum(
        "003",
        "Gaussian claim",
        "For function f : X → R",
        "sigma^2 = 2 Delta^2 ln(2/delta)/eps^2 for eps <= 1.",
        "True, with 1.3 times the noise it needs.",
        (gaussian.gaussian_small_epsilon,),
    ),
    Erratum(
        "003",
        "Gaussian proof",
        "Possible error in constants, see Dwork & Roth 14",
        "P(Z > t sigma) <= exp(-t^2) in the last step.",
        "exp(-t^2/2), as the claim right above it prints; so the proof gives less than it says.",
        (gaussian.gaussian_tail,),
    ),
)

ROBUST_NOTES = (
    Erratum(
        "004",
        "tracing",
        "What about only disclosing the mean?",
        "Membership is read off mean . X_i.",
        "True for centred rows; elsewhere subtract a reference mean from both.",
        (misprint.tracing,),
    ),
    Erratum(
        "004",
        "small changes",
        "Require identical results for x and x′ that differ in only",
        "Neighbours give identical results.",
        "Laws within a factor e^eps; identical results are epsilon 0, as the definition after it says.",
        (misprint.identical_results,),
    ),
    Erratum(
        "004",
        "definition",
        "for all x, x′ ∈ X such that d(x, x′) = 1",
        "Neighbours are rows of X.",
        "Tables, in N^X, as defined before.",
        (misprint.neighbours_of_rows,),
    ),
    Erratum(
        "004",
        "Laplace mean",
        "A(x) is (ε, 0)-differentially private",
        "mean + Z/(n eps), after adding, deleting or changing a row were called small changes.",
        "Right for a changed row, which is what is proved. For an added or deleted one see note 001, 2.1.",
        (additive.mean_change_one, additive.mean_any_change),
    ),
    Erratum(
        "004",
        "Gaussian mechanism",
        "Or we can add Gaussian noise",
        "sigma >= Delta_2 sqrt(2 ln(2/delta))/eps, no range given.",
        "The exact calibration; the printed one breaks at large eps.",
        (lambda: gaussian.gaussian_any_epsilon(1), gaussian.gaussian_any_epsilon),
    ),
    Erratum(
        "004",
        "vector query",
        "By the property of composition, we can add noise to each",
        "Noise p Delta/eps in each of p coordinates.",
        "Valid and loose, as the note adds: the L1 sensitivity over eps.",
        (additive.vector_composition,),
    ),
    Erratum(
        "004",
        "influence function",
        "For M-estimators we have",
        "The limit of (T((1-t)F + Delta_x) - T(F))/t; an M-estimator minimises a sum without theta in it.",
        "(1-t)F + t Delta_x; the sum of rho(x_i, theta) over theta.",
        (misprint.influence,),
    ),
    Erratum(
        "004",
        "descent, direction",
        "where we add noise to the gradient in each iteration",
        "A minus sign, mu^(k) on both sides.",
        "A plus sign, mu^(k-1) inside.",
        (misprint.runaway_descent,),
    ),
    Erratum(
        "004",
        "descent, noise",
        "is a sequence of i.i.d. standard Laplace random variables",
        "Noise eta B T/(eps n).",
        "2 B T/(eps n) when a row is replaced.",
        (estimator.descent,),
    ),
    Erratum(
        "004",
        "smooth, 1-D",
        "1-D case: The authors showed that provided",
        "beta = eps/(2 ln(1/delta)), Lap(2 SS/eps), no range given.",
        "ln(2/delta) and eps < 1 (Nissim, Raskhodnikova, Smith 2007); the printed one is valid by slack at small eps.",
        (smooth.smooth_scalar, lambda: smooth.smooth_scalar(12)),
    ),
    Erratum(
        "004",
        "smooth, p-D",
        "And for p-D vector-valued functions, provided",
        "beta = eps/(4(p + 2 ln(2/delta))), Lap_p(SS/eps).",
        "Lap_p(2 SS/eps) with beta = eps/(4(p + ln(2/delta))): the slide may not spend all of eps.",
        (smooth.smooth_vector, lambda: smooth.smooth_vector(dimension=10)),
    ),
    Erratum(
        "004",
        "Chaudhuri-Hsu",
        "With probability at least 1 − η",
        "The smooth sensitivity of a sample is below a bound from the gross error sensitivity.",
        "True: a plan for samples. Some tables exceed it at every n, so it is no S.",
        (misprint.sample_bound,),
        (misprint.deviation_bound,),
    ),
    Erratum(
        "004",
        "deviation of F_n",
        "connects to Hoeffding's inequality",
        "The radius of the ball comes from Hoeffding.",
        "Hoeffding is about one point; the largest deviation is the inequality of Dvoretzky, Kiefer and Wolfowitz.",
        (misprint.one_point_deviation,),
    ),
    Erratum(
        "004",
        "Avella-Medina",
        "Under mild conditions and n large enough, we have",
        "Noise scaled by the empirical gross error sensitivity is (eps, delta)-DP.",
        "Under conditions on the data; they guard no table that breaks them, at any n.",
        (estimator.plug_in, lambda: estimator.plug_in(n=100_001)),
    ),
)

PASSAGES: tuple[Erratum, ...] = (*SMOOTH_NOTES, *LAPLACE_NOTES, *STABILITY_NOTES, *LOSS_NOTES, *ROBUST_NOTES)


HEAD = """# Errata of the lecture notes

Sordino is built from five lecture notes, 000 to 004. They contain errors, as notes do. Each is listed with what is right and with what is
computed for the passage as printed: exact sums and integrals, no sampling. What a passage does not claim, and a reader might take from it,
is shown as *not claimed* and does not count against it.

- **leaks**: private data leak if it is coded as printed, at an epsilon of at most 3.
- **leaks beyond ε**: valid at ordinary prices; a formula without a range for epsilon breaks from the one named on.
- **false**: a wrong statement that no noise is calibrated by.
- **conditional**: right under the condition the passage states; what happens without it is shown.
- **incomplete**: a quantity is left open, and one reading of it is wrong.
- **slip**: a symbol, sign or factor; what is meant is clear, or stands right next to it.
- **scan**: garbled in our copy of the note.
- **holds**: true as printed, by slack or for another reason.

Written by `python -m sordino.course.errata > docs/errata.md`. The printed formulas themselves: `sordino.course.verdicts()`.
"""


def rows() -> tuple[Erratum, ...]:
    """Every erratum, in the order of the notes: `.note .place .quote .printed .right .verdict()`."""
    return PASSAGES


def page() -> str:
    """The errata as a Markdown document."""
    parts = [HEAD]
    for note, found in groupby(rows(), key=lambda row: row.note):
        parts += [f"## Note {note}\n", "| where | the note says | that is | right | verdict | measured |\n|---|---|---|---|---|---|"]
        for row in found:
            measured = [*map(figure, row.verdicts()), *(f"*not claimed:* {figure(found)}" for found in row.asides())]
            cells = (row.place, f"“{row.quote}”", row.printed, row.right, f"**{row.verdict()}**", "<br>".join(measured))
            parts.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
        parts.append("")
    return "\n".join(parts)


if __name__ == "__main__":
    print(page(), end="")
