"""How wrong the answers are: every everyday statistic beside its own law and the best peers' figures, in one run.

    python bench/accuracy.py [draws, 20000 unless given]

Median absolute errors on 1,000 log-normal incomes in [0, 1e6] at equal privacy (the peers' figures are 200-draw runs), how often the
95% bars hold (all of them, about what they say they are about), unknown keys on a Zipf table, and the means of d columns. Exits with an
error if a figure is missed; a share of draws is missed when it lies five standard deviations below what was promised.
"""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np

from means import facts, table
from sordino import statistics as st
from sordino.mechanisms.gaussian import largest_mu
from sordino.noise import draw
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column, coarse_shift
from sordino.statistics.port import Context
from sordino.summaries.request import rank_window
from sordino.summaries.totals import GroupTotals, Totals

EPSILONS = ("0.1", "0.5", "1")
PEERS = {
    "count": (7, 1, 1),
    "sum": (7e6, 1.4e6, 6.9e5),
    "mean": (11_480, 2_171, 1_118),
    "median": (518, 118, 68),
    "quantile .9": (11_270, 932, 482),
    "iqr": (4_741, 800, 566),
    "variance": (3.1e9, 1.4e9, 7.7e8),
}
COLUMN = Column("income", "int", (0, 1_000_000))
ABOUT = Context(PrivacyUnit(), {"income": COLUMN})
missed: list[str] = []


def check(label: str, holds: bool) -> str:
    if not holds:
        missed.append(label)
    return "" if holds else "   MISSED"


def incomes() -> np.ndarray[Any, Any]:
    x = np.clip(np.random.default_rng(1).lognormal(np.log(40_000), 0.8, 1000), 0, 1e6)
    return np.sort(np.floor(x).astype(np.int64))


def answers(step: Any, x: np.ndarray[Any, Any], draws: int) -> list[Any]:
    """Release the same ungrouped table `draws` times over."""
    groups = tuple((i,) for i in range(draws))
    coarse = x >> coarse_shift(COLUMN.grid())
    totals = {"rows": len(x), "sum": int(x.sum()), "coarse": int(coarse.sum()), "squares": int((coarse**2).sum())}

    def ask(request: Any) -> Any:
        if isinstance(request, Totals):
            return GroupTotals(groups, {item: np.full(draws, totals[item.what], object) for item in request.items})
        windows = tuple(rank_window(x, q, request.radius, 0, COLUMN.grid().width) for q in request.q)
        return (windows for _ in range(draws))

    return list(step.release(ask, draw, groups))


def own_law(name: str, step: Any, x: np.ndarray[Any, Any], truth: float, epsilon: float) -> float:
    """The median absolute error of the ideal mechanism: in closed form, by summing its exact law, or (two noises) by sampling it."""
    rng = np.random.default_rng(2)
    if name == "count":
        ratio = math.exp(-epsilon)
        cumulative = 1 - 2 * ratio ** np.arange(1, 1000) / (1 + ratio)
        return float(np.argmax(cumulative >= 0.5))
    if name == "sum":
        return 1e6 / epsilon * math.log(2)
    if name in ("mean", "variance"):
        t, second = x.mean() / 1e6, (x / 1e6) @ (x / 1e6) / len(x)
        z = rng.laplace(scale=1 / epsilon, size=(3, 400_000)) / len(x)
        if name == "mean":
            share = np.clip((t + z[0]) / np.maximum(1 + z[0] + z[1], 1e-3), 0, 1)
            return float(np.median(np.abs(share - t))) * 1e6
        n = np.maximum(1 + z.sum(0), 1e-3)
        m2, m1 = np.clip((second + z[2]) / n, 0, 1), np.clip((t + z[2] + z[1] / 2) / n, 0, 1)
        return float(np.median(np.abs(np.clip(m2 - m1**2, 0, 0.25) * 1e12 - truth)))
    points = np.arange(COLUMN.grid().width + 1)
    if name == "iqr":  # drawn together; the law to stay below is that of two draws
        step = st.iqr("income").ways(Fraction(str(epsilon)), Fraction(0), ABOUT)["exponential"]()
    laws = [np.cumsum(np.exp(mechanism.log_probability(x, points))) for mechanism in step.mechanisms]
    drawn = [np.searchsorted(law, rng.random(400_000)) for law in laws]
    value = drawn[0] if len(drawn) == 1 else np.maximum(drawn[1] - drawn[0], 0)
    return float(np.median(np.abs(value - truth)))


