"""One question has one key: aliases, verbs, builder and SQL share a record, and a member of a bundle is an answer of its own."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

import sordino as sd
from sordino.session.recorded import public_rows
from sordino.session.release import Release

from .people import table


def test_verbs_builder_and_sql_meet():
    with table() as people:
        ways = [
            (people.where("age > 20").mean("income"), people.agg(m=sd.mean("income")).where("age > 20"),
             people.sql("SELECT AVG(income) FROM t WHERE age > 20"), people.sql("SELECT AVG(income) AS x FROM t WHERE 20 < age")),
            (people.group_by("sex").count(), people.group_by("sex").agg(n=sd.count()), people.agg(m=sd.count()).group_by("sex"),
             people.sql("SELECT sex, COUNT(*) FROM t GROUP BY sex"), people.sql("SELECT sex AS s, COUNT(*) AS n FROM t GROUP BY sex")),
            (people.median("income"), people.quantile("income", "0.5"), people.agg(a=sd.median("income")),
             people.sql("SELECT MEDIAN(income) AS m FROM t"), people.sql("SELECT QUANTILE_CONT(income, 0.5) FROM t")),
            (people.agg(n=sd.count(), s=sd.sum("age")), people.sql("SELECT SUM(age), COUNT(*) FROM t"),
             people.sql("SELECT COUNT(*) AS a, SUM(age) AS b FROM t")),
        ]  # fmt: skip
        for same in ways:
            assert len({query.key() for query in same}) == 1
            first = same[0].release(epsilon=Fraction(1, 10))
            again = [query.release(epsilon=Fraction(1, 10)) for query in same[1:]]
            assert all(found.recalled and found.id == first.id for found in again)
        assert people.budget.spent == pytest.approx(0.4)


def test_a_member_of_a_bundle_is_recalled_alone_at_its_own_price():
    with table() as people:
        both = people.where("age > 20").agg(n=sd.count(), mid=sd.median("income")).release(epsilon=1)
        count = people.where("age > 20").count().release(epsilon="0.5")
        middle = people.sql("SELECT MEDIAN(income) AS m FROM t WHERE age > 20").release(epsilon="0.5")
        assert (count.recalled, middle.recalled) == (True, True)
        assert count.value == both.answers["n"][0]
        assert middle.value == both.answers["mid"][0]
        assert (count.names, middle.names) == (("count",), ("m",))
        assert count.cost.exact.epsilon + middle.cost.exact.epsilon == both.cost.exact.epsilon
        assert people.budget.spent == 1
        assert count.interval(0.5)[0] > count.low
        assert count.card["part of"]["release"] == both.id
        assert list(count.card["question"]["statistics"]) == ["count"]
        assert count.card["this release"]["epsilon"] == "1/2"
        dearer = people.where("age > 20").count().release(epsilon="0.6")
        assert not dearer.recalled
        again = people.where("age > 20").count().release(epsilon="0.6")
        assert again.id == dearer.id


def test_a_member_is_the_same_bytes_for_everybody_and_reads_back():
    with table() as people:
        people.agg(n=sd.count(), mid=sd.median("income")).release(epsilon=1)
        one, other = (people.agg(**{name: sd.count()}).sealed() for name in ("a", "b"))
        assert one == other
        back = Release.from_bytes(one[0])
        assert (back.names, back.canonical) == (("count",), True)


def test_members_of_a_batch_are_recalled_and_bundles_inside_it_too():
    with table() as people:
        with people.batch(epsilon=2) as batch:
            batch.ask(people.mean("age"))
            bundle = batch.ask(people.agg(n=sd.count(), mid=sd.median("income")))
        mean = people.mean("age").release(epsilon=1)
        count = people.count().release(epsilon="0.5")
        both = people.agg(a=sd.median("income"), b=sd.count()).release(epsilon=1)
        assert [item.recalled for item in (mean, count, both)] == [True, True, True]
        assert count.value == bundle.answers["n"][0] == both.answers["b"][0]
        assert people.budget.spent == pytest.approx(2)


def test_a_member_that_shares_its_draw_is_used_only_where_it_is_as_accurate_as_its_own_draw():
    facts = {"x": {"type": "float", "bounds": (0, 100), "nulls": 0}}
    with sd.table({"x": [1.0, 2.0, 3.0] * 400}, columns=facts, budget=sd.Budget(30), ledger=":memory:") as t:
        both = t.agg(n=sd.count(), m=sd.mean("x")).release(epsilon=1)
        assert len(t.agg(n=sd.count(), m=sd.mean("x")).settle(1).plan.draws) == 1
        spent = t.budget.spent
        assert not t.count().release(epsilon=1).recalled, "the two halves say the count with more noise than a count of its own"
        assert t.budget.spent == spent + 1
        assert t.mean("x").release(epsilon="0.5").recalled
        half = (both.answers["n_high"][0] - both.answers["n_low"][0]) / 2
        assert t.count().where("x > -1").key() != t.count().key()
        assert t.count().release(within=half + 1).recalled
        alone = t.count().drawn_alike()
        assert len(alone) == 1, "what shares a draw is not averaged with what does not"


def test_private_keys_are_part_of_a_members_price():
    data = {"k": ["a", "b"] * 1_000, "x": [1.0] * 2_000}
    with sd.table(data, bounds={"x": (0, 2)}, columns={"k": "cat"}, budget=sd.Budget(30, 1e-5), ledger=":memory:") as t:
        both = t.group_by("k").agg(a=sd.sum("x"), b=sd.median("x")).release(epsilon=2)
        alone = t.group_by("k").sum("x").recorded()
        assert len(alone) == 1
        assert alone[0].answers["sum(x)"] == both.answers["a"]
        assert Fraction(1, 2) < alone[0].cost.exact.epsilon < 2
        assert alone[0].cost.exact.delta <= both.cost.exact.delta


def test_a_released_bundle_tells_the_public_how_many_rows_there_are():
    with table() as people:
        asked = people.where("age > 20")
        assert public_rows(asked.mean("age")) is None
        asked.agg(n=sd.count(), mid=sd.median("income")).release(epsilon=2)
        count = asked.count().recorded()[0]
        assert public_rows(asked.mean("age")) == count.low


def test_a_bundle_sealed_before_prices_were_split_is_left_alone():
    with table() as people:
        both = people.agg(n=sd.count(), mid=sd.median("income")).release(epsilon=1)
        before = replace(Release.from_bytes(both.sealed), split={}).to_bytes()
        assert Release.from_bytes(before)._member(0, "count") is None
        assert Release.from_bytes(both.sealed)._member(0, "count") is not None
