"""A small table of people, every question one may ask of it, and rows that have gone wrong somewhere before."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

import sordino as sd
from sordino.ledger import open_ledger

NAN, INF = float("nan"), float("inf")
COLUMNS = ("person", "zip", "sex", "income", "age", "ok", "born")
BIRTHDAYS = ("1950-01-01", "2020-12-31")


def rows(number: int = 240, seed: int = 1, *, people: int = 60, sexes: str = "fm") -> dict[str, list[Any]]:
    """Rows of some people. One zip and one sex lead far ahead, so that the most frequent value is stable."""
    rng = np.random.default_rng(seed)
    lead = int(number * 0.7)
    return {
        "person": [f"p{i}" for i in rng.integers(0, people, number)],
        "zip": ["z0"] * lead + [f"z{i}" for i in rng.integers(1, 4, number - lead)],
        "sex": ["f"] * lead + [str(s) for s in rng.choice(list(sexes), number - lead)],
        "income": [float(round(v, 2)) for v in rng.lognormal(10, 1, number)],
        "age": [int(v) for v in rng.integers(0, 100, number)],
        "ok": [bool(v) for v in rng.integers(0, 2, number)],
        "born": [f"{y}-0{m}-11" for y, m in zip(rng.integers(1955, 2015, number), rng.integers(1, 10, number), strict=True)],
    }


def declared(*, unit: str | None = "person", relation: str = "add_remove", **extra: Any) -> dict[str, Any]:
    limits = {} if unit is None else {"unit": unit, "max_rows": 3, "max_groups": 2}
    base = {
        **limits,
        "relation": relation,
        "bounds": {"income": (0, 1_000_000), "born": BIRTHDAYS},
        "columns": {"age": {"type": "int", "bounds": (0, 120)}, "ok": "bool", "born": "date"},
        "keys": {"sex": ["m", "f", "x"]},
        "budget": sd.Budget(epsilon=1_000_000, delta=0.01),
        "ledger": ":memory:",
    }
    if relation == "replace":
        base["size"] = 60
    return base | extra


def table(source: Any = None, **extra: Any) -> Any:
    return sd.table(rows() if source is None else source, **declared(**extra))


@sd.statistic(bounds=(0, 120))
def half_way(x: Any) -> Any:
    """The lower median; on a table of one row it fails, and that must not show."""
    if len(x) == 1:
        raise ValueError(f"one row: {x[0]}")
    return x[(len(x) + 1) // 2 - 1] if len(x) else 0.0


@half_way.sensitivity_at
def _gap(x: Any, k: int) -> Any:
    padded = np.concatenate([[0.0] * (k + 2), x, [120.0] * (k + 2)])
    return padded[(len(x) + k) // 2 + k + 2] - padded[-((k + 1 - len(x)) // 2) + k + 1]


@sd.statistic(bounds=(0, 120), relation="replace")
def highest(x: Any) -> Any:
    return x[-1] if len(x) else math.nan


@highest.sensitivity_at
def _far(x: Any, k: int) -> Any:
    return 120 - (x[-2 - k] if len(x) > k + 1 else 0)


@sd.statistic(sensitivity=1)
def adults(x: Any) -> Any:
    return (x >= 18).sum()


Ask = Callable[[Any], Any]
STATISTICS: dict[str, Ask] = {
    "count": lambda q: q.count(),
    "count_units": lambda q: q.count_units(),
    "counts": lambda q: q.counts(["age > 10", "age > 50 AND ok"]),
    "sum": lambda q: q.sum("income"),
    "sum of whole numbers": lambda q: q.sum("age"),
    "mean": lambda q: q.mean("income"),
    "means": lambda q: q.means(["income", "age", "ok"]),
    "variance": lambda q: q.variance("income"),
    "std": lambda q: q.std("age"),
    "mean in two stages": lambda q: q.mean("income", method="two_stage"),
    "statistic with a global sensitivity": lambda q: q.apply(adults, "age"),
    "median": lambda q: q.median("income"),
    "median of days": lambda q: q.median("born"),
    "quantile": lambda q: q.quantile("income", 0.9),
    "quantiles": lambda q: q.quantiles("income", [0.25, 0.5, 0.75]),
    "iqr": lambda q: q.iqr("income"),
    "many quantiles": lambda q: q.quantiles("income", [j / 40 for j in range(1, 40)]),
    "quartiles, bounds of no use": lambda q: q.quantiles("income", [0.25, 0.5, 0.75], bounds="private"),
    "min": lambda q: q.min("age"),
    "max": lambda q: q.max("income"),
    "several": lambda q: q.agg(n=sd.count(), total=sd.sum("income"), avg=sd.mean("income"), mid=sd.median("age"), people=sd.count_units()),
    "spread": lambda q: q.agg(avg=sd.mean("age"), sd=sd.std("age"), n=sd.count()),
}
FITTED: dict[str, Ask] = {  # certifying noise that fits the data takes a second for every price: asked plainly only
    "trimmed mean": lambda q: q.trimmed_mean("income"),
    "huber mean": lambda q: q.huber_mean("income"),
    "statistic of one's own": lambda q: q.apply(half_way, "age"),
    "statistic proved for replacements": lambda q: q.apply(highest, "age"),
}
CELLS: dict[str, Ask] = {  # these count a column, which private groups do not allow
    "mode": lambda q: q.mode("sex"),
    "mode of private keys": lambda q: q.mode("zip"),
    "top_k": lambda q: q.top_k("sex", 2),
    "top_k of private keys": lambda q: q.top_k("zip", 1),
    "histogram": lambda q: q.histogram("sex"),
    "histogram of private keys": lambda q: q.histogram("zip"),
    "histogram of given keys": lambda q: q.histogram("zip", keys=["z0", "z9"]),
    "histogram of flags": lambda q: q.histogram("ok"),
    "histogram of bins": lambda q: q.histogram("income", bins=4),
    "histogram of edges": lambda q: q.histogram("age", bins=[0, 18, 65, 120]),
    "histogram beside a mean": lambda q: q.agg(cells=sd.histogram("sex"), avg=sd.mean("income")),
}
PLACES: dict[str, Ask] = {
    "plain": lambda t: t,
    "where": lambda t: t.where("age >= 18 OR age IS NULL"),
    "public groups": lambda t: t.group_by("sex"),
    "private groups": lambda t: t.group_by("zip"),
    "mixed groups": lambda t: t.group_by("sex", "zip"),
}


def questions() -> list[tuple[str, Ask]]:
    """Every statistic in every place it may be asked in."""
    out = []
    for place, at in PLACES.items():
        for name, ask in (STATISTICS if "private" in place or "mixed" in place else {**STATISTICS, **CELLS}).items():
            out.append((f"{name}, {place}", lambda t, ask=ask, at=at: ask(at(t))))
    out += [(f"{name}, plain", ask) for name, ask in FITTED.items()]
    return [*out, ("trimmed mean, private groups", lambda t: FITTED["trimmed mean"](PLACES["private groups"](t)))]


QUESTIONS = dict(questions())
ROW = {"person": "new", "zip": "z0", "sex": "f", "income": 1.0, "age": 30, "ok": True, "born": "1980-01-01"}
EXTRA: dict[str, list[dict[str, Any]]] = {
    "an ordinary person": [ROW],
    "nothing but nulls": [dict.fromkeys(ROW) | {"person": "new"}],
    "not numbers": [ROW | {"income": NAN, "age": NAN, "zip": NAN, "sex": NAN}, ROW | {"income": INF, "age": -INF}],
    "text everywhere": [ROW | {"income": "n/a", "age": "?", "ok": "perhaps", "born": "soon"}, ROW | {"income": "1e5", "age": " 7 "}],
    "numbers at the edge": [ROW | {"income": -0.0, "age": 10**40}, ROW | {"income": 1e308, "age": -(10**40)}, ROW | {"income": -1e308}],
    "types nobody expects": [
        ROW | {"income": b"12", "age": 3 + 4j, "zip": object(), "ok": [1], "born": 7},
        ROW | {"zip": 5, "sex": True},
    ],
    "a new key": [ROW | {"zip": "<script>alert(1)</script>\x1b[2J\n"}, ROW | {"zip": "\ud800"}, ROW | {"zip": ""}],
    "many groups and rows": [ROW | {"zip": f"y{i % 50}", "sex": ["m", "f", "x"][i % 3], "income": 1.0 * i} for i in range(400)],
    "a null id": [ROW | {"person": None}, ROW | {"person": NAN}],
    "an id of another type": [ROW | {"person": 17}, ROW | {"person": 17.0}, ROW | {"person": "P1"}, ROW | {"person": " p1"}],
}


def crowd() -> list[dict[str, Any]]:
    """All of them at once, each as a person of their own."""
    return [row | ({"person": f"new {i}"} if row["person"] == "new" else {}) for i, name in enumerate(EXTRA) for row in EXTRA[name]]


def fresh(opened: Any) -> Any:
    """The same table with a ledger nobody has spent from."""
    terms = opened.ledger.terms
    book = open_ledger(":memory:", budget=terms.budget, relation=terms.relation, unit=opened.unit, dataset=opened.dataset)
    return replace(opened, ledger=book)


def add(base: dict[str, list[Any]], extra: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The neighbour with one more person."""
    return {name: [*values, *(row[name] for row in extra)] for name, values in base.items()}


def swap(base: dict[str, list[Any]], person: str, extra: list[dict[str, Any]]) -> dict[str, list[Any]]:
    """The neighbour in which one person's rows are others."""
    kept = [i for i, who in enumerate(base["person"]) if who != person]
    return add({name: [values[i] for i in kept] for name, values in base.items()}, [row | {"person": person} for row in extra])
