"""Lessons about medians: three sensitivities, noise that talks, admissible noise."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np

from sordino.course.lesson import (
    Exercise,
    Lesson,
    LessonGuess,
    Numbers,
    choice,
    delta_knob,
    epsilon_knob,
    number,
    relation_knob,
    switch,
    values,
    whole,
)  # fmt: skip
from sordino.course.textbook.smooth import generalized_cauchy_product
from sordino.pictures import lines
from sordino.privacy import GaussianLaw, GeneralizedCauchy, LaplaceLaw, PowerLaw
from sordino.privacy.dilation import Dilation
from sordino.sensitivity import local, position, rungs, smooth, worst_case

__all__ = ["DOTS", "LESSONS"]

DOTS: list[float] = [18, 22, 25, 31, 38, 44, 52, 58, 63, 71, 80]
BOUNDS = (0, 100)


def dots(values: list[float], beta: float, relation: str, printed: bool = False) -> Numbers:
    x, options = sorted(values), {"bounds": BOUNDS, "relation": relation}
    found = [float(a) for a in rungs.median(x, count=len(x) + 2, **options)]  # type: ignore[arg-type]
    s = float(smooth.median(x, beta=beta, **options))  # type: ignore[arg-type]
    discounted = [math.exp(-beta * k) * a for k, a in enumerate(found)]
    star = next(k for k, value in enumerate(discounted) if value >= s * (1 - 1e-9))
    return {
        "median": x[(len(x) + 1) // 2 - 1],
        "global": float(worst_case.median(bounds=BOUNDS)),
        "local": float(local.median(x, **options)),  # type: ignore[arg-type]
        "smooth": s,
        "star": star,
        "as_printed": max(2.0**-k * a for k, a in enumerate(found) if k),
        "rungs": found,
        "gain": 100 / s,
    }


MEDIAN = Lesson(
    "median",
    "How far can one person move a median?",
    "global, local and smooth sensitivity, with dots to drag",
    (
        values("values", "values between 0 and 100", DOTS, 0, 100, 1, (3, 41)),
        number("beta", "β, the discount per person", 0.25, 0.01, 2, 0.001),
        relation_knob(),
        switch("printed", "show the note's last formula, as printed"),
    ),
    dots,
    {
        "median": "median",
        "global": "global sensitivity",
        "local": "local sensitivity",
        "smooth": "smooth sensitivity S",
        "star": "k at which S is reached",
        "gain": "how much less noise than global",
        "as_printed": "the last formula as printed, ε = 1",
        "rungs": "A(k), k = 0, 1, 2, …",
    },
    LessonGuess(
        "One person here moves the median by at most 6, in the worst table by 100. What is the smooth sensitivity at β = 0.25?",
        "smooth",
        (1, "y"),
    ),
    "Here one person moves the median {median} by at most {local}, in the worst case by {global}; the smooth bound at β {beta} is {smooth}, "
    "reached {star} people away.",
    ("S = max_{k ≥ 0} e^{−β k} A(k)", "A(k) = x_{⌊(n+k)/2⌋+1} − x_{⌈(n−1−k)/2⌉}", "LS ≤ S ≤ GS, S(x) ≤ e^{β} S(x′)"),
    "A smooth bound pays now, at a discount, for gaps that k people could open.",
    "The note’s last formula starts at k = 1 and discounts by 2 per person: with replaced rows it gives 7, under the local 8.",
    """import sordino as sd
