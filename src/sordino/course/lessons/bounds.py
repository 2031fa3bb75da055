"""Lessons about tests and thresholds: propose-test-release, the mode, the stable histogram."""

from __future__ import annotations

import math
from collections.abc import Hashable
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
    log,
    number,
    relation_knob,
    values,
    whole,
)
from sordino.mechanisms import ProposeTestRelease, StableHistogram
from sordino.mechanisms.stability import Stability, passes
from sordino.pictures import bars
from sordino.sensitivity import distance, rungs

__all__ = ["LESSONS"]

BOUNDS = (0, 100)


def rows(n: int, shape: str) -> list[float]:
    """A hill of n logistic quantiles in tenths, or two camps with two people more than half at 25."""
    if shape == "camps":
        low = n // 2 + 2
        return [25.0] * low + [75.0] * (n - low)
    p = (np.arange(1, n + 1) - 0.5) / n
    return [min(100.0, max(0.0, math.floor(10 * (50 + 6 * math.log(at / (1 - at))) + 0.5) / 10)) for at in p]


def _pass(over: float) -> float:
    return math.exp(over) / 2 if over <= 0 else 1 - math.exp(-over) / 2


def tested(n: int, shape: str, B: float, e1: float, e2: float, delta: float) -> Numbers:
    x = rows(n, shape)
    d = float(distance.median(x, bounds=BOUNDS, above=B)) if B < 100 else math.inf
    total, first = Fraction(str(e1)) + Fraction(str(e2)), Fraction(str(e1))
    tests = {
        test: ProposeTestRelease(total, Fraction(str(delta)), Fraction(1), test, share=first / total) for test in ("laplace", "optimal")
    }
    threshold, (optimal, _) = tests["laplace"].threshold, tests["optimal"].chances()
    need = next(k for k in range(10**6) if _pass(e1 * (k - threshold)) >= 0.99)
    return {
        "local": float(rungs.median(x, bounds=BOUNDS, count=1)[0]),
        "d": d,
        "T": threshold,
        "pass": 1.0 if d == math.inf else _pass(e1 * (d - threshold)),
        "optimal": 1.0 if d == math.inf else float(optimal[min(int(d), len(optimal) - 1)]),
        "need": need,
        "need_optimal": int(np.argmax(optimal >= 0.99)),
        "epsilon": float(total),
        "sd": math.sqrt(2) * B / e2,
    }


PROPOSE = Lesson(
    "propose",
    "Dare you propose a bound?",
    "propose, test, release",
    (
        whole("n", "n, people", 501, 51, 2001),
        choice("shape", "the table", {"hill": "a hill around 50", "camps": "two camps, at 25 and 75"}),
        number("B", "B, the proposed bound", 2, 0, 100, 0.1),
        number("e1", "ε₁, for the test", 0.5, 0.1, 2, 0.1),
        number("e2", "ε₂, for the release", 0.5, 0.1, 2, 0.1),
        delta_knob(),
    ),
    tested,
    {
        "local": "local sensitivity",
        "d": "distance to instability",
        "T": "threshold T",
        "pass": "chance to pass, Laplace test",
        "optimal": "chance to pass, optimal test",
        "need": "distance for 99%",
        "need_optimal": "distance for 99%, optimal test",
        "epsilon": "price, ε₁ + ε₂",
        "sd": "standard deviation of a release",
    },
    LessonGuess("501 people on a hill, B = 2, ε₁ = 0.5. How often does the noisy test pass?", "pass", (1, "y")),
    "{d} people must change before one person can move the median by more than {B}; the test at T {T} passes with {pass}. It costs {epsilon} either way.",
    (
        "d = min {k: A(k) > B}",
        "T = frac{ln(1/(2δ))}{ε_{1}}, pass if d + Lap(frac{1}{ε_{1}}) > T",
        "then f + Lap(frac{B}{ε_{2}}): (ε_{1} + ε_{2}, δ)",
    ),
    "Refusal is an answer.",
    "Giving the money back after a refusal: the refusal told something, so it was paid for.",
    """import sordino as sd
x = [50 + 0.1 * i for i in range(-250, 251)]
print(sd.sensitivity.distance.median(x, bounds=(0, 100), above=2))
test = sd.mechanisms.ProposeTestRelease(1, "1e-6", 2, "laplace")
print(f"threshold {test.threshold:.2f}")""",
    Exercise(
        "ε₁ = 0.5, δ = 1e-6, Laplace test. Which distance passes with 99%?",
        35,
        0,
        "T is 26.24, and 99% need ln 50/ε₁ = 7.8 more, rounded up.",
        "The chance is 1 − ½ e^(−ε₁(d − T)).",
        ((27, "At T itself it is a coin."), (28, "That is the optimal test; the Laplace test needs more.")),
    ),
    (("002", "propose-test-release"), ("002", "propose-test-release, step 2"), ("002", "propose-test-release, symbols")),
    "sordino.mechanisms.ProposeTestRelease.chances",
    lambda: ProposeTestRelease(Fraction(1), Fraction(1, 10**6), Fraction(2)).plot(),
    tuple({"n": n} for n in (101, 201, 301, 501, 1001)),
    ("002 propose-test-release",),
    {"optimal": 1e-7},
)  # fmt: skip

