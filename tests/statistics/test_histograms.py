"""Unknown keys, modes and key selection: the peers' figure, and utility statements that hold and, with half the threshold, fail."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import SMALL, World, context, seeded

from sordino import statistics as st
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.statistics.private_keys import CountedKeys, Keys
from sordino.summaries import Refused
from sordino.summaries.totals import GroupTotals

KEY = Column("key", "cat")
ABOUT = context(KEY)
ONE = Fraction(1)

draw = seeded()


def asks(counts: dict[Any, int]) -> Any:
    keys = tuple((key,) for key in counts)
    return lambda request: GroupTotals(keys, {item: np.array(list(counts.values())) for item in request.items})


def test_unlisted_keys_of_a_zipf_table_reach_the_peers_figure() -> None:
    rng = np.random.default_rng(1)
    weights = np.arange(1, 100_001) ** -1.07
    held = rng.multinomial(100_000, weights / weights.sum())
    counts = {f"k{i}": int(n) for i, n in enumerate(held) if n}
    step = st.histogram("key").step(ONE, SMALL, ABOUT)
    assert "under 15 are withheld" in step.name
    assert step.cost.epsilon == 1
    assert step.cost.delta == SMALL
    (certificate,) = step.certificates()
    assert certificate.check().sound
    shown = [step.release(asks(counts), draw, None)[0].value for _ in range(3)]
    assert np.mean([len(s) for s in shown]) >= 540
    assert np.mean([sum(abs(s.get(key, 0) - n) for key, n in counts.items()) for s in shown]) <= 33_700
    assert all(list(s) == sorted(s) for s in shown)


def test_a_key_above_the_threshold_appears_as_often_as_stated_and_not_at_half_of_it() -> None:
    step = st.histogram("key").step(ONE, SMALL, ABOUT)
    t, above, many = step.mechanism.threshold, 3, 8000  # type: ignore[attr-defined]
    stated = 1 - math.exp(-above) / 2
    for start, holds in ((t, True), (t / 2, False)):
        counts = {f"k{i:05}": math.ceil(start) + above for i in range(many)}
        shown = len(step.release(asks(counts), draw, None)[0].value) / many
        assert (shown >= stated - 4 * math.sqrt(stated * (1 - stated) / many)) == holds


def test_all_counts_at_once_err_by_at_most_the_threshold_and_a_logarithm() -> None:
    tiny, eta, many = Fraction(1, 10**12), 0.05, 50
    step = st.histogram("key").step(ONE, tiny, ABOUT)
    t = step.mechanism.threshold  # type: ignore[attr-defined]
    counts = {f"k{i:03}": t - 1 for i in range(many)}
    worst = []
    for _ in range(400):
        value = step.release(asks(counts), draw, None)[0].value
        worst.append(max(abs(value.get(key, 0) - n) for key, n in counts.items()))
    assert np.mean(np.array(worst) <= t + math.log(many / eta)) >= 1 - eta
    assert np.mean(np.array(worst) <= t / 2 + math.log(many / eta)) < 1 - eta


def test_a_clear_mode_is_released_as_often_as_stated_and_not_at_half_the_distance() -> None:
    eta, draws = 0.05, 1500
    step = st.mode("key").step(ONE, SMALL, ABOUT)
    t = math.log(1 / (2e-6))
    for start, holds in ((t, True), (t / 2, False)):
        lead = math.ceil(start + math.log(1 / (2 * eta))) + 1
        ask = asks({"a": 100 + lead, "b": 100})
        hits = np.mean([step.release(ask, draw, None)[0].value == "a" for _ in range(draws)])
        assert (hits >= 1 - eta) == holds
    assert isinstance(step.release(asks({"a": 1}), draw, None)[0].value, Refused)


def test_modes_of_public_keys_follow_permute_and_flip_however_many_keys_a_person_has() -> None:
    listed = Column("key", "cat", keys=("a", "b", "c"))
    scales = set()
    for g in (1, 5):
        step = st.mode("key").step(ONE, Fraction(0), context(listed, person=True, m=2, g=g))
        scales.add(step.mechanism.scale)  # type: ignore[attr-defined]
        assert step.certificates()[0].check().sound
    assert scales == {Fraction(2)}
    step = st.mode("key").step(ONE, Fraction(0), context(listed))
    ask = asks({"a": 11, "b": 10})
    hits = np.mean([step.release(ask, draw, None)[0].value == "a" for _ in range(8000)])
    p = math.exp(-1)
    # c is never taken: b comes first half of the time and is then taken with probability p
    assert hits == pytest.approx(1 - p / 2, abs=0.02)


def test_private_groups_are_named_by_people_and_the_text_is_public() -> None:
    about = context(KEY, person=True, m=3, g=2, grouped=True)
    keys = Keys(ONE, SMALL, about)
    assert keys.withheld == f"keys under about {keys.threshold} people are withheld"
    assert keys.certificates()[0].check().sound
    seen = {key: keys.threshold + extra for key, extra in (("a", 40), ("b", -keys.threshold + 1), ("c", 0))}
    named = [keys.release(asks(seen), draw).keys for _ in range(400)]
    assert all(("a",) in n for n in named)
    assert not any(("b",) in n for n in named)
    assert 0.4 < np.mean([("c",) in n for n in named]) < 0.95
    assert all(list(n) == sorted(n) for n in named)
    world = World({}, {}, [1, 1, 2], [("a",)] * 3)
    keys.release(world.ask, draw)
    assert world.asked[0].items[0].what == "units"


def test_keys_and_counts_are_one_draw_when_rows_name_as_much_as_people() -> None:
    rows = context(KEY, grouped=True)
    plan = st.plan_steps({"n": st.count()}, ONE, SMALL, rows)
    assert isinstance(plan.keys, CountedKeys)
    assert plan.draws == ()
    assert plan.cost.epsilon == 1
    named = plan.keys.release(asks({"a": 500, "b": 1}), draw)
    assert named.keys == (("a",),)
    assert abs(named.answers["n"][0].value - 500) < 40
    for m, g in ((50, 2), (80, 1), (3, 3)):  # its threshold in rows is below that in people times half of a person's rows
        plan = st.plan_steps({"n": st.count()}, ONE, SMALL, context(KEY, person=True, m=m, g=g, grouped=True))
        assert isinstance(plan.keys, CountedKeys)
        assert plan.cost.epsilon == 1
    few = context(KEY, person=True, m=50, g=1, grouped=True)
    plan = st.plan_steps({"n": st.count()}, Fraction(1, 20), Fraction(1, 10**4), few)  # here people name more
    assert isinstance(plan.keys, Keys)
    assert plan.cost.epsilon == Fraction(1, 20)
    with pytest.raises(QueryError, match="delta"):
        st.plan_steps({"n": st.count()}, ONE, Fraction(0), rows)


def test_counting_values_inside_private_groups_is_refused_with_the_way_out() -> None:
    about = context(KEY, grouped=True)
    for question in (st.mode("key"), st.histogram("key")):
        with pytest.raises(QueryError, match="group by both"):
            question.step(ONE, SMALL, about)