def everyday(draws: int) -> None:
    x = incomes()
    q = {level: float(np.quantile(x, level)) for level in (0.25, 0.5, 0.75, 0.9)}
    questions: dict[str, tuple[Any, float]] = {
        "count": (st.count(), len(x)),
        "sum": (st.sum("income"), float(x.sum())),
        "mean": (st.mean("income"), float(x.mean())),
        "median": (st.median("income", interval=False), q[0.5]),
        "quantile .9": (st.quantile("income", "0.9", interval=False), q[0.9]),
        "iqr": (st.iqr("income"), q[0.75] - q[0.25]),
        "variance": (st.variance("income"), float(x.var())),
    }
    print(f"median absolute error, {draws:,} draws\n{'':14}{'epsilon':>8}{'sordino':>12}{'own law':>12}{'best peer':>12}{'bar held':>10}")
    for name, (question, truth) in questions.items():
        for epsilon, peer in zip(EPSILONS, PEERS[name], strict=True):
            step = question.step(Fraction(epsilon), Fraction(0), ABOUT)
            found = answers(step, x, draws if name != "iqr" else min(draws, 2_000))
            error = float(np.median(np.abs(np.array([a.value for a in found], float) - truth)))
            law = own_law(name, step, x, truth, float(epsilon))
            held = holds(name, step, found, x, truth)
            errors = np.abs(np.array([a.value for a in found], float) - truth)
            within = [1.05 * law + 1, *([1.1 * peer] if name == "variance" else [])]
            good = all(promised(float(np.mean(errors <= most)), 0.5, len(found)) for most in within)
            bad = check(f"{name} at {epsilon}", good and promised(held, 0.95, len(found)))
            print(f"{name:14}{epsilon:>8}{error:12.4g}{law:12.4g}{peer:12.4g}{held:10.4f}{tightness(step, found, x)}{bad}", flush=True)


def promised(share: float, level: float, draws: int) -> bool:
    """Whether a share of draws is what a promise of at least `level` can give: within five standard deviations."""
    return share >= level - 5 * math.sqrt(level * (1 - level) / draws)


