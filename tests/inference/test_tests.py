"""Tests keep their size under the noise, see what their power table says, and a textbook test on noisy numbers does not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.inference import outcome, tests
from sordino.inference.tests import CountsTest
from sordino.statistics.rank_test import leaning, standing, weight_of_pairs, weight_of_two


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Normal numbers in floating point: thousands of simulated nulls in a second."""
    rng = np.random.default_rng(7)
    for room in (outcome, tests):
        monkeypatch.setattr(room, "normal", lambda *shape: rng.normal(size=shape))


SIZE, RUNS = 0.06, 4_000  # of a test at .05: the standard error is .0034, and everything is pinned; `bench/inference.py` has 10,000 runs


def rejections(test, rng, *, n, chances, scale, runs=RUNS):
    """How often a test of counts rejects: its tables drawn, its nulls simulated, all at once."""
    drawn = rng.multinomial(n, chances, runs) + np.rint(rng.laplace(0, scale, (runs, len(chances))))
    return float(np.mean(test.p_values(drawn.astype(float), scale, 99) <= 0.05))


@pytest.fixture
def _multinomial(monkeypatch):
    """numpy's own counts: a hundred times as fast as inversion of exact normal numbers."""
    rng = np.random.default_rng(8)

    def tables(total, chances, repeats):
        lines = np.broadcast_to(chances, (*np.shape(total), chances.shape[-1]))
        return rng.multinomial(np.asarray(total, int)[..., None], lines[..., None, :], (*np.shape(total), repeats)).astype(float)

    monkeypatch.setattr("sordino.inference.tests.multinomial", tables)
    monkeypatch.setattr("sordino.inference.tests.laplace", lambda scale, *shape: rng.laplace(0, scale, shape))


MARGINS = {"even": np.full(9, 1 / 9), "uneven": np.outer([0.7, 0.2, 0.1], [0.6, 0.3, 0.1]).ravel()}


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("n", [100, 300, 1_000])
@pytest.mark.usefixtures("_multinomial")
def test_tests_of_counts_keep_their_size_and_pearsons_on_noisy_counts_does_not(n, epsilon):
    rng, scale = np.random.default_rng(n), 1 / epsilon
    for chances in MARGINS.values():
        assert rejections(CountsTest(None, (3, 3), ""), rng, n=n, chances=chances, scale=scale) <= SIZE
    shares = np.outer([0.5, 0.5], [0.1, 0.9]).ravel()
    assert rejections(CountsTest(None, (2, 2), ""), rng, n=n, chances=shares, scale=scale) <= SIZE
    foretold = (0.4, 0.3, 0.15, 0.1, 0.05)
    assert rejections(CountsTest(None, (5,), "", foretold), rng, n=n, chances=foretold, scale=scale) <= SIZE
    if n == 100:
        from scipy.stats import chi2

        tables = rng.multinomial(n, MARGINS["even"], 400) + np.rint(rng.laplace(0, scale, (400, 9)))
        cells = tables.reshape(-1, 3, 3)
        total = cells.sum(axis=(1, 2), keepdims=True)
        expected = cells.sum(axis=1, keepdims=True) * cells.sum(axis=2, keepdims=True) / total
        naive = ((cells - expected) ** 2 / np.maximum(expected, 0.5)).sum(axis=(1, 2)) > chi2.ppf(0.95, 4)
        assert naive.mean() > (0.5 if epsilon == 0.2 else 0.08)


@pytest.mark.usefixtures("_multinomial")
def test_the_power_of_a_table_is_that_of_its_preview(monkeypatch):
    """An association of .03 per cell, 300 rows, epsilon 1."""
    test = CountsTest(None, (3, 3), "")
    monkeypatch.setattr(CountsTest, "_scale", lambda self, epsilon: 1 / epsilon)
    signs = np.indices((3, 3)).sum(axis=0).ravel() % 2 * -2.0 + 1
    signs -= signs.mean()
    found = rejections(test, np.random.default_rng(3), n=300, chances=np.full(9, 1 / 9) + 0.03 * signs, scale=1.0)
    assert found == pytest.approx(test.preview(rows=[300], epsilons=[1.0]).at(300, 1.0), abs=0.05)
    assert found > 0.85


@pytest.mark.usefixtures("_multinomial")
def test_a_null_without_the_noise_is_caught(monkeypatch):
    """The planted bug: tables are simulated as if nothing had been added to the drawn one."""
    monkeypatch.setattr("sordino.inference.tests.laplace", lambda scale, *shape: np.zeros(shape))
    found = rejections(CountsTest(None, (3, 3), ""), np.random.default_rng(1), n=100, chances=MARGINS["even"], scale=5.0)
    assert found > 2 * SIZE


