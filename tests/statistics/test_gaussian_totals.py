"""Gaussian noise for totals by group: taken where its interval is narrower, priced by the L2 norm of what one person can move."""

from __future__ import annotations

from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from statistics_world import HUGE, SMALL, World, context, seeded

from sordino import statistics as st
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.statistics.budget_split import plan_steps
from sordino.statistics.port import Context
from sordino.summaries.totals import Item, Totals

ONE = Fraction(1)
X = Column("x", "int", (-3, 5), nulls=0)
ASKED = {
    "count": st.count(), "people": st.count_units(), "sum": st.sum("x"), "mean": st.mean("x"), "variance": st.variance("x"),
    "together": None,
}  # fmt: skip
KEYS = tuple((i,) for i in range(64))


def about(groups: int, rows: int = 1, total: int | None = None, *, relation: str = "add_remove", **facts: Any) -> Context:
    unit = PrivacyUnit("person", relation, groups * rows if total is None else total, groups, rows)
    return Context(unit, {"x": X}, grouped=True, keys=KEYS, **facts)


def first(statistic: Any, here: Context, epsilon: Fraction = ONE, delta: Fraction = SMALL) -> str:
    return next(iter(statistic.ways(epsilon, delta, here)))


@pytest.mark.parametrize("name", ["count", "people", "sum", "mean", "variance"])
def test_from_eight_groups_a_person_noise_is_gaussian(name: str) -> None:
    chosen = [first(ASKED[name], about(g)) for g in (1, 7, 8, 64)]
    assert chosen == ["laplace", "laplace", "gaussian", "gaussian"]


@pytest.mark.parametrize("name", ["count", "sum", "mean", "variance"])
def test_rows_that_may_all_lie_in_one_group_have_laplace_noise(name: str) -> None:
    """r = m: the two norms agree, and the second way is not even offered. People are counted once in each group they can be in."""
    assert tuple(ASKED[name].ways(ONE, SMALL, about(64, 64, 64))) == ("laplace",)
    assert first(st.count_units(), about(64, 64, 64)) == "gaussian"
    assert tuple(ASKED[name].ways(ONE, Fraction(0), about(64))) == ("laplace",)


@pytest.mark.parametrize(
    ("epsilon", "delta", "crossing"),
    [("0.1", "1e-5", 5), ("1", "1e-5", 6), ("5", "1e-5", 9), ("0.1", "1e-6", 6), ("1", "1e-6", 8), ("1", "1e-8", 12), ("5", "1e-8", 14)],
)
def test_the_crossing_is_where_the_widths_cross(epsilon: str, delta: str, crossing: int) -> None:
    """Where N^2/Q passes (1.95996 epsilon sigma_1/ln 20)^2, for both laws exactly calibrated."""
    least = next(g for g in range(1, 40) if first(st.count(), about(g), Fraction(epsilon), Fraction(delta)) == "gaussian")
    assert least == crossing


def test_the_gaussian_price_is_exactly_the_norm() -> None:
    """k groups of r rows and one of the rest, the worst allocation, under add and remove; a ledger that adds rho pays its square."""
    for g, r, total in product((1, 2, 5), (1, 2, 4), (1, 3, 8)):
        here = about(g, r, total, adds_rho=True)
        step: Any = st.count().ways(ONE, SMALL, here)["gaussian"]()
        best = max(sum(a * a for a in rows) for rows in product(range(r + 1), repeat=g) if sum(rows) <= total)
        mu = float(step.cost.mu_squared) ** 0.5
        assert mu * float(step.noise.scale) == pytest.approx(best**0.5, rel=1e-9)
        assert all(certificate.check().sound for certificate in step.certificates())


def moved(statistic: Any, way: str, here: Context, relation: str) -> tuple[float, float]:
    """The largest L2 move of what the noise is added to, over all small people, and what is paid for."""
    step = statistic.ways(ONE, SMALL, here)[way]()
    noise = getattr(step, "noise", None) or step.source.noise
    source = getattr(step, "source", step)
    every = [rows for n in range(here.unit.max_rows + 1) for rows in product(product(range(2), (0, 3, 8)), repeat=n)]
    limits = here.limits
    allowed = [rows for rows in every if all(sum(k == key for k, _ in rows) <= limits.rows for key in range(2))]
    found = []
    for rows in allowed:
        world = World({"x": X}, {"x": [v for _, v in rows]}, group=[(k,) for k, _ in rows], public=((0,), (1,)))
        items = {"rows": Item("rows", "x"), "sum": Item("sum", "x"), "coarse": Item("coarse", "x")}
        squares = Item("squares", "x")
        got = world.ask(Totals((*items.values(), squares)))
        rows_, total, coarse, square = (np.array([int(v) for v in got.values[i]], object) for i in (*items.values(), squares))
        where = source.locations(rows_, coarse, square) if type(source).__name__ == "Bernstein" else source.locations(rows_, total)
        found.append(np.asarray(where, float).ravel())
    pairs = [(a, np.zeros_like(a)) for a in found] if relation == "add_remove" else product(found, found)
    return max(float(np.linalg.norm(a - b)) for a, b in pairs), float(noise.reach)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", ["sum", "mean", "variance"])
