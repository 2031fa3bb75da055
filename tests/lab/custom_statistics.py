"""Statistics as a user might write them: ten whose sensitivity is right, and wrong ones that must be found out."""

from __future__ import annotations

from typing import Any

import numpy as np

import sordino as sd
from sordino.sensitivity import average, position
from sordino.sensitivity.location import Location, Ramps
from sordino.statistics.custom import Custom

HIGH = 100


def at(x: Any, i: int) -> float:
    return 0.0 if i < 1 else float(HIGH) if i > len(x) else float(x[i - 1])


def made(function: Any, rungs: Any, relation: str, **facts: Any) -> Custom:
    custom = sd.statistic(bounds=(0, HIGH), relation=relation, **facts)(function)
    custom.sensitivity_at(rungs)
    return custom


def laddered(ladder: Any, **options: Any) -> Any:
    return lambda x, k: float(ladder(x, bounds=(0, HIGH), **options).rungs(k + 1)[k])


def lower_median(x: Any) -> float:
    return at(x, (len(x) + 1) // 2) if len(x) else 0.0


def replaced_median(x: Any, k: int) -> float:
    r = (len(x) + 1) // 2
    return max(at(x, r + t) - at(x, r + t - k - 1) for t in range(k + 2)) if k else max(at(x, r + 1) - at(x, r), at(x, r) - at(x, r - 1))


def trimmed(x: Any) -> float:
    t = cut(x)
    return float(np.mean(x[t : len(x) - t]))


def cut(x: Any) -> int:
    return min(1, (len(x) - 1) // 2)


def huber(x: Any) -> Location:
    return Location(np.floor(np.asarray(x)).astype(np.int64), HIGH, Ramps((-10,), (10,), (1,)))


def spread(x: Any) -> float:
    return at(x, max(1, -(-3 * len(x) // 4))) - at(x, max(1, -(-len(x) // 4))) if len(x) else 0.0


def heavy() -> Custom:
    """The answer "many" or "few", with the number of rows before it could change."""
    custom = sd.statistic(bounds=(0, HIGH))(lambda x: "many" if (x > 50).sum() >= 5 else "few")
    custom.distance_at(lambda x: max(abs((x > 50).sum() - 4.5) - 0.5, 0))
    return custom


def right() -> dict[str, Custom]:
    replace = {"relation": "replace"}
    count = sd.statistic(sensitivity=1, bounds=(0, HIGH))(lambda x: (x > 50).sum())
    return {
        "median": made(lower_median, laddered(position.median), "add_remove"),
        "median, replace": made(lower_median, replaced_median, "replace"),
        "minimum": made(lambda x: at(x, 1) if len(x) else 0.0, laddered(position.min), "add_remove"),
        "maximum, replace": made(lambda x: at(x, len(x)), laddered(position.max, **replace), "replace"),
        "iqr": made(spread, laddered(position.iqr), "add_remove"),
        "quantile": made(lambda x: at(x, max(1, -(-9 * len(x) // 10))), laddered(position.quantile, q="0.9"), "add_remove"),
        "mean": made(lambda x: np.mean(x) if len(x) else 50.0, laddered(average.mean), "add_remove"),
        "trimmed mean": made(trimmed, lambda x, k: laddered(average.trimmed_mean, trim=cut(x), **replace)(x, k), "replace"),
        "variance": made(lambda x: np.var(x), laddered(average.variance, **replace), "replace", range=(0, HIGH**2 / 4)),
        "Huber": made(lambda x: huber(x).value, lambda x, k: float(huber(x).ladder().rungs(k + 1)[k]), "add_remove"),
        "count": count,
        "stable answer": heavy(),
    }


def wrong() -> dict[str, Custom]:
    def early_variance(x: Any, k: int) -> float:
        n, mean = len(x), float(np.mean(x))
        return float((n - 1) / n**2 * min(HIGH, max(HIGH - mean, mean) + k * HIGH / n) ** 2)

    def one_side(x: Any, k: int) -> float:
        r = (len(x) + 1) // 2
        return at(x, r + k + 1) - at(x, r)

    def early(x: Any, k: int) -> float:
        r = (len(x) + 1) // 2
        return max(at(x, r + t) - at(x, r + t - k) for t in range(k + 1))

    unsure = heavy()
    unsure.distance_at(lambda x: abs((x > 50).sum() - 4.5) + 0.5)
    return {
        "k for k + 1": made(lower_median, early, "replace"),
        "k for k + 1 in a variance": made(lambda x: np.var(x), early_variance, "replace", range=(0, HIGH**2 / 4)),
        "one side only": made(lower_median, one_side, "replace"),
        "rows that come and go, claimed for replacements": made(lower_median, laddered(position.median), "replace"),
        "replacements, claimed for rows that come and go": made(
            lambda x: np.mean(x) if len(x) else 50.0, lambda x, k: HIGH / max(len(x), 1), "add_remove"
        ),
        "the local sensitivity alone": made(lower_median, lambda x, k: replaced_median(x, 0), "replace"),
        "falling": made(lower_median, lambda x, k: HIGH / (k + 1), "replace"),
        "half the sensitivity": sd.statistic(sensitivity=0.5, bounds=(0, HIGH))(lambda x: (x > 50).sum()),
        "a row too far": unsure,
        "an error on some data": made(lambda x: x[5], lambda x, k: 0.0, "add_remove"),
        "the quantile at the minimum": made(lambda x: at(x, 1), lambda x, k: at(x, k + 2) - at(x, 1), "add_remove"),
    }
