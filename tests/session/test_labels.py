"""An alias is how an answer is shown: whoever asks the same question, in whatever words, shares one record, one draw and one price."""

from __future__ import annotations

import json

import pytest

import sordino as sd
from sordino.errors import LedgerError, QueryError
from sordino.session.encoding import decode, encode
from sordino.session.recorded import public_rows
from sordino.session.release import Release

from .people import table


def words(text: str, renames: dict[str, str]) -> str:
    for old, new in renames.items():
        text = text.replace(f'"{old}', f'"{new}')
    return text


def test_every_alias_of_a_question_shares_one_record():
    with table() as people:
        first = people.sql("SELECT COUNT(*) AS n FROM t").release(epsilon=1)
        others = [people.count(), people.agg(m=sd.count()), people.sql("SELECT COUNT(*) FROM t"), people.sql("SELECT COUNT(*) AS m FROM t")]
        found = [query.release(epsilon=1) for query in others]
        assert {release.id for release in found} == {first.id}
        assert {release.value for release in found} == {first.value}
        assert [release.names for release in found] == [("count",), ("m",), tuple(others[2].asked.statistics), ("m",)]
        assert {release.sealed for release in found} == {first.sealed}
        assert people.budget.spent == 1
        (entry,) = people.ledger.entries()
        assert decode(entry.answer)["names"] == ["count"], "the book has names of its own"


def test_two_analysts_who_call_it_differently_see_the_same_but_for_the_names():
    with table() as people:
        asked = people.where("age > 20").group_by("sex")
        one = asked.agg(number=sd.count(), middle=sd.median("income")).release(epsilon=1)
        other = asked.agg(second=sd.median("income"), first=sd.count()).release(epsilon=1)
        assert other.recalled
        assert list(one.to_dict())[:2] == ["sex", "number"]
        assert list(other.to_dict())[:2] == ["sex", "second"]
        assert one.to_json() != other.to_json()
        back = json.loads(words(other.to_json(), {"second": "middle", "first": "number"})) | {"about": one.about}
        assert json.loads(one.to_json()) == back, "equal as JSON, which does not compare the order of names"
        assert "second is the median of income" in other.about
        assert one.card["question"]["statistics"] == {"number": sd.count().question(), "middle": sd.median("income").question()}
        assert list(other.card["question"]["statistics"]) == ["second", "first"]


def test_equal_statistics_are_one_draw_at_one_price():
    with table() as people:
        twice, once = people.agg(a=sd.count(), b=sd.count()), people.agg(a=sd.count())
        assert twice.settle(1).cost == once.settle(1).cost
        assert len(twice.settle(1).steps) == 1
        release = twice.release(epsilon=1)
        assert release.to_dict()["a"] == release.to_dict()["b"]
        assert (release.names, people.budget.spent) == (("a", "b"), 1)
        assert once.release(epsilon=1).value == release.answers["b"][0]
        assert people.budget.spent == 1
        assert "a" in str(twice.preview())
        assert "a" in str(twice.explain(1))


def test_a_wish_by_label_reaches_the_draw_that_answers_it():
    with table(size=240) as people:
        query = people.agg(a=sd.count(), b=sd.count(), s=sd.sum("age"))
        assert query.wished({"a": 30, "b": 10}) == {"a": 10}
        release = query.release(within={"b": 20, "s": 3_000})
        assert (release.answers["b_high"][0] - release.answers["b_low"][0]) / 2 <= 20
        again = people.agg(x=sd.sum("age"), y=sd.count()).release(within={"y": 20, "x": 3_000})
        assert (again.id, again.recalled) == (release.id, True)
        with pytest.raises(QueryError, match="SRD-103"):
            people.agg(y=sd.count()).release(within={"count": 5})


def test_a_better_answer_has_every_name_it_was_asked_under():
    with table(size=240) as people:
        query = people.agg(a=sd.count(), b=sd.count())
        query.release(epsilon="0.05")
        better = query.improve(within=60)
        assert better.answers["a"] == better.answers["b"]


def test_vectors_are_shown_under_the_callers_names():
    with table() as people:
        own = people.quantiles("age", [0.25, 0.75]).release(epsilon=1)
        named = people.agg(q=sd.quantiles("age", [0.25, 0.75])).release(epsilon=1)
        assert named.id == own.id
        assert next(iter(own.to_dict())) == "quantile(age, 0.25)"
        assert next(iter(named.to_dict())) == "q_0.25"
        bars = people.agg(h=sd.histogram("sex")).release(epsilon=1)
        assert "h" in bars.to_dict()
        assert "count" in people.histogram("sex").release(epsilon=1).to_dict()


def test_statements_are_arranged_by_the_callers_names():
    with table() as people:
        people.group_by("sex").agg(z=sd.count()).release(epsilon=1)
        rows = people.sql("SELECT sex, COUNT(*) AS n FROM t GROUP BY sex ORDER BY n DESC LIMIT 2").release(epsilon=1)
        assert rows.recalled
        shown = rows.to_dict()
        assert list(shown)[:2] == ["sex", "n"]
        assert shown["n"] == sorted(shown["n"], reverse=True)
        assert len(shown["n"]) == 2


def test_a_released_count_under_any_name_tells_the_public_how_many_rows_there_are():
    with table() as people:
        asked = people.where("age > 20")
        assert public_rows(asked.mean("age")) is None
        count = asked.agg(n=sd.count()).release(epsilon=2)
        assert public_rows(asked.mean("age")) == count.low


