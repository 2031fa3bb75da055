"""Differences of groups cover the population's as often as they say; bars of the noise alone do not."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.session.comparison import Group, _fieller


def clinic(n, seed, shift=0.0, groups=2):
    rng = np.random.default_rng(seed)
    arm = np.tile(np.array(["a", "b", "c", "d"][:groups]), n)
    return {"x": rng.normal(50, 10, n * groups) + shift * (arm == "b"), "arm": arm}


def opened(rows, groups=2, **more):
    facts = {"bounds": {"x": (0, 100)}, "keys": {"arm": ["a", "b", "c", "d"][:groups]}, "ledger": ":memory:"}
    return sd.table(rows, **facts, budget=sd.Budget(epsilon=10_000), **more)


def test_the_interval_covers_the_populations_difference_and_the_noise_alone_does_not():
    """60 tables at 95%: fewer than 50 hits have a chance below 1e-4; bars of the noise alone hold for about half."""
    hits, noise = 0, 0
    for seed in range(60):
        with opened(clinic(1_000, seed, 3.0)) as held:
            found = held.compare("x", by="arm").release(epsilon=1)
        hits += found.low <= 3.0 <= found.high
        half = 1.96 * np.sqrt(sum(group.noise for group in found.groups.values()))
        noise += abs(found.difference - 3.0) <= half
    assert hits >= 50
    assert noise < 48


def test_ratio_percent_and_levels_are_of_one_release():
    with opened(clinic(5_000, 1, 10.0)) as held:
        found = held.compare("x", by="arm").release(epsilon=2)
        again = held.compare("x", by="arm").release(epsilon=1)
        assert again.release.recalled
        assert held.budget.spent == 2
    assert found.difference == pytest.approx(10, abs=1.5)
    assert found.ratio == pytest.approx(1.2, abs=0.03)
    assert found.percent == pytest.approx(20, abs=3)
    low, high = found.ratio_interval()
    assert low < found.ratio < high
    assert found.interval(0.5)[0] > found.interval(0.99)[0]
    assert found.p < 1e-6
    assert "population" in repr(found)
    assert found.to_dict()["arm"] == ["b"]
    with pytest.raises(QueryError):
        found.interval(1.5)


def test_a_wish_is_a_half_width_about_the_population():
    """The price is solved from public facts; even groups of the spread that was foretold meet the wish."""
    rows = clinic(5_000, 3, 2.0)
    with opened(rows, size=10_000) as held:
        asked = held.compare("x", by="arm")
        found = asked.release(within=0.6, spread=10)
        spent = float(held.budget.spent)
        assert asked.width(spent, spread=10) == pytest.approx(0.6, rel=0.01)
        assert 0.45 < (found.high - found.low) / 2 < 0.62  # the means lie in the middle of the bounds, where noise is least
        assert asked.release(within=0.7, spread=10).release.recalled
        assert asked.width(1) > asked.width(2) > 0
        for wrong in ({}, {"within": 0.6, "epsilon": 1}, {"within": 0}, {"within": 0.1, "spread": 10}, {"within": 1, "spread": -1}):
            with pytest.raises(QueryError):
                asked.release(**wrong)
        with pytest.raises(QueryError, match="sampling alone"):
            asked.release(within=0.1, spread=10)
        assert float(held.budget.spent) == spent
    with opened(rows) as held, pytest.raises(QueryError, match="number of rows"):
        held.compare("x", by="arm").release(within=1)


def test_several_groups_hold_at_once():
    with opened(clinic(2_000, 2, 5.0, 4), 4) as held:
        found = held.compare("x", by="arm").release(epsilon=4)
    assert list(found.difference) == ["b", "c", "d"]
    assert found.p["b"] < 0.001 < found.p["c"]
    alone = 1.96 * (found.high["b"] - found.low["b"]) / 2 / 2.394  # Bonferroni's deviations for three
    assert found.high["b"] - found.difference["b"] > alone
    assert "all 3 at once" in found.about


def test_what_cannot_be_compared_is_refused_for_nothing():
    rows = clinic(50, 3) | {"free": np.repeat("z", 100)}
    with opened(rows) as held:
        for call in (lambda: held.compare("x", by="free"), lambda: held.compare("arm", by="arm"), lambda: held.compare("x", by="nobody")):
            with pytest.raises(QueryError):
                call()
        assert held.budget.spent == 0
        assert "nothing spent" in repr(held.where("x > 10").compare("x", by="arm"))
        assert "nothing spent" in str(held.compare("x", by="arm").preview())


def test_a_ratio_to_what_may_be_zero_has_no_interval():
    near, far = Group(1.0, 10, 0.5, 0.5), Group(5.0, 10, 0.1, 0.1)
    assert _fieller(far, near, 1.96) is None
    low, high = _fieller(near, far, 1.96)
    assert low < 0.2 < high
