"""Every ladder against the definitions, on every table over {0, 1, 2, 3} and every neighbour."""

import numpy as np
import pytest

from sordino.errors import QueryError
from sordino.sensitivity import ScaleLadder, local, rungs, smooth, worst_case
from sordino.sensitivity.order import share

from .checks import violations
from .worlds import BOUNDS, LEVELS, world, worlds

DEEP = 12  # beyond this many steps every rung of a table with at most five rows is the global sensitivity
RANKS = [("median", ()), ("min", ()), ("max", ()), *[("quantile", (q,)) for q in LEVELS]]
TRIMMED = [("trimmed_mean", (t,)) for t in range(3)]
WINSORIZED = [("winsorized_mean", (t,)) for t in range(3)]
EXACT = [(*case, relation) for case in RANKS for relation in ("add_remove", "replace")]
EXACT += [(*case, "replace") for case in [*TRIMMED, ("iqr", ()), ("mean", ())]]
BOUND = [("iqr", (), "add_remove"), ("mean", (), "add_remove"), ("variance", (), "replace"), *[(*case, "replace") for case in WINSORIZED]]


def keywords(name, parameters, relation, max_rows=1):
    named = dict(zip({"quantile": ["q"], "trimmed_mean": ["trim"], "winsorized_mean": ["trim"]}.get(name, []), parameters, strict=True))
    return {**named, "bounds": BOUNDS, "relation": relation, "max_rows": max_rows}


def ladder(name, parameters, relation, max_rows=1):
    options = keywords(name, parameters, relation, max_rows)
    return lambda x: getattr(rungs, name)(np.array(x[::-1], dtype=np.int64), count=DEEP, **options)


@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize(("name", "parameters", "relation"), EXACT)
def test_exact_ladders_equal_the_definition(name, parameters, relation, beta):
    for everything, tables in worlds(name, parameters, relation):
        assert violations(everything, tables, ladder(name, parameters, relation), beta, exact=True) == []


@pytest.mark.parametrize("beta", [0.1, 1.0])
@pytest.mark.parametrize(("name", "parameters", "relation"), BOUND)
def test_bounding_ladders_are_legal_and_never_below_the_definition(name, parameters, relation, beta):
    for everything, tables in worlds(name, parameters, relation):
        assert violations(everything, tables, ladder(name, parameters, relation), beta, exact=False) == []


@pytest.mark.parametrize(("name", "parameters", "relation"), EXACT + BOUND)
def test_ladders_of_people_with_two_rows_are_legal_and_never_below_the_definition(name, parameters, relation):
    exact = name == "median" or (name in ("quantile", "min", "max") and relation == "replace")
    for everything, tables in worlds(name, parameters, relation, 2):
        assert violations(everything, tables, ladder(name, parameters, relation, 2), 0.3, exact=exact) == []


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_medians_of_people_with_three_rows_equal_the_definition(relation):
    for everything, tables in worlds("median", (), relation, 3):
        assert violations(everything, tables, ladder("median", (), relation, 3), 0.3, exact=True) == []


@pytest.mark.parametrize(("name", "parameters", "relation"), EXACT + BOUND)
def test_smooth_and_local_read_the_same_ladder_and_stay_under_the_worst_case(name, parameters, relation):
    options = keywords(name, parameters, relation)
    for everything, tables in worlds(name, parameters, relation):
        top = getattr(worst_case, name)(n=len(tables[0]), **options)
        assert everything.worst_case() == pytest.approx(top)
        for x in tables[:: 3 if len(tables) > 40 else 1]:
            steps = ladder(name, parameters, relation)(x)
            for beta in (0.1, 1.0):
                decayed = (np.exp(-beta * np.arange(DEEP)) * steps).max()
                assert getattr(smooth, name)(list(x), beta=beta, **options) == pytest.approx(decayed, rel=1e-12)
            assert getattr(local, name)(list(x), **options) == pytest.approx(float(steps[0]))
            if name not in ("mean", "variance") or (name, relation) == ("mean", "replace"):
                assert getattr(local, name)(list(x), **options) == pytest.approx(everything.local(x))


@pytest.mark.parametrize(("name", "parameters", "relation"), [case for case in EXACT + BOUND if case[:2] in [*RANKS, ("iqr", ())]])
def test_scales_of_neighbours_differ_by_one_step_and_cover_the_local_sensitivity(name, parameters, relation):
    scales = ScaleLadder("0.3", 3)
    window = scales.least_window
    for everything, tables in worlds(name, parameters, relation):
        options = keywords(name, parameters, relation)
        index = {x: scales.index(getattr(rungs, name)(np.array(x, dtype=int), count=window, **options)) for x in tables}
        for x in tables:
            assert scales.scale(index[x]) >= everything.local(x)
            assert all(abs(index[x] - index[y]) <= 1 for y in everything.neighbours(x) if y in index)


@pytest.mark.parametrize("window", [0, 1, 2, 4])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_truncated_bounds_are_smooth_and_never_below_the_full_one(relation, window):
    for everything, tables in worlds("quantile", ("0.25",), relation):
        bound = {x: smooth.quantile(list(x), q="0.25", bounds=BOUNDS, beta=0.3, relation=relation, window=window) for x in tables}
        least = everything.fixed_point(0.3)
        for x in tables:
            assert bound[x] >= least[x] - 1e-12
            assert all(bound[x] <= np.exp(0.3) * bound[y] + 1e-12 for y in everything.neighbours(x) if y in bound)


