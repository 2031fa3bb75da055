"""Quantiles: many at once, without useful bounds, at the ends; and how private each way turns out to be.

    python bench/quantiles.py [draws, 300 unless given]

Everything is released through a table; nothing is charged, because the draws are simulated. Exits with an error if a figure is missed.
"""

from __future__ import annotations

import sys
from fractions import Fraction
from itertools import combinations_with_replacement
from typing import Any

import numpy as np

import sordino as sd
from sordino import statistics as st
from sordino.lab import audit, simulate
from sordino.lab.simulation import outcomes
from sordino.lab.world import neighbours
from sordino.mechanisms import ApproximateQuantiles, JointExponential, QuantileExponential, RankExponential
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics.port import Context
from sordino.summaries.request import rank_window

DECILES = [j / 10 for j in range(1, 10)]
PEERS = {"0.1": 4_741, "0.5": 800, "1": 566}  # the best peer's median error of the interquartile range
WAYS = ("joint_exponential", "approximate", "exponential")
missed: list[str] = []


def line(label: str, figure: str, holds: bool, wish: str) -> None:
    missed.extend([] if holds else [label])
    print(f"{label:74}{figure:>26}   {wish}{'' if holds else '   MISSED'}", flush=True)


def incomes(number: int = 1000, seed: int = 1) -> np.ndarray[Any, Any]:
    return np.sort(np.random.default_rng(seed).lognormal(np.log(40_000), 0.8, number))


def table(x: Any, **facts: Any) -> Any:
    return sd.table({"income": x}, budget=sd.Budget(epsilon=10**6), ledger=":memory:", **facts)


def off(x: np.ndarray[Any, Any], drawn: Any, levels: Any) -> np.ndarray[Any, Any]:
    """Rows between each level and its answer, ties counted for the answer."""
    y, aim = np.array([np.ravel(v) for v in drawn], float), len(x) * np.array(levels)
    return np.maximum(np.maximum(np.searchsorted(x, y) - aim, aim - np.searchsorted(x, y, "right")), 0)


def wide_bounds(draws: int) -> None:
    x = incomes(1001)
    said = {"bounds": {"income": (-1e12, 1e12)}}, {"columns": {"income": "float"}}
    for facts, label in zip(said, ("bounds of 1e12 either way", "no bounds at all"), strict=True):
        with table(x, **facts) as opened:
            drawn = simulate(opened.median("income", bounds="private"), epsilon=0.1, repeats=10 * draws)
            error = float(np.median(off(x, drawn, [0.5]))) / len(x)
            line(f"median of 1001, {label}, epsilon .1: median rank error", f"{error:.4f} n", error < 0.03, "< .03 n")
    with table(x, bounds={"income": (0, 1_000_000)}) as opened:
        errors = [
            float(np.median(off(x, simulate(query, epsilon=0.1, repeats=10 * draws), [0.5])))
            for query in (opened.median("income"), opened.median("income", bounds="private"))
        ]
        names = {query.settle(0.1).mechanism for query in (opened.median("income"), opened.median("income", bounds="private"))}
        figure = f"{errors[1]:.1f} / {errors[0]:.1f} ranks"
        line("the same with bounds [0, 1e6]: bounds='private' / plain", figure, len(names) == 1, "one mechanism for both")


def tight() -> None:
    """Bounds the rows fill: the planner's law against the plain exponential mechanism's, summed exactly."""
    rng = np.random.default_rng(2)
    kinds = {
        "normal rows in 100": (100, rng.normal(50, 10, 1000)),
        "incomes in 1e6": (1e6, incomes()),
        "ties in 100": (100, np.round(rng.normal(50, 10, 1000), -1)),
        "rows at the bounds": (1e4, np.where(rng.random(1000) < 0.5, 0, 1e4)),
    }
    for name, (top, x) in kinds.items():
        column = Column("x", "float", (0, top))
        grid = column.grid()
        steps = np.sort(np.clip(np.floor(np.clip(x, 0, top) / float(grid.step)).astype(np.int64), 0, grid.width))
        for q in (Fraction(1, 2), Fraction(9, 10)):
            ratios = []
            for epsilon in (Fraction(1, 10), Fraction(1)):
                ours = st.quantile("x", q).step(epsilon, Fraction(0), Context(PrivacyUnit(), {"x": column})).mechanisms[0]  # type: ignore[attr-defined]
                found = [expected(mechanism, steps) for mechanism in (ours, QuantileExponential(epsilon, q, high=grid.width))]
                ratios.append(found[0] / max(found[1], 1e-9) if found[1] > 1e-9 else 1.0)
            figure = " / ".join(f"{ratio:.3f}" for ratio in ratios)
            line(f"quantile {float(q):g}, {name}, epsilon .1 / 1: rank error over the plain one's", figure, max(ratios) <= 1.05, "<= 1.05")