x = [18, 22, 25, 31, 38, 44, 52, 58, 63, 71, 80]
print(sd.sensitivity.local.median(x, bounds=(0, 100)))
print(f"{sd.sensitivity.smooth.median(x, bounds=(0, 100), beta=0.25):.4f}")
print(sd.sensitivity.rungs.median(x, bounds=(0, 100), count=5))""",
    Exercise(
        "One person added or removed. What is the least β at which S equals the local sensitivity?",
        0.8473,
        0.005,
        "The gap 14 one person away must shrink to 6: β = ln(14/6).",
        "Every k needs e^(−βk) A(k) ≤ 6; the hardest is k = 1.",
        ((0.25, "At 0.25 the bound is 12.75: the gap three people away still counts."),),
    ),
    (("000", "last formula"), ("000", "13.2"), ("000", "Definition 13.3.1"), ("000", "13.3.1 (ii)")),
    "sordino.sensitivity.smooth.median",
    lambda: position.median(DOTS, bounds=BOUNDS).plot(0.25, 10),
    tuple({"beta": beta} for beta in (0.05, 0.1, 0.25, 0.5, 0.847)),
    ("000 13.1.1", "000 13.2", "000 13.3.1", "000 Lemma 13.1", "004 smooth sensitivity"),
)

HIGH = 10**6


def guessing(noise: str, epsilon: float) -> Numbers:
    beta, limit = 0.3 * epsilon, math.exp(epsilon) / (1 + math.exp(epsilon))
    tables = [[0] * zeros + [HIGH] * (100 - zeros) for zeros in (51, 50)]
    options: dict[str, Any] = {"bounds": (0, HIGH), "relation": "replace"}
    if noise == "local":
        scales = [float(local.median(x, **options)) / epsilon for x in tables]
    elif noise == "global":
        scales = [float(worst_case.median(**options)) / epsilon] * 2
    else:
        scales = [float(smooth.median(x, beta=beta, **options)) for x in tables]
    law = LaplaceLaw() if noise != "smooth" else PowerLaw(Fraction(str(epsilon)), Fraction(str(epsilon)) * Fraction(3, 10))
    best = 1.0 if min(scales) == 0 else 0.5 + Dilation(law, 0.0, math.log(max(scales) / min(scales))).delta(0.0) / 2
    return {"scale": scales[0], "scale_other": scales[1], "best": best, "limit": limit, "rounds20": 20 * best}


WHICH = Lesson(
    "which",
    "Which table is it?",
    "noise scaled by the local sensitivity talks",
    (choice("noise", "noise scaled by the", {"local": "local sensitivity", "smooth": "smooth sensitivity", "global": "global sensitivity"}), epsilon_knob()),
    guessing,
    {
        "scale": "scale of the noise on x",
        "scale_other": "scale on its neighbour x′",
        "best": "right guesses by the best rule",
        "rounds20": "of 20 rounds",
        "limit": "the limit at ε",
    },
    LessonGuess("Both medians are 0. From one noisy answer, how often does the best rule name the right table?", "best", (1, "x")),
    "With noise by the {noise} the best rule is right in {best} of all cases; ε {epsilon} allows at most {limit}.",
    ("median(x) = median(x′) = 0", "best = frac{1}{2} + frac{1}{4} ∫ |p − q|", "limit = frac{e^{ε}}{1 + e^{ε}}"),
    "Not the answer talks but its loudness.",
    "“The median is the same, so nothing leaks.”",
    """import sordino as sd
