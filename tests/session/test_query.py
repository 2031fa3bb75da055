from __future__ import annotations

from fractions import Fraction
from types import SimpleNamespace

import pytest
from tests.session.people import QUESTIONS, fresh, rows, table

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError
from sordino.session.release import Release


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_same_question_is_free_and_byte_equal(name, opened_once):
    people = fresh(opened_once)
    first = QUESTIONS[name](people).release(epsilon=1)
    again = QUESTIONS[name](people).release(epsilon=1)
    assert again.to_bytes() == first.to_bytes()
    assert again == first
    assert again.recalled
    assert not first.recalled
    assert "recalled at no price" in str(again)
    assert people.budget.spent == 1


def test_a_recorded_answer_is_open_to_another_analyst_and_after_reopening(tmp_path):
    path = str(tmp_path / "people.ledger")
    budget = sd.Budget(epsilon=3, delta=1e-6, analysts={"amina": 1, "bo": 1})
    with table(ledger=path, budget=budget) as people:
        first = people.group_by("zip").median("income").release(epsilon=1, analyst="amina")
        assert people.group_by("zip").median("income").release(epsilon=1, analyst="bo").to_bytes() == first.to_bytes()
        assert people.budget.analysts == {"amina": (1.0, 1.0), "bo": (0.0, 1.0)}
    with table(ledger=path, budget=budget) as reopened:
        again = reopened.group_by("zip").median("income").release(epsilon=1, analyst="bo")
        assert again.to_bytes() == first.to_bytes()
        assert reopened.budget.spent == 1


def test_a_larger_recorded_price_satisfies_a_smaller_wish_and_not_the_reverse():
    with table() as people:
        small = people.count().release(epsilon="0.5")
        large = people.count().release(epsilon=2)
        assert large.id != small.id
        assert people.count().release(epsilon="0.1").id == large.id
        assert people.count().release(epsilon=2).id == large.id
        assert people.count().release(epsilon="2.0001").id not in (small.id, large.id)
        assert people.budget.spent == pytest.approx(4.5001)


def test_the_oldest_answer_wins_among_equals():
    with table() as people:
        first = people.count().release(epsilon=1)
        second = people.count().release(epsilon=1, fresh=True)
        assert second.id != first.id
        assert people.count().release(epsilon=1).id == first.id
        assert people.budget.spent == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda t: t.sum("age"), lambda t: t.where("age > 3").count(), lambda t: t.group_by("sex").count(), lambda t: t.count_units(),
        lambda t: t.where("age > 4").count(), lambda t: t.agg(n=sd.count(), m=sd.sum("age")),
    ],
)  # fmt: skip
def test_another_question_pays(other):
    with table() as people:
        people.count().release(epsilon=1)
        other(people).release(epsilon=1)
        assert people.budget.spent == 2


def test_the_same_condition_in_other_words_is_the_same_question():
    with table() as people:
        people.where("age >= 18 AND sex = 'f'").count().release(epsilon=1)
        people.where("sex = 'f'").where("18 <= age").count().release(epsilon=1)
        assert people.budget.spent == 1


def test_a_new_version_forgets_answers_and_never_the_budget(tmp_path):
    path = str(tmp_path / "people.ledger")
    with table(ledger=path) as people:
        first = people.count().release(epsilon=1)
    with table(ledger=path, version="2") as newer:
        assert newer.budget.spent == 1
        assert newer.count().release(epsilon=1).id != first.id
        assert newer.budget.spent == 2
        assert newer.count().release(epsilon=1).card["version"] == "2"
    with table(ledger=path, version="1") as older:
        assert older.count().release(epsilon=1).id == first.id
        assert older.budget.spent == 2


def test_recall_opens_no_source(monkeypatch):
    with table() as people:
        first = people.median("income").release(epsilon=1)
        monkeypatch.setattr(people.engine, "bounded", lambda *_: pytest.fail("looked"))
        assert people.median("income").release(epsilon=1).to_bytes() == first.to_bytes()


def test_recall_reads_each_of_many_recorded_answers_once(monkeypatch):
    with table(budget=sd.Budget(epsilon=10)) as people:
        drawn = [people.count().release(epsilon="0.01", fresh=True) for _ in range(60)]
        people.count().release(epsilon="0.01")
        read, real = [], Release.from_bytes.__func__
        monkeypatch.setattr(Release, "from_bytes", classmethod(lambda *given, **named: read.append(1) or real(*given, **named)))
        assert people.count().release(epsilon="0.01").to_bytes() == drawn[0].to_bytes()
        assert len(read) < 10, "a recall is not longer for having many draws to choose from"


def test_a_release_needs_exactly_one_price():
    with table() as people:
        for price in ({}, {"epsilon": 1, "within": 3}):
            with pytest.raises(QueryError, match=r"epsilon=, or within="):
                people.count().release(**price)


