"""Huber's mean and other M-estimates: the truth at a huge price, the exact law on small worlds, and a twin that is caught."""

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
from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.sensitivity.location import read_curve
from sordino.statistics.robust import LocationStep

COLUMN = Column("x", "float", (-10_000, 10_000))
SMALL = Column("x", "int", (0, 3))
HUGE, DELTA = Fraction(400), Fraction(1, 10**6)
GROUPS = (("a",), ("b",))


def world(x: Any, column: Column = COLUMN, **facts: Any) -> World:
    grid = column.grid()
    steps = np.clip(np.floor(np.asarray(x) / float(grid.step)).astype(np.int64) - grid.low, 0, grid.width)
    return World({"x": column}, {"x": steps.tolist()}, **facts)


def newton(x: Any, psi: Any, scale: float) -> float:
    """The root by bisection in floats, the slow and obvious way."""
    low, high = float(np.min(x)), float(np.max(x))
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if psi((np.asarray(x) - middle) / scale).sum() > 0 else (low, middle)
    return high


CURVES = {"huber": lambda z: np.clip(z, -1.345, 1.345), "logcosh": lambda z: np.tanh(z / 1.2047)}


@pytest.mark.parametrize("psi", CURVES)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("scale", [None, 3])
def test_at_a_huge_price_the_answer_is_the_root(psi: str, relation: str, scale: int | None) -> None:
    x = np.random.default_rng(4).gamma(2, 5, 2000)
    step = st.m_estimate("x", psi, scale).step(HUGE, Fraction(0), context(COLUMN, relation=relation))
    (answer,) = step.release(world(x).ask, seeded(), None)
    spread = (np.quantile(x, 0.75) - np.quantile(x, 0.25)) / 1.349 if scale is None else scale
    assert answer.value == pytest.approx(newton(x, CURVES[psi], float(spread)), abs=0.05)
    assert step.cost.epsilon == HUGE


def gentle(z: float) -> float:
    return z / (1 + abs(z))


def test_a_curve_of_ones_own_has_its_root_and_keeps_its_price() -> None:
    x = np.random.default_rng(4).gamma(2, 5, 2000)
    step: Any = st.m_estimate("x", gentle, 3).step(HUGE, Fraction(0), context(COLUMN))
    (answer,) = step.release(world(x).ask, seeded(), None)
    assert answer.value == pytest.approx(newton(x, lambda z: gentle(np.clip(z, -8, 8)), 3), abs=0.1)  # read up to eight scales out
    small: Any = st.m_estimate("x", gentle, 1).step(Fraction(1), Fraction(0), context(SMALL))
    assert 0.2 < worst_loss(small, range(5), "add_remove") <= 1 + 1e-9
    assert all(certificate.check().sound for certificate in small.certificates())


def test_groups_have_roots_and_scales_of_their_own() -> None:
    rng = np.random.default_rng(1)
    x = np.concatenate([rng.normal(0, 1, 500), rng.normal(1000, 50, 500)])
    rows = world(x, group=[GROUPS[i >= 500] for i in range(1000)], public=GROUPS)
    step = st.huber_mean("x").step(Fraction(50), Fraction(0), context(COLUMN, grouped=True, keys=GROUPS))
    low, high = step.release(rows.ask, seeded(), GROUPS)
    assert low.value == pytest.approx(0, abs=0.5)
    assert high.value == pytest.approx(1000, abs=20)


class Talk:
    def __init__(self, step: LocationStep) -> None:
        self.step = step

    def release(self, ask: Any, draw: Any) -> Any:
        (answer,) = self.step.release(ask, draw, None)
        return answer.raw


def worst_loss(step: LocationStep, sizes: Any, relation: str, rows: int = 1) -> float:
    laws: dict[Any, Any] = {}
    worst = 0.0
    for pair in neighbours(range(4), sizes, relation, max_rows=rows):
        for table in pair:
            if table not in laws:
                laws[table] = law_of(Talk(step), World(step.context.columns, {"x": list(table)}).ask)
        worst = max(worst, loss(laws[pair[0]], laws[pair[1]]))
    return worst


