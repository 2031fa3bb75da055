"""Several questions under one charge."""

from __future__ import annotations

import pytest
from tests.session.people import rows, table

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError, ReleaseFailed

DATA = rows(400)


def test_a_batch_is_one_charge_split_by_weight():
    with table(DATA) as people:
        with people.batch(epsilon=1) as batch:
            n = batch.ask(people.count())
            m = batch.ask(people.median("age"), weight=3)
        assert (n.cost.epsilon, m.cost.epsilon) == (0.25, 0.75)
        assert people.budget.spent == 1
        assert len(people.ledger.entries()) == 1
        assert n.id.endswith(".1")
        assert m.id.endswith(".2")
        assert "one event" in n.card["batch"]
        assert float(n) == n.value
        assert 0 <= m.value <= 120


def test_targets_are_priced_first_and_the_rest_shares_what_is_left():
    with table(DATA) as people:
        with people.batch(epsilon=2) as batch:
            n = batch.ask(people.count(), within=30)
            s = batch.ask(people.sum("age"))
        assert (n.high - n.low) / 2 <= 30
        assert n.cost.epsilon + s.cost.epsilon == pytest.approx(2)
    with table(DATA) as people:
        with people.batch() as batch:
            n = batch.ask(people.count(), within=30)
        assert people.budget.spent == pytest.approx(n.cost.epsilon)


def test_the_same_batch_again_is_free_and_returns_the_same_answers():
    with table(DATA) as people:
        first, second = people.batch(epsilon=1), people.batch(epsilon="0.5")
        for batch in (first, second):
            batch.ask(people.count())
            batch.ask(people.sum("age"))
        once, again = first.release(), second.release()
        assert [r.to_bytes() for r in once] == [r.to_bytes() for r in again]
        assert all(r.recalled for r in again)
        assert people.budget.spent == 1
        third = people.batch(epsilon=2)
        third.ask(people.count())
        third.ask(people.sum("age"))
        assert not any(r.recalled for r in third.release())


def test_many_small_releases_are_charged_as_one_composed_event():
    """A hundred releases of 0.1 sum to 10; composed at the budget's delta they are cheaper."""
    with table(DATA, budget=sd.Budget(epsilon=50, delta="1e-3")) as people:
        batch = people.batch(epsilon=10)
        for age in range(100):
            batch.ask(people.where(f"age = {age}").count())
        assert float(batch.cost.epsilon) < 8
        batch.release()
        assert people.budget.spent < 8
        assert len(batch.releases) == 100


def test_an_error_inside_the_block_charges_nothing():
    with table(DATA) as people:
        with pytest.raises(QueryError, match="no column"), people.batch(epsilon=1) as batch:
            batch.ask(people.count()), batch.ask(people.sum("height"))
        assert people.budget.spent == 0


def test_what_does_not_fit_is_refused_before_the_charge():
    with table(DATA) as people, table(DATA) as others:
        batch = people.batch(epsilon=1)
        with pytest.raises(QueryError, match="asks nothing"):
            batch.release()
        with pytest.raises(QueryError, match="one ledger"):
            batch.ask(others.count())
        with pytest.raises(QueryError, match="weight"):
            batch.ask(people.count(), weight=0)
        n = batch.ask(people.count(), within=1)
        with pytest.raises(QueryError, match="not been released"):
            _ = n.value
        with pytest.raises(QueryError, match="targets alone"):
            batch.release()
        priceless = people.batch()
        priceless.ask(people.count())
        with pytest.raises(QueryError, match="needs a price"):
            priceless.release()
        assert people.budget.spent == 0
    with table(DATA, budget=sd.Budget(epsilon="0.5")) as people:
        batch = people.batch(epsilon=1)
        batch.ask(people.count())
        with pytest.raises(BudgetExceeded):
            batch.release()


def test_a_failure_after_the_charge_keeps_the_whole_charge_and_a_constant_text(monkeypatch):
    with table(DATA) as people:
        calls = []
        whole = people.engine.bounded

        def once(*given):
            calls.append(1)
            if len(calls) > 1:
                raise OSError("disk")
            return whole(*given)

        monkeypatch.setattr(people.engine, "bounded", once)
        batch = people.batch(epsilon=1)
        batch.ask(people.count())
        batch.ask(people.sum("age"))
        with pytest.raises(ReleaseFailed, match="no answer was recorded") as caught:
            batch.release()
        assert caught.value.__cause__ is None
        assert people.budget.spent == 1
        assert batch.releases == []
