"""The mean in two stages: what it spends, how far one person moves what is noised, and when the planner asks for it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from statistics_world import Copies, World, context, seeded

import sordino as sd
from sordino import statistics as st
from sordino.errors import QueryError
from sordino.lab import audit
from sordino.mechanisms import QuantileExponential
from sordino.schema.column import Column
from sordino.statistics.mean_two_stage import ENOUGH, OUTERMOST, QUARTILES, ROW, SPIKED, StagedStep, outer_level, zero_of
from sordino.summaries.totals import Ranks

WIDE = Column("x", "float", (-10_000, 10_000))
SMALL = Column("x", "int", (0, 3))
ONE = Fraction(1)


def step(column: Column = WIDE, epsilon: Any = ONE, **facts: Any) -> StagedStep:
    about = context(column, **facts)
    return StagedStep("x", about.columns["x"].grid(), Fraction(epsilon), about)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize(("m", "g"), [(1, 1), (3, 2)])
@pytest.mark.parametrize("rows", [None, 1000, 10**6])
def test_quartiles_and_halves_together_cost_the_price(relation: str, m: int, g: int, rows: int | None) -> None:
    grouped = g > 1
    staged = step(relation=relation, person=m > 1, m=m, g=g, grouped=grouped, keys=(("a",), ("b",)) if grouped else None, rows=rows)
    spread = (g if grouped else 1) * (2 if relation == "replace" and grouped else 1)
    quartiles = sum(mechanism.epsilon * spread for mechanism in staged.mechanisms)
    counted = 0 if staged.counting is None else staged.counting.epsilon
    assert bool(counted) is (not grouped and (rows or 0) >= ENOUGH * m)
    assert quartiles + counted + staged.noise.epsilon == staged.cost.epsilon == 1
    assert all(certificate.check().sound for certificate in staged.certificates())


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [None, 1000])
def test_every_quantile_that_may_be_drawn_is_certified(relation: str, rows: int | None, monkeypatch: pytest.MonkeyPatch) -> None:
    made = QuantileExponential.certificate
    monkeypatch.setattr(QuantileExponential, "certificate", lambda self: replace(made(self), assumptions=repr(self)))
    staged = step(relation=relation, rows=rows)
    drawn = {staged.mechanisms[0], *(staged.upper(first) for first in (zero_of(staged.grid), zero_of(staged.grid) + 1))}
    assert {mechanism.q for mechanism in drawn} == {*staged.levels, SPIKED}
    assert {repr(mechanism) for mechanism in drawn} <= {certificate.assumptions for certificate in staged.certificates()}
    assert len({mechanism.certificate().cost for mechanism in drawn}) == 1


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_inside_every_limits_one_person_moves_the_halves_by_the_claimed_reach_at_most(relation: str, rows: int) -> None:
    staged = step(SMALL, relation=relation, person=rows > 1, m=rows)
    people = [p for r in range(rows + 1) for p in product(range(4), repeat=r)]
    worst = 0
    for low, high in ((0, 3), (0, 1), (1, 3), (1, 2)):
        limits = np.array([[low, high]], object)
        for others in ((), (0, 2), (3, 3, 1)):

            def halves(person: tuple[int, ...], low: int = low, high: int = high, limits: Any = limits, others: Any = others) -> Any:
                values = [min(max(v, low), high) for v in (*others, *person)]
                return staged.locations(np.array([len(values)], object), np.array([sum(values)], object), limits)

            pairs = product(people, people) if relation == "replace" else ((person, ()) for person in people)
            worst = max(worst, *(int(np.abs(halves(a) - halves(b)).sum()) for a, b in pairs))
    assert 0.99 * staged.noise.reach < worst <= staged.noise.reach


def test_with_a_public_size_a_replaced_row_moves_the_sum_by_the_width_of_the_limits() -> None:
    staged = step(replace(SMALL, nulls=0), relation="replace", size=3, filtered=False)
    limits = np.array([[1, 3]], object)
    sums = {
        t: staged.locations(np.array([3], object), np.array([sum(max(v, 1) for v in t)], object), limits)
        for t in product(range(4), repeat=3)
    }
    pairs = ((a, b) for a in sums for b in sums if sum(x != y for x, y in zip(a, b, strict=True)) == 1)
    assert max(int(np.abs(sums[a] - sums[b]).sum()) for a, b in pairs) == ROW <= staged.noise.reach


def test_limits_lie_around_the_quartiles_and_inside_the_bounds() -> None:
    staged = step(Column("x", "int", (0, 1000)))
    assert staged.limits([400, 420]) == (330, 490)
    assert staged.limits([420, 400]) == (330, 490)
    assert staged.limits([5, 6]) == (1, 10)
    assert staged.limits([5, 5]) == (0, 1000)  # half the rows are equal, and the others may be anywhere
    assert staged.limits([0, 1000]) == (0, 1000)
    assert staged.limits([0, 10]) == (0, 210)  # many zeros: what is not zero may lie far out


def normal(seed: int, column: Column, number: int = 1000) -> World:
    grid = column.grid()
    x = np.random.default_rng(seed).normal(50, 10, number)
    return World({"x": column}, {"x": [int(v) for v in np.floor(x / float(grid.step)).astype(np.int64) - grid.low]})


def test_wide_bounds_cost_hardly_anything() -> None:
    staged = step(rows=1000)
    answers = staged.release(Copies(normal(1, WIDE), 100).ask, seeded(), Copies(normal(1, WIDE), 100).groups)
    truth = np.mean([float((v + WIDE.grid().low) * WIDE.grid().step) for v in normal(1, WIDE).values["x"]])
    values = np.array([a.value for a in answers])
    assert np.sqrt(np.mean((values - truth) ** 2)) < 0.3  # clamped, the noise alone is 20
    assert np.mean([a.low <= truth <= a.high for a in answers]) > 0.85
    assert all(staged.interval(a, 0.95) == (a.low, a.high) for a in answers[:3])
    low, high = staged.interval(answers[0], 0.5)
    assert answers[0].low < low < high < answers[0].high


def beyond(step: StagedStep, answers: Any, values: Any) -> list[tuple[int, int, int]]:
    """For each answer how many rows lie beyond its limits, at most how many it says, and of how many."""
    grid, out = step.grid, []
    for answer, said in zip(answers, step.moved(answers), strict=True):
        low, high = answer.raw[-3:-1]
        assert said["limits"] == [float(grid.value(int(end))) for end in (low, high)]
        out.append((int(((values < low) | (values > high)).sum()), said["at most"], said["of about"]))
    return out


@pytest.mark.parametrize(("rows", "epsilon"), [(8_000, ONE), (25_000, Fraction(1, 5))])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_at_most_so_many_rows_were_moved_in_at_least_95_of_100_releases(rows: int, epsilon: Fraction, relation: str) -> None:
    column = Column("x", "int", (0, 1_000_000), nulls=0)
    x = np.minimum(np.random.default_rng(5).pareto(1.5, rows) * 1_000, 1_000_000).astype(np.int64)
    public: Any = {"size": rows, "filtered": False} if relation == "replace" else {}
    staged = step(column, epsilon, relation=relation, rows=rows, **public)
    found = []
    for seed in range(4):
        copies = Copies(World({"x": column}, {"x": x.tolist()}), 60)
        found += beyond(staged, staged.release(copies.ask, seeded(seed), copies.groups), x)
    truth, most, of = (np.array(part) for part in zip(*found, strict=True))
    assert (truth > 0).all()
    assert (truth <= most).mean() >= 0.95 - 2 * np.sqrt(0.05 * 0.95 / len(found))
    assert (truth <= most - staged.counting.radius(0.9)).mean() < 0.8  # a twin without the radius does not cover
    assert most.mean() < truth.mean() + 4 * 20 / float(epsilon)
    assert np.abs(of / rows - 1).max() < 0.05


def test_how_many_rows_were_moved_is_counted_only_where_it_says_something() -> None:
    assert step(rows=4_999).counting is None
    assert step(rows=5_000).counting is not None
    assert step(rows=5_000, person=True, m=3).counting is None
    assert step(rows=15_000, person=True, m=3).counting is not None
    assert step(rows=5_000, epsilon=Fraction(1, 5)).counting is None
    answers = step(rows=1_000).release(normal(1, WIDE).ask, seeded(), None)
    (said,) = step(rows=1_000).moved(answers)
    assert said["at most"] is None
    assert said["limits"][0] < 50 < said["limits"][1]


HOSTILE = {
    "two heaps": ([0] * 30 + [3] * 30, [0] * 30 + [3] * 31),
    "ties and a bound": ([2] * 60, [2] * 60 + [0]),
}


@pytest.mark.parametrize("pair", HOSTILE)
def test_hostile_neighbours_do_not_refute_the_price_and_a_twin_with_an_eighth_of_the_noise_is_refuted(pair: str) -> None:
    worlds = [World({"x": SMALL}, {"x": list(rows)}) for rows in HOSTILE[pair]]
    staged = step(SMALL, 2)

    def release(staged: StagedStep) -> Any:
        draw = seeded(7)

        def many(world: World, number: int) -> list[float]:
            copies = Copies(world, number)
            return [answer.raw[0] + answer.raw[1] for answer in staged.release(copies.ask, draw, copies.groups)]

        return many

    honest = audit(release(staged), *worlds, claimed=2.0, trials=400, vectorised=True, confidence=1 - 1e-7)
    assert honest.verdict == "consistent"

    class Twin(StagedStep):
        @property
        def noise(self) -> Any:  # type: ignore[override]
            return replace(super().noise, reach=super().noise.reach // 8)

    twin = Twin(staged.column, staged.grid, staged.epsilon, staged.context)
    caught = audit(release(twin), *worlds, claimed=2.0, trials=400, vectorised=True, confidence=1 - 1e-7)
    assert caught.verdict == "refuted"


@pytest.mark.parametrize("facts", [{}, {"rows": 1000}, {"rows": 10**6}, {"relation": "replace", "size": 1000, "filtered": False}])
@pytest.mark.parametrize("column", [WIDE, replace(WIDE, shape="symmetric"), Column("x", "float", (-1e12, 1e12))])
def test_a_plain_mean_is_that_of_the_clamped_values_whatever_else_is_declared(column: Column, facts: dict[str, Any]) -> None:
    for epsilon in ("0.1", "1", "20"):
        ways = st.mean("x").ways(Fraction(epsilon), Fraction(0), context(column, **facts))
        assert list(ways) == ["laplace"]
        assert not getattr(ways["laplace"](), "covers", "")


def test_methods_are_part_of_the_question_and_unknown_ones_are_refused() -> None:
    words = [st.mean("x", method).question() for method in ("auto", "clamped", "two_stage", "trimmed")]
    assert words[0] == {"statistic": "mean", "column": "x"}
    assert len({str(word) for word in words}) == 4
    assert st.mean("x", bounds="private").question()["bounds"] == "private"
    for bad in (lambda: st.mean("x", "median"), lambda: st.mean("x", bounds=(0, 1)), lambda: st.mean("x", "clamped", "private")):
        with pytest.raises(QueryError):
            bad()


def test_a_mean_beside_a_count_is_still_read_off_one_draw() -> None:
    about = context(replace(WIDE, nulls=0), rows=10**6)
    asked = {"n": st.count(), "a": st.mean("x"), "s": st.sum("x")}
    assert len(st.plan_steps(asked, ONE, Fraction(0), about).draws) == 1
    alone = {"n": st.count(), "a": st.mean("x", "two_stage"), "s": st.sum("x")}
    assert len(st.plan_steps(alone, ONE, Fraction(0), about).draws) == 2


def test_limits_are_taken_from_farther_out_the_more_rows_there_are() -> None:
    grid = WIDE.grid()
    found = [outer_level(grid, ONE, context(WIDE, rows=rows)) for rows in (None, 100, 1_000, 3_000, 30_000, 10**6)]
    assert found == sorted(found, reverse=True)
    assert found[0] == found[1] == QUARTILES[0]
    assert found[-1] == OUTERMOST
    assert found[3] < Fraction(1, 10)


@pytest.mark.parametrize("rows", [1_000, 3_000, 20_000])
def test_a_column_of_zeros_and_a_few_large_values_keeps_its_mean(rows: int) -> None:
    x = np.where(np.arange(rows) % 5, 0.0, 20_000.0 + 10 * (np.arange(rows) % 1_000))
    with sd.table({"x": x}, bounds={"x": (0, 1e6)}, size=rows, budget=sd.Budget(1), ledger=":memory:") as t:
        answers = sd.lab.simulate(t.mean("x", method="two_stage"), epsilon=1, repeats=40)
    assert np.abs(np.median(answers) / x.mean() - 1) < 0.2


@pytest.mark.parametrize("zeros", [0.3, 0.5, 0.7])
def test_many_zeros_and_a_long_tail_cost_a_small_table_no_more_than_bounds_would(zeros: float) -> None:
    rng = np.random.default_rng(3)
    x = np.where(rng.random(1_000) < zeros, 0.0, np.minimum(rng.lognormal(10, 1.2, 1_000), 1e6))
    with sd.table({"x": x}, bounds={"x": (0, 1e6)}, size=1_000, budget=sd.Budget(1), ledger=":memory:") as t:
        staged, clamped = (sd.lab.simulate(q, epsilon=1, repeats=2_000) for q in (t.mean("x", method="two_stage"), t.mean("x")))
    rmse = [np.sqrt(np.mean((answers - x.mean()) ** 2)) for answers in (staged, clamped)]
    assert rmse[0] < 1.3 * rmse[1]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_both_quantiles_together_cost_twice_the_price_of_one_though_the_second_depends_on_the_first(relation: str) -> None:
    staged, points = step(Column("x", "int", (0, 5)), 4, relation=relation), np.arange(6)
    zeros = {1: range(2), 2: range(3), 39: range(8, 12), 40: range(8, 12)}  # of so many rows: where the lower quartile turns to zero
    sizes = [(a, b, n - a - b) for n, several in zeros.items() for a in several for b in range(n - a + 1)]
    tables = {size: np.repeat([0, 1, 4], size) for size in sizes}

    def law(table: Any, by_data: bool) -> Any:
        """ln P of both draws; a broken twin looks at the rows to choose the second mechanism."""
        spike = table[(len(table) - 1) // 4] == 0
        seconds = [staged.upper(0 if spike else 1) if by_data else staged.upper(y) for y in points]
        first = staged.mechanisms[0].log_probability(table, points)
        return np.stack([first[y] + second.log_probability(table, points) for y, second in zip(points, seconds, strict=True)])

    steps = [np.array(move) for move in ((1, 0, 0), (0, 1, 0), (0, 0, 1))]
    moves = steps if relation == "add_remove" else [one - other for one in steps for other in steps if one is not other]
    pairs = [(one, other) for one in tables for move in moves if (other := tuple(map(int, one + move))) in tables]
    worst = {}
    for by_data in (False, True):
        found = {name: law(table, by_data) for name, table in tables.items()}
        worst[by_data] = max(float(np.abs(found[one] - found[other]).max()) for one, other in pairs)
    price = float(2 * staged.epsilon * staged.share)
    assert len(pairs) > 100
    assert 0.5 * price < worst[False] <= price < worst[True]


@pytest.mark.parametrize("first", [0, 1, 3])
def test_the_second_law_follows_from_the_first_draw_whatever_the_rows_are(first: int) -> None:
    staged = step(SMALL, 2)
    for rows in ([0] * 40, [3] * 40, [0] * 20 + [3] * 20):
        world, laws, real = World({"x": SMALL}, {"x": list(rows)}), [], seeded(3)

        def draw(law: Any, laws: list[Any] = laws, real: Any = real) -> Any:
            laws.append(law)
            if len(laws) == 2:  # where in its cell the first quantile lies: pinned to the point we want
                return int(staged.mechanisms[0].measure.total(first))
            return real(law)

        staged.release(world.ask, draw, None)
        expected = staged.upper(first)
        (windows,) = world.ask(Ranks("x", (expected.q,), expected.radius))
        assert np.allclose(laws[2].weights, expected.cells(windows[0]).weights)
    other = staged.upper(1 if first == 0 else 0)
    (windows,) = world.ask(Ranks("x", (other.q,), other.radius))
    assert not np.array_equal(laws[2].weights, other.cells(windows[0]).weights)