def expected(mechanism: QuantileExponential, x: np.ndarray[Any, Any]) -> float:
    """The mean number of ranks a draw lies from its quantile, from the exact law."""
    cells = mechanism.cells(rank_window(x, mechanism.q, mechanism.radius, 0, mechanism.high))
    aim = float(mechanism.q) * len(x)
    far = np.maximum(np.maximum(np.searchsorted(x, cells.first) - aim, aim - np.searchsorted(x, cells.first, "right")), 0)
    return float(far @ cells.weights / cells.weights.sum())


def deciles(draws: int) -> None:
    x = incomes()
    for relation, most in (("replace", 7.0), ("add_remove", 6.0)):
        column = {"income": {"type": "float", "bounds": (0, 1_000_000), "nulls": 0}}
        with table(x, relation=relation, columns=column, **({"size": 1000} if relation == "replace" else {})) as opened:
            query = opened.quantiles("income", DECILES)
            found = {way: off(x, simulate(query.by_mechanism(way), epsilon=1, repeats=draws), DECILES).mean() for way in WAYS}
        best, halved, alone = (float(found[way]) for way in WAYS)
        label = f"nine deciles of 1000, epsilon 1, {relation}: rows missed by each"
        line(label, f"{best:.2f}", best < min(most, alone / 2), f"< {most:g}; halving {halved:.2f}, single draws {alone:.2f}")


def several(draws: int) -> None:
    x = incomes()
    with table(x, bounds={"income": (0, 1_000_000)}) as opened:
        for epsilon, peer in PEERS.items():
            truth = np.quantile(x, 0.75) - np.quantile(x, 0.25)
            errors = []
            for way in ("joint_exponential", "exponential"):
                drawn = simulate(opened.iqr("income").by_mechanism(way), epsilon=epsilon, repeats=2 * draws)
                errors.append(float(np.median(np.abs(drawn - truth))))
            wish = f"< peer {peer}, two draws {errors[1]:.0f}"
            line(f"iqr of incomes, epsilon {epsilon}: median error", f"{errors[0]:.0f}", errors[0] < min(peer, errors[1]), wish)
        for levels in ([0.25, 0.5, 0.75], [0.05, 0.25, 0.5, 0.75, 0.95]):
            query = opened.quantiles("income", levels)
            one, many = (off(x, simulate(query.by_mechanism(way), epsilon=1, repeats=draws), levels).mean() for way in WAYS[::2])
            line(f"quantiles {levels}, epsilon 1: rows missed by each", f"{one:.2f}", one < many, f"< {many:.2f} of single draws")