@pytest.mark.parametrize("q", ["0.1", "0.25", "0.5", "0.75", "0.9", "0.123456789012345678"])
def test_quantile_rungs_equal_the_maximum_over_all_pairs_on_larger_tables(q):
    rng = np.random.default_rng(2)
    level = share(q)
    weight = max(level, 1 - level)
    for n in (0, 1, 5, 12, 25):
        x = np.sort(rng.integers(0, 60, n))
        padded = np.concatenate(([0], x, [60]))
        truth = np.zeros(n + 4, dtype=int)
        for j in range(n + 1):
            for i in range(j + 1, n + 2):
                g = (1 - level) * j - level * (n + 1 - i)
                cost = i - j - 1 + (g // weight if g >= 0 else -(g // weight) - 1)
                truth[cost:] = np.maximum(truth[cost:], padded[i] - padded[j])
        assert rungs.quantile(x, q=q, bounds=(0, 60), count=n + 4).tolist() == truth.tolist()


def test_blocks_of_rungs_do_not_depend_on_how_they_are_cut():
    from sordino.sensitivity import average, position

    rng = np.random.default_rng(4)
    for x in (np.round(rng.normal(50, 9, 200)), rng.integers(0, 4, 200), np.full(60, 3)):
        for relation in ("add_remove", "replace"):
            for rows in (1, 3):
                options = {"bounds": (0, 100), "relation": relation, "max_rows": rows}
                ladders = [position.quantile(x, q="0.3", **options), position.quantile(x, q="0.8", **options), position.iqr(x, **options)]
                if relation == "replace":
                    ladders.append(average.winsorized_sum(x, trim=9, **options))
                for steps in ladders:
                    one_by_one = np.concatenate([steps.block(k, k + 1) for k in range(90)])
                    assert (steps.rungs(90) == one_by_one).all()


def test_whole_numbers_give_whole_numbers():
    x = np.arange(11)
    for name in ("median", "min", "max", "iqr"):
        for relation in ("add_remove", "replace"):
            assert getattr(rungs, name)(x, bounds=(0, 10), relation=relation, count=4).dtype == np.int64
    for name in ("trimmed_sum", "winsorized_sum"):
        assert getattr(rungs, name)(x, trim=2, bounds=(0, 10), relation="replace", count=4).dtype == np.int64
        mean = getattr(rungs, name.replace("sum", "mean"))(x, trim=2, bounds=(0, 10), relation="replace", count=4)
        assert mean.dtype == np.float64


@pytest.mark.parametrize("name", ["trimmed_mean", "winsorized_mean", "variance"])
def test_averages_without_an_add_remove_theorem_say_what_to_do(name):
    options = {} if name == "variance" else {"trim": 1}
    with pytest.raises(QueryError, match='relation="replace" with a public size'):
        getattr(rungs, name)([1, 2, 3], bounds=BOUNDS, count=1, **options)


def test_trimming_everything_away_is_refused():
    with pytest.raises(QueryError, match="leaves nothing"):
        smooth.trimmed_mean([1, 2], trim=1, bounds=BOUNDS, beta=0.1, relation="replace")


class TestTheCheckBites:
    def test_variance_with_k_in_place_of_k_plus_one_is_caught(self):
        def wrong(x):
            spread = max(3 - np.mean(x), np.mean(x))
            return np.minimum(9 * (len(x) - 1) / len(x) ** 2, (spread + np.arange(DEEP) * 3 / len(x)) ** 2 / len(x))

        everything = world("variance", (), "replace", 3)
        assert "below the definition" in {v[0] for v in violations(everything, everything.tables, wrong, 0.1, exact=False)}

    def test_a_median_that_looks_to_one_side_only_is_caught(self):
        def wrong(x):
            padded = [*x, *[3] * (2 * DEEP)]
            middle = (len(x) + 1) // 2
            return [padded[middle + k] - padded[middle - 1] for k in range(DEEP)]

        everything = world("median", (), "replace", 3)
        assert violations(everything, everything.tables, wrong, 0.1, exact=False)

    def test_local_sensitivity_alone_is_caught_as_not_smooth(self):
        everything = world("median", (), "replace", 3)
        found = violations(everything, everything.tables, lambda x: [everything.local(x)] * DEEP, 0.1, exact=False)
        assert {"not smooth", "not legal", "below the definition"} <= {v[0] for v in found}

    def test_the_quantile_formula_at_level_zero_is_caught(self):
        everything, tables = next(worlds("min", (), "add_remove"))

        def wrong(x):
            return [([0, *x, *[3] * (DEEP + 1)])[k + 1] for k in range(DEEP)]

        assert ("below the definition", (0, 1)) in violations(everything, tables, wrong, 0.1, exact=False)

    def test_a_single_shifted_rung_for_people_is_caught_for_quantiles(self):
        everything, tables = next(worlds("quantile", ("0.75",), "add_remove", 2))
        rows = ladder("quantile", ("0.75",), "add_remove")
        found = violations(everything, tables, lambda x: [rows(x)[min(2 * k + 1, DEEP - 1)] for k in range(DEEP)], 0.1, exact=False)
        assert "below the definition" in {v[0] for v in found}
