"""Lessons about robust statistics and attacks: one outlier, a private descent, benches where tables are broken."""

from __future__ import annotations

import datetime as dt
import math
from functools import cache

import numpy as np
from scipy.special import ndtr, ndtri

from sordino.course.lesson import Exercise, Lesson, LessonGuess, Numbers, choice, epsilon_knob, log, number, whole
from sordino.course.lessons.noise import gaussian_sigma
from sordino.lab.exploitation import reachable
from sordino.lab.unique import how_unique
from sordino.pictures import lines
from sordino.sensitivity.influence import huber, location

__all__ = ["LESSONS"]

ROWS = ndtri((np.arange(20) + 0.5) / 20)


def outlier(row: float, c: float) -> Numbers:
    table = np.append(ROWS, row)
    share = float(2 * ndtr(c) - 1)
    score = share - 2 * c * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) + c * c * (1 - share)
    return {
        "mean": float(table.mean()),
        "huber": float(location(table, huber(c)).theta[0]),
        "median": float(np.median(table)),
        "share": share,
        "ges": c / share,
        "V": score / share**2,
        "efficiency": share**2 / score,
        "slope": float(np.append(ROWS / 10, 1.0) @ np.append(ROWS / 10, row) / (np.sum((ROWS / 10) ** 2) + 1)),
    }


OUTLIER = Lesson(
    "outlier",
    "What can one outlier do?",
    "mean, Huber’s estimate, median and their influence",
    (number("row", "the row that moves", 0, -50, 50, 0.1), number("c", "c, where Huber clips", 1.345, 0.2, 5, 0.005)),
    outlier,
    {
        "mean": "mean of 21 rows",
        "huber": "Huber’s estimate",
        "median": "median",
        "share": "share of normal rows within c",
        "ges": "gross error sensitivity, normal law",
        "V": "asymptotic variance",
        "efficiency": "efficiency against the mean",
        "slope": "least-squares slope with the row at x = 1 (1 without it)",
    },
    LessonGuess("The row sits at 0. Where is Huber’s estimate when it is dragged to 50?", "huber"),
    "With the row at {row} the mean is {mean}, Huber’s estimate {huber} and the median {median}.",
    ("∑ ψ(x_{i} − T) = 0, ψ(u) = max(−c, min(c, u))", "IF(x) = frac{ψ(x)}{P(|Z| ≤ c)}", "GES = frac{c}{P(|Z| ≤ c)}"),
    "Robust: a row moves little here. Private: a row moves little at every table.",
    "A table’s own gross error sensitivity as the scale of noise: on rows −100, 0, 100, n = 101, c = 1, δ is 0.986.",
    """import numpy as np
import sordino as sd
from sordino.sensitivity.influence import huber, location
rows = np.append(np.linspace(-2, 2, 20), 50)
print(f"mean {rows.mean():.3f}, Huber {location(rows, huber(1.345)).theta[0]:.3f}")
print(sd.course.textbook.estimator.plug_in())""",
    Exercise(
        "The row is at 50, c = 1.345. Huber’s estimate?",
        0.0841,
        0.001,
        "The row pulls with c at most, and 16 others pull back.",
        "Drag the row, or solve Σψ = 0: the far row counts c.",
        ((2.38, "That is the mean."),),
    ),
    (("000", "13.1.2 solution"), ("000", "13.1.2 bound"), ("004", "influence function"), ("004", "Chaudhuri-Hsu"), ("004", "deviation of F_n"), ("004", "Avella-Medina")),
    "sordino.sensitivity.influence.location",
    lambda: lines(
        {name: (np.linspace(-50, 50, 51).tolist(), [outlier(float(r), 1.345)[key] for r in np.linspace(-50, 50, 51)])
         for name, key in (("mean", "mean"), ("Huber", "huber"), ("median", "median"))},
        title="Where the estimates go when one row of 21 moves", x="the row", y="estimate",
    ),
    tuple({"row": row} for row in (-50, -5, 0, 5, 50)),
    ("000 13.1.2", "004 robust statistics", "004 influence function"),
    {"huber": 1e-6},
)  # fmt: skip


