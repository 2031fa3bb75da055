"""sordino, through its public door: a table, a question, a release, as a user writes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from work import DELTA, EPSILONS, FEW, RICH, drawn, repeated, serve, shown, timed

import sordino as sd

ENDS = (0, 1_000_000)
ROOMS = (sd.table, sd.count)  # loaded here when first named, as other packages are when they are imported: no clock is to see it


def opened(source: Any, **facts: Any) -> Any:
    return sd.table(source, budget=sd.Budget(epsilon=1_000_000, delta=0.5), ledger=":memory:", **facts)


def value(query: Any) -> Any:
    return lambda epsilon: query.release(epsilon=epsilon, fresh=True)


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "income.npy")
    table = opened({"v": x}, bounds={"v": ENDS})
    whole = {"v": {"type": "float", "bounds": ENDS, "nulls": 0}}  # a row without a value counts as 0, so that the number of rows is public
    fixed = opened({"v": x}, columns=whole, relation="replace", size=len(x))
    questions = {
        "count": value(table.where(f"v >= {RICH}").count()),
        "sum": value(table.sum("v")),
        "mean": value(table.mean("v")),
        "mean, replace": value(fixed.mean("v")),
        "median": value(table.median("v", interval=False)),
        "quantile .9": value(table.quantile("v", 0.9, interval=False)),
        "iqr": value(table.iqr("v")),
        "variance": value(table.variance("v")),
        "variance, replace": value(fixed.variance("v")),
    }
    return repeated(questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    table = opened({"v": np.load(folder / "outliers.npy")}, bounds={"v": (0, 10_000)})
    robust = {"huber mean": value(table.huber_mean("v")), "trimmed mean": value(table.trimmed_mean("v", trim=0.1))}
    return repeated({"mean": value(table.mean("v")), "median": value(table.median("v", interval=False)), **robust}, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    table = opened({"key": np.load(folder / "keys.npy").astype(str)}, columns={"key": {"type": "cat", "keys": "private"}})
    query = table.histogram("key")
    return drawn(lambda _: shown(query.release(epsilon=1, delta=DELTA, fresh=True).value.items()), draws, seconds, FEW)


def regression(folder: Path, *, tables: int, draws: int, seconds: float) -> Any:
    from sordino.models import PrivateLinearRegression

    xs, ys = np.load(folder / "synthetic_x.npy"), np.load(folder / "synthetic_y.npy")

    def fit(epsilon: float, i: int) -> Any:
        return PrivateLinearRegression(epsilon=epsilon, delta=DELTA, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(xs[i], ys[i]).coef_.tolist()

    return {str(e): drawn(lambda i, e=e: fit(e, i % tables), draws, seconds) for e in EPSILONS}


def slope(folder: Path, *, draws: int, seconds: float) -> Any:
    from sordino.models import PrivateLinearRegression

    x, y = np.load(folder / "diabetes.npy")

    def fit(epsilon: float) -> float:
        return float(PrivateLinearRegression(epsilon=epsilon, delta=0, bounds_X=(-1, 1), bounds_y=(-1, 1)).fit(x[:, None], y).coef_[0])

    return repeated({"slope": fit}, draws, seconds)


def logistic(folder: Path, *, splits: int, draws: int, seconds: float) -> Any:
    from sordino.models import PrivateLogisticRegression

    parts = [dict(np.load(folder / f"digits{split}.npz")) for split in range(splits)]

    def told(i: int) -> Any:
        part = parts[i % splits]
        model = PrivateLogisticRegression(epsilon=1, delta=DELTA, bounds_X=(0, 16), classes=(0, 1)).fit(part["x"], part["y"])
        return model.predict(part["held"]).tolist()

    return drawn(told, draws, seconds, FEW)


def noise(folder: Path, *, count: int) -> Any:
    """The noise of many counts at once, as a histogram or a grouped release draws it."""
    from sordino.lab import simulate
    from sordino.mechanisms import Gaussian, Laplace

    laws = {"laplace": Laplace(epsilon=1, sensitivity=1_000), "gaussian": Gaussian(epsilon=1, delta=DELTA, sensitivity=1_000)}
    return {name: count / timed(lambda law=law: simulate(law, 0, repeats=count), 3) for name, law in laws.items()}


def median(folder: Path) -> Any:
    values = np.load(folder / "values.npy")

    def once() -> None:
        with opened({"v": values}, bounds={"v": (0, 1_000)}) as table:
            table.median("v", interval=False).release(epsilon=1)

    return {"seconds": timed(once)}


def groups(folder: Path, *, file: str, rows: int) -> Any:
    def once() -> None:
        limits = {"unit": "person", "max_rows": 10, "max_groups": 10, "max_rows_per_group": 1}
        facts = {**limits, "bounds": {"v": (0, 1_000)}, "keys": {"g": list(range(10_000))}}
        with opened(folder / file, **facts) as table:
            found = table.group_by("g").agg(n=sd.count(), total=sd.sum("v")).release(epsilon=1)
            assert len(found.to_dict()["n"]) == 10_000

    return {"seconds": timed(once)}


def zips(folder: Path) -> Any:
    def once() -> None:
        public = {"zip": [f"10{z:03d}" for z in range(50)]}
        limits = {"unit": "person", "max_rows": 32, "max_groups": 4, "max_rows_per_group": 8}
        with opened(folder / "zips.parquet", **limits, bounds={"income": ENDS}, keys=public) as table:
            assert len(table.group_by("zip").median("income", interval=False).release(epsilon=1).to_dict()["zip"]) == 50

    return {"seconds": timed(once)}


def accounting(folder: Path, *, gaussians: list[float], laplaces: list[float]) -> Any:
    """Epsilon of all of them together; the numbers are noise multipliers and scales at sensitivity 1."""
    from sordino.privacy.cost import gaussian_epsilon

    own, found = 1e-9, []

    def once() -> None:
        costs = [sd.privacy.Cost.laplace(1 / scale) for scale in laplaces]
        for multiplier in gaussians:
            mu = 1 / multiplier
            costs.append(sd.privacy.Cost.gaussian(mu**2, gaussian_epsilon(mu, own) * (1 + 1e-9), own * 1.001))
        found.append(float(sd.privacy.compose(costs, rule="pld", delta=DELTA).epsilon))

    return {"seconds": timed(once), "epsilon": found[0]}


def start(folder: Path) -> Any:
    return opened({"v": np.load(folder / "income.npy")}, bounds={"v": ENDS}).count().release(epsilon=1).value


serve({"income": income, "outliers": outliers, "keys": keys, "regression": regression, "slope": slope, "logistic": logistic, "noise": noise,
       "median": median, "groups": groups, "zips": zips, "accounting": accounting, "start": start})  # fmt: skip
