"""Lessons about what to add noise to: Laplace for a mean, Laplace or Gaussian for many numbers, and a median drawn instead."""

from __future__ import annotations

import math
from fractions import Fraction

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
    values,
    whole,
)
from sordino.course.lessons.medians import DOTS
from sordino.mechanisms import QuantileExponential
from sordino.mechanisms.gaussian import largest_mu
from sordino.pictures import lines
from sordino.privacy import LaplaceLaw, PowerLaw
from sordino.privacy.dilation import Dilation
from sordino.privacy.number import as_delta, as_epsilon
from sordino.sensitivity import smooth

__all__ = ["LESSONS", "gaussian_sigma"]


def mean(n: int, epsilon: float, neighbour: str) -> Numbers:
    law, b = LaplaceLaw(), 1 / (n * epsilon)
    same = neighbour == "replace"
    spread = 0.0 if same else math.log((n + 1) / n)
    slide = 1 / n / b if same else epsilon  # in scales of the narrower noise
    pairs = [Dilation(law, slide, spread, wide_first=wide) for wide in (True, False)]
    return {
        "b": b,
        "half": b * math.log(20),
        "risk": float(law.variance) * b * b,
        "sd": math.sqrt(2) * b,
        "shift": 1 / n if same else 1 / (n + 1),
        "sup": pairs[0].sup() if same else math.inf,
        "delta": 0.0 if same else max(pair.delta(epsilon) for pair in pairs),
    }


LAPLACE = Lesson(
    "laplace",
    "How wrong is a Laplace answer?",
    "the mean of bits, its noise and its loss",
    (
        whole("n", "n, people with one bit each", 100, 10, 10_000),
        epsilon_knob(),
        choice("neighbour", "the neighbour", {"replace": "one bit is replaced", "add": "one row is added, noise as printed"}),
    ),
    mean,
    {
        "b": "scale b of the noise",
        "half": "95% within ±",
        "sd": "standard deviation",
        "risk": "risk, the mean square",
        "shift": "how far one person moves the mean",
        "sup": "largest loss",
        "delta": "δ at ε",
    },
    LessonGuess("The mean of 100 bits at ε = 1. Within what ± does it fall, 95 times in 100?", "half"),
    "The mean of {n} bits at ε {epsilon} is right to within ±{half}, 95 times in 100; largest loss {sup}, δ at ε {delta}.",
    ("b = frac{1}{n ε}", "P(|Z| > t) = e^{−t/b}", "L(z) = frac{|z − μ′| − |z − μ|}{b} ≤ ε"),
    "The loss climbs to ε and stops there, because a distance to one point differs from that to another by at most their gap. That is the proof.",
    "With two scales it never stops: add a row, and n in the noise changes too.",
    """import math
import sordino as sd
law = sd.privacy.LaplaceLaw()
found = sd.privacy.loss(law.at(0, 100), law.at(100, 100))
print(f"largest loss {found.sup:.4f}")
print(f"95% within {math.log(20) / (100 * 1):.5f}")""",
    Exercise(
        "n = 1,000 bits. Which ε gives ±0.01, 95 times in 100?",
        0.29957,
        0.002,
        "ln 20/(1000 · 0.01).",
        "The half-width is ln 20 times the scale 1/(nε).",
        ((0.1, "That makes the scale 0.01. 95% need ln 20 = 3 scales."), (0.196, "1.96 is the Gaussian's. Laplace tails take ln 20.")),
    ),
    (("001", "2, 2.2"), ("001", "2.1"), ("004", "Laplace mean")),
    "sordino.privacy.LaplaceLaw",
    lambda: lines(
        {"95% within": (list(range(20, 1001, 20)), [mean(n, 1.0, "replace")["half"] for n in range(20, 1001, 20)])},
        title="Mean of bits at epsilon 1", x="people", y="half-width",
    ),
    tuple({"n": n} for n in (10, 30, 100, 1_000, 10_000)),
    ("001 2", "001 2.1", "001 2.2", "003 sensitivity", "004 Laplace mechanism"),
    {"delta": 1e-7},
)  # fmt: skip