def steps(T: int, B: float, eta: float, epsilon: float, n: int, relation: str) -> Numbers:
    rows, mu, path = ndtri((np.arange(n) + 0.5) / n), 2.0, []
    for _ in range(100):
        mu += eta / n * float(np.clip(rows - mu, -B, B).sum())
        path.append(mu)
    share = float(np.mean(np.abs(rows) <= B))
    r, reach = 1 - eta * share, (2 if relation == "replace" else 1) * B
    curve = []
    for t, calm in enumerate(path, 1):
        many = t if abs(1 - r * r) < 1e-12 else (1 - r ** (2 * t)) / (1 - r * r)
        curve.append(math.sqrt(calm**2 + 2 * (eta * reach * t / (n * epsilon)) ** 2 * many))
    best = int(np.argmin(curve)) + 1
    return {
        "scale": reach * T / epsilon, "calm": path[T - 1], "rmse": curve[T - 1], "best": best, "best_rmse": curve[best - 1], "share": share,
        "curve": curve,
    }  # fmt: skip


DESCENT = Lesson(
    "descent",
    "When should a private descent stop?",
    "every further step makes all steps noisier",
    (
        whole("T", "T, steps fixed beforehand", 10, 1, 100),
        number("B", "B = c, where a pull is clipped", 1.345, 0.5, 5, 0.005),
        number("eta", "η, the step size", 1.0, 0.1, 1.2, 0.1),
        epsilon_knob(),
        whole("n", "n, people", 500, 50, 2000),
        choice("relation", "neighbours", {"replace": "one person is replaced", "add_remove": "one person is added or removed"}),
    ),
    steps,
    {
        "scale": "noise of one step’s sum",
        "calm": "the end without noise",
        "rmse": "typical error at T",
        "best": "best T",
        "best_rmse": "typical error there",
        "share": "share of rows not clipped",
    },
    LessonGuess("500 people, ε = 1, start 2 off. How many steps are best?", "best", (1, "x")),
    "{T} steps need noise {scale} each and end {rmse} off; {best} steps would end {best_rmse} off.",
    (
        "μ_{k} = μ_{k−1} + frac{η}{n} (∑ ψ(x_{i} − μ_{k−1}) + Lap(frac{s T}{ε}))",
        "s = 2B (replaced), B (added or removed)",
        "RMSE^{2} ≈ (calm − μ̂)^{2} + 2 (frac{η s T}{n ε})^{2} frac{1 − r^{2T}}{1 − r^{2}}, r = 1 − η share",
    ),
    "Every further step makes all steps noisier.",
    "Stopping when it looks settled: T is part of the price and must be fixed beforehand.",
    """import sordino as sd
for steps in (2, 4, 20):
    made = sd.mechanisms.NoisyDescent(1, rounds=steps, dimension=2, size=500)
    print(steps, [f"{float(scale):.4g}" for scale in made.scales])""",
    Exercise(
        "The page’s defaults, replaced rows. Which T is best?",
        4,
        0,
        "Four steps arrive to within 0.03; a hundred are 0.79 off by their own noise.",
        "Drag T along the lower curve to its lowest point.",
        ((100, "More steps share one price: each gets a hundredth of it."),),
    ),
    (("004", "descent, direction"), ("004", "descent, noise")),
    "sordino.mechanisms.NoisyDescent",
    lambda: lines(
        {"error": (list(range(1, 101)), steps(10, 1.345, 1.0, 1.0, 500, "replace")["curve"])},
        title="Typical error by T",
        x="T",
        y="error",
        log_x=True,
        log_y=True,
    ),
    tuple({"T": t} for t in (1, 4, 10, 30, 100)),
    ("004 private noisy gradient descent",),
)