def bars(draws: int) -> None:
    """Bars whose width was released with the answer: how often they hold, about what they say and about the plain statistic."""
    wide, fixed = Column("x", "float", (0, 1e7)), Column("x", "float", (0, 1e7), nulls=0)
    x = np.random.default_rng(4).lognormal(np.log(40_000), 0.8, 2000)
    grid, small, one = wide.grid(), Fraction(1, 10**6), Fraction(1)
    rows = np.sort(np.clip(np.floor(np.clip(x, 0, 1e7) / float(grid.step)).astype(np.int64) - grid.low, 0, grid.width))
    values = (rows + grid.low) * float(grid.step)
    free, public = facts(wide, 2000), facts(fixed, 2000, "replace")
    cut, roots = np.sort(values)[200:-200], st.huber_mean("x", 30_000)

    def moved(answer: Any) -> float:
        return float((np.clip(rows, *answer.raw[-2:]) + grid.low).mean()) * float(grid.step)

    def root(_: Any) -> float:
        return float(roots.ways(Fraction(10**5), small, free)["smooth"]().release(table(wide, x), draw, None)[0].value)

    centre, middle = root(None), float(np.sort(values)[999])
    cases: dict[str, tuple[Any, Any, Any, float]] = {
        "mean, two stages": (st.mean("x", "two_stage").step(one, small, free), wide, moved, float(values.mean())),
        "mean, clamped": (st.mean("x", "clamped").step(one, small, free), wide, lambda _: values.mean(), float(values.mean())),
        "std": (st.std("x").step(one, small, free), wide, lambda _: values.std(), float(values.std())),
        "trimmed_mean, published": (st.trimmed_mean("x").ways(one, small, public)["published"](), fixed, lambda _: cut.mean(), cut.mean()),
        "huber_mean, published": (roots.ways(one, small, free)["published"](), wide, lambda _: centre, centre),
        "median, published": (st.median("x").ways(one, small, free)["published"](), wide, lambda _: middle, middle),
    }
    number = max(draws // 20, 200)
    print(f"\nbars at epsilon 1 on 2,000 incomes in [0, 1e7], {number:,} draws\n{'':26}{'held':>8}{'of the plain one':>18}  about")
    for name, (step, column, truth, plain) in cases.items():
        found = [step.release(table(column, x), draw, None)[0] for _ in range(number)]
        held, true = (float(np.mean([a.low <= t <= a.high for a, t in zip(found, ts, strict=True)])) for ts in
                      ([truth(a) for a in found], [plain] * number))  # fmt: skip
        about = getattr(step, "covers", "") or "the rows within the declared bounds"
        print(f"{name:26}{held:8.4f}{true:18.4f}  {about}{check(f'bar of {name}', promised(held, 0.95, number))}", flush=True)


def holds(name: str, step: Any, found: list[Any], x: np.ndarray[Any, Any], truth: float) -> float:
    """The share of draws whose bar is right: the interval, or the rank bar of every level."""
    if step.bar in ("exact", "bound"):
        return float(np.mean([a.low <= truth <= a.high for a in found]))
    return float(np.mean(rank_errors(step, found, x) <= found[0].ranks[1]))


def rank_errors(step: Any, found: list[Any], x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """How many ranks the farthest level of each draw lies from its quantile."""
    drawn = np.array([a.raw for a in found])
    target = np.array([float(level) * len(x) for level in step.levels])
    return np.maximum(np.maximum(np.searchsorted(x, drawn) - target, target - np.searchsorted(x, drawn, "right")), 0).max(axis=1)


def tightness(step: Any, found: list[Any], x: np.ndarray[Any, Any]) -> str:
    """Rank bars promise for every table; how many ranks this one needed at 95%."""
    if step.bar != "rank":
        return ""
    return f"  {np.quantile(rank_errors(step, found, x), 0.95):.1f} of {found[0].ranks[1]:.1f} ranks needed"


def enclosed(number: int = 150) -> None:
    """The interval of a median on log-normal incomes: half its width, beside three plain draws whose ends are promised as much."""
    rng = np.random.default_rng(8)
    print(f"\nintervals of medians over {number} tables: half-width, aimed ranks; three plain draws; covered; middle against a single draw")
    for epsilon in EPSILONS:
        for rows in (1_000, 10_000):
            step, point = (st.median("income", interval=ends).step(Fraction(epsilon), Fraction(0), ABOUT) for ends in (True, False))
            third = st.median("income", interval=False).step(Fraction(epsilon) / 3, Fraction(0), ABOUT).rank_width(0.975)
            found = []
            for _ in range(number):
                x = np.sort(np.minimum(rng.lognormal(10, 1, rows), 1e6).astype(np.int64))
                truth, (one,), (alone,) = float(np.median(x)), answers(step, x, 1), answers(point, x, 1)
                padded = np.concatenate([[0], x, [1_000_000]])
                low, high = (padded[min(max(round(rows / 2 + far), 0), rows + 1)] for far in (-third, third))
                errors = [abs(answer.value - truth) for answer in (one, alone)]
                found.append([(one.high - one.low) / 2, (high - low) / 2, one.low <= truth <= one.high, *errors])
            half, three, covered, middle, single = np.median(found, axis=0)[:2].tolist() + np.mean(found, axis=0)[2:].tolist()
            bad = check(f"interval of a median at {epsilon}", promised(covered, 0.95, number) and half < three)
            print(f"{rows:8,}{epsilon:>6}{half:10,.0f}{step.rank_width():8.1f}{three:12,.0f}{third:8.1f}", end="")
            print(f"{covered:8.3f}{middle / single:8.2f}{bad}", flush=True)


def other_tables(number: int = 40) -> None:
    """The error of a quantile depends on how close the rows lie around it: the same laws on many tables of the same kind."""
    grid, rng = COLUMN.grid(), np.random.default_rng(3)
    print(f"\nthe same law over {number} tables (the peers had one of their own): median and range of the median error")
    for name in ("median", "quantile .9"):
        level = Fraction(1, 2) if name == "median" else Fraction(9, 10)
        for epsilon, peer in zip(EPSILONS, PEERS[name], strict=True):
            (mechanism,) = st.quantile("income", level, interval=False).step(Fraction(epsilon), Fraction(0), ABOUT).mechanisms  # type: ignore[attr-defined]
            errors = []
            for _ in range(number):
                x = np.sort(np.clip(rng.lognormal(np.log(40_000), 0.8, 1000), 0, 1e6).astype(np.int64))
                cells = mechanism.cells(rank_window(x, level, mechanism.radius, 0, grid.width))
                cell = np.minimum(np.searchsorted(np.cumsum(cells.weights) / cells.weights.sum(), rng.random(4000)), len(cells.mass) - 1)
                drawn = cells.first[cell] + rng.random(4000) * (cells.last - cells.first + 1)[cell]
                errors.append(float(np.median(np.abs(drawn - np.quantile(x, float(level))))))
            print(f"{name:14}{epsilon:>8}{np.median(errors):12.4g}   {min(errors):.4g} .. {max(errors):.4g}   best peer {peer:g}")


def unknown_keys() -> None:
    weights = np.arange(1, 100_001) ** -1.07
    held = np.random.default_rng(1).multinomial(100_000, weights / weights.sum())
    counts = {f"k{i}": int(n) for i, n in enumerate(held) if n}
    about = Context(PrivacyUnit(), {"key": Column("key", "cat")})
    step = st.histogram("key").step(Fraction(1), Fraction(1, 10**6), about)
    keys = tuple((key,) for key in counts)

    def ask(request: Any) -> GroupTotals:
        return GroupTotals(keys, {item: np.array(list(counts.values())) for item in request.items})

    shown = [step.release(ask, draw, None)[0].value for _ in range(10)]
    number = float(np.mean([len(s) for s in shown]))
    error = float(np.mean([sum(abs(s.get(key, 0) - n) for key, n in counts.items()) for s in shown]))
    bad = check("unknown keys", number >= 540 and error <= 33_700)
    print(f"\nunknown keys, Zipf 100,000, epsilon 1, delta 1e-6 ({step.name})")
    print(f"keys shown {number:.0f} (at least 540, peer 587 with delta not held), L1 error {error:,.0f} (at most 33,700, peer 33,070){bad}")


def means(draws: int) -> None:
    rows, small = 1_000_000, Fraction(1, 10**6)
    columns = {f"b{i}": Column(f"b{i}", "bool") for i in range(1000)}
    about = Context(PrivacyUnit(), columns)
    sigma = 1 / float(largest_mu(Fraction(1), small))
    print(f"\nmeans of d bits, epsilon 1, delta 1e-6: RMSE times n\n{'d':>6}{'Laplace':>12}{'d':>12}{'planned':>12}{'sqrt(d/2) sigma':>18}")
    for d in (1, 3, 8, 9, 10, 30, 100, 300, 1000):
        groups = tuple((i,) for i in range(-(-draws // d)))

        def ask(request: Any, groups: Any = groups) -> GroupTotals:
            full = {"rows": rows, "sum": rows // 2}
            return GroupTotals(groups, {item: np.full(len(groups), full[item.what], object) for item in request.items})

        def rmse(delta: Fraction, d: int = d, ask: Any = ask, groups: Any = groups) -> tuple[float, str]:
            step = st.means(list(columns)[:d]).step(Fraction(1), delta, about)
            values = np.array([a.value for a in step.release(ask, draw, groups)])
            return float(np.sqrt(np.mean((values - 0.5) ** 2))) * rows, step.name.split(",")[0]

        (laplace, _), (planned, law) = rmse(Fraction(0)), rmse(small)
        bad = check(f"means {d}", abs(laplace / d - 1) < 0.05)
        print(f"{d:6}{laplace:12.4g}{d:12}{planned:12.4g}{math.sqrt(d / 2) * sigma:18.4g}  {law}{bad}", flush=True)


def rank_bars() -> None:
    print("\nrank bars at epsilon 1: rows within which the rank is met, and the true 95% point on the incomes")
    x, points = incomes(), np.arange(COLUMN.grid().width + 1)
    for level in ("0.5", "0.9"):
        step: Any = st.quantile("income", level, interval=False).step(Fraction(1), Fraction(0), ABOUT)
        target = float(level) * len(x)
        off = np.maximum(0, np.maximum(np.searchsorted(x, points) - target, target - np.searchsorted(x, points, "right")))
        law = np.exp(step.mechanisms[0].log_probability(x, points))
        order = np.argsort(off, kind="stable")
        true = float(off[order][np.searchsorted(np.cumsum(law[order]), 0.95)])
        print(f"q {level}: promised {step.rank_width():.1f}, needed on these data {true:.1f}")


def main() -> int:
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 20_000
    everyday(draws)
    bars(draws)
    enclosed()
    other_tables()
    unknown_keys()
    means(draws)
    rank_bars()
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