def gaussian_sigma(epsilon: float, delta: float) -> float:
    """The least standard deviation for a statistic that one person moves by 1."""
    return float(1 / largest_mu(as_epsilon(str(epsilon)), as_delta(str(delta))))


def many(d: int, epsilon: float, delta: float, shape: str) -> Numbers:
    sigma, bits = gaussian_sigma(epsilon, delta), shape == "bits"
    first = next(k for k in range(1, 10**7) if math.sqrt(k) * sigma < math.sqrt(2) * k / epsilon) if bits else math.inf
    return {
        "sigma": sigma,
        "laplace": math.sqrt(2) * (d if bits else 1) / epsilon,
        "gauss": (math.sqrt(d) if bits else 1) * sigma,
        "first": first,
        "printed": math.sqrt(2 * math.log(2 / delta)) / epsilon,
        "l1": d if bits else 1,
        "l2": math.sqrt(d) if bits else 1,
    }


DIMENSION = Lesson(
    "dimension",
    "Laplace or Gaussian for d numbers?",
    "one person in every number, or in one bin",
    (
        whole("d", "d, how many numbers", 1, 1, 50),
        epsilon_knob(),
        delta_knob(),
        choice("shape", "one person is", {"bits": "in all d numbers", "bin": "in one bin of a histogram"}),
    ),
    many,
    {
        "laplace": "error of each number, Laplace",
        "gauss": "error of each number, Gaussian",
        "sigma": "σ for a person of length 1",
        "printed": "σ of note 004",
        "first": "first d where the Gaussian wins",
        "l1": "a person's length in L1",
        "l2": "a person's length in L2",
    },
    LessonGuess("One person has a bit in each of d numbers. From which d on is Gaussian noise smaller?", "first", (0, "x")),
    "At d = {d}, Laplace noise errs by {laplace} and Gaussian noise by {gauss}; for a person in all numbers the Gaussian wins from {first} on.",
    (
        "bits: frac{sqrt{2} d}{ε} against sqrt{d} σ",
        "one bin: frac{sqrt{2}}{ε} against σ",
        "σ = frac{1}{μ}, δ = Φ(frac{μ}{2} − frac{ε}{μ}) − e^{ε} Φ(−frac{μ}{2} − frac{ε}{μ})",
    ),
    "One person spread over many numbers is long in L1 and short in L2.",
    "“The Gaussian wins in high dimension”: not for a histogram, where one person sits in one bin.",
    """import sordino as sd
exact = sd.mechanisms.Gaussian(1, "1e-6").variance ** 0.5
print(f"sigma {exact:.4f}")
for d in (8, 9):
    print(d, f"Laplace {2**0.5 * d:.2f}", f"Gaussian {d**0.5 * exact:.2f}")""",
    Exercise(
        "ε = 1, δ = 1e-6, one person in all numbers. What is the first d at which Gaussian noise is smaller?",
        9,
        0,
        "√9 · 4.2247 = 12.67 < √2 · 9 = 12.73, and at 8 it is the other way round.",
        "Compare √2·d/ε with √d·σ, σ = 4.2247.",
        ((15, "That is with the σ of note 004, 5.39; the exact one is 4.22."), (8.92, "Nearly: d is a whole number.")),
    ),
    (("001", "5, sigma"), ("001", "5, risk"), ("003", "Gaussian claim"), ("003", "Gaussian proof"), ("004", "Gaussian mechanism"), ("004", "vector query")),
    "sordino.mechanisms.Gaussian",
    lambda: lines(
        {
            "Laplace": (list(range(1, 51)), [math.sqrt(2) * d for d in range(1, 51)]),
            "Gaussian": (list(range(1, 51)), (np.sqrt(np.arange(1, 51)) * gaussian_sigma(1, 1e-6)).tolist()),
        },
        title="Error of each of d numbers, one person in all", x="d", y="root mean square",
    ),
    tuple({"d": d} for d in (1, 4, 8, 9, 25)),
    ("001 3", "001 5", "003 Gaussian mechanism", "004 vector query"),
)  # fmt: skip


