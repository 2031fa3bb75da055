"""The planner against every mechanism it rejects, and its predictions against simulation. Fails where a promise breaks."""

from __future__ import annotations

import sys
import time
from typing import Any

import numpy as np

import sordino as sd

RNG = np.random.default_rng(7)
EPSILONS = (0.1, 0.5, 1.0)
DRAWS, MANY = 1_500, 20_000


def data(rows: int) -> dict[str, Any]:
    keys = np.array([f"k{i}" for i in range(8)])
    bits = {f"b{i}": RNG.integers(0, 2, rows).tolist() for i in range(20)}
    return {
        "income": np.clip(RNG.lognormal(np.log(40_000), 0.8, rows), 0, 1e6).tolist(),
        "age": RNG.integers(0, 100, rows).tolist(),
        "town": RNG.choice(keys, rows, p=np.arange(8, 0, -1) / 36).tolist(),
        **bits,
    }


def table(rows: int, high: float) -> Any:
    bounds = {"income": (0, high), "age": (0, 120), **{f"b{i}": (0, 1) for i in range(20)}}
    columns = {name: {"type": "float" if name == "income" else "int", "bounds": pair} for name, pair in bounds.items()}
    keys = {"town": [f"k{i}" for i in range(8)]}
    held = data(rows)
    budget = sd.Budget(epsilon=1e6, delta=1e-4)
    return sd.table(held, columns=columns, keys=keys, size=rows, budget=budget, ledger=":memory:", twin=held)


QUESTIONS = {
    "mean(income), of the population": lambda t: t.mean("income"),
    "median(income)": lambda t: t.median("income"),
    "quantile(income, 0.9)": lambda t: t.quantile("income", 0.9),
    "quantiles(income)": lambda t: t.quantiles("income", [0.1, 0.25, 0.5, 0.75, 0.9]),
    "means of 2": lambda t: t.means(["income", "age"]),
    "means of 20": lambda t: t.means([f"b{i}" for i in range(20)]),
    "counts of 3": lambda t: t.counts(["age > 20", "age > 40", "age > 60"]),
    "mode(town)": lambda t: t.mode("town"),
}


def errors(query: Any, epsilon: float, truth: Any, draws: int = DRAWS) -> float:
    """The root mean squared error of simulated releases; for keys the share of wrong answers."""
    values = sd.lab.simulate(query, epsilon=epsilon, delta=1e-6, repeats=draws)
    if isinstance(values, dict):
        return max(float(np.sqrt(np.nanmean((np.asarray(v, float) - truth[k]) ** 2))) for k, v in values.items())
    if values.dtype == object and isinstance(values[0], str):
        return float(np.mean(values != truth))
    found = np.array([np.ravel(v) for v in values], float)
    return float(np.sqrt(((found - np.ravel(truth)) ** 2).mean(axis=0)).max())


def truth_of(query: Any) -> Any:
    values = sd.lab.simulate(query, epsilon=10**6, delta=1e-6, repeats=1)
    return {k: v[0] for k, v in values.items()} if isinstance(values, dict) else values[0]


def choices() -> int:
    """Chosen mechanism against the best in simulation."""
    print("| question | rows | bounds | epsilon | chosen | rmse | best | rmse | ratio |\n|---|---|---|---|---|---|---|---|---|")
    bad = 0
    for rows, high in ((1_000, 200_000), (1_000, 1e6), (10_000, 1e6)):
        with table(rows, high) as t:
            for name, ask in QUESTIONS.items():
                query, truth = ask(t), truth_of(ask(t))
                for epsilon in EPSILONS:
                    plan = query.settle(epsilon, "1e-6")
                    (label,) = plan.names
                    ways = [w for w in query.ways(label, plan.cost.epsilon, plan) if w != "ptr"]
                    sampling = float(np.std(np.clip(t.twin["income"], 0, high))) / rows**0.5 if name.startswith("mean(") else 0.0
                    found = {w: float(np.hypot(errors(query.by_mechanism(w), epsilon, truth), sampling)) for w in ways}
                    best = min(found, key=found.__getitem__)
                    ratio = found[ways[0]] / found[best] if found[best] else 1.0
                    bad += ratio > 1.1 and found[ways[0]] - found[best] > 0.02
                    cells = (name, f"{rows:,}", f"{high:,.0f}", epsilon, ways[0], f"{found[ways[0]]:.4g}", best, f"{found[best]:.4g}")
                    print("|", " | ".join(map(str, cells)), f"| {ratio:.2f} |", flush=True)
    return bad


def predictions() -> int:
    """Predicted against simulated RMSE, and how often answers asked by width keep their promise."""
    print("\n| question | epsilon | predicted rmse | simulated | ratio | how |\n|---|---|---|---|---|---|")
    bad = 0
    with table(1_000, 1e6) as t:
        asked = {"count": lambda t: t.count(), "sum(age)": lambda t: t.sum("age"), "counts of 3": QUESTIONS["counts of 3"],
                 "median(income)": QUESTIONS["median(income)"], "quantile(income, 0.9)": QUESTIONS["quantile(income, 0.9)"]}  # fmt: skip
        for name, ask in asked.items():
            query, truth = ask(t), truth_of(ask(t))
            for epsilon in EPSILONS:
                (line,) = query.preview(epsilons=[epsilon]).lines
                known = line.forecasts[0]
                closed = known.source == "closed form"
                ratio = known.rmse / (found := errors(query, epsilon, truth, MANY))
                allowed = 0.05 if closed else 0.25
                bad += abs(ratio - 1) > allowed
                print(f"| {name} | {epsilon} | {known.rmse:.4g} | {found:.4g} | {ratio:.3f} | {known.source} |")
        print("\n| question | within | price | inside, of 2,000 |\n|---|---|---|---|")
        wishes = {"count": (asked["count"], 20), "mean(age)": (lambda t: t.mean("age"), 2)}
        wishes["median(income)"] = (asked["median(income)"], 1_500)
        for name, (ask, within) in wishes.items():
            query, truth = ask(t), truth_of(ask(t))
            start = time.perf_counter()
            offer = query.preview(within=within).best
            took = time.perf_counter() - start
            values = np.asarray(sd.lab.simulate(query, epsilon=offer.epsilon, repeats=2_000), float)
            inside = float((np.abs(values - float(truth)) <= within).mean())
            bad += inside < 0.935
            print(f"| {name} | {within} | {offer.epsilon:.4g} ({took:.1f} s) | {inside:.1%} |")
    return bad


if __name__ == "__main__":
    sys.exit(f"{missed} promises missed" if (missed := choices() + predictions()) else 0)
