from __future__ import annotations

import json

import pytest
from tests.session.people import QUESTIONS, fresh, table

import sordino as sd
from sordino.session.card import NOT_DEFENDED, Card, odds_sentence

FACTS = [
    "dataset", "version", "table", "privacy unit", "question", "release", "this release", "so far", "composition", "mechanism", "theorem",
    "assumes", "bar", "tuning", "post-processing", "side channels", "not defended", "odds",
]  # fmt: skip


@pytest.mark.parametrize("name", QUESTIONS)
def test_every_card_says_who_is_protected_by_what_and_at_which_price(name, opened_once):
    card = QUESTIONS[name](fresh(opened_once)).release(epsilon=1).card
    assert [fact for fact in card if fact not in ("withheld", "bar about", "moved", "noise of bins")] == FACTS
    assert card["privacy unit"] == {"unit": "person", "relation": "add_remove", "max_rows": 3, "max_groups": 2, "max_rows_per_group": 3}
    assert card["this release"]["epsilon"] == "1"
    assert card["so far"]["epsilon"] == 1.0
    assert card["so far"]["cap"] == 1_000_000.0
    assert card["theorem"]
    assert json.loads(card.to_json())["not defended"] == NOT_DEFENDED
    assert "the library has no deadlines and no floor under a price" in NOT_DEFENDED
    assert ("withheld" in card) == ("private groups" in name or "mixed" in name)


def test_a_card_is_as_of_its_own_charge_for_ever():
    with table(budget=sd.Budget(epsilon=20)) as people:
        first = people.count().release(epsilon=1)
        people.sum("age").release(epsilon=2)
        assert people.sum("age").release(epsilon=1).card["so far"]["epsilon"] == 3.0
        again = people.count().release(epsilon=1)
        assert again.card == first.card
        assert again.card["so far"]["epsilon"] == 1.0


def test_a_bar_about_something_else_than_the_rows_says_so():
    with table(size=100_000) as people:
        staged = people.mean("income", method="two_stage").release(epsilon=1)
        assert list(staged.card["bar about"].values()) == ["the mean of the values moved into the drawn limits"]
        assert "the mean of income after values are moved into the drawn limits" in str(staged)
        assert "limits" not in str(staged.map(round)).split("bar:")[1]
        huber = people.huber_mean("income").release(epsilon=1, delta=1e-7, mechanism="published")
        assert "drawn scale" in str(huber)
        assert "bar about" not in people.huber_mean("income").release(epsilon=1).card  # no bar, nothing to be about
        assert "bar about" not in people.mean("income", method="clamped").release(epsilon=1).card


def test_withheld_keys_are_reported_as_a_public_threshold_only():
    with table() as people:
        card = people.group_by("zip").median("income").release(epsilon=1).card
        assert card["withheld"].startswith("keys under about ")
        assert card["withheld"].endswith(" people are withheld")


def test_a_card_can_be_shown_as_json_markdown_and_html():
    card = Card({"fact": "a|b\nc", "list": ["<x>", 1], "nested": {"inner": "<y>"}})
    rows = ["| fact | value |", "|---|---|", "| fact | a\\|b c |", "| list | <x>; 1 |", "| nested: inner | <y> |"]
    assert card.to_markdown().splitlines() == rows
    assert "<x>" not in card.to_html()
    assert "&lt;y&gt;" in card._repr_html_()
    assert json.loads(card.to_json()) == card


def test_the_odds_sentence_follows_epsilon_and_delta():
    assert odds_sentence(1, 0).endswith("at most 2.72.")
    assert "except with probability 1e-06" in odds_sentence(1, 1e-6)
    assert "no meaningful privacy" in odds_sentence(21, 0)


def test_a_card_says_where_a_quote_may_take_other_rows(tmp_path):
    (tmp_path / "t.csv").write_text('age;city\n7,5;"a\nb"\n')
    words = {"bounds": {"age": (0, 120)}, "budget": sd.Budget(epsilon=9), "ledger": ":memory:"}
    with sd.table(tmp_path / "t.csv", csv={"delimiter": ";", "decimal": ",", "multiline": True}, **words) as people:
        assert "not local" in people.count().release(epsilon=1).card["rows"]
    with sd.table(tmp_path / "t.csv", csv={"delimiter": ";"}, **words) as people:
        assert "rows" not in people.count().release(epsilon=1).card
