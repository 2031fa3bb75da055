"""Which recorded answer is given: the one a search through all of them finds, and as fast among many as among few."""

from __future__ import annotations

import random
import sqlite3
import time
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

import sordino as sd
from sordino.errors import LedgerError
from sordino.privacy.cost import Cost
from sordino.session.recalled import Front, RecordedAnswer, best, search
from sordino.session.release import Paid

DRAWS = 550


def table(ledger=":memory:", **extra):
    budget = sd.Budget(epsilon=10**6, delta=1e-3, **extra)
    return sd.table({"x": [i % 11 for i in range(300)]}, bounds={"x": (0, 10)}, budget=budget, ledger=ledger)


@settings(max_examples=60, deadline=None)
@given(some.lists(some.tuples(some.integers(1, 6), some.integers(0, 5), some.integers(0, 5)), max_size=30), some.randoms())
def test_a_front_finds_what_a_search_finds_whatever_came_first(numbers, luck):
    price = Cost.laplace(1)
    known = [
        RecordedAnswer((-Fraction(e), (0, i)), price, False, 1.0, {"a": a, "b": b}, {}, "", None) for i, (e, a, b) in enumerate(numbers)
    ]
    front, shuffled = Front(), luck.sample(known, len(known))
    for item in shuffled:
        front.add(item, (item.widths["a"], item.widths["b"]))
    for a in range(6):
        for b in range(6):
            fitting = [item for item in known if item.widths["a"] <= a and item.widths["b"] <= b]
            found = front.first(lambda item, a=a, b=b: item.widths["a"] <= a and item.widths["b"] <= b)
            assert found == min(fitting, key=lambda item: item.rank, default=None)


def questions(people):
    return {
        "count": people.count(),
        "sum": people.sum("x"),
        "both": people.agg(n=sd.count(), s=sd.sum("x")),
        "variance": people.variance("x"),
        "median": people.median("x"),
        "point": people.median("x").with_interval(False),
        "filtered": people.where("x > 3").count(),
    }


@pytest.mark.parametrize("accounting", ["pure", "zcdp"])
def test_what_is_given_is_what_a_search_through_all_answers_finds(accounting):
    """Alone, in bundles with draws of their own and shared ones, in batches, as points of intervals, drawn for other levels."""
    luck = random.Random(accounting)
    with table(accounting=accounting) as people:
        compared = 0
        for turn in range(24):
            epsilon = luck.choice(["0.1", "0.5", "1", "1", "2"])
            match luck.randrange(4):
                case 0:
                    with people.batch(epsilon=epsilon) as batch:
                        batch.ask(people.count())
                        batch.ask(people.agg(n=sd.count(), v=sd.variance("x")))
                case 1:
                    people.agg(s=sd.sum("x"), v=sd.variance("x"), n=sd.count()).release(epsilon=epsilon, fresh=True)
                case 2:
                    people.median("x").release(epsilon=epsilon, level=luck.choice([0.9, 0.95, 0.99]), fresh=True)
                case _:
                    luck.choice([*questions(people).values()]).release(epsilon=epsilon, fresh=True)
            if turn % 6 != 5:
                continue
            for name, question in questions(people).items():
                for query in (question, question.at_level(0.99)) if name in ("count", "median") else (question,):
                    asked = {"wish": None, "ranks": False, "rho": None, "epsilon": None}
                    wishes = [{**asked, "epsilon": Fraction(luck.choice(["0.05", "0.1", "0.5", "1", "3"]))}]
                    wishes.append({**asked, "wish": dict.fromkeys(query.asked.statistics, 10 ** luck.uniform(-1, 3))})
                    wishes += [{**asked, "wish": dict.fromkeys(query.asked.statistics, 10 ** luck.uniform(0, 3)), "ranks": True}]
                    wishes += [{**asked, "rho": Fraction(luck.choice(["0.005", "0.1", "0.4"]))}]
                    for wish in wishes:
                        found = search(query, **wish)
                        assert best(query, **wish) == found, (name, query.level, wish)
                        compared += found is not None
        assert compared > 40


def many(people, draws):
    """The same count recorded again and again, each a little dearer and each with a bar of its own."""
    made = people.count().release(epsilon=1)
    book, luck = people.ledger, random.Random(5)
    for turn in range(draws - 1):
        cost = Cost.laplace(Fraction(1) + Fraction(turn, 10**6))
        half = luck.randint(3, 60)
        entry = book.charge(f"r{turn}", people.count().charged, cost)
        answers = {"count": [300], "count_low": [300 - half], "count_high": [300 + half]}
        book.seal(entry, replace(made, answers=answers, cost=Paid(cost), id=entry.id, query=None, recalled=False).to_bytes())
    return people


def seconds(people, **price):
    """Processor time of one recall, the least of some rounds."""
    people.count().release(**price)
    rounds = []
    for _ in range(7):
        start = time.process_time()
        for _ in range(15):
            assert people.count().release(**price).recalled
        rounds.append(time.process_time() - start)
    return min(rounds)


@pytest.fixture(params=[":memory:", "file"])
def ledgers(request, tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    monkeypatch.setattr("sordino.ledger.sqlite_store.DURABLE", ("journal_mode=WAL", "synchronous=OFF"))  # the disk is not what is timed
    monkeypatch.setattr("sordino.ledger.place.sync", lambda _: None)
    return [tmp_path / "few.ledger", tmp_path / "many.ledger"] if request.param == "file" else [":memory:"] * 2


def test_a_recall_among_many_draws_costs_what_it_costs_among_few(ledgers):
    with many(table(ledgers[0]), 1) as one, many(table(ledgers[1]), DRAWS) as crowd:
        for price in ({"epsilon": 1}, {"within": 40}):
            ratio = seconds(crowd, **price) / seconds(one, **price)
            assert ratio <= 2, price


def test_what_another_process_wrote_is_seen_and_what_was_edited_is_not_given(tmp_path, monkeypatch):
    monkeypatch.setenv("SORDINO_STATE", str(tmp_path / "state"))
    path = tmp_path / "a.ledger"
    with table(path) as ours, table(path) as theirs:
        first = ours.count().release(epsilon=1)
        assert theirs.count().release(epsilon=1).id == first.id
        dearer = theirs.count().release(epsilon=2)
        assert ours.count().release(epsilon=1).id == dearer.id
        with sqlite3.connect(path) as book:
            book.execute("UPDATE entry SET answer = CAST(replace(CAST(answer AS TEXT), 'exact', 'guess') AS BLOB) WHERE answer IS NOT NULL")
        book.close()
        with pytest.raises(LedgerError, match="SRD-601"):
            ours.count().release(epsilon=1)
