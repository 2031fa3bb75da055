"""Questions about groups and ranges with their noise left out, for tests that compare engines: what each tells from the same rows."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa

import sordino as sd
from sordino.privacy.discrete import ArgMax, Bernoulli, Categorical, UniformInteger
from sordino.session.private_limit import cap_question

SALT = 2**100 + 7
SMALL = Fraction(1, 10**3)
NAMES = ["a", "b", "c"]
FEW = ("distinct values in SQL", "grouping sets in SQL", "most frequent of private", "ranges", "private keys")  # one of each kind


def rows(people: int = 60, each: int = 9) -> pa.Table:
    """More rows and groups of a person than count; a key with a quote, an empty one, and nulls."""
    rng = np.random.default_rng(8)
    n = people * each
    tag = rng.choice(["x", "y'", "", "z", "rare"], n, p=[0.5, 0.2, 0.15, 0.14, 0.01])
    found = {"who": np.repeat(np.arange(people), each), "place": rng.choice(NAMES, n, p=[0.6, 0.3, 0.1]), "half": rng.choice(["u", "v"], n)}
    found |= {"tag": [None if hole else str(t) for t, hole in zip(tag, rng.random(n) < 0.05, strict=True)]}
    return pa.table(found | {"v": rng.integers(0, 100, n), "day": rng.integers(1, 32, n)})


def opened(source: Any) -> Any:
    limits = {"max_rows": 6, "max_groups": 4, "max_rows_per_group": 2}
    facts = {
        "keys": {"place": NAMES, "half": ["u", "v"]},
        "columns": {"tag": "cat", "v": "int", "day": "int"},
        "bounds": {"v": (0, 99), "day": (1, 31)},
    }
    budget = sd.Budget(epsilon=1000, delta=0.01)
    return sd.table(source, unit="who", budget=budget, ledger=":memory:", name="t", **limits, **facts)


def plain(law: Any) -> Any:
    """The middle of every law: the likeliest candidate, heads from a half on, the location of a noise."""
    if isinstance(law, UniformInteger):
        return law.low
    if isinstance(law, ArgMax):
        return int(np.argmax(law.scores))
    if isinstance(law, Categorical):
        return int(np.argmax(np.asarray(law.weights, float)))
    if isinstance(law, Bernoulli):
        heads = np.array([2 * p >= 1 for p in law.probabilities])
        return bool(heads[0]) if law.index is None else heads[law.index]
    return law.location


def questions(table: Any) -> dict[str, Any]:
    by = table.group_by
    return {
        "distinct values": table.count_distinct("tag"),
        "distinct days by place": by("place").count_distinct("day"),
        "distinct values in SQL": table.sql("SELECT COUNT(DISTINCT tag) FROM t WHERE v < 60"),
        "roll-up": table.rollup("place", "half").count(),
        "cube": table.cube("place", "half").sum("v"),
        "grouping sets in SQL": table.sql("SELECT place, half, COUNT(*) FROM t GROUP BY GROUPING SETS ((place, half), (half), ())"),
        "most frequent of listed": table.top_k("place", 2, counts=True),
        "most frequent of private": table.top_k("tag", 2, counts=True),
        "ranges": table.histogram("v", bins=64, ranges=True),
        "cdf": table.cdf("v", bins=70).query,
        "private keys": by("tag").sum("v"),
        "private keys with counts": by("tag").count(),
        "narrower": table.limit(rows=3, groups=2, rows_per_group=1).group_by("place").count(),
    }


def answered(table: Any, few: bool = False) -> dict[str, Any]:
    """Every question with its noise left out; a drawn limit, and what is counted under it, at last. All engines choose rows alike."""
    table.engine.portable = True

    def told(query: Any) -> Any:
        plan = query.settle(20, SMALL)
        return plan.converse(lambda frame: table.engine.bounded(frame, SALT), plain)

    found = {name: told(query) for name, query in questions(table).items() if not few or name in FEW}
    drawn = table.group_by("place").limit(rows="private").count()
    groups, caps = told(cap_question(drawn))
    (cap,) = [answer.value for answers in caps.values() for answer in answers]
    found |= {"drawn limit": (groups, cap)}
    return found if few else found | {"under it": told(table.limit(rows=cap).group_by("place").count())}