def percentiles(draws: int) -> None:
    for number in (1_000, 100_000):
        x = incomes(number)
        levels = [j / 100 for j in range(1, 100)]
        with table(x, bounds={"income": (0, 1_000_000)}) as opened:
            query = opened.quantiles("income", levels)
            found = off(x, simulate(query, epsilon=1, repeats=max(draws // 20, 3)), levels).mean()
            alone = off(x, simulate(query.by_mechanism("exponential"), epsilon=1, repeats=3), levels).mean()
            wish = f"< {alone:.1f}/4 of single draws"
            line(f"99 percentiles of {number:,}, epsilon 1: rows missed by each", f"{found:.1f}", found < alone / 4, wish)


def extremes(draws: int) -> None:
    x = incomes(10_000)
    with table(x, bounds={"income": (0, 1_000_000)}) as opened:
        for word in ("min", "max"):
            query = getattr(opened, word)("income")
            below = np.searchsorted(x, simulate(query, epsilon=1, repeats=draws))
            beyond = float(np.median(below if word == "min" else len(x) - below))
            label = f"{word} of 10,000 without a declared size: rows from the end"
            line(label, f"{beyond:.0f}", 0 < beyond < 100, f"< 100 (at q = .01); {query.settle(1).mechanism}")


HOSTILE = {
    "two heaps": ([400] * 2 + [600] * 2, [400] * 2 + [600] * 2 + [0]),
    "all ties": ([500] * 4, [500] * 4 + [0]),
    "mass at the bounds": ([1000] * 4, [1000] * 4 + [0]),
}


def audits(draws: int) -> None:
    print("\naudits at the claimed epsilon 4, hostile neighbours: the lower bound on epsilon that was found, at confidence 1 - 1e-9")
    makers = {
        "QuantileExponential": lambda e: QuantileExponential(e, high=1000),
        "RankExponential": lambda e: RankExponential(e, high=1000, rank=5),
        "JointExponential": lambda e: JointExponential(e, ("0.25", "0.5", "0.75"), high=1000),
        "JointExponential, arsinh": lambda e: JointExponential(e, low=-1000, high=1000, base="arsinh", unit=4),
        "ApproximateQuantiles": lambda e: ApproximateQuantiles(e, ("0.25", "0.5", "0.75"), high=1000),
    }
    for name, make in makers.items():
        for pair, (one, other) in HOSTILE.items():
            mechanism = make(Fraction(4))
            found = audit(
                lambda data, n, mechanism=mechanism: outcomes(mechanism, data, repeats=n),
                one, other, claimed=(4.0, 0.0), trials=10 * draws, confidence=1 - 1e-9, vectorised=True,
            )  # fmt: skip
            line(f"{name}, {pair}", f"{found.epsilon_lower:.3f}", found.verdict == "consistent", f"<= 4, {found.verdict}")
    twin = Loud(Fraction(1), ("0.25", "0.75"), high=1000)
    found = audit(
        lambda data, n: outcomes(twin, data, repeats=n), [500] * 4, [500] * 4 + [0], claimed=(1.0, 0.0), trials=20 * draws, vectorised=True
    )
    line("a planted twin with an eighth of the sensitivity", f"{found.epsilon_lower:.3f}", found.verdict == "refuted", "refuted")


class Loud(JointExponential):
    @property
    def reach(self) -> Fraction:
        return super().reach / 8


def small_worlds() -> None:
    print("\nevery table over {0, 1, 2, 3} with up to four rows, every neighbour: the largest loss at claimed epsilon 1")
    for relation in ("add_remove", "replace"):
        for rows in (1, 2):
            mechanism = JointExponential(1, ("0.25", "0.5", "0.75"), high=3, max_rows=rows, relation=relation)
            every = list(combinations_with_replacement(range(4), 3))
            laws: dict[Any, Any] = {}
            worst = 0.0
            for pair in neighbours(range(4), range(5), relation, max_rows=rows):
                for t in pair:
                    if t not in laws:
                        laws[t] = mechanism.log_probability(np.array(t, np.int64), every)
                worst = max(worst, float(np.abs(laws[pair[0]] - laws[pair[1]]).max()))
            wide = JointExponential(1, ("0.25", "0.5", "0.75"), high=2**44, max_rows=rows, relation=relation).certificate().check()
            label = f"JointExponential, {relation}, {rows} rows per person: small world, worst pair on 2^44 points"
            line(label, f"{worst:.4f}, {wide.epsilon:.6f}", worst <= 1 and wide.sound, "<= 1")


if __name__ == "__main__":
    draws = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    wide_bounds(draws)
    tight()
    deciles(draws)
    several(draws)
    percentiles(draws)
    extremes(draws)
    small_worlds()
    audits(draws)
    if missed:
        sys.exit(f"missed: {', '.join(missed)}")
