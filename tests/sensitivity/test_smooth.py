import time

import numpy as np
import pytest

import sordino.sensitivity as room
from sordino.errors import QueryError
from sordino.sensitivity import local, rungs, smooth, worst_case

from .worlds import LEVELS


def everything(x, bounds, relation, **options):
    """Every smooth bound there is for a relation, by name."""
    trim = len(x) // 5
    plain = ("median", "min", "max", "iqr", "mean")
    found = {name: getattr(smooth, name)(x, bounds=bounds, relation=relation, **options) for name in plain}
    found |= {f"quantile {q}": smooth.quantile(x, q=q, bounds=bounds, relation=relation, **options) for q in LEVELS}
    if relation == "replace":
        found["variance"] = smooth.variance(x, bounds=bounds, relation=relation, **options)
        for name in ("trimmed_mean", "winsorized_mean", "trimmed_sum", "winsorized_sum"):
            found[name] = getattr(smooth, name)(x, trim=trim, bounds=bounds, relation=relation, **options)
    return found


@pytest.mark.parametrize("beta", [1e-5, 0.01, 0.4, 50.0, 2000.0])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_no_table_and_no_rate_makes_numpy_complain(relation, beta):
    rng = np.random.default_rng(6)
    tables = [[5.0], [0.0, 1e300], np.zeros(90), np.full(90, 7), rng.normal(3, 1, 90), np.exp(rng.normal(0, 30, 90)), [-np.inf, np.inf]]
    with np.errstate(all="raise", under="ignore"):
        for x in tables:
            for rows in (1, 3):
                values = everything(x, (0, 1e6), relation, beta=beta, max_rows=rows)
                assert all(np.isfinite(v) and v >= 0 for v in values.values())


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_a_window_beyond_the_early_stop_changes_nothing(relation):
    x = np.random.default_rng(1).normal(50, 10, 300)
    full = everything(x, (0, 100), relation, beta=0.3)
    windowed = everything(x, (0, 100), relation, beta=0.3, window=301)
    assert windowed == pytest.approx(full, rel=1e-12)
    short = everything(x, (0, 100), relation, beta=0.3, window=2)
    assert all(short[name] >= full[name] * (1 - 1e-12) for name in full)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_random_neighbours_of_larger_tables_stay_within_the_rate(relation):
    rng = np.random.default_rng(12)
    for _ in range(12):
        x = np.round(np.exp(rng.normal(2, 1.5, 40)))
        y = np.delete(x, rng.integers(40))
        if relation == "replace":
            y = np.append(y, rng.uniform(0, 1000))
        mine = everything(x, (0, 1000), relation, beta=0.2)
        other = everything(y, (0, 1000), relation, beta=0.2)
        for name, value in mine.items():
            assert abs(np.log(value / other[name])) <= 0.2 + 1e-9


def test_whole_and_float_columns_agree():
    x = np.random.default_rng(2).integers(0, 1000, 500)
    for relation in ("add_remove", "replace"):
        assert everything(x, (0, 1000), relation, beta=0.1) == pytest.approx(everything(x.astype(float), (0.0, 1000.0), relation, beta=0.1))


def test_a_ladder_of_ones_own_gets_the_same_bound():
    x = np.random.default_rng(3).normal(50, 10, 60)
    steps = rungs.median(x, bounds=(0, 100), count=80)
    assert smooth.from_rungs(steps, beta=0.2, top=100) == pytest.approx(smooth.median(x, bounds=(0, 100), beta=0.2))
    assert smooth.from_rungs([], beta=0.2, top=100) == 100
    for steps, top in (([np.nan], 1), ([-1], 1), ([1], np.inf)):
        with pytest.raises(QueryError):
            smooth.from_rungs(steps, beta=0.2, top=top)


def test_the_smooth_median_of_a_million_sorted_rows_costs_under_a_tenth_of_sorting_them():
    x = np.random.default_rng(1).lognormal(10, 1, 10**6)
    ordered = np.sort(x)

    def best(action):
        times = []
        for _ in range(9):
            start = time.perf_counter()
            action()
            times.append(time.perf_counter() - start)
        return min(times)

    sorting = best(lambda: np.sort(x))
    for relation in ("add_remove", "replace"):
        assert best(lambda relation=relation: smooth.median(ordered, bounds=(0, 1e6), beta=0.3, relation=relation)) < sorting / 10


def test_the_room_says_what_it_offers():
    assert room.__all__ == sorted(room.__all__, key=lambda name: (name[0].islower(), name))
    for module in (worst_case, local, rungs, smooth, room.distance):
        for name in module.__all__:
            assert getattr(module, name).__doc__
