"""Counts of the rows that have a value, and variances as SQL divides them."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from statistics_world import Copies, World, context, income, seeded

from sordino import statistics as st
from sordino.schema.column import Column
from sordino.schema.expression import IsNull, Name, Not
from sordino.statistics.budget_split import bundles, plan_steps
from sordino.statistics.column_variance import Bernstein, Variance
from sordino.statistics.moments import MomentsStep
from sordino.statistics.row_count import Present, PresentUnits

AGE = Column("age", "int", (0, 100))
ONE, DRAWS = Fraction(1), 5_000


def test_a_column_with_a_value_is_a_condition_on_the_row():
    asked = Present("age")
    assert asked.predicates == (Not(IsNull(Name("age"))),)
    assert asked.label == "count(age)"
    assert asked.question() != st.count().question()
    step = asked.step(ONE, Fraction(0), context(AGE))
    assert step.cost == st.count().step(ONE, Fraction(0), context(AGE)).cost
    assert step.width(None) == st.count().step(ONE, Fraction(0), context(AGE)).width(None)


def test_it_counts_at_the_place_its_condition_has_in_the_frame():
    world = World({"age": AGE}, {"age": [1, None, 3]}, counted=[[True] * 3, [True, False, True]])
    step = Present("age", first=1).step(Fraction(10**6), Fraction(0), context(AGE))
    assert step.release(world.ask, seeded(), None)[0].value == 2


def test_people_with_a_value_are_counted_once_at_the_price_of_people():
    asked = PresentUnits("age")
    assert asked.predicates == (Not(IsNull(Name("age"))),)
    assert asked.question() != Present("age").question()
    several = context(AGE, person=True, m=4)
    assert asked.step(ONE, Fraction(0), several).width(None) == st.count_units().step(ONE, Fraction(0), several).width(None)
    assert asked.step(ONE, Fraction(0), several).width(None) < Present("age").step(ONE, Fraction(0), several).width(None)


def test_beside_a_mean_of_the_same_column_it_costs_nothing_more():
    asked = {"n": Present("age"), "m": st.mean("age"), "all": st.count()}
    assert bundles(asked, context(AGE)) == [("m", "n"), ("all",)]
    assert len(plan_steps({"n": Present("age"), "m": st.mean("age")}, ONE, Fraction(0), context(AGE)).draws) == 1
    assert bundles({"n": Present("sex"), "m": st.mean("age")}, context(AGE)) == [("n",), ("m",)]


def source(epsilon: str = "1") -> Bernstein:
    return Bernstein("age", AGE.grid(), Fraction(epsilon), context(AGE))


@pytest.mark.parametrize("rows", [(2.0, 3.0, 5.0), (0.3, 0.2, 0.1), (-4.0, 1.0, 0.5), (300.0, 20.0, 900.0), (0.5, 0.5, 0.5)])
def test_the_sample_variance_is_the_variance_times_n_over_n_minus_one(rows):
    raw = np.array([rows])
    n = max(sum(rows), 1.0)
    ours, theirs = (MomentsStep(source(), kind).answers(raw)[0] for kind in ("variance", "var_samp"))
    assert theirs.value == pytest.approx(ours.value * n / max(n - 1, 1))
    assert theirs.low <= theirs.value <= theirs.high
    root = MomentsStep(source(), "stddev_samp").answers(raw)[0]
    assert root.value == pytest.approx(theirs.value**0.5)
    assert (root.low, root.high) == pytest.approx((theirs.low**0.5, theirs.high**0.5))


def test_the_verbs_still_divide_by_n():
    assert Variance("age").question() == {"statistic": "variance", "column": "age"}
    assert Variance("age", sample=True).question() == {"statistic": "var_samp", "column": "age"}
    assert Variance("age", root=True, sample=True).label == "stddev_samp(age)"
    assert MomentsStep(source(), "var_samp").bar == "bound"
    assert MomentsStep(source(), "var_samp").width(100) == MomentsStep(source(), "variance").width(100)


@pytest.mark.parametrize("rows", [40, 1_000])
def test_the_interval_of_a_sample_variance_holds_as_often_as_it_says(rows):
    """Five standard deviations of the share among the draws below 95%: a false alarm in three million."""
    whole = income()
    world = World(whole.columns, {"income": whole.values["income"][:rows]})
    grid, copies = whole.columns["income"].grid(), Copies(world, DRAWS)
    x = np.array([float(grid.value(v)) for v in world.values["income"]])
    step = Variance("income", sample=True).step(Fraction(1), Fraction(0), context(whole.columns["income"]))
    found = step.release(copies.ask, seeded(), copies.groups)
    truth = x.var(ddof=1)
    assert np.mean([answer.low <= truth <= answer.high for answer in found]) >= 0.95 - 5 * (0.95 * 0.05 / DRAWS) ** 0.5
