"""opendp: chains of transformations and measurements, and its Polars context for tables."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import opendp.prelude as dp
import polars as pl
from opendp.extras.sklearn.linear_model import _make_private_theil_sen
from work import DELTA, FEW, RICH, drawn, repeated, serve, shown, timed

dp.enable_features("contrib", "honest-but-curious")
MOST = 1_000_000
CANDIDATES = list(range(0, MOST + 1, 50))  # 20,001 of them, given by hand: a quantile is one of these


def space(size: int | None = None, upper: int = MOST) -> Any:
    return dp.vector_domain(dp.atom_domain(bounds=(0, upper), T="i64"), size=size), dp.symmetric_distance()


def plus_laplace(transformation: Any, epsilon: float, moved: int = 1) -> Any:
    return transformation >> dp.m.then_laplace(scale=float(transformation.map(moved)) / epsilon)


def quantile(epsilon: float, level: float, candidates: list[int], upper: int = MOST) -> Any:
    """The measurement that spends epsilon when one row comes or goes; the price is inverse to the scale."""

    def made(scale: float) -> Any:
        return dp.m.make_private_quantile(*space(upper=upper), dp.max_divergence(), candidates, level, scale)

    found = made(made(1.0).map(1) / epsilon * (1 + 1e-12))
    assert 0.999 * epsilon < found.map(1) <= epsilon
    return found


def kept(make: Any) -> Any:
    """Chains are made once per epsilon, as a user would."""
    made: dict[float, Any] = {}

    def ask(epsilon: float, *data: Any) -> Any:
        if epsilon not in made:
            made[epsilon] = make(epsilon)
        return made[epsilon](*data)

    return ask


def income(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "income.npy").astype(np.int64).tolist()
    n, rich = len(x), [v for v in x if v >= RICH]
    count = kept(lambda e: plus_laplace(dp.t.make_count(*space()), e))
    total = kept(lambda e: plus_laplace(dp.t.make_sum(*space()), e))
    middle, ninth = (kept(lambda e, q=q: quantile(e, q, CANDIDATES)) for q in (0.5, 0.9))
    lower, upper = (kept(lambda e, q=q: quantile(e / 2, q, CANDIDATES)) for q in (0.25, 0.75))
    floats = dp.vector_domain(dp.atom_domain(bounds=(0.0, float(MOST)), nan=False), size=n), dp.symmetric_distance()
    swapped = kept(lambda e: plus_laplace(dp.t.make_mean(*floats), e, 2))
    spread = kept(lambda e: plus_laplace(dp.t.make_variance(*floats), e, 2))
    real = [float(v) for v in x]
    questions = {
        "count": lambda e: count(e, rich),
        "sum": lambda e: total(e, x),
        "mean": lambda e: np.clip(total(e / 2, x) / max(count(e / 2, x), 1), 0, MOST),
        "mean, replace": lambda e: swapped(e, real),
        "median": lambda e: middle(e, x),
        "quantile .9": lambda e: ninth(e, x),
        "iqr": lambda e: upper(e, x) - lower(e, x),
        "variance, replace": lambda e: spread(e, real),
    }
    return repeated(questions, draws, seconds)


def outliers(folder: Path, *, draws: int, seconds: float) -> Any:
    x = np.load(folder / "outliers.npy").astype(np.int64).tolist()
    count = kept(lambda e: plus_laplace(dp.t.make_count(*space(upper=10_000)), e / 2))
    total = kept(lambda e: plus_laplace(dp.t.make_sum(*space(upper=10_000)), e / 2))
    fine = (np.load(folder / "outliers.npy") * 10).astype(np.int64).tolist()
    middle = kept(lambda e: quantile(e, 0.5, list(range(100_001)), 100_000))
    return repeated({"mean": lambda e: total(e, x) / count(e, x), "median": lambda e: middle(e, fine) / 10}, draws, seconds)


def keys(folder: Path, *, draws: int, seconds: float) -> Any:
    frame = pl.LazyFrame({"key": np.load(folder / "keys.npy")})

    def once() -> Any:
        context = dp.Context.compositor(
            data=frame,
            privacy_unit=dp.unit_of(contributions=1),
            privacy_loss=dp.loss_of(epsilon=1.0, delta=DELTA),
            split_evenly_over=1,
        )
        found = context.query().group_by("key").agg(dp.len()).release().collect()
        return shown(found.iter_rows())

    return drawn(lambda _: once(), draws, seconds, FEW)


def slope(folder: Path, *, draws: int, seconds: float) -> Any:
    data = np.load(folder / "diabetes.npy").T
    ends = (-1.0, 1.0)

    def make(epsilon: float) -> Any:
        def made(scale: float) -> Any:
            return _make_private_theil_sen(dp.max_divergence(), ends, ends, scale=scale)

        return made(dp.binary_search(lambda scale: made(scale).map(1) <= epsilon, bounds=(1e-3, 1e6)))

    fit = kept(make)
    return repeated({"slope": lambda e: fit(e, data)[0]}, draws, seconds)


def noise(folder: Path, *, count: int) -> Any:
    zeros = [0] * count
    vector = dp.vector_domain(dp.atom_domain(T=int))
    laplace = dp.m.make_laplace(vector, dp.l1_distance(T=int), scale=1_000.0)
    gaussian = dp.m.make_gaussian(vector, dp.l2_distance(T=int), scale=1_000.0)
    return {"laplace": count / timed(lambda: laplace(zeros), 3), "gaussian": count / timed(lambda: gaussian(zeros), 3)}


def context(frame: Any, unit: Any, margins: Any, **delta: float) -> Any:
    return dp.Context.compositor(
        data=frame, privacy_unit=unit, privacy_loss=dp.loss_of(epsilon=1.0, **delta), split_evenly_over=1, margins=margins
    )


def median(folder: Path) -> Any:
    values = np.load(folder / "values.npy")
    candidates = np.linspace(0, 1_000, 20_001).tolist()

    def once() -> None:
        margins = [dp.polars.Margin(max_length=len(values))]
        asked = context(pl.LazyFrame({"v": values}), dp.unit_of(contributions=1), margins)
        asked.query().select(pl.col("v").fill_nan(0.0).dp.median(candidates)).release().collect()

    return {"seconds": timed(once)}


def groups(folder: Path, *, file: str, rows: int) -> Any:
    """Ten rows a person. Keys above a threshold: with 10,000 public keys it takes longer."""

    def once() -> None:
        margins = [dp.polars.Margin(by=["g"], max_groups=10_000, max_length=rows)]
        asked = context(pl.scan_parquet(folder / file), dp.unit_of(contributions=1, identifier=pl.col("person")), margins, delta=DELTA)
        total = pl.col("v").fill_null(0.0).fill_nan(0.0).dp.sum((0.0, 1_000.0))
        asked.query().truncate_per_group(10).group_by("g").agg(dp.len(), total).release().collect()

    return {"seconds": timed(once)}


def zips(folder: Path) -> Any:
    candidates = np.linspace(0, 1_000_000, 1_001).tolist()

    def once() -> None:
        margins = [dp.polars.Margin(by=["zip"], max_groups=50, max_length=80_000)]
        asked = context(pl.scan_parquet(folder / "zips.parquet"), dp.unit_of(contributions=1, identifier=pl.col("person")), margins)
        bounded = asked.query().truncate_per_group(8, by=["zip"]).truncate_num_groups(4, by=["zip"], keep="first")
        middle = pl.col("income").fill_null(0.0).fill_nan(0.0).dp.median(candidates)
        public = pl.LazyFrame({"zip": [f"10{z:03d}" for z in range(50)]})
        found = bounded.group_by("zip").agg(middle).with_keys(public).release().collect()
        assert len(found) == 50

    return {"seconds": timed(once)}


def start(folder: Path) -> Any:
    return plus_laplace(dp.t.make_count(*space()), 1.0)(np.load(folder / "income.npy").astype(np.int64).tolist())


def named(folder: Path, *, file: str, epsilon: float, delta: float, groups: int, rows: int, draws: int) -> Any:
    """How many keys come back with their counts, each run anew."""

    def once() -> int:
        asked = dp.Context.compositor(
            data=pl.scan_parquet(folder / file),
            privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person")),
            privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
            split_evenly_over=1,
        )
        bounded = asked.query().truncate_per_group(rows)  # in all, which names more than rows of one group in one group
        if groups > 1:
            bounded = asked.query().truncate_per_group(rows, by=["key"]).truncate_num_groups(groups, by=["key"], keep="first")
        return len(bounded.group_by("key").agg(dp.len()).release().collect())

    return [once() for _ in range(draws)]


serve({"income": income, "outliers": outliers, "keys": keys, "slope": slope, "noise": noise, "median": median, "groups": groups,
       "zips": zips, "start": start, "named": named})  # fmt: skip
