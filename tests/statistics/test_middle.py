"""Trimmed and winsorised means: the truth at a huge price, the exact law on small worlds, and twins that are caught."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import Copies, World, context, seeded

from sordino import statistics as st
from sordino.errors import QueryError
from sordino.lab.world import law_of, loss, neighbours
from sordino.schema.column import Column
from sordino.sensitivity.ladder import Ladder
from sordino.statistics.middle import COUNT, Kept, MiddleStep

INCOME = Column("x", "int", (0, 1_000_000))
SMALL = Column("x", "int", (0, 3), nulls=0)
TENTH, HUGE, DELTA = Fraction(1, 10), Fraction(400), Fraction(1, 10**6)
GROUPS = (("a",), ("b",))


def incomes(number: int = 1000) -> list[int]:
    return [int(v) for v in np.sort(np.clip(np.random.default_rng(3).lognormal(np.log(40_000), 0.8, number), 0, 1e6))]


@pytest.mark.parametrize("winsorized", [False, True])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("frame", ["plain", "public size", "people", "groups"])
def test_at_a_huge_price_the_answer_is_the_truth(winsorized: bool, relation: str, frame: str) -> None:
    if frame == "public size" and relation == "add_remove":
        return
    x, groups = incomes(), GROUPS if frame == "groups" else None
    column = replace(INCOME, nulls=0) if frame == "public size" else INCOME
    facts: dict[str, Any] = {"size": 1000, "filtered": False} if frame == "public size" else {}
    about = context(column, relation=relation, person=frame == "people", m=3, grouped=groups is not None, keys=groups, **facts)
    group = [GROUPS[i % 2] for i in range(1000)] if groups else None
    world = World({"x": column}, {"x": list(x)}, list(range(1000)), group, groups)
    step = MiddleStep("x", TENTH, "smooth", HUGE, Fraction(0), about, winsorized)
    for answer, part in zip(step.release(world.ask, seeded(), groups), [x[i::2] for i in (0, 1)] if groups else [x], strict=True):
        t = len(part) // 10
        middle = part[t : len(part) - t]
        truth = (sum(middle) + t * (middle[0] + middle[-1])) / len(part) if winsorized else np.mean(middle)
        assert answer.value == pytest.approx(truth, rel=1e-2)  # one row fewer is kept, for safety
    assert step.cost.epsilon == HUGE
    assert step.cost.delta == 0


def test_the_kept_rows_follow_from_the_number_of_rows() -> None:
    assert Kept.of(1000, TENTH) == Kept(800, 100)
    assert Kept.of(7, Fraction(2, 5)) == Kept(3, 2)
    assert Kept.of(-5, TENTH) == Kept(1, 0)


@pytest.mark.parametrize(
    "facts", [{}, {"relation": "replace"}, {"relation": "replace", "size": 4, "filtered": False}, {"person": True, "m": 2}]
)
def test_the_parts_cost_the_price_and_hold(facts: dict[str, Any]) -> None:
    step = MiddleStep("x", TENTH, "smooth", Fraction(1), Fraction(0), context(SMALL, **facts))
    counted = Fraction(0) if step.count is None else step.count.epsilon
    assert counted + step.fit.epsilon == 1
    assert (step.count is None) == ("size" in facts)
    assert all(certificate.check().sound for certificate in step.certificates())


class Talk:
    """A step as a mechanism whose release is everything that was drawn."""

    def __init__(self, step: MiddleStep) -> None:
        self.step = step

    def release(self, ask: Any, draw: Any) -> Any:
        (answer,) = self.step.release(ask, draw, None)
        return answer.raw


def worst_loss(step: MiddleStep, sizes: Any, relation: str, rows: int = 1, span: int = 12) -> float:
    """The largest log-ratio of the joint law of all draws over every pair of neighbours in a small world."""
    laws: dict[Any, Any] = {}
    worst = 0.0
    for pair in neighbours(range(4), sizes, relation, max_rows=rows):
        for table in pair:
            if table not in laws:
                laws[table] = law_of(Talk(step), World({"x": SMALL}, {"x": list(table)}).ask, span=span)
        worst = max(worst, loss(laws[pair[0]], laws[pair[1]]))
    return worst


@pytest.mark.parametrize("winsorized", [False, True])
def test_with_a_public_size_the_exact_loss_is_within_the_price(winsorized: bool) -> None:
    about = context(SMALL, relation="replace", size=4, filtered=False)
    step = MiddleStep("x", Fraction(1, 4), "smooth", Fraction(1), Fraction(0), about, winsorized)
    found = worst_loss(step, [4], "replace")
    assert 0.3 < found <= 1 + 1e-9


@pytest.mark.parametrize(("rows", "winsorized"), [(1, True), (2, False)])
def test_with_a_private_size_the_exact_joint_loss_is_within_the_price(rows: int, winsorized: bool) -> None:
    about = context(SMALL, person=rows > 1, m=rows)
    step = MiddleStep("x", Fraction(1, 4), "smooth", Fraction(12), Fraction(0), about, winsorized)
    assert worst_loss(step, range(4), "add_remove", rows) <= 12 + 1e-6


def test_a_twin_that_does_not_pay_for_the_number_of_rows_is_caught() -> None:
    class Thrifty(MiddleStep):
        @property
        def count(self) -> Any:  # type: ignore[override]
            return replace(super().count, epsilon=self.epsilon)

    step = Thrifty("x", Fraction(1, 4), "smooth", Fraction(2), Fraction(0), context(SMALL))
    assert worst_loss(step, range(3), "add_remove", span=20) > 2.01


def test_a_twin_with_half_the_ladder_is_caught() -> None:
    class Bold(MiddleStep):
        def located(self, middle: Any, kept: Kept) -> Any:
            found, shift = super().located(middle, kept)
            half = Ladder(lambda k0, k1: found.ladder.block(k0, k1) // 4, found.ladder.top, found.ladder.depth)
            return replace(found, ladder=half), shift

    about = context(SMALL, relation="replace", size=4, filtered=False)
    step = Bold("x", Fraction(1, 4), "smooth", Fraction(1), Fraction(0), about)
    assert worst_loss(step, [4], "replace") > 1.05


def test_wild_rows_do_not_move_it() -> None:
    column = Column("x", "float", (-10_000, 10_000))
    grid = column.grid()
    x = np.random.default_rng(2).normal(50, 5, 10_000)
    clean = float(x[100:].mean())
    x[:100] = 1e4
    steps = np.minimum(np.floor(x / float(grid.step)).astype(np.int64) - grid.low, grid.width)
    copies = Copies(World({"x": column}, {"x": steps.tolist()}), 20)
    for question in (st.trimmed_mean("x"), st.mean("x", "trimmed")):
        answers = question.step(Fraction(1, 2), Fraction(0), context(column)).release(copies.ask, seeded(), copies.groups)
        assert all(abs(answer.value - clean) < 0.2 for answer in answers)


def test_a_published_bound_gives_an_interval_that_holds() -> None:
    x = incomes()
    step: Any = st.trimmed_mean("x").ways(Fraction(1), DELTA, context(INCOME, rows=1000))["published"]()
    copies = Copies(World({"x": INCOME}, {"x": x}), 100)
    answers = step.release(copies.ask, seeded(), copies.groups)
    truth = np.mean(x[100:900])
    assert step.bar == "published"
    assert step.cost.delta == DELTA
    assert np.mean([a.low <= truth <= a.high for a in answers]) > 0.8  # noise only: fewer rows are kept than a tenth at either end
    assert np.median([a.high - a.low for a in answers]) < 20_000
    assert all(step.interval(a, 0.95) == (a.low, a.high) for a in answers[:3])
    low, high = step.interval(answers[0], 0.5)
    assert answers[0].low <= low <= high <= answers[0].high


@pytest.mark.parametrize("trim", [0, "0.5", -1, "x", None])
def test_an_impossible_trim_is_refused(trim: Any) -> None:
    with pytest.raises(QueryError):
        st.trimmed_mean("x", trim)


def test_what_needs_a_delta_or_reads_too_much_is_refused_before_the_charge() -> None:
    with pytest.raises(QueryError, match="delta"):
        st.trimmed_mean("x").ways(Fraction(1), Fraction(0), context(INCOME))["published"]()
    with pytest.raises(QueryError, match="larger"):
        st.trimmed_mean("x").step(Fraction(1, 10**5), Fraction(0), context(INCOME))
    assert st.trimmed_mean("x").question() != st.winsorized_mean("x").question() != st.trimmed_mean("x", "0.2").question()
    assert Fraction(2, 25) == COUNT