@pytest.mark.parametrize(("relation", "rows"), [("add_remove", 1), ("add_remove", 2), ("replace", 1)])
@pytest.mark.parametrize("psi", CURVES)
def test_with_a_public_scale_the_exact_loss_is_within_the_price(relation: str, rows: int, psi: str) -> None:
    about = context(SMALL, relation=relation, person=rows > 1, m=rows)
    step = LocationStep("x", read_curve(psi), Fraction(1), "smooth", Fraction(1), Fraction(0), about)
    sizes = range(5) if relation == "add_remove" else [4]
    assert 0.2 < worst_loss(step, sizes, relation, rows) <= 1 + 1e-9


def placed(step: LocationStep, rows: World) -> Any:
    """The law a step hands to the sampler."""
    laws: list[Any] = []

    def draw(law: Any) -> Any:
        laws.append(law)
        return 0

    step.release(rows.ask, draw, None)
    return laws[-1]


def distance(one: Any, other: Any) -> float:
    """The largest log-ratio of two placed laws around their centres, cell by cell."""
    cells = np.arange(-2000, 2001) + one.location
    masses = []
    for law in (one, other):
        edges = (np.append(cells, cells[-1] + 1) - 0.5 - law.location) / float(law.scale)
        masses.append(np.diff(law.law.cdf(edges)))
    return float(np.abs(np.log(masses[0]) - np.log(masses[1])).max())


def test_a_twin_calibrated_for_rows_that_come_and_go_is_caught_when_rows_are_replaced() -> None:
    class Thrifty(LocationStep):
        def location(self, rows: Any, frame: Any) -> Any:
            return replace(super().location(rows, frame), relation=Relation.ADD_REMOVE)

    column = Column("x", "int", (0, 40_000))
    crowd = [19_000 + 10 * i for i in range(200)]
    pair = [World({"x": column}, {"x": [*crowd, end]}) for end in (0, 40_000)]
    found = []
    for kind in (LocationStep, Thrifty):
        step = kind("x", read_curve("huber"), Fraction(2000), "smooth", Fraction(1), Fraction(0), context(column, relation="replace"))
        found.append(distance(*(placed(step, rows) for rows in pair)))
    assert 0.5 < found[0] <= 1 + 1e-6
    assert found[1] > 1.5


def test_the_quartiles_and_the_root_cost_the_price() -> None:
    for facts in ({}, {"relation": "replace"}, {"rows": 10**5}, {"person": True, "m": 3}):
        step: Any = st.huber_mean("x").step(Fraction(1), Fraction(0), context(COLUMN, **facts))
        assert sum(mechanism.epsilon for mechanism in step.mechanisms) + step.fit.epsilon == step.cost.epsilon == 1
    assert all(certificate.check().sound for certificate in step.certificates())
    public: Any = st.huber_mean("x", 5).step(Fraction(1), Fraction(0), context(COLUMN))
    assert public.fit.epsilon == 1
    assert "public scale" in public.name


@pytest.mark.parametrize("bounds", [(-1e4, 1e4), (-1e12, 1e12)])
def test_wild_rows_and_wild_bounds_do_not_move_it(bounds: tuple[float, float]) -> None:
    column = replace(COLUMN, bounds=bounds)
    x = np.random.default_rng(2).normal(50, 5, 10_000)
    clean = float(x[100:].mean())
    x[:100] = bounds[1]
    copies = Copies(world(x, column), 10)
    answers = st.huber_mean("x").step(Fraction(1), Fraction(0), context(column)).release(copies.ask, seeded(), copies.groups)
    assert all(abs(answer.value - clean) < 0.2 for answer in answers)


def test_a_published_bound_gives_an_interval() -> None:
    x = np.random.default_rng(2).normal(50, 5, 5000)
    step: Any = st.huber_mean("x").ways(Fraction(1), DELTA, context(COLUMN, rows=5000))["published"]()
    (answer,) = step.release(world(x).ask, seeded(), None)
    assert answer.low < answer.value < answer.high
    assert step.interval(answer, 0.95) == (answer.low, answer.high)
    low, high = step.interval(answer, 0.5)
    assert answer.low <= low <= high <= answer.high


def test_the_curve_is_part_of_the_question() -> None:
    asked = [st.huber_mean("x"), st.huber_mean("x", 2), st.m_estimate("x", "logcosh"), st.m_estimate("x", gentle)]
    assert len({str(q.question()) for q in asked}) == 4
    assert st.m_estimate("x", gentle).question() == st.m_estimate("x", gentle).question()
    for bad in (lambda: st.huber_mean("x", -1), lambda: st.m_estimate("x", "tukey")):
        with pytest.raises(QueryError):
            bad()
