"""Two lectures about noise that fits the data: smooth sensitivity, and robust estimators."""

from __future__ import annotations

from sordino.course.lesson import Exercise, Lecture, Section

__all__ = ["ROBUST", "SMOOTH"]


SMOOTH = Lecture(
    "000",
    "Smooth sensitivity and the median",
    "global, local and smooth sensitivity, admissible noise",
    (
        Section(
            "13.1.1 The median query",
            "Half zeros, half Us: one replaced row moves the median from 0 to U, so its global sensitivity is U.",
            "The two tables are written down; nothing can move a median further than its range.",
            ("median",),
        ),
        Section(
            "13.1.2 Linear regression",
            "One row can turn the least-squares solution by any amount; on well-conditioned data by little.",
            "(XᵀX + xxᵀ)(θ̂ − θ) = x (y − xᵀθ): the move is the residual over the curvature.",
            ("outlier",),
            ("13.1.2 solution", "13.1.2 bound"),
        ),
        Section(
            "13.2 Local sensitivity",
            "LS(x) is the largest move at x. For a median of replaced rows it is the larger of the two gaps beside it. Its size itself tells something.",
            "A replaced row shifts the rank by one, so the median goes to a neighbour of its own.",
            ("median", "which"),
            ("13.2",),
        ),
        Section(
            "13.3 Data-dependent privacy: four ways",
            "Smooth sensitivity, propose-test-release, a private bound of the local sensitivity, stability-based release. sd.lab.compare shows them side by side.",
            "",
            ("median", "propose", "mode"),
        ),
        Section(
            "13.3.1 Smooth sensitivity",
            "S*(x) = max over y of LS(y) e^(−β d(x, y)) is the smallest bound of LS that changes by at most e^β between neighbours.",
            "Any β-smooth S is at least LS(y) at y and loses at most e^β per step on the way from y to x.",
            ("median",),
            ("Definition 13.3.1", "13.3.1 (ii)"),
        ),
        Section(
            "Definition 13.3.2, and the privacy analysis",
            "Noise is (α, β)-admissible if a slide by α and a stretch by e^β each stay within (ε/2, δ/2). Then f + S/α · Z is private.",
            "Slide to the neighbour’s answer, then stretch to the neighbour’s scale. The second δ/2 is multiplied by e^(ε/2).",
            ("admissible",),
            ("13.3.2", "13.3.2 last line"),
        ),
        Section(
            "13.3.3 Example noises",
            "1/(1 + |z|^γ) without any δ; Laplace and Gaussian noise with one.",
            "Thin tails slide at a constant loss and stretch at a growing one; polynomial tails stretch at a bounded one.",
            ("admissible",),
            ("Lemma 13.2", "Lemmas 13.3, 13.4"),
        ),
        Section(
            "The last formula",
            "S is a maximum over the number k of changes: compute the largest LS within k changes and discount.",
            "Tables at distance k are grouped; for a median only order statistics near the middle matter.",
            ("median",),
            ("last formula",),
        ),
    ),
    """import sordino as sd
x = [18, 22, 25, 31, 38, 44, 52, 58, 63, 71, 80]
for relation in ("add_remove", "replace"):
    options = {"bounds": (0, 100), "relation": relation}
    print(relation, sd.sensitivity.local.median(x, **options), f"{sd.sensitivity.smooth.median(x, beta=0.25, **options):.3f}")""",
    (
        Exercise(
            "The eleven dots of the median page, one row replaced: the local sensitivity?",
            8,
            0,
            "The larger gap beside 44: 52 − 44.",
            "Which is larger, 44 − 38 or 52 − 44?",
            ((6, "That is for an added or removed person, or the smaller gap."), (100, "That is the global sensitivity.")),
        ),
        Exercise(
            "Lemma 13.3, d = 1, at (1, 1e-6): β?",
            0.03446,
            0.0005,
            "ε/(2 ln(2/δ)).",
            "For d = 1 it suffices to use β = ε/(2 ln(2/δ)).",
            ((0.0362, "That is with ln(1/δ), as note 004 prints."), (0.0468, "That is the largest one; the lemma asks for less.")),
        ),
        Exercise(
            "The chain of 13.3.2 at ε = 1, δ = 1e-6: which δ stands at its end?",
            1.3244e-6,
            1.3e-8,
            "(e^(1/2) + 1) δ/2.",
            "The second δ/2 is multiplied by e^(ε/2).",
            ((1e-6, "That is what the sentence before the proof says."),),
        ),
    ),
)

