"""Twelve claims that are true nearly everywhere: each is broken only where a search has to go on purpose."""

from __future__ import annotations

from typing import Any

import numpy as np

import sordino as sd
from sordino.statistics.custom import Custom

PAIR = {"columns": ("x", "y"), "bounds": (0, 1)}


def made(function: Any, rungs: Any = None, **facts: Any) -> Custom:
    custom = sd.statistic(**facts)(function)
    if rungs is not None:
        custom.sensitivity_at(rungs)
    return custom


def crowd(x: Any) -> float:
    """A count that jumps when forty rows are high."""
    many = int((x > 0.5).sum())
    return many + (5.0 if many >= 40 else 0.0)


def needle(x: Any) -> float:
    """A count in which rows within a fiftieth of .731 count three times."""
    return float(len(x) + 2 * (np.abs(x - 0.731) < 0.01).sum())


def ties(x: Any) -> float:
    """A count, and twice as much when five rows are equal."""
    _, often = np.unique(x, return_counts=True)
    return float(len(x)) + (3.0 if len(often) and often.max() >= 5 else 0.0)


def slope(rows: Any) -> float:
    x, y = rows["x"], rows["y"]
    spread = float(((x - x.mean()) ** 2).sum()) if len(x) else 0.0
    return float(((x - x.mean()) * (y - y.mean())).sum() / spread) if spread > 1e-12 else 0.0


def correlation(rows: Any) -> float:
    x, y = rows["x"], rows["y"]
    return float(np.corrcoef(x, y)[0, 1]) if len(x) > 1 and x.std() > 1e-9 and y.std() > 1e-9 else 0.0


def gini(x: Any) -> float:
    n = len(x)
    return float((2 * np.arange(1, n + 1) - n - 1) @ x / (n * x.sum())) if n and x.sum() else 0.0


def ratio(rows: Any) -> float:
    return min(float(rows["x"].sum() / max(rows["y"].sum(), 1e-9)), 10.0)


def median(x: Any) -> float:
    return float(x[(len(x) + 1) // 2 - 1]) if len(x) else 0.0


def late(x: Any, k: int) -> float:
    """The right rungs of a median up to seven rows away, and no more than these further out."""
    k = min(k, 7)
    padded = np.concatenate([[0.0] * (k + 3), x, [1.0] * (k + 3)])
    r = (len(x) + 1) // 2
    return float(max(padded[r + t + k + 2] - padded[r + t - k - 1 + k + 2] for t in range(k + 2)))


def inversions(rows: Any) -> float:
    x, y = rows["x"], rows["y"]
    return float((np.sign(np.subtract.outer(x, x)) * np.sign(np.subtract.outer(y, y))).sum() / 2)


def far(rows: Any) -> int:
    return int((rows["x"] + rows["y"] > 1.9).sum())


def hidden() -> dict[str, Custom]:
    votes = made(lambda rows: "yes" if far(rows) >= 3 else "no", **PAIR, range=(0, 1))
    votes.distance_at(lambda rows: max(2 - far(rows), far(rows) - 3, 0) + (1 if far(rows) == 6 else 0))
    towards = made(lambda rows: float(far(rows)), **PAIR, range=(0, 50))
    towards.distance_to(lambda rows, y: abs(far(rows) - round(y)) * (2 if far(rows) > 3 else 1))
    return {
        "a jump at forty rows": made(crowd, bounds=(0, 1), sensitivity=1),
        "a needle": made(needle, bounds=(0, 1), sensitivity=2),
        "five equal rows": made(ties, bounds=(0, 1), sensitivity=2),
        "a slope by its vertical spread": made(slope, lambda rows, k: (k + 2) * 2.0 / max(len(rows["x"]), 1), **PAIR, range=(-50, 50)),
        "a correlation of 4/n": made(correlation, lambda rows, k: min(2, 4 / max(len(rows["x"]) - k, 1)), **PAIR, range=(-1, 1)),
        "a Gini coefficient of 2/n": made(gini, lambda x, k: min(1, 2 / max(len(x) - k, 1)), bounds=(0, 1), range=(0, 1)),
        "a ratio as if below stood still": made(
            ratio, lambda rows, k: min(10, 1 / max(rows["y"].sum() - k - 1, 0.01)), **PAIR, range=(0, 10)
        ),
        "rungs that stop at seven": made(median, late, bounds=(0, 1), relation="replace"),
        "people of four rows, claimed as two": made(
            lambda rows: float(min(far(rows), 3)), **PAIR, sensitivity=2, level="person", max_rows=4
        ),
        "concordant pairs, claimed as half": made(
            inversions, lambda rows, k: (len(rows["x"]) + k) / 2 + 1, **PAIR, range=(-10_000, 10_000)
        ),
        "a distance that skips": votes,
        "a distance to a value, twice too long": towards,
    }