x, other = sd.course.notes.median_leak(100)
for table in (x, other):
    print(sd.sensitivity.local.median(table, bounds=(0, 10**6), relation="replace"),
          round(sd.sensitivity.smooth.median(table, bounds=(0, 10**6), beta=0.3, relation="replace")))""",
    Exercise(
        "At ε = 1, how often may any rule be right at most, if the mechanism is private?",
        0.7311,
        0.002,
        "e/(1 + e).",
        "The odds may shift by at most e^ε, from 1 : 1.",
        ((0.5, "That is a coin. ε = 1 allows a little more."), (1.0, "That is what local noise gives away.")),
    ),
    (),
    "sordino.lab.noise_exploitation",
    lambda: lines(
        {name: (np.linspace(0.2, 3, 15).tolist(), [guessing(name, round(float(e), 3))["best"] for e in np.linspace(0.2, 3, 15)])
         for name in ("local", "smooth", "global")},
        title="Right guesses by the best rule", x="epsilon", y="share right",
    ),
    tuple({"noise": noise, "epsilon": e} for noise, e in (("local", 1), ("smooth", 0.5), ("smooth", 1), ("smooth", 3), ("global", 1))),
    ("000 13.2", "002 local sensitivity", "004 problem with local sensitivity"),
)  # fmt: skip

NAMES = {"laplace": "Laplace", "gaussian": "Gaussian", "cauchy": "1/(1 + z²)", "power": "power law"}


def stretched(law: str, slide: float, d: int, epsilon: float, delta: float, **rest: float) -> Numbers:
    price = Fraction(str(epsilon))
    laws: dict[str, Any] = {"laplace": LaplaceLaw(), "gaussian": GaussianLaw(), "cauchy": GeneralizedCauchy(Fraction(2))}
    noise, half = laws.get(law) or PowerLaw(price, price * Fraction(3, 10)), epsilon / 2

    def dilated(by: float) -> float:
        return max(Dilation(noise, 0.0, by, wide_first=wide).delta(half) for wide in (True, False))

    low, high = 0.0, 3.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        low, high = (low, middle) if dilated(middle) > delta / 2 else (middle, high)
    return {
        "slid": Dilation(noise, slide, 0.0).delta(half),
        "dilated": dilated(rest["lambda"]),
        "allowed": delta / 2,
        "beta": low,
        "note": epsilon / (2 * math.log(2 / delta)),
        "product": generalized_cauchy_product(epsilon, 2, d).holds,
    }


ADMISSIBLE = Lesson(
    "admissible",
    "Why must noise slide and stretch?",
    "admissible noise: four laws, slid and stretched",
    (
        choice("law", "noise", NAMES),
        number("slide", "slide", 0.5, 0, 2, 0.01),
        number("lambda", "λ, the stretch", 0.03, 0, 0.5, 0.0001),
        whole("d", "d, copies of 1/(1 + z²)", 1, 1, 10),
        epsilon_knob(),
        delta_knob(),
    ),
    stretched,
    {
        "slid": "δ of the slide, at ε/2",
        "dilated": "δ of the stretch, at ε/2",
        "allowed": "allowed, δ/2",
        "beta": "largest λ",
        "note": "λ of Lemma 13.3",
        "product": "largest loss of d copies, constants of Lemma 13.2",
    },
    LessonGuess("Laplace noise, ε = 1, δ = 1e-6. By how much (λ) may it be stretched?", "beta", (2, "x")),
    "Slid by {slide} it leaves δ {slid}, stretched by λ {lambda} δ {dilated}; {allowed} is allowed, so λ may be {beta} and no more.",
    (
        "P(Z ∈ S) ≤ e^{ε/2} P(Z ∈ S + Δ) + frac{δ}{2}",
        "P(Z ∈ S) ≤ e^{ε/2} P(Z ∈ e^{λ} S) + frac{δ}{2}",
        "Laplace: δ = e^{−t e^{−λ}} − e^{ε/2 − t}, t = frac{ε/2 + λ}{1 − e^{−λ}}",
    ),
    "Thin tails slide for free and pay for stretching; fat tails stretch without any δ.",
    "A product of five copies of 1/(1 + z²) with the constants of one: the loss is 1.069, not 1.",
    """import sordino as sd
found = sd.privacy.admissible(sd.privacy.LaplaceLaw(), 1, 1e-6)
print(f"largest stretch {found.beta:.4f}, largest slide {found.alpha:.4f}")
for gamma in (2, 4):
    law = sd.privacy.GeneralizedCauchy(gamma)
    print(gamma, f"{sd.privacy.admissible(law, 1).beta:.3f}")""",
    Exercise(
        "Laplace noise, ε = 1, δ = 1e-6: the largest λ?",
        0.04676,
        0.0005,
        "The stretch leaves exactly δ/2 there; Lemma 13.3’s 0.0345 is valid with room to spare.",
        "Move λ until δ of the stretch is δ/2 = 5e-7.",
        ((0.0345, "That is the lemma’s ε/(2 ln(2/δ)): valid, and not the largest."),),
    ),
    (("000", "13.3.2"), ("000", "13.3.2 last line"), ("000", "Lemma 13.2"), ("000", "Lemmas 13.3, 13.4"), ("004", "smooth, 1-D"), ("004", "smooth, p-D")),
    "sordino.privacy.admissible",
    lambda: lines(
        {
            NAMES[name]: (np.linspace(0.01, 0.2, 20).tolist(), [max(stretched(name, 0.0, 1, 1.0, 1e-6, **{"lambda": by})["dilated"], 1e-14) for by in np.linspace(0.01, 0.2, 20)])
            for name in ("laplace", "gaussian")
        },
        title="delta of a stretch, at half of epsilon 1", x="lambda", y="delta", log_y=True,
    ),
    tuple({"lambda": by} for by in (0.01, 0.03, 0.0345, 0.0467, 0.1)),
    ("000 Definition 13.3.2", "000 13.3.2", "000 13.3.3", "004 adding noise"),
    {"beta": 1e-6, "product": 1e-6, "slid": 1e-6, "dilated": 1e-6},
)  # fmt: skip


LESSONS = (MEDIAN, WHICH, ADMISSIBLE)
