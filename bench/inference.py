"""Whether models and tests estimate what they are named: coefficients, bias, coverage, sizes of tests, power.

    python bench/inference.py [tables, 200 unless given] [null runs, 10,000 unless given]

Noise is drawn in floating point here, so that one seed is one draw at every price: a bias is what does not shrink with the noise. Says
MISSED where a figure is missed, and then exits with an error.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes

import sordino as sd
from sordino.inference import outcome, tests
from sordino.inference.tests import CountsTest
from sordino.mechanisms import LeastSquares, LogisticRegression, MomentMatrix, ObjectivePerturbation
from sordino.mechanisms.gaussian import largest_mu
from sordino.mechanisms.moment_model import sigmoid
from sordino.statistics.rank_test import leaning, standing, weight_of_pairs, weight_of_two
from sordino.statistics.second_moment import SecondMoments
from sordino.summaries.array_table import answer, products, quantised
from sordino.summaries.moment import ONE
from sordino.summaries.records import Records, of_coordinates

SMALL = Fraction(1, 10**6)
Array = np.ndarray[Any, Any]
missed: list[str] = []


def check(label: str, holds: bool) -> str:
    if not holds:
        missed.append(label)
    return "" if holds else "   MISSED"


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

    def ask(request: Any) -> Any:
        return of_coordinates(rows) if isinstance(request, Records) else answer(rows, request)

    return mechanism.release(ask, quick(seed))


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


def everyone(world: Any, tables: int = 200) -> Array:
    """The least squares of so many tables together: their own error is then a fourteenth of one table's."""
    whole = sum(rows.T @ rows / ONE**2 for rows in (world(np.random.default_rng(9_000 + seed)) for seed in range(tables)))
    return np.linalg.solve(whole[:-1, :-1], whole[:-1, -1])


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

    world.beta = np.array(beta, float)  # type: ignore[attr-defined]
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
        truth = squares(diabetes(None)) if world is diabetes else everyone(world)
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
        good = bias < 1 and min(hits) >= 0.93 and (world is not ten or middle < 0.009)
        print(f"{name:>18}{middle:10.5f}{bias:10.2f}{hits[0]:10.3f}{hits[1]:12.3f}{check(name, good)}", flush=True)


