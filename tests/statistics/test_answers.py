"""Every statistic, plain, grouped and over people, under both relations: with hardly any noise the answer is the truth."""

from __future__ import annotations

import datetime as dt
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import HUGE, SMALL, World, context

from sordino import statistics as st
from sordino.errors import QueryError
from sordino.noise import draw
from sordino.schema.column import Column

AGE = Column("age", "int", (-20, 120))
WEIGHT = Column("weight", "float", (0, 300))
PAID = Column("paid", "decimal", (0, 50), scale=2)
DAY = Column("day", "date", ("2020-01-01", "2025-01-01"))
CITY = Column("city", "cat", keys=("x", "y", "z"))
COLUMNS = (AGE, WEIGHT, PAID, DAY, CITY)
GROUPS = (("a",), ("b",), ("c",))
FRAMES = ["plain", "grouped", "people", "people grouped"]


def table(frame: str) -> World:
    rng = np.random.default_rng(5)
    number = 60
    values: dict[str, list[int | None]] = {}
    for column in (AGE, WEIGHT, PAID, DAY):
        values[column.name] = [int(v) for v in rng.integers(0, column.grid().width + 1, number)]
    values["age"][3] = None
    group = [GROUPS[i % 2] for i in range(number)] if "grouped" in frame else None
    public = GROUPS if "grouped" in frame else None
    person = [i // 2 for i in range(number)]
    return World(
        {c.name: c for c in COLUMNS}, values, person, group, public, counted=[[i % 3 == 0 for i in range(number)], [True] * number]
    )


def facts(frame: str, relation: str) -> Any:
    grouped, people = "grouped" in frame, "people" in frame
    keys = GROUPS if grouped else None
    m, g = (2, 2) if people else (1, 1)
    return context(*COLUMNS, relation=relation, person=people, m=m, g=g, keys=keys, grouped=grouped)


def values_of(world: World, column: str, key: tuple[Any, ...]) -> np.ndarray[Any, Any]:
    grid = world.columns[column].grid()
    found = [v for i in world.members(key) if (v := world.values[column][i]) is not None]
    return np.array([float((v + grid.low) * grid.step) for v in found])


def at_rank(x: np.ndarray[Any, Any], y: float, q: str) -> bool:
    """Whether y is a q-quantile: where q n is whole, every point between two rows is."""
    target = Fraction(q) * len(x)
    return bool((x < y - 1e-9).sum() <= target <= (x <= y + 1e-9).sum())


def released(statistic: Any, frame: str, relation: str, delta: Fraction = Fraction(0)) -> tuple[World, list[Any]]:
    world, about = table(frame), facts(frame, relation)
    step = statistic.step(HUGE, delta, about)
    assert step.cost.epsilon == HUGE
    assert all(certificate.check().sound for certificate in step.certificates())
    groups = GROUPS if "grouped" in frame else None
    answers = step.release(world.ask, draw, groups)
    assert len(answers) == (3 if groups else 1)
    return world, list(answers)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("frame", FRAMES)
def test_totals_come_out_exactly(frame: str, relation: str) -> None:
    world, n = released(st.count(), frame, relation)
    _, units = released(st.count_units(), frame, relation)
    _, several = released(st.counts(["p", "q"]), frame, relation)
    _, total = released(st.sum("age"), frame, relation)
    _, paid = released(st.sum("paid"), frame, relation)
    _, mean = released(st.mean("age"), frame, relation)
    _, weight = released(st.mean("weight"), frame, relation)
    _, both = released(st.means(["age", "weight"]), frame, relation)
    _, both_gaussian = released(st.means(["age", "weight"]), frame, relation, SMALL)
    _, variance = released(st.variance("age"), frame, relation)
    _, std = released(st.std("weight"), frame, relation)
    for i, key in enumerate(world.keys()):
        rows, x, w = world.members(key), values_of(world, "age", key), values_of(world, "weight", key)
        assert n[i].value == len(rows) == n[i].low == n[i].high
        assert units[i].value == (len(rows) if "people" not in frame else len({world.person[r] for r in rows}))  # type: ignore[index]
        assert several[i].value == (sum(world.counted[0][r] for r in rows), len(rows))
        assert total[i].value == x.sum()
        assert paid[i].value == pytest.approx(values_of(world, "paid", key).sum(), abs=0.02)
        if len(rows):
            assert mean[i].value == pytest.approx(x.mean(), abs=0.01)
            assert weight[i].value == pytest.approx(w.mean(), abs=0.01)
            assert both[i].value == pytest.approx((x.mean(), w.mean()), abs=0.01)
            assert both_gaussian[i].value == pytest.approx((x.mean(), w.mean()), abs=0.1)
            assert variance[i].value == pytest.approx(x.var(), abs=0.2)
            assert std[i].value == pytest.approx(w.std(), abs=0.01)
            assert mean[i].low <= mean[i].value <= mean[i].high


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("frame", FRAMES)
def test_ranks_come_out_exactly(frame: str, relation: str) -> None:
    world, median = released(st.median("age"), frame, relation)
    _, point = released(st.median("age", interval=False), frame, relation)
    _, upper = released(st.quantile("age", "0.9"), frame, relation)
    _, three = released(st.quantiles("weight", [0.75, 0.25, 0.5]), frame, relation)
    _, iqr = released(st.iqr("age"), frame, relation)
    _, day = released(st.median("day"), frame, relation)
    _, small = released(st.min("age"), frame, relation)
    _, large = released(st.max("age"), frame, relation)
    for i, key in enumerate(world.keys()):
        x, w = values_of(world, "age", key), values_of(world, "weight", key)
        if not len(x):
            continue
        assert at_rank(x, median[i].value, "0.5")
        assert at_rank(x, point[i].value, "0.5")
        assert at_rank(x, upper[i].value, "0.9")
        assert all(at_rank(w, y, q) for y, q in zip(three[i].value, ("0.25", "0.5", "0.75"), strict=True))
        first, last = (x_q + AGE.grid().low for x_q in iqr[i].raw)
        assert iqr[i].value == last - first
        assert at_rank(x, first, "0.25")
        assert at_rank(x, last, "0.75")
        assert at_rank(values_of(world, "day", key), (day[i].value - dt.date(1970, 1, 1)).days, "0.5")
        assert small[i].value == x.min()
        assert large[i].value == x.max()
        assert median[i].low <= np.median(x) <= median[i].high
        assert median[i].ranks is None
        assert point[i].low is None
        assert point[i].ranks[1] < 1  # a rate this steep leaves no rank in doubt


def cells(world: World, column: str, keys: tuple[Any, ...], frame: str) -> World:
    """The same rows grouped by a counted column as well."""
    held = [keys[i % 3] if i % 5 else keys[0] for i in range(world.size)]
    group = [(*(world.group[i] if world.group else ()), held[i]) for i in range(world.size)]
    public = tuple((*g, key) for g in (GROUPS if "grouped" in frame else ((),)) for key in keys)
    return World(world.columns, {column: [None] * world.size}, world.person, group, public)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("frame", FRAMES)
def test_counted_columns_come_out_exactly(frame: str, relation: str) -> None:
    world = cells(table(frame), "city", ("x", "y", "z"), frame)
    about, groups = facts(frame, relation), GROUPS if "grouped" in frame else None
    histogram = st.histogram("city").step(HUGE, Fraction(0), about).release(world.ask, draw, groups)
    mode = st.mode("city").step(HUGE, Fraction(0), about).release(world.ask, draw, groups)
    top = st.top_k("city", 2).step(HUGE, Fraction(0), about).release(world.ask, draw, groups)
    private = context(
        AGE, Column("city", "cat"), relation=relation, person="people" in frame, m=2, g=2, keys=about.keys, grouped=about.grouped
    )
    unlisted = st.histogram("city").step(HUGE, SMALL, private).release(world.ask, draw, groups)
    stable = st.mode("city").step(HUGE, SMALL, private).release(world.ask, draw, groups)
    for i, key in enumerate(groups or ((),)):
        truth = {city: len(world.members((*key, city))) for city in ("x", "y", "z")}
        assert histogram[i].value == truth
        assert histogram[i].low == truth
        assert unlisted[i].value == {city: n for city, n in truth.items() if n}
        if any(truth.values()):
            best = max(truth.values())
            assert truth[mode[i].value] == best
            assert set(map(truth.get, top[i].value)) == set(sorted(truth.values())[-2:])
            assert stable[i].value == "x"  # the lead is far larger than two rows in every group that has rows


def test_bins_are_cut_on_the_grid_and_named_in_the_columns_unit() -> None:
    about = context(AGE, DAY, WEIGHT)
    five = st.histogram("age", bins=5).counted(about)
    assert five.edges == (0, 28, 56, 84, 112, 140)
    assert five.keys == (0, 1, 2, 3, 4)
    named = st.histogram("weight", bins=[0, 70.5, 300]).step(HUGE, Fraction(0), about)
    world = World({"weight": WEIGHT}, {"weight": [None] * 5}, group=[(0,), (0,), (1,), (1,), (1,)], public=((0,), (1,)))
    assert named.release(world.ask, draw, None)[0].value == {(0.0, 70.5): 2, (70.5, 300.0): 3}
    assert st.histogram("day", bins=["2020-01-01", "2021-01-01", "2025-01-01"]).counted(about).edges == (0, 366, 1827)
    with pytest.raises(QueryError, match="out of order"):
        st.histogram("age", bins=[3, 2]).step(HUGE, Fraction(0), about)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_an_empty_table_has_an_answer_for_everything(relation: str) -> None:
    world = World({c.name: c for c in COLUMNS}, {c.name: [] for c in COLUMNS}, counted=[[]])
    about = context(*COLUMNS, relation=relation)
    one = Fraction(1)
    questions = [
        st.count(),
        st.sum("age"),
        st.mean("age"),
        st.means(["age", "weight"]),
        st.variance("age"),
        st.std("age"),
        st.median("age"),
    ]
    for question in [*questions, st.quantiles("age", [0.1, 0.9]), st.iqr("age"), st.min("age"), st.max("age"), st.counts(["p"])]:
        (answer,) = question.step(one, Fraction(0), about).release(world.ask, draw, None)  # type: ignore[attr-defined]
        numbers = np.array(answer.value if isinstance(answer.value, tuple) else (answer.value,), float)
        assert np.isfinite(numbers).all()


def test_a_public_size_halves_the_noise_of_the_mean_under_replace() -> None:
    column = Column("age", "int", (1000, 1100), nulls=1000)
    known = context(column, relation="replace", filtered=False, size=50)
    unknown = context(column, relation="replace", size=50)
    world = World({"age": column}, {"age": [100] * 50})
    step, other = (st.mean("age").step(HUGE, Fraction(0), about) for about in (known, unknown))
    assert step.release(world.ask, draw, None)[0].value == pytest.approx(1100, abs=1e-3)
    assert float(other.source.noise.scale / step.source.noise.scale) == 2  # type: ignore[attr-defined]
    total = st.sum("age").step(HUGE, Fraction(0), known)
    assert total.width(50) == pytest.approx(3 * 100 / 1e6, rel=0.01)
    assert st.sum("age").step(Fraction(1), Fraction(0), unknown).width(50) == pytest.approx(1100 * math.log(20), rel=0.01)


def test_very_wide_bounds_are_searched_from_zero_outwards() -> None:
    wide = Column("gain", "float", (-1e12, 1e12))
    grid = wide.grid()
    steps = [int((Fraction(v) / grid.step).__floor__()) - grid.low for v in range(-500, 501)]
    world = World({"gain": wide}, {"gain": [*steps]})  # type: ignore[dict-item]
    step = st.median("gain").step(Fraction(1, 2), Fraction(0), context(wide))
    assert "arsinh" in step.name
    assert "uniform" in st.median("gain").step(Fraction(1), Fraction(0), context(Column("gain", "float", (0, 1e6)))).name
    answers = [step.release(world.ask, draw, None)[0].value for _ in range(200)]
    assert np.median(np.abs(answers)) < 60


def test_mistakes_are_named_before_anything_is_read() -> None:
    about = context(AGE, DAY, CITY)
    for question, code in [
        (st.sum("day"), "SRD-203"),
        (st.mean("missing"), "SRD-201"),
        (st.median("city"), "SRD-203"),
        (st.top_k("city", 9), "SRD-103"),
    ]:
        with pytest.raises(QueryError) as caught:
            question.step(Fraction(1), Fraction(0), about)  # type: ignore[attr-defined]
        assert caught.value.code == code
    for wrong in (
        lambda: st.quantile("age", 1),
        lambda: st.quantiles("age", []),
        lambda: st.counts([]),
        lambda: st.histogram("age", bins=0),
    ):
        with pytest.raises(QueryError):
            wrong()
