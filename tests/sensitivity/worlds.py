"""Small worlds: statistics written the slow way, and every table over {0, 1, 2, 3}."""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cache

from sordino.sensitivity.universe import Exhaustive, exhaustive

BOUNDS = (0, 3)
VALUES = range(4)
LEVELS = ["0", "0.1", "0.25", "0.5", "0.75", "0.9", "1"]
SIZES = range(5)


def at_rank(q, table):
    return sorted(table)[max(1, math.ceil(Fraction(q) * len(table))) - 1] if table else 0


def average(values):
    return Fraction(sum(values), len(values))


def slow(name, *parameters):
    """The statistic as its definition reads, on tables of any order."""
    if name == "median":
        return lambda t: at_rank("1/2", t)
    if name == "quantile":
        return lambda t: at_rank(parameters[0], t)
    if name == "min":
        return lambda t: min(t, default=0)
    if name == "max":
        return lambda t: max(t, default=0)
    if name == "iqr":
        return lambda t: at_rank("3/4", t) - at_rank("1/4", t)
    if name == "mean":
        return lambda t: average(t) if t else Fraction(3, 2)
    if name == "variance":
        return lambda t: average([(v - average(t)) ** 2 for v in t]) if t else 0
    (trim,) = parameters
    if name == "trimmed_mean":
        return lambda t: average(sorted(t)[trim : len(t) - trim])
    if name == "winsorized_mean":
        return lambda t: average([min(max(v, sorted(t)[trim]), sorted(t)[len(t) - trim - 1]) for v in t])
    raise KeyError(name)


@cache
def world(name, parameters, relation, size, max_rows=1) -> Exhaustive:
    """`size` is the number of rows under replace and the largest number of rows under add_remove."""
    sizes = size if relation == "replace" else range(size + 1)
    return exhaustive(slow(name, *parameters), VALUES, relation, sizes=sizes, max_rows=max_rows)


def worlds(name, parameters, relation, max_rows=1):
    """Every world to compare in, with the tables where nothing is missing at the edge: n <= 4 needs n + k + 1 rows for k <= n."""
    if relation == "add_remove":
        everything = world(name, parameters, relation, 9 if max_rows == 1 else 4 + 3 * max_rows, max_rows)
        yield everything, [table for table in everything.tables if len(table) <= 4]
        return
    least = 2 * parameters[0] + 1 if name in ("trimmed_mean", "winsorized_mean") else 0
    for n in range(least, 6 if least else 5):
        everything = world(name, parameters, relation, n, max_rows)
        yield everything, list(everything.tables)
