"""A table's question as a mechanism: the same conversation, one by one or many at once."""

import numpy as np
import pytest
from scipy.stats import ks_2samp

from sordino.errors import QueryError
from sordino.lab.question import PAIRS, TABLE_KINDS, declared, sides
from sordino.lab.recording import held, opened, reading
from sordino.mechanisms import Laplace
from sordino.noise import draw
from sordino.session.table import table

ASKED = {
    "sum": lambda people: people.sum("income"),
    "mean by public keys": lambda people: people.group_by("sex").mean("age"),
    "median": lambda people: people.median("age"),
    "count by private keys": lambda people: people.group_by("zip").count(),
    "histogram": lambda people: people.histogram("sex"),
}


@pytest.fixture(scope="module")
def people():
    with table(sides(PAIRS[0], TABLE_KINDS[0])[0], **declared(TABLE_KINDS[0])) as opened:
        yield opened


@pytest.mark.parametrize("name", ASKED)
def test_many_releases_at_once_have_the_law_of_single_ones(name, people):
    query = ASKED[name](people)
    talk = held(query, 1, "0.02")
    with reading(query) as ask:
        many, single = talk.many(ask, draw, 300), [talk.release(ask, draw) for _ in range(300)]
    assert len(many) == 300
    assert {len(value) for value in many} == {6}  # value, low, high, ranks, raw, groups
    first = [[np.nan if not side[0] else _number(side[0][0]) for side in values] for values in (many, single)]
    assert ks_2samp(*np.nan_to_num(first, nan=-1e9)).pvalue > 1e-7


def _number(value):
    return float(next(iter(value.values()), -1)) if isinstance(value, dict) else float(value)


def test_many_are_drawn_at_once_where_groups_are(people):
    query = ASKED["mean by public keys"](people)
    drawn = []
    with reading(query) as ask:
        found = held(query, 1).many(ask, lambda law: drawn.append(law) or draw(law), 50)
    assert len(drawn) == 1
    assert {value[-1] for value in found} == {(("m",), ("f",), ("x",))}
    assert {len(value[0]) for value in found} == {3}


def test_the_rows_are_read_once_and_nothing_is_charged(people):
    asked = []
    query = ASKED["median"](people)
    with reading(query) as ask:
        held(query, 1).many(lambda request: asked.append(request[1]) or ask(request), draw, 20)
    assert len(set(map(repr, asked))) == 1
    assert people.budget.spent == 0


def test_a_mechanism_or_a_question_is_opened_and_nothing_else(people):
    with opened(Laplace(1), 5) as (mechanism, ask):
        assert isinstance(mechanism.release(ask, draw), int)
    with opened(ASKED["sum"], people, epsilon=1) as (talk, ask):
        assert float(talk.cost.epsilon) == 1
    for wrong in (3, len, lambda data: data):
        with pytest.raises((QueryError, TypeError)), opened(wrong, [1]):
            pass
