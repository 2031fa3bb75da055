from __future__ import annotations

import logging

import numpy as np
import pytest
from tests.session.people import fresh, rows, table

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError
from sordino.session.improvement import NoiseWeight, half_width, noise_of

DATA = rows(400)


@pytest.mark.parametrize(
    ("ask", "within"),
    [(lambda t: t.count(), 9), (lambda t: t.sum("age"), 500), (lambda t: t.where("ok").count_units(), 3)],
)
def test_a_second_draw_is_priced_so_that_the_mean_meets_the_wish(ask, within):
    with table(DATA) as people:
        first = ask(people).release(epsilon="0.5")
        full = ask(fresh(people)).release(within=within).cost.epsilon
        better = first.improve(within=within)
        assert (better.high - better.low) / 2 <= within
        assert better.low < better.value < better.high
        assert better.cost.epsilon < full
        assert people.budget.spent == pytest.approx(0.5 + better.cost.epsilon)
        assert first.id in better.card["post-processing"][0]
        assert better.card["post-processing"][0].startswith("inverse-variance mean of ")


def test_improving_again_to_the_same_width_is_free_and_to_a_smaller_one_pays_the_rest():
    with table(DATA) as people:
        first = people.count().release(epsilon="0.5")
        better = first.improve(within=12)
        spent = people.budget.spent
        again = first.improve(within=12)
        assert again.value == better.value
        assert again.to_bytes() == better.to_bytes()
        assert people.budget.spent == spent
        best = better.improve(within=5)
        assert (best.high - best.low) / 2 <= 5
        assert people.budget.spent > spent


def test_what_is_good_enough_already_is_returned_as_it_is():
    with table(DATA) as people:
        first = people.count().release(epsilon=2)
        assert first.improve(within=100).to_bytes() == first.to_bytes()
        assert people.budget.spent == 2


@pytest.mark.parametrize(("first", "second"), [(0.05, 0.04), (0.5, 0.2), (3.0, 2.0), (0.01, 0.5)])
def test_the_combined_interval_holds_the_truth_at_least_95_times_in_100(first, second):
    """Counts, drawn as a release draws them and combined by their public scales."""
    from fractions import Fraction

    from sordino.noise import draw
    from sordino.statistics.added import Added

    noises = [Added(Fraction(str(e)), 3) for e in (first, second)]
    known = [NoiseWeight(float(n.scale), discrete=n.discrete, slop=0.0 if n.discrete else 0.5) for n in noises]
    far = half_width(known)
    drawn = np.stack([n.around(np.full(100_000, 100), draw) for n in noises]).astype(float)
    weights = np.array([1 / n.scale**2 for n in known])
    mean = weights @ drawn / weights.sum()
    inside = float((np.abs(mean - 100) <= far).mean())
    assert inside >= 0.946  # nearly six standard deviations below 95%
    assert far <= 1.05 * np.quantile(np.abs(mean - 100), 0.95) + 0.5


def test_a_release_improved_to_a_width_is_within_it_95_times_in_100():
    """Through the whole door: release, improve, compare with the truth."""
    source = {"age": list(range(100))}
    with sd.table(source, bounds={"age": (0, 120)}, budget=sd.Budget(epsilon=100_000), ledger=":memory:") as people:
        hits = 0
        for _ in range(120):
            world = fresh(people)
            hits += abs(world.count().release(epsilon="0.2").improve(within=8).value - 100) <= 8
        assert hits >= 100  # six standard deviations below 114; with a fifth outside 96 are expected


def test_groups_with_public_keys_are_improved_together():
    with table(DATA) as people:
        first = people.group_by("sex").count().release(epsilon=1)
        better = first.improve(within=10)
        found = better.to_dict()
        assert found["sex"] == ["m", "f", "x"]
        assert all((b - a) / 2 <= 10 for a, b in zip(found["count_low"], found["count_high"], strict=True))


@pytest.mark.parametrize(
    ("ask", "within"),
    [
        (lambda t: t.mean("age"), 30),
        (lambda t: t.agg(n=sd.count(), s=sd.sum("age")), {"n": 20, "s": 9000}),
        (lambda t: t.group_by("zip").mean("age"), None),
    ],
)
def test_other_noise_is_a_fresh_release_at_full_price_and_says_so_first(ask, within, caplog, monkeypatch):
    monkeypatch.setattr("sordino.session.query.best", lambda *_, **__: None)  # even if the first draw happens to be good enough
    with table(DATA, size=60) as people:
        first = ask(people).release(epsilon="0.1")
        if within is None:
            with pytest.raises(QueryError, match="cannot be predicted"):
                first.improve(within=5)
            return
        caplog.set_level(logging.WARNING)
        better = first.improve(within=within)
        assert "fresh release at full price" in caplog.text
        assert better.id != first.id
        assert people.budget.spent == pytest.approx(0.1 + better.cost.epsilon)


def test_where_a_release_of_its_own_is_cheaper_it_is_taken(caplog):
    with table(DATA) as people:
        first = people.count().release(epsilon="0.1")
        better = first.improve(within=1)
        assert "full price" in caplog.text
        assert better.card["post-processing"] == []
        assert (better.high - better.low) / 2 <= 1


def test_an_improvement_out_of_reach_spends_nothing():
    with table(DATA, budget=sd.Budget(epsilon="0.6")) as people:
        first = people.count().release(epsilon="0.5")
        with pytest.raises(BudgetExceeded, match="no more is left"):
            first.improve(within=1)
        assert people.budget.spent == 0.5


def test_only_totals_with_laplace_noise_can_be_averaged():
    with table(DATA) as people:
        assert noise_of(people.count(), 1) is not None
        assert noise_of(people.sum("income"), 1) is not None
        others = [people.mean("age"), people.median("age"), people.mode("sex"), people.group_by("zip").count(), people.means(["age", "ok"])]
        assert [noise_of(ask, 1) for ask in others] == [None] * 5
