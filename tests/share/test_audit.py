"""A whole shared table, from rows to made-up rows, measured against its price; one at twice the price is caught."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tests.share.small import answering, table, talk

from sordino.lab.finding import lower, upper
from sordino.noise import draw
from sordino.share.rounds import FitSteps

ROWS = table(12, 3)
ONE = np.array([[1, 0, 1]])
TRIALS = 400
NEAR = 0.1  # epsilon at which delta is nearly the total variation, where few trials say most


def likelihood(plan, codes):
    """How much likelier the drawn counts are with one person more, whose cells everybody knows: what the best attack looks at."""
    seen = plan.run(answering(codes), draw, FitSteps(0, 0))
    told = sum(float(y[ONE[0, i]] - (ROWS[:, i] == ONE[0, i]).sum()) / float(plan.schedule.first) ** 2 for i, y in enumerate(seen.first))
    for clique, y in seen.chosen:
        cell, rest = ([np.array(seen.columns[i].cells)[rows[:, i]] for i in clique] for rows in (ONE, ROWS))
        there = np.all([r == c for r, c in zip(rest, cell, strict=True)], axis=0).sum()
        told += float(y[tuple(c[0] for c in cell)] - there) / float(plan.schedule.measured) ** 2
    return told


@pytest.mark.parametrize(("epsilon", "within"), [(12, True), (24, False)])
def test_a_shared_table_tells_no_more_than_its_price_and_one_at_twice_the_price_does(epsilon, within):
    """One event, fixed before the first trial: the person is likelier in than out. Every bound holds but once in ten thousand times."""
    sold = talk(3, method="tree", epsilon=12, rows=12).schedule.cost
    plan = talk(3, method="tree", epsilon=epsilon, rows=12)
    even = (3 / float(plan.schedule.first) ** 2 + plan.schedule.rounds / float(plan.schedule.measured) ** 2) / 2
    out, inn = (sum(likelihood(plan, codes) > even for _ in range(TRIALS)) for codes in (ROWS, np.concatenate([ROWS, ONE])))
    low, high = float(lower(inn, TRIALS, 1e-4)), float(upper(out, TRIALS, 1e-4))
    assert (low - math.exp(NEAR) * high <= sold.profile(NEAR)) is within, (inn, out, sold.profile(NEAR))
    assert math.log((low - float(sold.delta)) / high) > 1, "enough trials to see most of what is paid for"