def hat(values: list[float], q: float, epsilon: float, relation: str) -> Numbers:
    x = np.sort(np.array(values, np.int64))
    mechanism = QuantileExponential(Fraction(str(epsilon)), Fraction(str(q)), 0, 100, relation=relation)  # type: ignore[arg-type]
    probs = np.exp(mechanism.log_probability(x, np.arange(101)))
    centre = int(x[max(1, math.ceil(q * len(x) - 1e-12)) - 1])
    price = Fraction(str(epsilon))
    law = PowerLaw(price, price * Fraction(3, 10))
    s = float(smooth.median(x.tolist(), bounds=(0, 100), beta=0.3 * epsilon, relation=relation))
    return {
        "centre": centre,
        "probs": probs.tolist(),
        "between": float(probs[38:53].sum()),
        "error": float(np.abs(np.arange(101) - centre) @ probs),
        "smooth_error": s * _mean_abs(law),
        "global_error": 100 / epsilon,
        "at": float(probs[centre]),
    }


def _mean_abs(law: PowerLaw) -> float:
    from scipy.integrate import quad

    def above(z: float) -> float:
        return 2 * float(1 - law.cdf(z))

    turn = float(1 / law.epsilon)
    return float(quad(above, 0, turn, epsabs=1e-13)[0] + quad(above, turn, math.inf, epsabs=1e-13)[0])


HAT = Lesson(
    "hat",
    "Can a median be drawn from a hat?",
    "near in rank, not in value",
    (
        values("values", "values between 0 and 100", DOTS, 0, 100, 1, (3, 41)),
        number("q", "q, which quantile", 0.5, 0.05, 0.95, 0.05),
        epsilon_knob(),
        relation_knob(),
    ),
    hat,
    {
        "centre": "the true quantile",
        "between": "P(38 ≤ y ≤ 52)",
        "at": "chance of the true value itself",
        "error": "mean error of the hat",
        "smooth_error": "mean error with smooth noise, for the median",
        "global_error": "mean error with global noise",
    },
    LessonGuess("A number from 0 to 100 is drawn, weighted by its distance in ranks, ε = 1. How often is it between 38 and 52?", "between"),
    "The value drawn lies between 38 and 52 with probability {between}; it errs by {error} on average, smooth noise by {smooth_error}.",
    ("u(y) = −max(0, #{x < y} − q n, q n − #{x ≤ y})", "P(y) ∼ e^{ε u(y)/(2Δ)}, Δ = max(q, 1 − q)"),
    "Near in rank, not in value: where rows are dense a small distance in ranks is a tiny one in value.",
    "|#{x ≤ y} − q n| instead of u misses ties: with eleven rows at 44 it returns 44 with 0.010, not 0.710.",
    """import numpy as np
import sordino as sd
x = np.array([18, 22, 25, 31, 38, 44, 52, 58, 63, 71, 80])
hat = sd.mechanisms.QuantileExponential(1, low=0, high=100)
found = np.exp(hat.log_probability(x, np.arange(101)))
print(f"P(38 to 52) = {found[38:53].sum():.4f}")""",
    Exercise(
        "The eleven rows, ε = 1, one person added or removed: P(38 ≤ y ≤ 52)?",
        0.6815,
        0.005,
        "Fifteen values within half a rank or so of the middle carry two thirds of the weight.",
        "Add up the green bars.",
        ((0.149, "That is fifteen values of 101, unweighted."),),
    ),
    (),
    "sordino.mechanisms.QuantileExponential",
    lambda: lines(
        {"chance": (list(range(101)), hat(DOTS, 0.5, 1.0, "add_remove")["probs"])}, title="Chance of each value", x="value", y="chance"
    ),
    tuple({"epsilon": e} for e in (0.25, 0.5, 1.0, 2.0, 4.0)),
    ("003 “how to beat this baseline?”",),
    dict.fromkeys(("probs", "between", "error", "at", "smooth_error"), 1e-07),  # the library keeps a little of epsilon for rounding
)

LESSONS = (LAPLACE, DIMENSION, HAT)