T_CELLS = {(6, 60): 0.52, (6, 120): 0.88, (10, 60): 0.29, (10, 120): 0.69, (100, 120): 0.0}  # deviations of the bounds, rows: least power


@pytest.mark.parametrize(("wide", "each"), T_CELLS)
def test_t_keeps_its_size_and_has_its_power(wide, each):
    """Against its simulated null: the bounds may be so far apart that the variance is mostly noise."""
    rng, found = np.random.default_rng(each + wide), []
    for shift, runs in ((0.0, RUNS), (0.5, 1_000)):
        rows = np.clip((rng.normal(0, 1, (runs, 2, each)) + np.array([[0.0], [shift]])) / wide + 0.5, 0, 1)
        sums = np.stack([((1 - rows) ** 2).sum(-1), (2 * rows * (1 - rows)).sum(-1), (rows**2).sum(-1)], axis=-1)
        drawn = tests.estimates(sums + rng.laplace(0, 1.0, sums.shape))
        p = outcome.chance_of(tests.studentised(*drawn, 1.0), tests.simulated(*drawn, 1.0, 199))
        found.append(float(np.mean(p <= 0.05)))
    assert found[0] <= SIZE
    assert found[1] >= T_CELLS[wide, each]


def test_foretold_shares_are_tested_and_wrong_ones_refused():
    rng = np.random.default_rng(5)
    rows = {"k": rng.choice(["u", "v", "w"], 2_000, p=[0.5, 0.3, 0.2])}
    with sd.table(rows, keys={"k": ["u", "v", "w"]}, budget=sd.Budget(epsilon=10), ledger=":memory:") as held:
        assert sd.tests.chi_square(held, "k").release(epsilon=1).p < 0.01
        right = sd.tests.chi_square(held, "k", {"u": 5, "v": 3, "w": 2}).release(epsilon=1)
        assert right.p > 0.001
        assert right.release.recalled  # the same counts, another question to them: free
        assert held.budget.spent == 1
        for wrong in ({"u": 1}, {"u": 1, "v": 1, "w": 0}, {"u": 1, "v": 1, "w": 1, "x": 1}, {"u": True, "v": 1, "w": 1}):
            with pytest.raises(QueryError):
                sd.tests.chi_square(held, "k", wrong)


def test_no_row_moves_a_weighed_rank_statistic_further_than_the_theorem_says():
    """Every table of few values out of {-1, 0, 1}, smaller and larger than what was drawn, and every row that joins it."""
    values = (-1, 0, 1)
    tables = [np.array(found, np.int64) for n in range(8) for found in itertools.combinations_with_replacement(values, n)]
    worst: dict[tuple[int, bool], float] = {}
    for c in (1, 2, 3):
        for rest in tables:
            for one in values:
                more = np.append(rest, one)
                moved = weight_of_pairs(len(more), c) * leaning(more) - weight_of_pairs(len(rest), c) * leaning(rest)
                assert abs(moved) <= Fraction(16, 5) * c
                worst[c, True] = max(worst.get((c, True), 0), float(abs(moved) / c))
                for other in tables[::5]:
                    weight = weight_of_two(len(other), c)
                    sides = [weight * weight_of_two(len(x), c) * standing(x, other) for x in (rest, more)]
                    assert abs(sides[1] - sides[0]) <= Fraction(27, 16) * c
                    worst[c, False] = max(worst.get((c, False), 0), float(abs(sides[1] - sides[0]) / c))
    assert worst[3, False] > 1.4  # the bounds, 1.69 and 3.2, are not far from what happens
    assert worst[3, True] > 2.4


def test_both_kinds_of_weights_agree_and_end():
    with sd.table(
        {"x": [0.0], "arm": ["a"]}, bounds={"x": (-10, 10)}, keys={"arm": ["a", "b"]}, budget=sd.Budget(epsilon=10), ledger=":memory:"
    ) as held:
        pairs, two = sd.tests.signed_rank(held, "x"), sd.tests.mann_whitney(held, "x", by="arm")
        for n in (1, 9, 10, 11, 17, 25, 26, 29, 30, 31, 99):
            size = np.array(float(n))
            assert pairs._weight([size], 10.0) == pytest.approx(float(weight_of_pairs(n, 10)))
            assert two._weight([size, np.array(3.0)], 10.0) == pytest.approx(float(weight_of_two(n, 10)))
        assert weight_of_pairs(30, 10) == weight_of_two(30, 10) == 0


def test_rank_statistics_are_those_of_scipy():
    from scipy.stats import mannwhitneyu, rankdata

    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 30, 40), rng.integers(5, 35, 25)
    assert standing(x, y) / 2 == pytest.approx(mannwhitneyu(y, x).statistic - 40 * 25 / 2)
    d = rng.integers(-9, 10, 60)
    assert leaning(d) / 2 == pytest.approx((np.sign(d) * rankdata(np.abs(d))).sum())


