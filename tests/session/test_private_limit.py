"""A limit on the rows of a person that is drawn: published, paid once, reused free, and said."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError
from sordino.lab.conformance import World, covered
from sordino.privacy.discrete import ArgMax
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.session.private_limit import cap_question
from sordino.statistics.port import Context
from sordino.statistics.row_cap import RowCap, caps_to

RNG = np.random.default_rng(4)
ROWS = RNG.poisson(5, 4000)
WHO = np.repeat(np.arange(4000), ROWS)
DATA = {"who": WHO, "g": RNG.choice(list("ab"), len(WHO)), "v": RNG.integers(0, 10, len(WHO))}


def opened(epsilon=1000, **extra):
    facts = {"keys": {"g": ["a", "b"]}, "bounds": {"v": (0, 10)}, "unit": "who", "max_rows": 10_000, "max_groups": 2,
             "max_rows_per_group": 10_000}  # fmt: skip
    return sd.table(DATA, budget=sd.Budget(epsilon=epsilon, delta=1e-6), ledger=":memory:", name="t", **facts | extra)


def test_the_ladder_has_small_steps_first():
    assert caps_to(10) == (1, 2, 3, 4, 6, 7, 8, 10)
    assert caps_to(1) == (1,)
    assert len(caps_to(10_000)) == 38
    assert caps_to(10_000)[-1] == 10_000


def test_the_drawn_limit_is_published_paid_once_and_reused():
    with opened() as table:
        asked = table.limit(rows="private").count()
        found = asked.release(epsilon=1)
        cap = cap_question(asked).recorded()
        assert len(cap) == 1
        assert 5 <= cap[0].value <= 30
        assert f"at most {cap[0].value} rows of one who (a limit drawn from the rows)" in found.about
        assert found.card["privacy unit"]["limit drawn"].endswith(cap[0].id)
        assert (cap[0].cost.epsilon, found.cost.epsilon, table.budget.spent) == (0.2, 0.8, 1.0)
        assert abs(found.value - len(WHO)) < 0.02 * len(WHO)
        assert found.high - found.low < 300 < table.count().settle(1).steps["count"].width(None)
        assert asked.release(epsilon=1).id == found.id, "the same price again is no price"
        assert table.budget.spent == 1.0
        asked.release(epsilon="0.5", fresh=True)
        assert table.budget.spent == 1.5, "the limit is free now"
        assert asked.release(within=200).low is not None, "and an accuracy has a price"
        table.where("v > 3").limit(rows="private").count().release(epsilon=1)
        table.group_by("g").limit(rows="private").sum("v").release(epsilon=1)
        assert len(table.ledger.entries()) == 7, "other rows and groups have a limit of their own"


@pytest.mark.parametrize("request_id", [None, "mine"])
def test_after_an_end_between_the_two_charges_the_answer_costs_what_was_left(request_id):
    with opened() as table:
        asked = table.limit(rows="private").count()
        cap_question(asked).release(epsilon="0.2", request=None if request_id is None else f"{request_id}:limit")  # then the process ended
        found = asked.release(epsilon=1, request=request_id)
        assert (found.cost.epsilon, table.budget.spent) == (0.8, 1.0)
        assert asked.release(epsilon=1, request=request_id).id == found.id
        table.limit(rows="private").sum("v").release(epsilon=1)
        assert table.budget.spent == 2.0, "another question has a limit for nothing and its whole price"


def test_the_limit_alone_is_a_question():
    with opened() as table:
        cap = table.where("v > 3").group_by("g").row_limit().release(epsilon="0.2")
        assert cap.value in caps_to(10_000)
        found = table.where("v > 3").group_by("g").limit(rows="private").count().release(epsilon=1)
        assert f"at most {cap.value} rows" in found.about


def test_prices_and_explanations_show_both_limits_and_read_nothing():
    with opened() as table:
        asked = table.limit(rows="private").count()
        before = str(asked.explain(1))
        assert "declared limit, 10,000 rows of a person: count within 2.996e+04" in before
        assert "epsilon 0.2 for the limit, 0.8 for the answer" in before
        assert "drawn limit" in str(asked.preview())
        assert table.budget.spent == 0
        asked.release(epsilon=1)
        assert "free now" in str(asked.explain(1))


def test_refusals_come_before_any_charge():
    with opened(epsilon="0.9") as table:
        for wrong in (
            lambda: table.limit(rows="private").median("v").release(epsilon="0.5"),
            lambda: table.limit(rows="private").count().release(within=5),
            lambda: table.limit(rows="private").count().settle(1),
            lambda: table.limit(rows="secret"),
            lambda: table.limit(groups="private"),
        ):
            with pytest.raises(QueryError):
                wrong()
        with pytest.raises(BudgetExceeded):
            table.limit(rows="private").count().release(epsilon=1)
        with pytest.raises(QueryError), table.batch(epsilon="0.1") as batch:
            batch.ask(table.limit(rows="private").count())
        assert table.budget.spent == 0
    with opened(max_rows=1, max_groups=1, max_rows_per_group=1) as table, pytest.raises(QueryError, match="already"):
        table.limit(rows="private").count().release(epsilon=1)


def _chances(rows, sensitivity, *, people=True):
    """The law of the choice among caps 1..4 on a tiny world."""
    facts = Context(PrivacyUnit("who"), {"n": Column("n", "int", (1, 5))})
    step = RowCap("n").step(Fraction(1), Fraction(0), facts)
    more = np.array([sum(n > cap if people else max(n - cap, 0) for n in rows) for cap in step.caps[:-1]] + [0])
    return ArgMax(-np.abs(more - 2), Fraction(2 * sensitivity), "gumbel").probabilities()


def test_every_small_world_keeps_the_price_and_a_score_in_rows_would_not():
    worst = {True: 0.0, False: 0.0}
    for rows in product(range(1, 6), repeat=4):
        for one in (1, 3, 5):
            for people in (True, False):
                p, q = _chances(rows, 1, people=people), _chances([*rows, one], 1, people=people)
                worst[people] = max(worst[people], float(np.max(np.abs(np.log(p / q)))))
    assert 0.75 < worst[True] <= 1 + 1e-9
    assert worst[False] > 1.2, "rows that are too many move such a score by more than one"


def test_conformance():
    traced = []
    with World() as world:
        for kind, pair in covered(0, stride=2):
            found = world.trace(lambda table: cap_question(table.limit(rows="private").count()), kind, pair, (1, 0))
            traced += [] if found is None else [found]
    assert len(traced) > 3
    assert not any(found.wrong for found in traced)