KEYS = "abcdefgh"


def leader(counts: list[float], epsilon: float, delta: float, relation: str) -> Numbers:
    tally: dict[Hashable, int] = {key: round(count) for key, count in zip(KEYS, counts, strict=False) if round(count)}
    ranked = sorted(map(str, tally), key=lambda key: (-tally[key], key))
    price, small = Fraction(str(epsilon)), Fraction(str(delta))
    d = int(distance.mode(tally, relation=relation))
    lead = tally[ranked[0]] - (tally[ranked[1]] if len(ranked) > 1 else 0)
    need = min([tally[ranked[0]], *(tally[ranked[0]] - tally[key] + (key > ranked[0]) for key in ranked[1:])])
    return {
        "winner": ranked[0],
        "lead": lead,
        "need": need,
        "d": d,
        "optimal": float(passes(price, small, d)),
        "laplace": _pass(epsilon * d - math.log(1 / (2 * delta))),
        "printed": _pass(epsilon * lead - math.log(1 / delta)),
        "T": math.log(1 / delta) / epsilon,
        "certain": Stability(price, small).least_distance,
    }


MODE = Lesson(
    "mode",
    "When may you tell the plain truth?",
    "the most frequent key, exactly or not at all",
    (
        values("counts", "counts of the keys a, b, c, …", [60, 45, 30, 12, 3], 0, 200, 1, (1, 8)),
        epsilon_knob(),
        delta_knob(),
        relation_knob(),
    ),
    leader,
    {
        "winner": "winner",
        "lead": "its lead",
        "need": "rows that change the winner",
        "d": "distance to instability",
        "optimal": "chance to be named, optimal test",
        "laplace": "chance, Laplace test",
        "printed": "chance, lead as distance, as printed",
        "certain": "distance for 99%",
    },
    LessonGuess("The leader is ahead by 15, ε = 1, δ = 1e-6. How often is it named, at best?", "optimal", (1, "y")),
    "{winner} leads by {lead}; {need} rows can change that, so the distance is {d} and the truth is told with probability {optimal}.",
    (
        "need = lead (+ 1 if the rival loses ties)",
        "d = need − 1, replaced rows: ⌈frac{need}{2}⌉ − 1",
        "π(0) = δ, π(d + 1) = min(1, e^{ε} π(d) + δ, 1 − e^{−ε}(1 − π(d) − δ))",
    ),
    "No noise where nobody can change the winner.",
    "The lead taken for the distance: a lead of 1 is distance 0, and a replaced row eats two of the lead.",
    """import sordino as sd
votes = {"a": 60, "b": 45, "c": 30, "d": 12, "e": 3}
print(sd.sensitivity.distance.mode(votes))
print(sd.sensitivity.distance.mode(votes, relation="replace"))
print(sd.mechanisms.StableMode(1, "1e-6").least_lead)""",
    Exercise(
        "The printed test at a lead of exactly ln(1/δ)/ε: how often does it answer?",
        0.5,
        0.001,
        "The noise is above zero half of the time.",
        "The lead equals the threshold, so only the sign of the noise decides.",
        ((1 - 1e-6, "So the note says. Its proof uses twice the lead."),),
    ),
    (("002", "mode"), ("002", "mode, success")),
    "sordino.mechanisms.StableMode",
    lambda: bars(["a", "b", "c", "d", "e"], [60, 45, 30, 12, 3], title="How often each key occurs", x="rows"),
    tuple({"counts": [45 + lead, 45, 30, 12, 3]} for lead in (1, 5, 10, 15, 25)),
    ("002 mode",),
    {"optimal": 1e-7},
)
COUNTS = [math.floor(200 / r + 0.5) for r in range(1, 21)]