@pytest.mark.parametrize("limits", [(2, 1, 2), (2, 2, 2), (2, 2, 3)])
def test_no_small_person_moves_totals_by_more_than_is_paid_for(name: str, limits: tuple[int, int, int], relation: str) -> None:
    """Two groups, values at both bounds and between them, every allocation of up to three rows; replacements with a remainder too."""
    g, r, total = limits
    if total > 2 and relation == "replace":
        total = 2  # three rows each would be a million pairs; `test_reach` has the remainder
    here = Context(PrivacyUnit("person", relation, total, g, r), {"x": X}, grouped=True, keys=((0,), (1,)), adds_rho=True)
    far, paid = moved(ASKED[name], "gaussian", here, relation)
    assert far <= paid * (1 + 1e-9)
    assert far >= 0.7 * paid  # and the price is not a loose one


def test_answers_are_right_and_intervals_hold() -> None:
    rng = np.random.default_rng(4)
    group, values = rng.integers(0, 64, 3000), rng.integers(0, 9, 3000)
    world = World({"x": X}, {"x": values.tolist()}, person=list(range(3000)), group=[(int(k),) for k in group], public=KEYS)
    for name, truth in (
        ("count", np.bincount(group, minlength=64)),
        ("sum", np.bincount(group, values - 3, minlength=64)),
        ("mean", np.bincount(group, values - 3, minlength=64) / np.bincount(group, minlength=64)),
    ):
        near = ASKED[name].ways(HUGE, SMALL, about(20))["gaussian"]().release(world.ask, seeded(), KEYS)
        assert np.allclose([a.value for a in near], truth, atol=0.01)
        step, dice = ASKED[name].ways(ONE, SMALL, about(20))["gaussian"](), seeded()
        inside = [a.low <= t <= a.high for _ in range(40) for a, t in zip(step.release(world.ask, dice, KEYS), truth, strict=True)]
        assert 0.935 <= np.mean(inside) <= 0.975


def test_a_bundle_takes_a_delta_only_where_it_gains() -> None:
    few, many = about(2), about(64)
    both = {"n": st.count(), "m": st.mean("x"), "q": st.median("x", interval=False)}
    assert plan_steps(both, ONE, SMALL, few).cost.delta == 0
    plan = plan_steps(both, ONE, SMALL, many)
    assert plan.cost.delta == SMALL
    assert [draw.cost.delta for draw in plan.draws if draw.cost.delta] == [SMALL]  # one draw for both totals, none for the median
    apart = plan_steps({"n": st.count(), "people": st.count_units()}, ONE, SMALL, many)
    assert [draw.cost.delta for draw in apart.draws] == [SMALL / 2, SMALL / 2]
    named = plan_steps(both | {"q": st.sum("x")}, ONE, SMALL, many, way="laplace")
    assert named.cost.delta == 0


def test_a_planted_bug_is_caught() -> None:
    """Gaussian noise for the L2 norm of one group, as if a person were in one group only."""
    right: Any = st.count().ways(ONE, SMALL, about(16))["gaussian"]()
    wrong: Any = st.count().ways(ONE, SMALL, about(1, adds_rho=True))["gaussian"]()
    assert float(wrong.noise.scale) * 4 == pytest.approx(float(right.noise.scale))
    shift = 16**0.5 / float(wrong.noise.scale)
    from sordino.privacy.cost import gaussian_delta

    assert gaussian_delta(shift, 1.0) > 1000 * float(SMALL)


def test_without_groups_only_a_ledger_that_adds_rho_is_offered_it() -> None:
    for statistic in (st.count(), st.sum("x"), st.mean("x"), st.variance("x")):
        assert tuple(statistic.ways(ONE, SMALL, context(X))) == ("laplace",)
        both = tuple(statistic.ways(ONE, SMALL, Context(PrivacyUnit(), {"x": X}, adds_rho=True)))
        assert both == ("laplace", "gaussian")  # quieter for the same epsilon; a wish or a price in rho may choose otherwise
