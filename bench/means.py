"""How wrong means and robust centres are, each beside the clamped Laplace mean and the estimator without privacy, in one run.

    python bench/means.py [tables, 300 unless given]

Root mean squared error against the population mean over fresh tables, with one public rule for all rows: the planner's choice for `mean`
from bounds, price and size. Beside it the two halves, the estimator without privacy, and what peers do: the sum about the middle of the
bounds and the count, at half the price each. Then centres of data with gross outliers, trimmed means at a public size, and
audits of every mechanism at its claimed price on hostile neighbours. Exits with an error if a figure is missed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np

from sordino import statistics as st
from sordino.lab import audit
from sordino.noise import draw
from sordino.privacy.relation import PrivacyUnit, Relation
from sordino.schema.column import Column
from sordino.session.sampling import Sample
from sordino.statistics.port import Context

Array = np.ndarray[Any, Any]
missed: list[str] = []


def check(label: str, holds: bool) -> str:
    if not holds:
        missed.append(label)
    return "" if holds else "   MISSED"


def table(column: Column, x: Array) -> Callable[[Any], Any]:
    """What an engine would answer about one ungrouped column."""
    return Sample.of(column.name, column.grid(), x).ask


def facts(column: Column, rows: int, relation: str = "add_remove") -> Context:
    public = relation == "replace"
    unit = PrivacyUnit(None, Relation.of(relation))
    return Context(unit, {column.name: column}, rows=rows, size=rows if public else None, filtered=not public)


def errors(steps: list[Any], column: Column, make: Callable[[], Array], truth: Callable[[Array], float], tables: int) -> Array:
    """The error of every step, and of the plain mean, on each of many fresh tables."""
    out = []
    for _ in range(tables):
        x = make()
        ask, true = table(column, x), truth(x)
        out.append([*(step.release(ask, draw, None)[0].value - true for step in steps), x.mean() - true])
    return np.array(out)


def rmse(found: Array) -> Array:
    return np.sqrt((found**2).mean(axis=0))


def peer(x: Array, bounds: tuple[float, float], epsilon: float, rng: Any) -> float:
    """The mean as other libraries release it, in floats: the sum about the middle of the bounds over the count, half the price each."""
    low, high = bounds
    middle, half = (low + high) / 2, (high - low) / 2
    total = (np.clip(x, low, high) - middle).sum() + rng.laplace(scale=2 * half / epsilon)
    return float(np.clip(middle + total / max(len(x) + rng.laplace(scale=2 / epsilon), 1), low, high))


def against(column: Column, epsilon: str, made: tuple[Any, float], tables: int, rng: Any) -> tuple[dict[str, float], str]:
    """RMSE of two stages (of the trimmed mean, for a symmetric column), of the halves, of a peer and of the mean itself, over tables."""
    make, truth = made
    method, about = "trimmed" if column.shape == "symmetric" else "two_stage", facts(column, len(make()))
    ways = st.mean("x", method).ways(Fraction(epsilon), Fraction(0), about)
    chosen, clamped = next(iter(ways.values()))(), st.mean("x").step(Fraction(epsilon), Fraction(0), about)
    found = []
    for _ in range(tables):
        x = make()
        ask = table(column, x)
        halves = clamped.release(ask, draw, None)[0].value
        ours = chosen.release(ask, draw, None)[0].value
        found.append([ours, halves, peer(x, column.bounds, float(epsilon), rng), x.mean()])
    errors = np.array(found) - truth
    return dict(zip(("moved", "clamped", "peer", "plain"), rmse(errors).tolist(), strict=True)), next(iter(ways))


def means(tables: int) -> None:
    rng = np.random.default_rng(11)
    income = 40_000 * np.exp(0.32)
    normal, lognormal = (lambda: rng.normal(50, 10, 1000)), (lambda: rng.lognormal(np.log(40_000), 0.8, 1000))
    cases: dict[str, tuple[Any, Any, Any, float, float]] = {
        "N(50, 10) in 1e4": ((-1e4, 1e4), None, normal, 50, 0.40),
        "N(50, 10) in 1e12": ((-1e12, 1e12), None, normal, 50, 0.45),
        "symmetric, in 1e4": ((-1e4, 1e4), "symmetric", normal, 50, 0.40),
        "log-normal in 1e9": ((0, 1e9), None, lognormal, income, 2_500),
    }
    print(f"mean of 1,000 rows at epsilon 1: RMSE against the population mean, {2 * tables} tables")
    print(f"{'':24}{'moved':>10}{'clamped':>12}{'peer':>12}{'not private':>12}{'at most':>9}  by")
    for name, (bounds, shape, make, truth, most) in cases.items():
        found, chosen = against(Column("x", "float", bounds, shape=shape), "1", (make, truth), 2 * tables, rng)
        print(row(name, found, most, chosen), flush=True)


def row(name: str, found: dict[str, float], most: float, chosen: str) -> str:
    bad = check(name, found["moved"] <= most)
    cells = f"{found['moved']:10.4g}{found['clamped']:12.4g}{found['peer']:12.4g}{found['plain']:12.4g}{most:9.4g}"
    return f"{name:24}{cells}  {chosen}{bad}"


def outliers(tables: int) -> None:
    rng = np.random.default_rng(12)
    column = Column("x", "float", (-10_000, 10_000))

    def make() -> Array:
        x = rng.normal(50, 5, 10_000)
        x[:100] = 1e4
        return x

    questions = {"trimmed_mean": st.trimmed_mean("x"), "winsorized_mean": st.winsorized_mean("x"), "huber_mean": st.huber_mean("x")}
    print(f"\nN(50, 5), 10,000 rows, 100 of them at 1e4: error against the clean rows' mean, {tables} tables")
    print(f"{'':20}{'epsilon':>8}{'RMSE':>9}{'largest':>9}{'clamped':>9}{'peer':>9}{'not private':>13}{'at most':>9}")
    for name, question in questions.items():
        for epsilon in ("0.5", "1"):
            about = facts(column, 10_000)
            steps = [
                question.step(Fraction(epsilon), Fraction(0), about),
                st.mean("x", "clamped").step(Fraction(epsilon), Fraction(0), about),
            ]
            found = errors(steps, column, make, lambda x: float(x[100:].mean()), tables)
            bad = check(f"{name} at {epsilon}", name == "winsorized_mean" or bool(np.abs(found[:, 0]).max() < 0.15))
            largest, (ours, clamped, plain) = np.abs(found[:, 0]).max(), rmse(found)
            theirs = np.mean([abs(peer(make(), column.bounds, float(epsilon), rng) - 50) for _ in range(tables)])  # type: ignore[arg-type]
            most = "" if name == "winsorized_mean" else "0.15"
            print(f"{name:20}{epsilon:>8}{ours:9.4f}{largest:9.4f}{clamped:9.4g}{theirs:9.4g}{plain:13.4g}{most:>9}{bad}", flush=True)


def trimmed(tables: int) -> None:
    rng = np.random.default_rng(13)
    column = Column("x", "float", (-50, 50), nulls=0)
    print(f"\ncentres of N(0, 1), 1,000 rows in 50 either way: RMSE against 0, {tables} tables (not private: {1000**-0.5:.4f})")
    print("trimmed_mean, replace: at most 0.047, 0.039, 0.037")
    print(f"{'':40}" + "".join(f"{e:>9}" for e in ("0.2", "0.5", "1")))
    gates = {"trimmed_mean, replace": (0.047, 0.039, 0.037)}
    for relation in ("replace", "add_remove"):
        for name, question in {
            "trimmed_mean": st.trimmed_mean("x"),
            "trimmed_mean, Student's t": st.trimmed_mean("x"),  # Bun and Steinke's noise: .054 .039 .036 in their own figures
            "huber_mean": st.huber_mean("x"),
            "huber_mean, public scale": st.huber_mean("x", 1),
            "mean, clamped": st.mean("x", "clamped"),
        }.items():
            label, cells, bad = f"{name}, {relation}", "", ""
            for epsilon, gate in zip(("0.2", "0.5", "1"), gates.get(label, (np.inf,) * 3), strict=True):
                ways = question.ways(Fraction(epsilon), Fraction(0), facts(column, 1000, relation))
                step = ways["smooth_student_t" if "Student" in name else next(iter(ways))]()
                number = 4 * tables if np.isfinite(gate) else tables  # a gate deserves a steadier figure
                found = rmse(errors([step], column, lambda: rng.normal(0, 1, 1000), lambda _: 0.0, number))[0]
                cells += f"{found:9.4f}"
                bad += check(f"{label} at {epsilon}", bool(found < gate))
            print(f"{label:40}{cells}{bad}", flush=True)


def audits(trials: int) -> None:
    """Hostile neighbours: two heaps, ties, rows at the bounds. None may be refuted; a twin that spends ten times as much must be."""
    column = Column("x", "float", (0, 100), resolution=Fraction(1, 16))
    pairs = {
        "two heaps": (np.repeat([0.0, 100.0], [20, 20]), np.repeat([0.0, 100.0], [20, 21])),
        "all ties": (np.full(41, 50.0), np.append(np.full(41, 50.0), 0.0)),
        "at the bounds": (np.full(40, 100.0), np.append(np.full(40, 100.0), 0.0)),
    }
    questions = {
        "mean, two_stage": st.mean("x", "two_stage"),
        "trimmed_mean": st.trimmed_mean("x"),
        "winsorized_mean": st.winsorized_mean("x"),
        "huber_mean": st.huber_mean("x"),
        "m_estimate, logcosh": st.m_estimate("x", "logcosh", 10),
    }
    print(f"\naudits at epsilon 1, {trials:,} releases on either side: the largest epsilon the outputs prove")
    for name, question in questions.items():
        step = question.step(Fraction(1), Fraction(0), facts(column, 40))
        cells = ""
        for pair, sides in pairs.items():
            asks = [table(column, x) for x in sides]

            def release(ask: Any, step: Any = step) -> float:
                return float(step.release(ask, draw, None)[0].value)

            found = audit(release, *asks, claimed=1.0, trials=trials)
            cells += f"  {pair} {found.epsilon_lower:.3f}{check(f'audit of {name}, {pair}', found.verdict == 'consistent')}"
        print(f"{name:20}{cells}", flush=True)
    cheap = questions["m_estimate, logcosh"].step(Fraction(10), Fraction(0), facts(column, 40))
    asks = [table(column, x) for x in pairs["at the bounds"]]
    found = audit(lambda ask: float(cheap.release(ask, draw, None)[0].value), *asks, claimed=1.0, trials=trials)
    print(f"an M-estimate that spends 10: {found.epsilon_lower:.3f} proved{check('the planted twin', found.verdict == 'refuted')}")


def main() -> int:
    tables = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    means(tables)
    outliers(max(tables // 6, 20))
    trimmed(tables)
    audits(4 * tables)
    print("\nmissed: " + ", ".join(missed) if missed else "\nevery figure is met")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