def test_the_ceiling_and_the_purses_refuse_before_the_charge():
    budget = sd.Budget(epsilon=3, max_per_release="0.5", analysts={"amina": "0.6"})
    with table(budget=budget) as people:
        for wish, code in (({"epsilon": "0.51"}, "SRD-303"), ({"epsilon": "0.5", "analyst": "nobody"}, "SRD-302")):
            with pytest.raises(BudgetExceeded, match=code):
                people.count().release(**wish)
        people.count().release(epsilon="0.5", analyst="amina")
        with pytest.raises(BudgetExceeded, match="SRD-302"):
            people.count().release(epsilon="0.5", analyst="amina", fresh=True)
        assert people.budget.spent == 0.5


def test_a_hundredth_of_the_delta_pool_is_taken_when_needed_and_only_then():
    with table(budget=sd.Budget(epsilon=10, delta="1e-6")) as people:
        assert people.group_by("zip").count().release(epsilon=1).cost.exact.delta == Fraction(1, 10**8)
        assert people.group_by("sex").count().release(epsilon=1).cost.exact.delta == 0
        assert people.histogram("zip").release(epsilon=1, delta="1e-7").cost.exact.delta == Fraction(1, 10**7)
        assert people.budget.exact["spent_delta"] == Fraction(11, 10**8)
        with pytest.raises(BudgetExceeded):
            people.mode("zip").release(epsilon=1, delta="1e-6")


def test_half_of_delta_is_the_pool_under_zcdp():
    with table(budget=sd.Budget(epsilon=10, delta="1e-6", accounting="zcdp")) as people:
        assert people.group_by("zip").count().release(epsilon="0.5").cost.exact.delta == Fraction(1, 2 * 10**8)


@pytest.mark.parametrize("ask", [lambda t: t.group_by("zip").count(), lambda t: t.mode("zip"), lambda t: t.histogram("zip")])
def test_without_a_pool_the_error_names_the_way_without_delta(ask):
    with table(budget=sd.Budget(epsilon=10)) as people:
        with pytest.raises(QueryError, match=r"SRD-102.*Without a delta: declare the public keys with keys="):
            ask(people).release(epsilon=1)
        with pytest.raises(QueryError, match="SRD-102"):
            ask(people).release(epsilon=1, delta=0)
        assert people.budget.spent == 0


def test_an_illegal_delta_is_refused():
    with table() as people:
        for delta in (-1, 1, 2, "x", float("nan"), True):
            with pytest.raises(QueryError):
                people.group_by("zip").count().release(epsilon=1, delta=delta)


def test_no_key_named_is_an_answer_of_no_rows():
    lonely = {name: values[:20] for name, values in rows().items()} | {"zip": [f"only {i}" for i in range(20)]}
    with table(lonely, budget=sd.Budget(epsilon=1_000, delta="1e-20")) as people:  # a lonely key is named with about that probability
        for name in QUESTIONS:
            if name.endswith("private groups"):
                release = QUESTIONS[name](people).release(epsilon=1)
                assert release.keys == {"zip": []}
                assert all(cells == [] for cells in release.to_dict().values())
                assert release.value is None
                assert str(release)
                assert release._repr_html_()
                assert release.to_arrow().num_rows == 0


def test_a_question_is_a_value_that_reads_nothing():
    with table() as people:
        query = people.where("age > 3").group_by("zip").median("income")
        assert repr(query) == "Query(median(income) by zip of 't'; nothing read, nothing spent)"
        with pytest.raises(AttributeError):
            query.table = None
        assert query.count() is not query
        assert len(query.count().asked.statistics) == 2


def test_a_plan_is_settled_once_at_a_price_and_again_when_the_public_learns_more():
    with table() as people:
        asked = people.where("age > 20").mean("income")
        first = asked.settle(1)
        assert asked.settle(Fraction(1)) is first
        assert asked.settle(2) is not first
        assert first.context.rows is None
        counted = people.where("age > 20").count().release(epsilon=5)
        again = asked.settle(1)
        assert again is not first
        assert again.context.rows == counted.low


def test_a_plan_is_rehearsed_before_its_first_charge_and_what_failed_is_rehearsed_again(monkeypatch):
    with table() as people:
        asked, tried = people.sum("income"), []
        plan = asked.settle(1)
        real = type(plan)._rehearse

        def rehearse(self, draw):
            tried.append(self)
            if len(tried) == 1:
                raise ArithmeticError("no")
            return real(self, draw)

        monkeypatch.setattr(type(plan), "_rehearse", rehearse)
        with pytest.raises(QueryError, match="SRD-110"):
            asked.release(epsilon=1)
        assert people.budget.spent == 0
        for _ in range(3):
            asked.release(epsilon=1, fresh=True)
        assert tried == [plan, plan]


def test_what_became_of_a_claim_of_ones_own_is_on_the_next_card():
    @sd.statistic(bounds=(0, 100), sensitivity=100)
    def total(x):
        return float(x.sum())

    with sd.table({"x": [1.0, 2.0]}, bounds={"x": (0, 100)}, budget=sd.Budget(9), ledger=":memory:") as t:
        asked = t.apply(total, "x")
        assert "no pairs tried" in str(asked.release(epsilon=1).card)
        total.verdict = SimpleNamespace(ok=False, pairs=7)
        assert "REFUTED after 7 pairs" in str(asked.release(epsilon=1, fresh=True).card)
