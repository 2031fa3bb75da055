"""Price lists that are kept: at most a second once somebody spent, not at all once the question was answered, and so many of them."""

from __future__ import annotations

import pytest

from sordino.server import quote
from sordino.server.deadline import Deadlines
from sordino.server.quote import Quotes, QuoteTerms
from sordino.server.rules import Floor, Rules
from sordino.session.open_dataset import open_dataset

from .hall import Still, Visitor, write

COUNT = "SELECT COUNT(*) AS n FROM admissions"
RULES = {"hospital": Rules(Floor(), Deadlines(None, 0))}


@pytest.fixture
def opened(tmp_path):
    with open_dataset(write(tmp_path, purses="")) as found:
        yield found


@pytest.fixture
def worked(monkeypatch):
    """How often a price list was really worked out."""
    turns, real = [], quote._worked_out
    monkeypatch.setattr(quote, "_worked_out", lambda query, terms, rules: turns.append(terms) or real(query, terms, rules))
    return turns


def test_a_price_list_is_worked_out_once_until_somebody_spends(opened, worked):
    clock = Still()
    kept, count, total = Quotes(clock, RULES), opened.sql(COUNT), opened.sql("SELECT SUM(age) AS s FROM admissions")
    first = kept.of(count, QuoteTerms())
    assert kept.young(count, QuoteTerms()) is kept.of(count, QuoteTerms()) is first
    assert kept.of(count, QuoteTerms(within=40.0)).preview.best is not None
    clock.move(30)
    assert kept.young(count, QuoteTerms()) is None
    assert kept.of(count, QuoteTerms()) is first, "nobody spent anything"
    total.release(epsilon=1)
    assert kept.of(count, QuoteTerms()) is first, "up to a second old"
    clock.move(1)
    again = kept.of(count, QuoteTerms())
    assert again.preview.lines[0].more < first.preview.lines[0].more
    clock.move(61)
    assert kept.of(count, QuoteTerms()) is not again
    assert len(worked) == 4


def test_an_answer_to_the_question_is_on_its_price_list_at_once(opened, worked):
    kept, count = Quotes(Still(), RULES), opened.sql(COUNT)
    assert kept.of(count, QuoteTerms(within=40.0)).recorded is None
    made = count.release(within=40)
    kept.forget(count)
    assert kept.of(count, QuoteTerms(within=40.0)).recorded == made.id
    assert kept.of(count, QuoteTerms(epsilon=0.001)).recorded == made.id


def test_no_more_than_so_many_are_kept(opened, worked, monkeypatch):
    monkeypatch.setattr(quote, "KEPT", 3)
    kept, count = Quotes(Still(), RULES), opened.sql(COUNT)
    for turn in range(5):
        kept.of(count, QuoteTerms(epsilon=1 + turn))
    assert [kept.young(count, QuoteTerms(epsilon=1 + turn)) is not None for turn in range(5)] == [False, False, True, True, True]


def test_an_answer_sealed_after_the_book_was_read_is_found(tmp_path):
    """A seal does not add a charge: whoever reads the book between the two must look again."""
    hall = Visitor(write(tmp_path))
    try:
        token, house = hall.token(), hall.app.app.app.state.house
        book = house.datasets["hospital"].ledger
        seal = book.seal
        book.seal = lambda entry, answer: (house.entries("hospital"), seal(entry, answer))
        made = hall.pay(token, COUNT, "k", epsilon="0.1").json()
        assert hall.ask("GET", f"/v1/releases/{made['id']}", token).status_code == 200
    finally:
        hall.close()