def shown(k: float, epsilon: float, delta: float, relation: str) -> Numbers:
    made = StableHistogram(Fraction(str(epsilon)), Fraction(str(delta)), relation=relation)  # type: ignore[arg-type]
    b, t = float(made.scale), made.threshold

    def above(a: int) -> float:
        return made.hidden(a) if a >= 1 else 1 - made.hidden(1 - a)

    def within(m: int, w: int) -> float:
        start = max(t - m, -w)
        return (above(start) - above(w + 1) if start <= w else 0.0) + (1 - above(t - m) if m <= w else 0.0)

    least = next(m for m in range(1, 10**6) if above(t - m) >= 0.99)
    return {
        "b": b,
        "t": t,
        "shows": [above(t - m) for m in COUNTS],
        "least": least,
        "at_least": above(t - least),
        "stable": next(w for w in range(10**6) if math.prod(within(m, w) for m in COUNTS) >= 0.95),
        "laplace": -b * math.log(-math.expm1(math.log(0.95) / k)),
        "hidden": sum(m < least for m in COUNTS),
    }


HISTOGRAM = Lesson(
    "histogram",
    "Who vanishes from the histogram?",
    "counts of keys nobody listed beforehand",
    (log("k", "k, possible keys", 1e6, 10, 1e9), epsilon_knob(), delta_knob(), relation_knob()),
    shown,
    {
        "t": "threshold",
        "b": "scale of the noise",
        "least": "least count that shows with 99%",
        "at_least": "its chance",
        "hidden": "of the twenty keys, below that",
        "stable": "worst error with 95%, stable",
        "laplace": "worst error with 95%, noise on every key",
    },
    LessonGuess("ε = 1, δ = 1e-6. From which count on does a key appear with 99%?", "least"),
    "Keys appear from a noisy count of {t} on, and with 99% from {least} rows; the worst error is {stable}, against {laplace} for noise on all {k} keys.",
    (
        "shown if count + K ≥ t, K discrete Laplace of scale b",
        "t = 1 + ⌈b ln frac{1}{δ(1 + e^{−1/b})}⌉, b = frac{1}{ε} (replaced rows: frac{2}{ε})",
    ),
    "Silence about absent keys is free; rare keys pay for it.",
    "The scale for added rows used where rows are replaced: b must double, and the threshold goes from 15 to 28.",
    """import sordino as sd
for relation in ("add_remove", "replace"):
    found = sd.mechanisms.StableHistogram(1, "1e-6", relation=relation)
    print(relation, found.threshold, float(found.scale))""",
    Exercise(
        "ε = 1, δ = 1e-6, one person added or removed. The least count that appears with 99%?",
        19,
        0,
        "19 appears with 0.995, 18 with 0.987.",
        "The threshold is 15, and the noise must not fall below 15 − count.",
        ((15, "That is the threshold: a count of 15 shows about two times in three."), (18, "Nearly: 18 shows with 0.987.")),
    ),
    (("002", "stable histogram"),),
    "sordino.mechanisms.StableHistogram",
    lambda: bars(
        [str(m) for m in COUNTS[:12]], shown(1e6, 1, 1e-6, "add_remove")["shows"][:12], title="Chance that a count shows", x="chance"
    ),
    tuple({"k": k} for k in (10, 1e3, 1e6, 1e8, 1e9)),
    ("002 stable histograms",),
)

LESSONS = (PROPOSE, MODE, HISTOGRAM)
