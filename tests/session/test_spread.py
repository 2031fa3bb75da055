"""Simulated answers before anything is paid: the law of the plan on public rows, the private source untouched."""

import pytest

import sordino as sd
from sordino.errors import SordinoError
from sordino.session.spread import KEPT, spreads

ROWS = {"x": [k % 100 for k in range(400)], "town": ["a", "b", "b", "c"] * 100}
ASKED = {
    "count": lambda t: t.count(), "sum": lambda t: t.sum("x"), "mean": lambda t: t.mean("x"), "median": lambda t: t.median("x"),
    "filtered": lambda t: t.where("x > 10").quantile("x", 0.9), "groups": lambda t: t.group_by("town").mean("x"),
    "histogram": lambda t: t.histogram("town"), "bundle": lambda t: t.agg(n=sd.count(), m=sd.mean("x")), "mode": lambda t: t.mode("town"),
}  # fmt: skip


def table(**facts):
    return sd.table(ROWS, bounds={"x": (0, 120)}, keys={"town": ["a", "b", "c"]}, budget=sd.Budget(9, 1e-6), ledger=":memory:", **facts)


@pytest.fixture(scope="module")
def tables():
    with table(size=400) as sized, table() as unsized, table(twin=ROWS) as public:
        for found in (sized, unsized, public):
            found.engine.bounded = None  # whoever opens the private source fails
        yield {"size": sized, "nothing": unsized, "twin": public}


@pytest.mark.parametrize("known", ["size", "nothing", "twin"])
@pytest.mark.parametrize("name", ASKED)
def test_every_question_has_a_spread_and_a_sentence_of_odds_without_a_private_row(tables, name, known):
    query = ASKED[name](tables[known])
    found = spreads(query, query.settle(1))
    assert len(found) == (2 if name == "bundle" else 1)
    for item in found:
        assert item.rows == (
            "on the public twin" if known == "twin" else "on 400 made-up rows" if known == "size" else "on 10,000 made-up rows"
        )
        assert "simulated" in item.odds
        assert item.named if name == "mode" else item.within(0.5) <= item.within(0.95)
        assert item.plot().narrow
    assert spreads(query, query.settle(1)) == found, "what was simulated is remembered"


def test_noise_that_does_not_depend_on_rows_is_seen_as_it_will_be(tables):
    query = tables["size"].count()
    (found,) = spreads(query, query.settle("0.1"))
    assert found.within(0.95) == pytest.approx(30, rel=0.3), "ln 20 over epsilon"
    assert found.within(0.5) == pytest.approx(7, rel=0.4)
    (less,) = spreads(query, query.settle(1))
    assert less.within(0.95) < found.within(0.95) / 5


def test_simulations_are_forgotten_when_there_are_many(tables, monkeypatch):
    monkeypatch.setattr("sordino.session.spread.KEPT", 3)
    query = tables["nothing"].count()
    for turn in range(6):
        spreads(query, query.settle(f"0.{turn + 1}"))
    known = query.table.guess_rows(10_000).known["spreads"]
    assert len(known) == 3
    assert KEPT == 256


def test_a_statistic_made_up_rows_cannot_answer_has_none(tables, monkeypatch):
    def refused(*_):
        raise SordinoError("SRD-106", "no", "no")

    monkeypatch.setattr("sordino.session.spread._simulated", refused)
    query = tables["size"].sum("x")
    assert spreads(query, query.settle("0.77")) == ()