def played(test, rng, each, shift, *, runs, paired):
    """Releases of a rank test, played in numpy: drawn sizes, the weights, the noise; and their p-values."""
    (step,) = test.query.settle(1).steps.values()
    sizes = each + np.rint(rng.laplace(0, float(step.sizes.scale), (runs, 1 if paired else 2)))
    most = np.maximum(sizes.max(axis=1), 1).astype(int)
    told = []
    for c in most.tolist():
        values = [(rng.normal(mean, 1, each) * 1e6).astype(np.int64) for mean in ((shift,) if paired else (0.0, shift))]
        told.append(float(weight_of_pairs(each, c) * leaning(values[0]) if paired else weight_of_two(each, c) ** 2 * standing(*values)))
    return test.p_values(np.array(told) + rng.laplace(0, test._scale(1, most)), sizes, 1, 199)


RANK_CELLS = {(60, False): 0.6, (120, False): 0.9, (250, False): 0.99, (60, True): 0.3, (250, True): 0.99}  # rows of a group: least power


@pytest.mark.parametrize(("each", "paired"), RANK_CELLS)
def test_rank_tests_keep_their_size_and_have_the_power_of_their_preview(each, paired):
    rng = np.random.default_rng(each)
    with sd.table(
        {"x": [0.0], "arm": ["a"]}, bounds={"x": (-10, 10)}, keys={"arm": ["a", "b"]}, budget=sd.Budget(epsilon=10), ledger=":memory:"
    ) as held:
        test = sd.tests.signed_rank(held, "x") if paired else sd.tests.mann_whitney(held, "x", by="arm")
        rows = each if paired else 2 * each
        power = test.preview(rows=[rows], epsilons=[1.0]).at(rows, 1.0)
        assert np.mean(played(test, rng, each, 0.0, runs=RUNS, paired=paired) <= 0.05) <= SIZE
        seen = np.mean(played(test, rng, each, 0.5, runs=500, paired=paired) <= 0.05)
    assert seen == pytest.approx(power, abs=0.1)
    assert seen >= RANK_CELLS[each, paired]


def test_tests_of_a_table_run_and_say_what_they_tested():
    rng = np.random.default_rng(4)
    n = 2_000
    rows = {"x": rng.normal(0, 1, n), "arm": np.repeat(["a", "b"], n // 2), "ok": rng.random(n) < 0.3, "who": np.arange(n) // 2}
    rows["x"][n // 2 :] += 0.4
    facts = {"bounds": {"x": (-8, 8)}, "keys": {"arm": ["a", "b"]}, "columns": {"ok": "bool"}, "ledger": ":memory:"}
    for unit in ({}, {"unit": "who", "max_rows": 2, "max_groups": 2}):
        with sd.table(rows, **facts, **unit, budget=sd.Budget(epsilon=50)) as held:
            assert sd.tests.mann_whitney(held, "x", by="arm").release(epsilon=2).p < 0.01
            assert sd.tests.t(held, "x", by="arm").release(epsilon=2).p < 0.01
            assert sd.tests.signed_rank(held.where("arm = 'b'"), "x").release(epsilon=2).p < 0.01
            assert "independent" in repr(sd.tests.independence(held, "arm", "ok").release(epsilon=2))
            assert 0 < sd.tests.proportions(held, "ok", by="arm").release(epsilon=2).p <= 1
            assert held.budget.spent == 8  # independence and proportions ask for one table of counts in two orders
            for call in (
                lambda table: sd.tests.mann_whitney(table, "x", by="x"),
                lambda table: sd.tests.independence(table, "arm", "x"),
                lambda table: sd.tests.t(table, "arm", by="x"),
            ):
                with pytest.raises(QueryError):
                    call(held)


def test_holm_adjusts_for_several():
    assert sd.tests.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
    assert sd.tests.holm([]) == []
    assert sd.tests.holm([0.9, 0.8]) == [1.0, 1.0]


def test_binomial_and_multinomial_counts_have_their_moments():
    counts = outcome.multinomial(50, np.array([0.1, 0.2, 0.7]), 20_000)
    assert counts.sum(axis=1) == pytest.approx(np.full(20_000, 50))
    assert counts.mean(axis=0) == pytest.approx([5, 10, 35], abs=0.1)
    assert counts.var(axis=0) == pytest.approx([4.5, 8, 10.5], rel=0.05)
    large = outcome.binomial(10_000, 0.5, 20_000)
    assert large.std() == pytest.approx(50, rel=0.03)
    assert outcome.laplace(2.0, 40_000).std() == pytest.approx(2 * math.sqrt(2), rel=0.03)
