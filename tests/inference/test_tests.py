"""Tests keep their size under the noise, see what their power table says, and a textbook test on noisy numbers does not."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.inference import outcome
from sordino.inference.contingency import CountsTest
from sordino.inference.ranks import RanksTest
from sordino.statistics.rank_test import leaning, standing


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Normal numbers in floating point: thousands of simulated nulls in a second."""
    rng = np.random.default_rng(7)
    for room in (outcome, *(__import__(f"sordino.inference.{name}", fromlist=["x"]) for name in ("ranks", "difference"))):
        monkeypatch.setattr(room, "normal", lambda *shape: rng.normal(size=shape))


def noisy_counts(shape, about="", chances=None, scale=1.0):
    """A test of counts whose release is whatever is put into `held`."""
    held = SimpleNamespace(cost=SimpleNamespace(exact=SimpleNamespace(epsilon=Fraction(1))), answers={"n": []})
    step = SimpleNamespace(noise=SimpleNamespace(scale=scale))
    query = SimpleNamespace(release=lambda **_: held, settle=lambda _: SimpleNamespace(steps={"n": step}), table=SimpleNamespace(size=None))
    return CountsTest(query, shape, about, chances), held


def rejections(test, held, rng, *, n, chances, scale, runs):
    found = []
    for _ in range(runs):
        held.answers["n"] = (rng.multinomial(n, chances) + np.rint(rng.laplace(0, scale, len(chances)))).tolist()
        found.append(test.release(epsilon=1).p <= 0.05)
    return float(np.mean(found))


@pytest.mark.parametrize("epsilon", [0.2, 1.0])
@pytest.mark.parametrize("n", [100, 300, 1_000])
def test_independence_keeps_its_size_and_pearsons_test_on_noisy_counts_does_not(n, epsilon, monkeypatch):
    """200 null tables: .05 has a standard error of .015; everything is pinned."""
    monkeypatch.setattr("sordino.inference.contingency.SIMULATED", 199)
    rng, scale = np.random.default_rng(n), 1 / epsilon
    test, held = noisy_counts((3, 3), scale=scale)
    even = np.full(9, 1 / 9)
    assert rejections(test, held, rng, n=n, chances=even, scale=scale, runs=200) <= 0.1
    if n == 100:
        from scipy.stats import chi2

        tables = rng.multinomial(n, even, 400) + np.rint(rng.laplace(0, scale, (400, 9)))
        cells = tables.reshape(-1, 3, 3)
        total = cells.sum(axis=(1, 2), keepdims=True)
        expected = cells.sum(axis=1, keepdims=True) * cells.sum(axis=2, keepdims=True) / total
        naive = ((cells - expected) ** 2 / np.maximum(expected, 0.5)).sum(axis=(1, 2)) > chi2.ppf(0.95, 4)
        assert naive.mean() > (0.5 if epsilon == 0.2 else 0.08)


def test_the_power_of_a_table_is_that_of_its_preview(monkeypatch):
    """An association of .03 per cell, 300 rows, epsilon 1: about .55, as without privacy."""
    monkeypatch.setattr("sordino.inference.contingency.SIMULATED", 199)
    test, held = noisy_counts((3, 3), scale=1.0)
    signs = np.indices((3, 3)).sum(axis=0).ravel() % 2 * -2.0 + 1
    signs -= signs.mean()
    other = np.full(9, 1 / 9) + 0.03 * signs
    found = rejections(test, held, np.random.default_rng(3), n=300, chances=other, scale=1.0, runs=200)
    assert found == pytest.approx(test.preview(rows=[300], epsilons=[1.0]).at(300, 1.0), abs=0.1)
    assert found > 0.5


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


def test_no_row_moves_a_rank_statistic_further_than_the_theorem_says():
    """Every table of up to five values out of {-2..2}, every row added, removed or exchanged."""
    values = (-2, -1, 0, 1, 2)
    for c in range(1, 5):
        for rest in itertools.combinations_with_replacement(values, c - 1):
            told = [leaning(np.array([*rest, one])) for one in values]
            assert max(told) - min(told) <= 4 * c
            assert max(abs(t - leaning(np.array(rest, dtype=np.int64))) for t in told) <= 2 * c
            for other in itertools.combinations_with_replacement(values, 2):
                sides = [standing(np.array([*rest, one]), np.array(other)) for one in values]
                assert max(sides) - min(sides) <= 2 * max(c, 2)


def test_rank_statistics_are_those_of_scipy():
    from scipy.stats import mannwhitneyu, rankdata

    rng = np.random.default_rng(2)
    x, y = rng.integers(0, 30, 40), rng.integers(5, 35, 25)
    assert standing(x, y) / 2 == pytest.approx(mannwhitneyu(y, x).statistic - 40 * 25 / 2)
    d = rng.integers(-9, 10, 60)
    assert leaning(d) / 2 == pytest.approx((np.sign(d) * rankdata(np.abs(d))).sum())


@pytest.mark.parametrize("each", [60, 250])
def test_mann_whitney_keeps_its_size_and_has_the_power_of_its_preview(each):
    """The release is played in numpy: drawn sizes, the cut, the noise. 600 null runs have a standard error of .009."""
    rng, epsilon, found = np.random.default_rng(each), 1.0, {0.0: [], 0.5: []}
    with sd.table(
        {"x": [0.0], "arm": ["a"]}, bounds={"x": (-10, 10)}, keys={"arm": ["a", "b"]}, budget=sd.Budget(epsilon=10), ledger=":memory:"
    ) as held:
        test = sd.tests.mann_whitney(held, "x", by="arm")
        power, (step,) = test.preview(rows=[2 * each], epsilons=[epsilon]), test.query.settle(1).steps.values()
        for shift, hits in found.items():
            for _ in range(600 if shift == 0 else 200):
                n = [each + round(rng.laplace(0, float(step.sizes.scale))) for _ in "ab"]
                most = max(*n, 1)
                groups = [np.sort((rng.normal(mean, 1, each) * 1e6).astype(np.int64))[:each] for mean in (0.0, shift)]
                cut = [rng.permutation(group)[:most] for group in groups]
                noisy = standing(*cut) + rng.laplace(0, test._scale(1, most))
                release = SimpleNamespace(
                    answers={"ranks": [(noisy, size, most) for size in n]}, cost=SimpleNamespace(exact=SimpleNamespace(epsilon=Fraction(1)))
                )
                query = SimpleNamespace(release=lambda release=release, **_: release, settle=test.query.settle)
                hits.append(RanksTest(query, "", False).release(epsilon=1).p <= 0.05)
    assert np.mean(found[0.0]) <= 0.08
    assert np.mean(found[0.5]) == pytest.approx(power.at(2 * each, epsilon), abs=0.12)
    assert np.mean(found[0.5]) > (0.45 if each == 60 else 0.98)


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
