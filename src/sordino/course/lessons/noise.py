"""Lessons about plain noise: Laplace for a mean, Laplace or Gaussian for many numbers."""

from __future__ import annotations

import math

import numpy as np

from sordino.course.lesson import Exercise, Guess, Lesson, Numbers, choice, delta_knob, epsilon_knob, whole
from sordino.mechanisms.gaussian import largest_mu
from sordino.pictures import lines
from sordino.privacy import LaplaceLaw
from sordino.privacy.dilation import Dilation
from sordino.privacy.number import as_delta, as_epsilon

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
    Guess("The mean of 100 bits at ε = 1. Within what ± does it fall, 95 times in 100?", "half"),
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
    Guess("One person has a bit in each of d numbers. From which d on is Gaussian noise smaller?", "first", (0, "x")),
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

LESSONS = (LAPLACE, DIMENSION)