def test_members_of_a_bundle_are_known_by_the_keys_they_have_alone():
    with table() as people:
        query = people.where("age > 3").agg(n=sd.count(), m=sd.median("income"))
        query.release(epsilon=1)
        (entry,) = people.ledger.entries()
        alone = {people.where("age > 3").count().key(), people.where("age > 3").median("income").key()}
        assert {member.key for member in entry.asked.members} == alone
        assert (entry.asked.limits, entry.asked.text, entry.asked.wish) == ((3, 2, 3), {}, {"epsilon": "1"})
        assert entry.key == query.key()


def test_members_of_a_batch_are_known_with_their_costs():
    with table() as people:
        with people.batch(epsilon=1) as batch:
            batch.ask(people.count())
            batch.ask(people.agg(n=sd.count(), m=sd.mean("age")))
        (entry,) = people.ledger.entries()
        assert [member.key for member in entry.asked.members] == [member.query.key() for member in batch.members]
        assert len(entry.members) == 2
        assert len(entry.asked.members[1].members) == 2
        assert people.ledger.verify()
        again = people.batch(epsilon=1)
        again.ask(people.agg(other=sd.count()))
        again.ask(people.agg(a=sd.mean("age"), b=sd.count()))
        found = again.release()
        assert [release.recalled for release in found] == [True, True]
        assert found[1].names == ("a", "b")


def test_equal_questions_of_a_batch_are_one_draw_with_their_weights_together():
    with table() as people:
        with people.batch(epsilon=4) as batch:
            one, other = batch.ask(people.count()), batch.ask(people.agg(n=sd.count()))
            mean = batch.ask(people.mean("age"), weight=2)
        assert one.value == other.value
        assert (one.names, other.names, one.sealed) == (("count",), ("n",), other.sealed)
        assert one.cost.epsilon == mean.cost.epsilon == 2
        (entry,) = people.ledger.entries()
        assert len(entry.members) == 2
        assert people.budget.spent == pytest.approx(4)


def test_of_equal_questions_in_a_batch_the_narrower_target_counts():
    with table(size=240) as people:
        with people.batch() as batch:
            wide = batch.ask(people.agg(n=sd.count(), s=sd.sum("age")), within={"n": 60, "s": 4_000})
            narrow = batch.ask(people.agg(total=sd.sum("age"), rows=sd.count()), within={"rows": 20})
        assert (wide.answers["n_high"][0] - wide.answers["n_low"][0]) / 2 <= 20
        assert wide.sealed == narrow.sealed
        assert len(people.ledger.entries()[0].members) == 1


def test_a_repeated_request_returns_its_bytes_though_its_wish_has_another_price_now():
    with table() as people:
        asked = people.where("age > 20").agg(n=sd.count(), a=sd.mean("age"))
        first = asked.release(within={"n": 40}, request="r")
        people.where("age > 20").count().release(epsilon=5)
        again = asked.release(within={"n": 40}, request="r", fresh=True)
        assert (again.sealed, again.id) == (first.sealed, first.id)
        renamed = people.where("age > 20").agg(x=sd.mean("age"), y=sd.count()).release(within={"y": 40}, request="r", fresh=True)
        assert renamed.sealed == first.sealed
        with pytest.raises(QueryError, match="SRD-605"):
            asked.release(within={"n": 41}, request="r", fresh=True)
        with pytest.raises(QueryError, match="SRD-605"):
            asked.release(epsilon=1, request="r", fresh=True)


@pytest.mark.parametrize("price", [{"epsilon": "0.5"}, {"epsilon": "0.5", "delta": "1e-6"}, {"rho": "0.1"}, {"within": 50}])
def test_every_way_to_name_a_price_is_written_down(price):
    with table(budget=sd.Budget(30, "1e-6", accounting="zcdp"), size=240) as people:
        first = people.count().release(**price, request="r")
        assert people.agg(n=sd.count()).release(**price, request="r", fresh=True).sealed == first.sealed
        assert set(people.ledger.entries()[0].asked.wish) == set(price)
        for other in ({"epsilon": "0.4"}, {"rho": "0.2"}, {"within": 49}, {"epsilon": "0.5", "delta": "1e-7"}):
            with pytest.raises(QueryError, match="SRD-605"):
                people.count().release(**other, request="r", fresh=True)


def test_what_is_shown_is_read_back_as_it_was_shown():
    with table() as people:
        release = people.agg(n=sd.count()).release(epsilon=1)
        again = Release.from_bytes(release.to_bytes())
        assert again == release
        assert again.names == ("n",)
        assert decode(release.sealed)["labels"] == "canonical"
        assert Release.from_bytes(release.sealed).to_bytes() == release.sealed
        assert release.map(lambda v: v + 1).sealed is None


def test_an_answer_of_another_question_keeps_its_names():
    with table() as people:
        sealed = people.sum("age").release(epsilon=1).sealed
        assert Release.from_bytes(sealed, query=people.agg(n=sd.count())).names == ("sum(age)",)


def test_an_answer_from_the_future_is_refused():
    with table() as people:
        found = decode(people.count().release(epsilon=1).sealed)
        with pytest.raises(LedgerError, match="newer"):
            Release.from_bytes(encode({**found, "format": 3}))
