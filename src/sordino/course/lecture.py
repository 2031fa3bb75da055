"""The five lectures in the notes' own order: what each section states, why it is true, where it errs, and which page shows it."""

from __future__ import annotations

from sordino.course.lecture_robust import ROBUST, SMOOTH
from sordino.course.lesson import Exercise, Lecture, Section
from sordino.course.lessons import lesson

__all__ = ["LECTURES", "Lecture", "Section"]


LOSS_AND_NOISE = Lecture(
    "001",
    "Randomized response and Laplace noise",
    "the loss of an answer, coins, the mean of bits, sensitivity, delta",
    (
        Section(
            "1 Recap: the privacy loss",
            "The loss of an answer O is ln P(M(x) = O)/P(M(y) = O). It is at most ε for every answer exactly when the mechanism is ε-private.",
            "An event is a union of answers; if no answer exceeds the factor e^ε, no sum of them does.",
            ("loss",),
        ),
        Section(
            "1.1, 1.2 Two coins, and any ε",
            "Report the truth with probability e^ε/(e^ε + 1), the other bit otherwise: the loss is exactly ε. Two coins are the case ε = ln 3, and ε = 0 is pure chance.",
            "There are two answers and four probabilities; their largest ratio is e^ε.",
            ("response",),
        ),
        Section(
            "2, 2.1 The mean of bits",
            "The mean of n bits plus Lap(1/(εn)) is ε-private when one bit is replaced and n is public.",
            "Means of neighbours differ by 1/n, and | |z − μ′| − |z − μ| | ≤ |μ − μ′|.",
            ("laplace",),
            ("2.1",),
        ),
        Section(
            "2.2 Risk",
            "The mean square error is the variance of the noise, 2/(εn)².",
            "The noise has mean zero, so its mean square is its variance 2b² with b = 1/(εn).",
            ("laplace",),
            ("2, 2.2",),
        ),
        Section(
            "3 Many numbers",
            "Laplace noise of scale Δ₁/ε in every coordinate is ε-private, Δ₁ the largest change in L1 norm.",
            "The losses of the coordinates add up to at most ‖f(x) − f(y)‖₁ ε/Δ₁.",
            ("dimension",),
        ),
        Section(
            "4 Sensitivity",
            "Δf is the largest change one person makes, over all pairs of neighbours. A large Δf is a warning: the noise must be as large.",
            "",
            ("laplace", "median"),
        ),
        Section(
            "5 (ε, δ), and Gaussian noise",
            "P(M(x) ∈ E) ≤ e^ε P(M(y) ∈ E) + δ. Gaussian noise has no pure ε, and needs only the L2 length of a person.",
            "The loss of Gaussian noise is itself normal; integrate its excess over ε.",
            ("delta", "dimension"),
            ("5, definition", "5, delta below 1/n", "5, meaning of delta", "5, sigma", "5, risk"),
        ),
    ),
    """import sordino as sd
print(sd.course.table(row for row in sd.course.verdicts() if row.note == "001"))""",
    (
        lesson("response").exercise,
        Exercise(
            "The mean of 100 bits at ε = 1: what is the risk, the mean square error?",
            2e-4,
            2e-6,
            "2/(εn)² = 2/10⁴.",
            "The variance of Lap(b) is 2b².",
            ((1e-4, "That is the note’s 1/(εn)²: the variance of Lap(b) is 2b², not b²."), (0.01, "That is the scale b.")),
        ),
        Exercise(
            "1,000 rows, each published with probability 0.00099. With which probability is some row published?",
            0.6286,
            0.005,
            "1 − (1 − 0.00099)^1000.",
            "It is one minus the chance that nobody’s is.",
            (
                (0.00099, "That is one row’s chance, and the δ of this mechanism."),
                (0.99, "Adding the chances counts a day with two rows twice."),
            ),
        ),
    ),
)