def logistic(repeats: int) -> None:
    print(f"\nlogistic regression, delta 1e-6, {repeats} tables: median L2 to the maximum likelihood and its limit; coverage at epsilon 1")
    print('in brackets what method="objective" has, which has no limit and no interval')
    print(f"{'':>18}{'epsilon 1':>18}{'limit':>8}{'100':>18}{'limit':>8}{'table':>10}{'population':>12}")
    for name, (world, first, last) in LOGISTIC.items():
        times = max(repeats // 4, 40) if "30" in name else repeats
        tables = [world(np.random.default_rng(seed)) for seed in range(times)]
        own = [likeliest(rows) for rows in tables]
        near, dear = ([fit(LogisticRegression, rows, e, seed) for seed, rows in enumerate(tables)] for e in (1, 100))
        far = [[np.linalg.norm(np.array(f.theta) - o) for f, o in zip(found, own, strict=True)] for found in (near, dear)]
        one, two = (float(np.median(distances)) for distances in far)
        second = []
        for e in (1, 100):
            points = [np.array(fit(ObjectivePerturbation, rows, e, seed).theta) for seed, rows in enumerate(tables)]
            second.append(float(np.median([np.linalg.norm(b - o) for b, o in zip(points, own, strict=True)])))
        said = [f"{ours:.4f} ({other:.4f})" for ours, other in zip((one, two), second, strict=True)]
        beta, hits = world.beta, []  # the model holds
        for population in (False, True):
            goal = [beta] * times if population else own
            halves = [f.half(np.eye(len(f.theta)), 0.95, population=population) for f in near]
            hits.append(float(np.mean([np.abs(np.array(f.theta) - g) <= h for f, g, h in zip(near, goal, halves, strict=True)])))
        good = one <= first and two <= last and min(hits) >= 0.93
        cells = f"{said[0]:>18}{first:8.3f}{said[1]:>18}{last:8.3f}"
        print(f"{name:>18}{cells}{hits[0]:10.3f}{hits[1]:12.3f}{check(name, good)}", flush=True)
    rows = [tumours(np.random.default_rng(seed)) for seed in range(repeats)]
    truth, hits = likeliest(tumours(None)), []
    excess = []
    for seed, table in enumerate(rows):
        found = fit(LogisticRegression, table, 1, seed, capped=False)
        hits.append(np.abs(np.array(found.theta) - truth) <= found.half(np.eye(4), 0.95, population=True))
        excess.append(_loss(table, np.array(found.theta)) - _loss(table, likeliest(table)))
    share = rows[0][:, -1].mean() / ONE
    constant = -share * np.log(share) - (1 - share) * np.log(1 - share) - _loss(rows[0], likeliest(rows[0]))
    bad = check("tumours", np.mean(hits) >= 0.93 and np.median(excess) < constant)
    said = f"excess log loss {np.median(excess):.4f}, of a constant {constant:.4f}"
    print(f"tumours, a real table resampled: coverage {np.mean(hits):.3f}, {said}{bad}")


def _loss(rows: Array, b: Array) -> float:
    z, y = rows[:, :-1] @ b / ONE, rows[:, -1] / ONE
    return float(np.mean(np.logaddexp(0, z) - y * z))


def played() -> None:
    """The numbers a null is simulated with, from numpy: a hundred times as fast as exact ones."""
    rng = np.random.default_rng(3)

    def tables(total: Any, chances: Array, repeats: int) -> Array:
        lines = np.broadcast_to(chances, (*np.shape(total), chances.shape[-1]))
        return rng.multinomial(np.asarray(total, int)[..., None], lines[..., None, :], (*np.shape(total), repeats)).astype(float)

    for room in (outcome, tests, tests, tests):
        for name, made in (
            ("normal", lambda *shape: rng.normal(size=shape)),
            ("laplace", lambda scale, *shape: rng.laplace(0, scale, shape)),
            ("multinomial", tables),
        ):
            if hasattr(room, name):
                setattr(room, name, made)


def shown(name: str, size: float, power: float | None = None, least: float = 0.0, public: float | None = None) -> None:
    bad = check(f"{name}: size", size <= 0.06) + ("" if power is None else check(f"{name}: power", power >= least))
    beside = "" if power is None else f"{power:10.3f}{least:8.2f}" + ("" if public is None else f"{public:10.3f}")
    print(f"{name:>46}{size:8.4f}{beside}{bad}", flush=True)


def counts(runs: int) -> None:
    """Independence, proportions, foretold shares; the association is that of a public test with power .555 at n = 300, .988 at 1,000."""
    from scipy.stats import chi2, ncx2

    rng, even = np.random.default_rng(5), np.full(9, 1 / 9)
    pattern = np.array([1, -1, 0, -1, 1, 0, 0, 0, 0]) * np.sqrt(0.0027 / 4)

    def attainable(n: int, epsilon: float) -> float:
        """The power of a chi-square of four degrees where noise of variance 2/epsilon^2 comes to the n/9 of a cell, less two errors."""
        found = ncx2.sf(chi2.ppf(0.95, 4), 4, n**2 * float(pattern @ pattern) / (n / 9 + 2 / epsilon**2))
        return float(found - 2 * np.sqrt(found * (1 - found) / 1_500))

    powers = {cell: attainable(*cell) for cell in ((300, 1.0),)} | {(1_000, 0.2): 0.847 - 2 * np.sqrt(0.13 / 1_500)}

    def rejected(test: CountsTest, n: int, chances: Any, scale: float, times: int) -> float:
        hits = []
        for _ in range(0, times, 500):
            drawn = rng.multinomial(n, chances, 500) + np.rint(rng.laplace(0, scale, (500, len(chances))))
            hits.append(test.p_values(drawn.astype(float), scale, 199) <= 0.05)
        return float(np.mean(hits))

    print(f"\ntests of counts, {runs:,} null runs at .05: size (at most .06), power and the least, power without privacy")
    for n in (100, 300, 1_000):
        for epsilon in (0.2, 1.0):
            scale, label = 1 / epsilon, f"n {n:,}, epsilon {epsilon:g}"
            table = CountsTest(None, (3, 3), "")
            size, power = rejected(table, n, even, scale, runs), rejected(table, n, even + pattern, scale, 1_500)
            plain = rng.multinomial(n, even + pattern, 1_500).reshape(-1, 3, 3)
            expected = plain.sum(axis=1, keepdims=True) * plain.sum(axis=2, keepdims=True) / n
            public = float(np.mean(((plain - expected) ** 2 / np.maximum(expected, 0.5)).sum(axis=(1, 2)) > chi2.ppf(0.95, 4)))
            shown(f"independence, even, {label}", size, power, float(powers.get((n, epsilon), 0.0)), public)
            shown(f"independence, uneven, {label}", rejected(table, n, np.outer([0.7, 0.2, 0.1], [0.6, 0.3, 0.1]).ravel(), scale, runs))
            two = CountsTest(None, (2, 2), "")
            shown(f"proportions of .1, {label}", rejected(two, n, np.outer([0.5, 0.5], [0.1, 0.9]).ravel(), scale, runs))
            foretold = (0.4, 0.3, 0.15, 0.1, 0.05)
            shown(f"chi-square, {label}", rejected(CountsTest(None, (5,), "", foretold), n, foretold, scale, runs))


T_POWER = {(6, 60): 0.52, (6, 120): 0.88, (6, 250): 0.99, (10, 60): 0.29, (10, 120): 0.69, (10, 250): 0.98}
RANK_POWER = {60: 0.65, 120: 0.94, 250: 0.99}  # with public sizes and replaced rows; ours are private, and rows join


def others(runs: int) -> None:
    """t by bounds of so many deviations, Mann-Whitney and signed ranks, at epsilon 1; the effect is half a deviation."""
    rng = np.random.default_rng(6)

    def tested(wide: float, each: int, shift: float, times: int) -> float:
        hits = []
        for _ in range(0, times, 500):
            rows = np.clip((rng.normal(0, 1, (500, 2, each)) + np.array([[0.0], [shift]])) / wide + 0.5, 0, 1)
            sums = np.stack([((1 - rows) ** 2).sum(-1), (2 * rows * (1 - rows)).sum(-1), (rows**2).sum(-1)], axis=-1)
            drawn = tests.estimates(sums + rng.laplace(0, 1.0, sums.shape))
            simulated = tests.simulated(*drawn, 1.0, 199)
            hits.append(outcome.chance_of(tests.studentised(*drawn, 1.0), simulated) <= 0.05)
        return float(np.mean(hits))

    print(f"\nt, Mann-Whitney and signed ranks, epsilon 1, {runs:,} null runs at .05: size, power for half a deviation and the least")
    for wide in (6, 10, 100):
        for each in (60, 120, 250):
            size, power = tested(wide, each, 0.0, runs), tested(wide, each, 0.5, 1_500)
            shown(f"t, bounds {wide} deviations apart, n {each} each", size, power, T_POWER.get((wide, each), 0.0))
    facts: dict[str, Any] = {"bounds": {"x": (-10, 10)}, "keys": {"arm": ["a", "b"]}, "budget": sd.Budget(epsilon=10), "ledger": ":memory:"}
    with sd.table({"x": [0.0], "arm": ["a"]}, **facts) as held:
        for paired in (False, True):
            test = sd.tests.signed_rank(held, "x") if paired else sd.tests.mann_whitney(held, "x", by="arm")
            for each in (60, 120, 250):
                cells = ((0.0, runs), (0.5, 5_000))
                size, power = (float(np.mean(_ranked(test, rng, each, *cell, paired=paired) <= 0.05)) for cell in cells)
                shown(
                    f"{'signed ranks' if paired else 'Mann-Whitney'}, n {each}",
                    size,
                    power,
                    0.0 if paired else RANK_POWER[each] - 2 * np.sqrt(0.23 / 5_000),
                )


def _ranked(test: Any, rng: Any, each: int, shift: float, runs: int, *, paired: bool) -> Array:
    """Releases of a rank test played in numpy: drawn sizes, the weights, the noise; their p-values."""
    (step,) = test.query.settle(1).steps.values()
    sizes = each + np.rint(rng.laplace(0, float(step.sizes.scale), (runs, 1 if paired else 2)))
    most = np.maximum(sizes.max(axis=1), 1).astype(int)
    told = []
    for c in most.tolist():
        values = [(rng.normal(mean, 1, each) * 1e6).astype(np.int64) for mean in ((shift,) if paired else (0.0, shift))]
        told.append(float(weight_of_pairs(each, c) * leaning(values[0]) if paired else weight_of_two(each, c) ** 2 * standing(*values)))
    return np.asarray(test.p_values(np.array(told) + rng.laplace(0, test._scale(1, most)), sizes, 1, 199))


def compared(runs: int) -> None:
    """Population intervals of a difference, N(50, 10) in [0, 100], as `compare` reads them off drawn Bernstein sums."""
    rng = np.random.default_rng(7)
    print(f"\ncompare, {runs:,} tables: share of 95% intervals with the population's difference inside, and of bars of the noise alone")
    for epsilon in (0.2, 1.0):
        for n in (100, 300, 1_000, 5_000):
            scale, hits, noise = 1 / epsilon, [], []
            for _ in range(0, runs, 100):
                rows = np.clip(rng.normal(0.5, 0.1, (100, 2, n)), 0, 1)
                sums = np.stack([((1 - rows) ** 2).sum(-1), (2 * rows * (1 - rows)).sum(-1), (rows**2).sum(-1)], axis=-1)
                size, mean, variance = tests.estimates(sums + rng.laplace(0, scale, sums.shape))
                hits.append(tests.studentised(size, mean, variance, scale) <= 1.96)
                noise.append(tests.studentised(size, mean, np.zeros_like(variance), scale) <= 1.96)
            bad = check(f"compare, n {n}", float(np.mean(hits)) >= 0.93)
            print(f"epsilon {epsilon:g}, n {n:>5,} each: {np.mean(hits):.3f}, noise alone {np.mean(noise):.3f}{bad}", flush=True)


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
    repeats = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    runs = int(sys.argv[2]) if len(sys.argv) > 2 else 10_000
    linear(repeats)
    logistic(repeats)
    played()
    counts(runs)
    others(runs)
    compared(min(runs, 1_500))
    correlations(min(repeats, 20))
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
