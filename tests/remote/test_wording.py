"""What cannot be said to a server is refused at home, in the words of a table at hand, and nothing is sent."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.remote.connection import RemoteQuery
from sordino.remote.wording import RemoteAsked, Words


class Unreadable:
    """What fails in every way Python asks it."""

    __hash__ = None

    def __str__(self):
        raise RuntimeError

    __repr__ = __eq__ = __bool__ = __len__ = __iter__ = __float__ = __str__


ODD = [np.array([True, False]), pd.Series([True]), pd.DataFrame({"x": [1]}), lambda row: True, 1j, b"x", object(), Unreadable(), {"x": 1}]
NOBODY = sd.connect("http://127.0.0.1:9", "srd_x")  # nobody listens: whatever is sent fails otherwise
TABLE, QUERY = NOBODY.admissions, RemoteQuery(NOBODY, "x", "x")


@pytest.fixture(scope="module")
def home():
    rows = {"x": [1, 2, 3]}
    with sd.table(rows, bounds={"x": (0, 9)}, ledger=":memory:", budget=sd.Budget(epsilon=1), name="admissions") as opened:
        yield opened


@pytest.mark.parametrize("odd", [*ODD, True, None, 5], ids=lambda odd: type(odd).__name__)
def test_a_table_on_a_server_refuses_what_a_table_at_home_refuses(home, odd):
    def said(ask):
        with pytest.raises(QueryError) as caught:
            ask()
        return caught.value.code, caught.value.what

    assert said(lambda: TABLE.where(odd)) == said(lambda: home.where(odd))
    assert said(lambda: TABLE.group_by(odd)) == said(lambda: home.group_by(odd))
    assert said(lambda: TABLE.agg(n=odd)) == said(lambda: home.agg(n=odd))
    assert said(lambda: NOBODY.sql(odd)) == said(lambda: home.sql(odd))


@pytest.mark.parametrize("odd", ODD[:-1], ids=lambda odd: type(odd).__name__)  # a dict is JSON: the server knows where it may stand
def test_what_json_cannot_hold_is_not_sent(odd):
    for ask in (
        lambda: TABLE.median(odd), lambda: TABLE.quantile("cost", q=[odd]), lambda: TABLE.ask("top_k", "ward", k=odd),
        lambda: TABLE.cdf(odd), lambda: TABLE.cdf("cost", bins=odd), lambda: TABLE.limit(rows=odd), lambda: TABLE.rollup(odd),
        lambda: TABLE.cube(odd), lambda: TABLE.grouping_sets(odd), lambda: TABLE.agg(n=sd.count(), m=odd),
        lambda: QUERY.preview(within_rank=odd), lambda: QUERY.preview(epsilon=1, interval=odd), lambda: QUERY.release(epsilon=odd),
        lambda: QUERY.release(within={"n": odd}), lambda: QUERY.release(epsilon=1, level=odd), lambda: QUERY.release(epsilon=1, fresh=odd),
        lambda: QUERY.release(epsilon=1, request=odd), lambda: NOBODY.release(odd), lambda: NOBODY.shared(odd),
        lambda: TABLE.share(epsilon=odd), lambda: TABLE.share(epsilon=1, columns=[odd]), lambda: TABLE.share(epsilon=1, request=odd),
    ):  # fmt: skip
        with pytest.raises(QueryError, match="Nothing was spent"):
            ask()


@pytest.mark.parametrize("odd", [float("nan"), float("inf")])
def test_a_number_that_is_none_is_not_sent(odd):
    for ask in (lambda: TABLE.quantile("cost", odd), lambda: QUERY.release(within=odd), lambda: QUERY.preview(epsilon=odd)):
        with pytest.raises(QueryError, match="Nothing was spent"):
            ask()


def test_a_cube_of_many_columns_is_refused_before_it_is_listed():
    with pytest.raises(QueryError, match="a cube of 16 columns"):
        TABLE.cube(*(f"c{place}" for place in range(16)))


def test_numbers_and_days_are_sent_as_they_were():
    table = Words(RemoteAsked("t"), lambda asked: asked, None)
    given = ["x", Fraction(1, 3), Decimal("0.10"), dt.date(2020, 1, 2), 3, 0.5, True, np.int64(7), np.float64(0.25)]
    assert table.histogram("x", bins=given).verbs["ask"]["named"]["bins"] == ["x", "1/3", "0.10", "2020-01-02", 3, 0.5, True, "7", 0.25]
    assert json.loads(json.dumps(table.quantile("x", Fraction(1, 4)).call))["ask"]["given"] == ["x", "1/4"]
