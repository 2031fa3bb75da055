from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from tests.session.people import QUESTIONS, rows, table

from sordino.errors import QueryError
from sordino.schema.frame import Frame
from sordino.session.settled import Nobody
from sordino.summaries.totals import Item, Ranks, Totals

HALF = (Fraction(1, 4), Fraction(1, 2))


@pytest.fixture(scope="module")
def nobody():
    with table({name: [] for name in rows()}) as people:
        yield people


@pytest.mark.parametrize("name", ["several, plain", "median, where", "median, private groups", "histogram of private keys, plain"])
def test_nobody_answers_as_an_engine_over_no_rows_does(name, nobody):
    for frame in QUESTIONS[name](nobody).settle(1).frames:
        items = (Item("rows"), Item("units"), *(Item(what, c.name) for c in frame.columns for what in ("rows", "sum", "squares")))
        with nobody.engine.bounded(frame, 1) as rows_of:
            real, acted = rows_of.ask(Totals(items)), Nobody(frame).ask(Totals(items))
            assert real.keys == acted.keys
            assert all(np.array_equal(real.values[item], acted.values[item]) for item in items)
            if not frame.by:
                for column in frame.columns:
                    request = Ranks(column.name, HALF, 3)
                    pairs = zip(rows_of.ask(request), Nobody(frame).ask(request), strict=True)
                    assert all(
                        a.values.tolist() == b.values.tolist() and a.n == b.n for one, two in pairs for a, b in zip(one, two, strict=True)
                    )


def test_nobody_refuses_what_no_engine_answers(nobody):
    with pytest.raises(QueryError, match="SRD-106"):
        Nobody(Frame(nobody.unit)).ask("everything")