PROOFS = Lecture(
    "003",
    "How to prove an algorithm private",
    "three definitions, the loss lemma, composition, Gaussian noise",
    (
        Section(
            "Equivalent definitions of pure privacy",
            "By events, by single answers, or by the largest loss: for δ = 0 the three say the same. For δ > 0 they do not.",
            "Put the proof in order: (3) ⇒ (2) is the logarithm; (2) ⇒ (1) sums over the answers of the event; (1) ⇒ (3) takes the event of one answer.",
            ("loss",),
        ),
        Section(
            "The loss lemma",
            "If P(loss ≥ ε) ≤ δ for all neighbours, the algorithm is (ε, δ)-private.",
            "Split the event into BAD, where the loss is large and the chance at most δ, and the rest, where every answer obeys the factor e^ε.",
            ("delta",),
            ("lemma",),
        ),
        Section(
            "Composition",
            "Most private algorithms are made of private parts: prices add, and can be counted better.",
            "Losses of independent parts add; that they rarely all point one way is what zCDP and the exact curve use.",
            ("composition",),
        ),
        Section(
            "Global sensitivity and Laplace noise",
            "f(x) + Lap(Δ/ε) is ε-private for any f, Δ its global sensitivity. Much research is about beating this baseline.",
            "The triangle inequality, once more.",
            ("laplace", "hat"),
        ),
        Section(
            "Gaussian mechanism",
            "Noise N(0, 2Δ² ln(2/δ)/ε²) is (ε, δ)-private for ε ≤ 1.",
            "The loss is linear in the noise, so BAD is a tail of the normal law; bound it by exp(−t²/2).",
            ("dimension", "delta"),
            ("Gaussian claim", "Gaussian proof"),
        ),
        Section(
            "L1 and L2 in high dimension",
            "A person spread over d numbers has length d in L1 and √d in L2.",
            "Cauchy and Schwarz: ‖v‖₁ ≤ √d ‖v‖₂, with equality for a person in all numbers alike.",
            ("dimension",),
        ),
    ),
    """import sordino as sd
found = sd.privacy.loss([0.75, 0.25], [0.25, 0.75])
print(f"pure {found.sup:.4f}; delta at 0.956: {found.delta(0.956):.4f}")
each = [sd.privacy.Cost.pure("0.1")] * 100
print(f"a hundred answers: {float(sd.privacy.compose(each, rule='pld', delta=1e-6).epsilon):.2f}")""",
    (
        lesson("loss").exercise,
        Exercise(
            "The claim’s σ at Δ = 1, (ε, δ) = (1, 1e-6)?",
            5.3868,
            0.01,
            "√(2 ln(2/δ))/ε.",
            "σ² = 2 ln(2/δ)/ε².",
            ((4.2247, "That is the exact one; the claim asks for more."), (29.02, "That is σ².")),
        ),
        lesson("composition").exercise,
    ),
)

BEYOND = Lecture(
    "002",
    "Beyond global sensitivity",
    "local sensitivity, propose-test-release, the mode, stable histograms",
    (
        Section(
            "Local sensitivity, and why it may not scale the noise",
            "Δ_LS(f, D) is how far one person moves f at this D. Noise scaled by it leaks: with 51 and with 50 zeros of 100 the median is 0, but the noise is silent once and loud once.",
            "The same answer, two scales: whoever hears the loudness knows the table.",
            ("which", "median"),
        ),
        Section(
            "Propose, test, release",
            "Propose a bound B; measure how many people must change before it breaks; add noise to that distance; release with noise for B only if it is large. This is (2ε, δ)-private.",
            "Two cases. If the bound is broken already, the distance is 0 and the test passes with chance δ/2. If not, the distance moves by at most one per person and the bound is good for both tables: two Laplace steps.",
            ("propose",),
            ("propose-test-release", "propose-test-release, step 2", "propose-test-release, symbols"),
        ),
        Section(
            "The mode",
            "The most frequent element can be told exactly when its lead is large, whatever the number of elements.",
            "It is propose-test-release with B = 0: where nobody can change the winner no noise is needed.",
            ("mode",),
            ("mode", "mode, success"),
        ),
        Section(
            "Stable histograms",
            "Noise on the counts that are not zero, and nothing shown below 1 + ln(1/δ)/ε: errors are O(ln(1/δ)/ε) however many keys are possible.",
            "A key nobody else holds has count 1, and shows with chance δ/2; every other change is a slide of one count.",
            ("histogram",),
            ("stable histogram",),
        ),
    ),
    """import sordino as sd
print(sd.sensitivity.distance.mode({"a": 60, "b": 45, "c": 30}))
print(sd.mechanisms.StableHistogram(1, "1e-6").threshold)
print(sd.course.table(row for row in sd.course.verdicts() if row.note == "002"))""",
    (
        Exercise(
            "Propose-test-release with ε₁ = 0.5 and δ = 1e-6: the threshold T that spends δ exactly?",
            26.245,
            0.1,
            "ln(1/(2δ))/ε₁.",
            "At distance 0 the test may pass with probability δ: ½ e^(−ε₁T) = δ.",
            ((27.63, "That is the note’s ln(1/δ)/ε₁, which spends δ/2."),),
        ),
        lesson("mode").exercise,
        lesson("histogram").exercise,
    ),
)

LECTURES: tuple[Lecture, ...] = (LOSS_AND_NOISE, PROOFS, BEYOND, SMOOTH, ROBUST)