@cache
def low_bits(draws: int = 4_000) -> tuple[float, float]:
    """Answers 0 and 1 with noise as numpy makes it: how often only the true one can be behind the release, and how often only the other."""
    noise = np.random.default_rng(5).laplace(size=draws)
    seen = [(reachable(float(f + z), f), reachable(float(f + z), 1 - f)) for f, z in zip((0.0, 1.0) * (draws // 2), noise, strict=True)]
    return sum(here and not there for here, there in seen) / draws, sum(there and not here for here, there in seen) / draws


def broken(N: float, age: float, d: int, n: int, Q: int, sigma: float, m: int, epsilon: float) -> Numbers:
    today = dt.date(2020, 7, 1)
    born = today - dt.timedelta(days=round(age * 365.25))
    found = how_unique(population=round(N), birth_date=born.isoformat(), sex="f", today=today)
    noise = gaussian_sigma(epsilon, 1e-6)

    def auc(s: float) -> float:
        return float(ndtr(math.sqrt(d / (2 * n * (1 + 4 * n * s * s)))))

    def right(s: float) -> float:
        return float(ndtr(math.sqrt(max(0, Q - 64)) / (4 * s)))

    return {
        "alone": found.unique, "others": found.others, "auc": auc(0.0), "auc_private": auc(noise * math.sqrt(d) / n), "right": right(sigma),
        "right_private": right(noise * math.sqrt(Q)), "sticky": float(ndtr(1 / (2 * sigma))), "sticky_many": float(ndtr(math.sqrt(m) / (2 * sigma))),
        "told": low_bits()[0], "wrong": low_bits()[1],
    }  # fmt: skip


ATTACKS = Lesson(
    "attacks",
    "Break it, then mend it",
    "linkage, tracing, reconstruction, sticky noise, low bits",
    (
        log("N", "N, people in the town", 30_000, 1_000, 1_000_000),
        whole("age", "age of the person looked for", 50, 0, 100),
        whole("d", "d, averages published", 1000, 10, 5000),
        whole("n", "n, people in the study", 100, 20, 2000),
        whole("Q", "Q, sums over subsets of 64 people", 256, 65, 2000),
        number("sigma", "σ, noise of each sum", 2, 0.2, 20, 0.1),
        whole("m", "m, wordings of one question", 25, 1, 400),
        epsilon_knob(),
    ),
    broken,
    {
        "alone": "alone with birth date and sex",
        "others": "others expected to share them",
        "auc": "members told from strangers, exact averages",
        "auc_private": "the same with (ε, 1e-6)-private averages",
        "right": "secret bits told right from the sums",
        "right_private": "the same with (ε, 1e-6)-private sums",
        "sticky": "sticky noise, asked once: guess right",
        "sticky_many": "asked in m wordings: guess right",
        "told": "0 or 1 told from low bits, simulated",
        "wrong": "told wrongly",
    },
    LessonGuess("64 secret bits, 256 sums over random subsets, each with noise σ = 2. What share of the bits is told right?", "right"),
    "Among {N} people somebody aged {age} is alone with probability {alone}; members are traced with {auc}, private averages {auc_private}; "
    "of 64 bits {right} are reconstructed, privately {right_private}.",
    (
        "alone = (1 − q)^{N−1}",
        "AUC = Φ(sqrt{frac{d}{2n(1 + 4 n s^{2})}})",
        "right = Φ(frac{sqrt{Q − n}}{4σ})",
        "sticky = Φ(frac{sqrt{m}}{2σ})",
    ),
    "Many nearly exact answers are the data.",
    "Noise chosen per answer, not per person: enough answers average it away.",
    """import sordino as sd
found = sd.lab.how_unique(population=30_000, birth_date="1970-07-01", sex="f", today=__import__("datetime").date(2020, 7, 1))
print(f"alone {found.unique:.3f}")
print(sd.lab.reconstruct(people=64, questions=256, noise=2, repeats=40, seed=1))""",
    Exercise(
        "64 people, 256 sums, σ = 2: what share of the bits is told right?",
        0.958,
        0.01,
        "Φ(√192/8).",
        "Least squares leaves an error of about 2σ/√(Q − n) per bit; a bit is right if that stays under ½.",
        ((0.5, "That is a coin. 256 answers about 64 bits leave nothing to chance."),),
    ),
    (("004", "tracing"),),
    "sordino.lab.reconstruct",
    lambda: lines(
        {
            f"sigma {s:g}": (
                list(range(70, 1001, 30)),
                [broken(30_000, 50, 1000, 100, q, s, 25, 1.0)["right"] for q in range(70, 1001, 30)],
            )
            for s in (1, 2, 5)
        },
        title="Bits of 64 people told right",
        x="sums published",
        y="share right",
    ),
    tuple({"Q": q} for q in (65, 128, 256, 512, 1024)),
    ("004 the story", "004 only disclosing the mean", "000 13.2 reference 1"),
    {"alone": 1e-3, "others": 1e-3, "told": 0.09},  # whole days of birth; a simulation of 800 draws, four standard errors
)

LESSONS = (OUTLIER, DESCENT, ATTACKS)