ROBUST = Lecture(
    "004",
    "How unique am I? Privacy and robust statistics",
    "attacks, definitions, noise, influence, private descent",
    (
        Section(
            "The story, link attacks, only the mean",
            "A ZIP code and a birth date single people out; a thousand averages tell who was in a study.",
            "Each average is a little larger because one was there; a thousand littles add up.",
            ("attacks",),
            ("tracing",),
        ),
        Section(
            "Models, corruption: privacy and robustness",
            "A model may remember a row, and a bad row may bend a model: both ask how much one row can do.",
            "",
            ("outlier", "attacks"),
        ),
        Section(
            "Statistical databases and the definition",
            "A(x) is (ε, δ)-private if its law moves by at most e^ε and δ when one row changes.",
            "",
            ("loss",),
            ("small changes", "definition"),
        ),
        Section(
            "Properties",
            "Prices add, and whatever is computed from a private answer is private.",
            "Composition: losses add. Post-processing: a function of the answer cannot know more than the answer.",
            ("composition",),
        ),
        Section(
            "Noise: Laplace and Gaussian",
            "mean + Z/(nε) for bits; Lap(Δ/ε); N(0, σ²) with σ ≥ Δ₂√(2 ln(2/δ))/ε; vectors.",
            "The triangle inequality for Laplace; the normal loss for Gaussian noise.",
            ("laplace", "dimension"),
            ("Laplace mean", "Gaussian mechanism", "vector query"),
        ),
        Section(
            "Global and local sensitivity",
            "GS depends on f alone and is a worst case; LS(f, x) ≤ GS(f) depends on x, and tells about it.",
            "",
            ("median", "which"),
        ),
        Section(
            "Influence, gross error sensitivity",
            "IF(x; T, F) is what an infinitesimal share of rows at x does to T; its supremum is the gross error sensitivity. For M-estimators it is M⁻¹ψ.",
            "Differentiate the estimating equation at the mixture.",
            ("outlier",),
            ("influence function",),
        ),
        Section(
            "Private noisy gradient descent",
            "Add noise to each step; T is fixed beforehand.",
            "A person moves one step’s sum by at most 2B; T steps share ε.",
            ("descent",),
            ("descent, direction", "descent, noise"),
        ),
        Section(
            "Smooth sensitivity, and noise by it",
            "SS = max LS(x′) e^(−β d(x, x′)); Lap(2 SS/ε) with β = ε/(2 ln(2/δ)).",
            "Slide, then stretch, as in note 000.",
            ("median", "admissible"),
            ("smooth, 1-D", "smooth, p-D"),
        ),
        Section(
            "Bounds by the gross error sensitivity",
            "With high probability over samples, SS is of the order GES/n; under mild conditions noise by the empirical GES is private.",
            "The empirical law is near F, and the estimator behaves near F as at F.",
            ("outlier",),
            ("Chaudhuri-Hsu", "deviation of F_n", "Avella-Medina"),
        ),
    ),
    """import sordino as sd
found = sd.lab.reconstruct(people=64, questions=256, noise=2, repeats=40, seed=1)
print(found)
print(sd.course.table(row for row in sd.course.verdicts() if row.note == "004"))""",
    (
        Exercise(
            "30,000 people, age 50, birth date and sex known: with which probability is the person alone?",
            0.608,
            0.01,
            "(1 − q)^29999 with q = 1.66e-5.",
            "Half a person on average shares them: e^(−0.498).",
            ((0.5, "Close, but nobody else shares them with e^(−0.498)."),),
        ),
        Exercise(
            "Huber’s estimate, normal law, c = 1.345: the gross error sensitivity?",
            1.6375,
            0.005,
            "c over the share of rows within c, 0.8214.",
            "The influence is ψ over P(|Z| ≤ c).",
            ((1.345, "Divide by the share of rows that are not clipped."),),
        ),
        Exercise(
            "Private descent, B = 1.345, T = 10, ε = 1, replaced rows: the scale of one step’s noise on the sum?",
            26.9,
            0.1,
            "2BT/ε.",
            "A replaced row moves the sum by 2B, and each step has ε/T.",
            ((13.45, "That is for added rows, and what the note prints."),),
        ),
    ),
)
