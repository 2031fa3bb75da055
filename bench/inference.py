"""Whether models and tests estimate what they are named: coefficients, bias, coverage, sizes of tests, power.

    python bench/inference.py [repeats, 60 unless given]

Noise is drawn in floating point here, so that one seed is one draw at every price: a bias is what does not shrink with the noise. Says
MISSED where a figure is missed, and then exits with an error.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

from sordino.inference import contingency, outcome
from sordino.inference.contingency import CountsTest
from sordino.mechanisms import LeastSquares, LogisticRegression, MomentMatrix
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.moment_model import sigmoid
from sordino.statistics.second_moment import SecondMoments
from sordino.summaries.moment import ONE
from sordino.summaries.product import answer, products, quantised

SMALL = Fraction(1, 10**6)
Array = np.ndarray[Any, Any]
missed: list[str] = []


def check(label: str, holds: bool) -> str:
    if not holds:
        missed.append(label)
    return "" if holds else "   MISSED"


def least(tables: int) -> float:
    """93%, less two standard errors of so many tables: the coefficients of one table are no independent trials."""
    return 0.93 - 2 * float(np.sqrt(0.95 * 0.05 / tables))


def quick(seed: int) -> Any:
    rng = np.random.default_rng(seed)

    def draw(law: Any) -> Array:
        scale = np.array([float(s) for s in law.scale]) if isinstance(law.scale, list) else float(law.scale)
        return np.rint(law.location + scale * rng.normal(size=np.shape(law.location))).astype(np.int64)

    return draw


def placed(x: Array, y: Array, *, label: bool = False) -> Array:
    return np.column_stack([np.full(len(x), float(ONE)), quantised(x, -1.0, 1.0), y * float(ONE) if label else quantised(y, -1.0, 1.0)])


def fit(kind: Any, rows: Array, epsilon: Any, seed: int, **options: Any) -> Any:
    mechanism = kind(epsilon, SMALL, rows.shape[1] - 1, **options)
    return mechanism.release(lambda request: answer(rows, request), quick(seed))


def squares(rows: Array) -> Array:
    return np.linalg.lstsq(rows[:, :-1] / ONE, rows[:, -1] / ONE, rcond=None)[0]


def likeliest(rows: Array) -> Array:
    x, y = rows[:, :-1] / ONE, rows[:, -1] / ONE
    b = np.zeros(x.shape[1])
    for _ in range(60):
        p = sigmoid(x @ b)
        step = np.linalg.solve((x.T * (p * (1 - p))) @ x + 1e-9 * np.eye(len(b)), x.T @ (y - p))
        b = b + step * min(1.0, 3 / max(float(np.linalg.norm(step)), 1e-300))
    return b


def ten(rng: Any, n: int = 10_000) -> Array:
    x = rng.uniform(-1, 1, (n, 10))
    return placed(x, np.clip(x @ np.linspace(-0.1, 0.1, 10) + rng.normal(0, 0.1, n), -1, 1))


def skewed(rng: Any, n: int = 50_000) -> Array:
    x = rng.uniform(0, 1, (n, 1))
    return placed(2 * x - 1, np.clip(x[:, 0] * rng.exponential(1, n), 0, 20) / 10 - 1)


def rare(rng: Any, n: int = 20_000) -> Array:
    x = rng.uniform(0, 1, (n, 2))
    return placed(2 * x - 1, 2.0 * (rng.random(n) < 0.02 + 0.1 * x[:, 0]) - 1)


def costs(rng: Any, n: int = 20_000) -> Array:
    x = rng.uniform(0, 1, (n, 2))
    return placed(2 * x - 1, np.clip((rng.random(n) < 0.3) * np.exp(rng.normal(5 + x[:, 0], 1, n)), 0, 10_000) / 5_000 - 1)


def diabetes(rng: Any, n: int = 5_000) -> Array:
    """A real table, its rows drawn with replacement: the population is the table."""
    data = load_diabetes(scaled=False)
    chosen = [2, 3, 8]  # bmi, blood pressure, a serum
    low, high = np.array([15, 60, 3]), np.array([50, 140, 7])
    x, y = 2 * (data.data[:, chosen] - low) / (high - low) - 1, data.target / 200 - 1
    rows = placed(np.clip(x, -1, 1), np.clip(y, -1, 1))
    return rows if rng is None else rows[rng.integers(0, len(rows), n)]


def tumours(rng: Any, n: int = 5_000) -> Array:
    data = load_breast_cancer()
    x = np.clip(2 * (data.data[:, [1, 4, 8]] - [9, 0.05, 0.1]) / [31, 0.12, 0.21] - 1, -1, 1)
    rows = placed(x, data.target.astype(float), label=True)
    return rows if rng is None else rows[rng.integers(0, len(rows), n)]


def odds(beta: Any, n: int) -> Any:
    def world(rng: Any) -> Array:
        x = rng.uniform(-1, 1, (n, len(beta) - 1))
        return placed(x, (rng.random(n) < sigmoid(beta[0] + x @ np.array(beta[1:]))).astype(float), label=True)

    return world


LINEAR = {"10 coefficients": ten, "y = x Exp(1)": skewed, "0/1": rare, "costs": costs, "diabetes": diabetes}
LOGISTIC: dict[str, tuple[Any, float, float]] = {  # world, largest median L2 at epsilon 1 and at 100
    "weak, n=10,000": (odds([0, 0.5, -0.25, 0], 10_000), 0.014, 0.002),
    "weak, n=2,000": (odds([0, 0.5, -0.25, 0], 2_000), 0.07, 0.004),
    "strong, n=10,000": (odds([0, 2, -1, 0], 10_000), 0.03, 0.002),
    "strong, n=2,000": (odds([0, 2, -1, 0], 2_000), 0.13, 0.004),
    "2% outcome": (odds([-4.1, 1, -0.5, 0], 10_000), 0.26, 0.01),
    "10 features": (odds([0, *np.linspace(-1, 1, 10)], 10_000), 0.07, 0.002),
    "30 features": (odds([0, *np.linspace(-1, 1, 30)], 10_000), 0.26, 0.01),
}


def linear(repeats: int) -> None:
    few, many = (float(largest_mu(Fraction(e), SMALL)) for e in (5, 100))
    print(f"least squares, (1, 1e-6), {repeats} tables: L2 to the table's own, bias left between epsilon 5 and 100, coverage at 95%")
    print(f"{'':>18}{'L2':>10}{'bias':>10}{'table':>10}{'population':>12}")
    for name, world in LINEAR.items():
        seeds = range(repeats)
        tables = [world(np.random.default_rng(seed)) for seed in seeds]
        own = [squares(rows) for rows in tables]
        more = (squares(world(np.random.default_rng(9_000 + seed))) for seed in range(20))
        truth = squares(diabetes(None)) if world is diabetes else np.mean(list(more), axis=0)
        found = [fit(LeastSquares, rows, 1, seed) for rows, seed in zip(tables, seeds, strict=True)]
        errors = np.array([np.array(f.theta) - o for f, o in zip(found, own, strict=True)])
        again = {e: [fit(LeastSquares, rows, e, seed) for rows, seed in zip(tables, seeds, strict=True)] for e in (100, 5)}
        dear, cheap = (np.array([np.array(f.theta) - o for f, o in zip(again[e], own, strict=True)]) for e in (100, 5))
        left = dear - cheap * few / many
        bias = float(np.abs(left.mean(0) / (4 * left.std(0) / np.sqrt(repeats) + 0.1 * dear.std(0))).max())
        hits = []
        for population in (False, True):
            goal = [truth] * repeats if population else own
            halves = [f.half(np.eye(len(f.theta)), 0.95, population=population) for f in found]
            hits.append(np.mean([np.abs(np.array(f.theta) - g) <= h for f, g, h in zip(found, goal, halves, strict=True)]))
        middle = float(np.median(np.linalg.norm(errors[:, 1:], axis=1)))
        good = bias < 1 and min(hits) >= least(repeats) and (world is not ten or middle < 0.009)
        print(f"{name:>18}{middle:10.5f}{bias:10.2f}{hits[0]:10.3f}{hits[1]:12.3f}{check(name, good)}", flush=True)


def logistic(repeats: int) -> None:
    print(f"\nlogistic regression, delta 1e-6, {repeats} tables: median L2 to the maximum likelihood and its limit; coverage at epsilon 1")
    print(f"{'':>18}{'epsilon 1':>10}{'limit':>8}{'100':>10}{'limit':>8}{'table':>10}{'population':>12}")
    for name, (world, first, last) in LOGISTIC.items():
        times = max(repeats // 4, 10) if "30" in name else repeats
        tables = [world(np.random.default_rng(seed)) for seed in range(times)]
        own = [likeliest(rows) for rows in tables]
        near, dear = ([fit(LogisticRegression, rows, e, seed) for seed, rows in enumerate(tables)] for e in (1, 100))
        far = [[np.linalg.norm(np.array(f.theta) - o) for f, o in zip(found, own, strict=True)] for found in (near, dear)]
        one, two = (float(np.median(distances)) for distances in far)
        beta = likeliest(np.concatenate([world(np.random.default_rng(9_000 + seed)) for seed in range(20)]))
        hits = []
        for population in (False, True):
            goal = [beta] * times if population else own
            halves = [f.half(np.eye(len(f.theta)), 0.95, population=population) for f in near]
            hits.append(float(np.mean([np.abs(np.array(f.theta) - g) <= h for f, g, h in zip(near, goal, halves, strict=True)])))
        good = one <= first and two <= last and min(hits) >= least(times)
        print(f"{name:>18}{one:10.4f}{first:8.3f}{two:10.4f}{last:8.3f}{hits[0]:10.3f}{hits[1]:12.3f}{check(name, good)}", flush=True)
    rows = [tumours(np.random.default_rng(seed)) for seed in range(repeats)]
    truth, hits = likeliest(tumours(None)), []
    excess = []
    for seed, table in enumerate(rows):
        found = fit(LogisticRegression, table, 1, seed, capped=False)
        hits.append(np.abs(np.array(found.theta) - truth) <= found.half(np.eye(4), 0.95, population=True))
        excess.append(_loss(table, np.array(found.theta)) - _loss(table, likeliest(table)))
    share = rows[0][:, -1].mean() / ONE
    constant = -share * np.log(share) - (1 - share) * np.log(1 - share) - _loss(rows[0], likeliest(rows[0]))
    bad = check("tumours", np.mean(hits) >= least(repeats) and np.median(excess) < constant)
    said = f"excess log loss {np.median(excess):.4f}, of a constant {constant:.4f}"
    print(f"tumours, a real table resampled: coverage {np.mean(hits):.3f}, {said}{bad}")


def _loss(rows: Array, b: Array) -> float:
    z, y = rows[:, :-1] @ b / ONE, rows[:, -1] / ONE
    return float(np.mean(np.logaddexp(0, z) - y * z))


def sizes(repeats: int) -> None:
    rng = np.random.default_rng(3)
    outcome.normal = lambda *shape: rng.normal(size=shape)
    contingency.SIMULATED = 199
    runs = 10 * repeats
    print(f"\nindependence of 3 x 3 cells, {runs} null tables and as many with cells off by .03: size and power at .05")
    signs = np.indices((3, 3)).sum(axis=0).ravel() % 2 * -2.0 + 1
    signs -= signs.mean()
    for n, epsilon in ((100, 0.2), (100, 1.0), (300, 1.0), (1_000, 0.2), (1_000, 1.0)):
        test = CountsTest(None, (3, 3), "")
        found = []
        for chances in (np.full(9, 1 / 9), np.full(9, 1 / 9) + 0.03 * signs):
            hits = 0
            for _ in range(runs):
                drawn = rng.multinomial(n, chances) + np.rint(rng.laplace(0, 1 / epsilon, 9))
                value = test._distance(drawn[None], 1 / epsilon)[0]
                null = np.clip(test._expected(drawn[None])[0], 0, None)
                hits += outcome.chance_of(value, test._statistics(max(round(drawn.sum()), 1), null / null.sum(), 1 / epsilon, 199)) <= 0.05
            found.append(hits / runs)
        slack = 2 * np.sqrt(0.05 * 0.95 / runs)
        bad = check(f"size at {n}", found[0] <= 0.06 + slack)
        print(f"n={n:>6,} epsilon {epsilon:g}: {found[0]:.3f}, power {found[1]:.3f}{bad}", flush=True)


def correlations(repeats: int) -> None:
    errors = []
    for seed in range(repeats):
        rng = np.random.default_rng(seed)
        mixed = np.tanh(rng.normal(size=(5_000, 3)) @ rng.normal(0, 0.6, (3, 14)) + rng.normal(0, 0.6, (5_000, 14)))
        rows = np.column_stack([np.full(5_000, float(ONE)), quantised(mixed, -1.0, 1.0)])
        mechanism = MomentMatrix(1, SMALL, 15)
        drawn = SecondMoments(np.array(mechanism.around(products(rows), quick(seed))), mechanism.noise)
        errors.append(np.abs(drawn.correlation - np.corrcoef(mixed.T))[np.triu_indices(14, 1)].mean())
    bad = check("correlations", float(np.mean(errors)) <= 0.04)
    print(f"\n91 correlations of 14 columns, n=5,000, (1, 1e-6): mean error {np.mean(errors):.4f}{bad}")


def main() -> int:
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 60
    linear(repeats)
    logistic(repeats)
    sizes(repeats)
    correlations(min(repeats, 20))
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
