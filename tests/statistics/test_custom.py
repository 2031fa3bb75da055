"""Statistics of the user's own: claims become legal ladders, whatever the function does on some data, and nothing it does shows."""

from __future__ import annotations

import math
import sys
import warnings
from fractions import Fraction
from itertools import combinations_with_replacement as choose
from typing import Any

import numpy as np
import pytest
from statistics_world import World, context, seeded

import sordino as sd
from sordino import statistics as st
from sordino.errors import QueryError
from sordino.privacy.certificate import weighted_laplace
from sordino.privacy.discrete import Bernoulli
from sordino.privacy.relation import Relation
from sordino.schema.column import Column
from sordino.sensitivity.scale import ScaleLadder
from sordino.statistics.applied import Applied
from sordino.statistics.custom import fingerprint
from sordino.statistics.evaluation import Evaluation, called, plain
from sordino.statistics.own_rows import OwnRows, Resize
from sordino.summaries import Refused

COLUMN = Column("x", "int", (0, 100))
ONE, DELTA = Fraction(1), Fraction(1, 10**6)


def median() -> Any:
    @sd.statistic(bounds=(0, 100))
    def middle(x: Any) -> Any:
        return x[(len(x) + 1) // 2 - 1] if len(x) else 0.0

    @middle.sensitivity_at
    def _(x: Any, k: int) -> Any:
        padded = np.concatenate([[0.0] * (k + 2), x, [100.0] * (k + 2)])
        return padded[(len(x) + k) // 2 + k + 2] - padded[-((k + 1 - len(x)) // 2) + k + 1]

    return middle


def released(question: Applied, rows: Any, way: str | None = None, **facts: Any) -> Any:
    about = context(COLUMN, **facts)
    ways = question.ways(ONE, DELTA, about)
    step = ways[way or next(iter(ways))]()
    world = World({"x": COLUMN}, {"x": list(rows)}, list(range(len(rows))))
    (answer,) = step.release(world.ask, seeded(), None)
    return step, answer


MIDDLE = [int(v) for v in np.random.default_rng(1).normal(50, 10, 999)]


@pytest.mark.parametrize("way", ["smooth", "smooth_student_t", "smooth_cauchy", "smooth_laplace", "smooth_gaussian", "published"])
def test_every_noise_answers_near_the_truth(way: str) -> None:
    step, answer = released(st.apply(median(), "x"), MIDDLE, way)
    assert abs(answer.value - np.median(MIDDLE)) < 40
    assert step.cost.epsilon == 1
    assert step.cost.delta == (DELTA if way in ("smooth_laplace", "smooth_gaussian", "published") else 0)
    assert "not a proof" in step.certificates()[-1].assumptions
    assert step.bar == ("published" if way == "published" else "none")


@pytest.mark.parametrize(("propose", "otherwise", "kind"), [(20, "refuse", float), ("1e-9", "refuse", Refused), ("1e-9", "global", float)])
def test_a_proposed_bound_is_tested(propose: Any, otherwise: str, kind: type) -> None:
    question = st.apply(median(), "x", propose=propose, otherwise=otherwise)
    _, answer = released(question, MIDDLE if kind is float else range(101), "ptr")  # ties are stable, a ruler is not
    assert isinstance(answer.value, kind)
    assert question.question()["propose"] == str(Fraction(str(propose)))


def test_a_bound_may_be_proposed_with_the_release_instead() -> None:
    step, _ = released(st.apply(median(), "x"), MIDDLE, "ptr", propose=Fraction(20), otherwise="global")
    assert step.name.startswith("ProposeTestRelease, otherwise global")


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_in_every_small_world_the_scales_are_smooth_and_cover_the_move(relation: str, rows: int) -> None:
    custom = median()
    evaluation = Evaluation(custom, rows * (2 if relation == "replace" else 1))
    scales = ScaleLadder(Fraction(3, 10), evaluation.top)
    index = {}
    for n in range(6):
        for table in choose((0, 30, 60, 100), n):
            x = custom.prepared(table)
            index[table] = evaluation.value(x), scales.index(evaluation.ladder(x).rungs(scales.least_window))
    pairs = 0
    for table, (value, rung) in index.items():
        cores = {table} | {table[:i] + table[i + 1 :] for i in range(len(table))} if relation == "replace" else {table}
        for core in cores:
            for extra in ((*e,) for r in range(rows + 1) for e in choose((0, 30, 60, 100), r)):
                other = tuple(sorted((*core, *extra)))
                if other in index:
                    near, step = index[other]
                    assert abs(rung - step) <= 1
                    assert abs(value - near) <= scales.scale(min(rung, step))
                    pairs += 1
    assert pairs > 300


def total(**facts: Any) -> Any:
    """The sum of rows in [0, 1]: one row moves it by at most one, and nothing else is known."""
    custom = sd.statistic(bounds=(0, 1), range=(0, 1_000), **facts)(lambda x: x.sum())
    custom.distance_at(lambda x, above: 10**6 if above >= custom.max_rows else 0)
    return custom


def lead() -> Any:
    """How many more ones than zeros, and a jump at a lead of 200: the distance counts the rows up to there."""

    def ahead(x: Any) -> int:
        return int((x == 1).sum() - (x == 0).sum())

    custom = sd.statistic(bounds=(0, 1), range=(-500, 500))(lambda x: ahead(x) + (200 if ahead(x) >= 200 else 0))
    custom.distance_at(lambda x, above: max(199 - ahead(x), 0) if above >= 1 else 0)
    return custom


def delta_at_one(question: Applied, rows: Any, others: Any, **facts: Any) -> float:
    """The exact delta at epsilon 1 of two releases by propose-test-release, from the laws handed to `draw`."""
    column = Column("x", "int", (0, 1))
    step = question.ways(ONE, DELTA, context(column, **facts))["ptr"]()

    def laws(table: Any) -> tuple[float, Any]:
        seen: list[Any] = []

        def draw(law: Any) -> Any:
            seen.append(law)
            return True if isinstance(law, Bernoulli) else law.location

        step.release(World({"x": column}, {"x": list(table)}, list(range(len(table)))).ask, draw, None)
        (coin, noise) = seen
        return float(coin.probabilities[0]), noise

    (p, one), (q, two) = laws(rows), laws(others)
    assert one.scale == two.scale
    far = abs(one.location - two.location) / float(one.scale)
    return max(float(weighted_laplace(a, b, far, 1.0)) + max(0.0, (1 - a) - math.e * (1 - b)) for a, b in ((p, q), (q, p)))


@pytest.mark.parametrize("propose", [1, 10])
@pytest.mark.parametrize("facts", [{}, {"level": "person", "max_rows": 10}])
def test_a_tested_bound_holds_for_a_person_of_ten_rows(propose: int, facts: Any) -> None:
    """Noise for one row's move would be five scales too narrow: delta .865 for a millionth."""
    question = st.apply(total(**facts), "x", propose=propose)
    for extra in range(1, 11):
        assert delta_at_one(question, [1] * 20, [1] * (20 + extra), person=True, m=10) <= float(DELTA) * (1 + 1e-9)


def test_a_tested_bound_holds_where_a_claim_about_coming_and_going_meets_replaced_rows() -> None:
    """Two steps for the distance and one for the bound would cost delta .138 for a millionth."""
    question = st.apply(lead(), "x", propose=1)
    worst = max(
        delta_at_one(question, [0] * 2 + [1] * (2 + s), [0] + [1] * (3 + s), relation="replace") for s in (*range(2, 200, 7), 150, 151, 199)
    )
    assert worst <= float(DELTA) * (1 + 1e-9)


@pytest.mark.parametrize("above", [1, 2, 3, 6])
@pytest.mark.parametrize("rows", [1, 2, 3])
@pytest.mark.parametrize("replaced", [False, True])
def test_in_every_small_world_a_unit_moves_the_distance_by_one_and_the_value_as_asked(above: int, rows: int, replaced: bool) -> None:
    """The claim is exact: a brute-force distance to a row that moves the value by more than asked."""
    value = {n: (0, 1, 3, 4, 4, 7, 7, 7, 8, 8, 9, 9, 9, 9, 9, 9)[n] for n in range(16)}  # of the number of rows
    jumps = [value[n + 1] - value[n] for n in range(15)] + [0]

    def steps_away(x: Any, bound: float) -> float:
        unsafe = [n for n in range(16) if max(jumps[n], jumps[n - 1] if n else 0) > bound]
        return min((abs(len(x) - n) for n in unsafe), default=100)

    custom = sd.statistic(bounds=(0, 1), range=(0, 16))(lambda x: value[min(len(x), 15)])
    custom.distance_at(steps_away)
    made = Evaluation(custom, custom.moves(rows, replaced=replaced))
    found = {n: (made.distance(np.zeros(n), Fraction(above)), made.value(np.zeros(n))) for n in range(16)}
    for n, (near, one) in found.items():
        for other in range(max(n - rows, 0), min(n + rows, 15) + 1):
            far, two = found[other]
            assert abs(near - far) <= 1
            if max(near, far) >= 1:
                assert abs(one - two) <= made.bound(Fraction(above))
                assert abs(value[n] - value[other]) <= above


def test_claims_about_people_are_used_as_they_are_and_only_for_people_as_large_as_claimed() -> None:
    def counted(**facts: Any) -> Any:
        return sd.statistic(sensitivity=10, bounds=(0, 100), **facts)(len)

    rows, people = st.apply(counted(), "x"), st.apply(counted(level="person", max_rows=10), "x")
    for facts, twice in (({"person": True, "m": 10}, 1), ({"person": True, "m": 10, "relation": "replace"}, 2)):
        wide, narrow = (released(question, MIDDLE, "laplace", **facts)[0].mechanism.sensitivity for question in (rows, people))
        assert (round(wide), round(narrow)) == (twice * 100, twice * 10)
    swapped = sd.statistic(sensitivity=10, bounds=(0, 100), relation="replace", level="person", max_rows=10)(len)
    assert round(released(st.apply(swapped, "x"), MIDDLE, "laplace", person=True, m=10)[0].mechanism.sensitivity) == 10
    assert released(people, MIDDLE)[1] is not None  # a row is a small person
    for way in ("laplace", "stability"):
        people.custom.distance_at(lambda x: 5)
        with pytest.raises(QueryError, match="at most 10 rows"):
            people.ways(ONE, DELTA, context(COLUMN, person=True, m=11))[way]()
    assert "for people of up to 10 rows" in people.custom.claim
    assert rows.question() != people.question()


def test_a_cut_table_is_far_enough_away_for_whole_people() -> None:
    custom = total(level="person", max_rows=3)
    evaluation = Evaluation(custom, most=10)
    assert [evaluation.distance(np.zeros(n), Fraction(3)) for n in (0, 1, 4, 7, 8, 10)] == [3, 3, 2, 1, 0, 0]
    custom.sensitivity_at(lambda x, k: 1.0)
    assert [evaluation.rung(np.zeros(n), 0) == evaluation.top for n in (6, 7, 8)] == [False, False, True]


def test_a_range_that_was_given_limits_what_noise_is_added_to_and_no_other_does() -> None:
    table = [100] * 30
    for range_, place in ((None, 3_000), ((0, 50), 50)):
        custom = sd.statistic(bounds=(0, 100), sensitivity=100, range=range_)(lambda x: x.sum())
        step, _ = released(st.apply(custom, "x"), table)
        assert step.located(custom.prepared(table)) * step.mechanism.step == place


def test_near_the_number_of_rows_at_which_a_table_is_cut_the_whole_range_is_assumed() -> None:
    evaluation = Evaluation(median(), most=10)
    x = median().prepared([50] * 7)
    rungs = evaluation.ladder(x).rungs(6)
    assert (rungs[:3] < evaluation.top).all()
    assert (rungs[3:] == evaluation.top).all()
    assert evaluation.distance(x) <= 3


NASTY: dict[str, Any] = {
    "raises": lambda x: 1 / 0,
    "not a number": lambda x: float("nan"),
    "infinite": lambda x: np.inf,
    "text": lambda x: "high",
    "nothing": lambda x: None,
    "a list": lambda x: [1, 2],
    "writes": lambda x: x.sort() or x.fill(0),
    "warns": lambda x: warnings.warn("rows", stacklevel=1),
    "complex": lambda x: 1j,
    "huge": lambda x: 10**400,
    "recursion": lambda x: NASTY["recursion"](x),
    "leaves": lambda x: sys.exit(3),
}


@pytest.mark.parametrize("name", NASTY)
@pytest.mark.parametrize("claim", ["ladder", "distance", "global"])
def test_whatever_a_function_does_it_gives_an_answer_and_nothing_shows(name: str, claim: str, capsys: Any) -> None:
    custom = sd.statistic(bounds=(0, 100), sensitivity=1 if claim == "global" else None)(NASTY[name])
    if claim == "ladder":
        custom.sensitivity_at(lambda x, k: NASTY[name](x))
    elif claim == "distance":
        custom.distance_at(lambda x: NASTY[name](x))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        step, answer = released(st.apply(custom, "x"), MIDDLE[:20])
    assert isinstance(answer.value, float | Refused)
    assert step.cost.epsilon == 1
    assert capsys.readouterr() == ("", "")
    if claim == "ladder":
        middle = Evaluation(custom).value(custom.prepared(MIDDLE))
        assert middle in (Evaluation(custom).top // 2, Evaluation(custom).top, 0, Evaluation(custom).top - 1) or name == "writes"


def test_values_that_cannot_be_written_down_become_nothing() -> None:
    class Sly(str):
        __slots__ = ()

    nested: Any = []
    nested.append(nested)
    for bad in (object(), {1, 2}, Sly("x"), 10**30, float("nan"), "x" * 20_000, b"x", lambda: 0):
        assert plain(bad) is None
    assert plain(("a", 1, [2.5, None], np.float64(3))) == ("a", 1, (2.5, None), 3.0)
    assert isinstance(plain(nested), tuple)
    assert called(lambda: 1 / 0) is None


@pytest.mark.parametrize("facts", [{}, {"relation": "replace"}, {"person": True, "m": 2}])
def test_a_statistic_for_replacements_crosses_a_bridge_to_a_public_size(facts: dict[str, Any]) -> None:
    custom = sd.statistic(bounds=(0, 100), relation="replace")(lambda x: x[len(x) // 2])
    custom.sensitivity_at(lambda x, k: 1.0)
    step, answer = released(st.apply(custom, "x"), MIDDLE, **facts)
    assert step.resize.noise.epsilon + step.mechanism.epsilon == 1
    assert "resized" in step.name
    assert abs(answer.value - 50) < 40
    public, _ = released(st.apply(custom, "x"), MIDDLE, relation="replace", size=999, filtered=False)
    assert public.resize is None


@pytest.mark.parametrize("rows", [1, 2])
def test_over_the_bridge_a_person_changes_as_many_rows_as_they_have(rows: int) -> None:
    """For every drawn size the resized tables of neighbours differ in at most m rows, counted with multiplicity."""
    from collections import Counter

    resize = Resize(OwnRows(("x",), False, context(COLUMN)), ONE)
    tables = [table for n in range(5) for table in choose((1, 2, 3), n)]

    def resized(table: Any, size: int) -> Any:
        world = World({"x": COLUMN}, {"x": list(table)})
        margin = int(3 * resize.noise.scale)
        (found,) = resize.tables(world.ask, lambda law: np.array([size + margin]), None)
        assert found.n == size == len(found.values)
        return Counter(found.values.tolist())

    for size in (1, 2, 4, 6):
        made = {table: resized(table, size) for table in tables}
        for table in tables:
            for r in range(rows + 1):
                for extra in choose((1, 2, 3), r):
                    other = made.get(tuple(sorted((*table, *extra))))
                    if other is not None:
                        assert sum((made[table] - other).values()) <= rows


def test_a_global_sensitivity_is_paid_for_once_per_row_and_twice_when_rows_are_replaced() -> None:
    count = sd.statistic(sensitivity=1)(lambda x: (x > 50).sum())
    step, answer = released(st.apply(count, "x"), MIDDLE)
    assert float(step.mechanism.scale * step.mechanism.step) == pytest.approx(1 / 0.99, rel=1e-6)
    assert step.resize.noise.epsilon + step.mechanism.epsilon == 1
    swapped, _ = released(st.apply(count, "x"), MIDDLE, relation="replace")
    assert float(swapped.mechanism.scale * swapped.mechanism.step) == pytest.approx(2, rel=1e-6)
    assert answer.low < answer.value < answer.high
    assert step.width(None) == pytest.approx((answer.high - answer.low) / 2)
    assert abs(answer.value - sum(v > 50 for v in MIDDLE)) < 40
    both = sd.statistic(sensitivity=2, dimension=2)(lambda x: [(x > 50).sum(), (x > 90).sum()])
    assert len(released(st.apply(both, "x"), MIDDLE)[1].value) == 2
    assert released(st.apply(count, "x"), MIDDLE, "gaussian")[0].cost.delta == DELTA


def test_a_stable_answer_of_any_type_comes_out_as_it_is() -> None:
    name = sd.statistic(bounds=(0, 100))(lambda x: "many" if len(x) > 100 else "few")
    name.distance_at(lambda x: abs(len(x) - 100.5) - 0.5)
    assert st.apply(name, "x").needs_delta(context(COLUMN))
    assert released(st.apply(name, "x"), MIDDLE)[1].value == "many"
    assert isinstance(released(st.apply(name, "x"), MIDDLE[:101])[1].value, Refused)


def test_bad_declarations_are_refused_with_a_fix() -> None:
    good = median()
    for bad in (
        lambda: sd.statistic()(len),
        lambda: sd.statistic(bounds=(1, 0))(len),
        lambda: sd.statistic(bounds=(0, 1), relation="both")(len),
        lambda: sd.statistic(sensitivity=-1)(len),
        lambda: sd.statistic(sensitivity=1, norm=3)(len),
        lambda: sd.statistic(sensitivity=1, dimension=0)(len),
        lambda: sd.statistic(sensitivity=1, level="household")(len),
        lambda: sd.statistic(sensitivity=1, level="person")(len),
        lambda: sd.statistic(sensitivity=1, level="person", max_rows=0)(len),
        lambda: sd.statistic(sensitivity=1, max_rows=3)(len),
        lambda: sd.statistic(bounds=(0, 1))(3),  # type: ignore[arg-type]
        lambda: good.sensitivity_at(lambda x: 1),
        lambda: good.distance_at(lambda x, y, z: 1),
        lambda: sd.statistic(sensitivity=1)(len).sensitivity_at(lambda x, k: 1),
        lambda: st.apply(len, "x"),  # type: ignore[arg-type]
        lambda: st.apply(good, "x", otherwise="guess"),
        lambda: st.apply(sd.statistic(bounds=(0, 1))(len), "x").step(ONE, DELTA, context(COLUMN)),
        lambda: st.apply(good, "x").ways(ONE, DELTA, context(COLUMN))["ptr"](),
        lambda: st.apply(good, "x").ways(ONE, Fraction(0), context(COLUMN))["published"](),
    ):
        with pytest.raises(QueryError):
            bad()


def test_two_functions_with_one_name_are_two_questions() -> None:
    def made(shift: float) -> Any:
        custom = sd.statistic(bounds=(0, 100))(lambda x: np.mean(x) + shift)
        custom.sensitivity_at(lambda x, k: 100.0)
        return custom

    one, again, other = (st.apply(made(shift), "x").question() for shift in (1, 1, 2))
    assert one == again != other
    assert fingerprint(np.mean) == fingerprint(np.mean) != fingerprint(np.median)


def test_the_verdict_of_a_search_is_on_the_card() -> None:
    custom = median()
    assert "no pairs tried" in repr(custom)
    sd.lab.falsify(custom, pairs=50)
    step = st.apply(custom, "x").step(ONE, Fraction(0), context(COLUMN))
    said = "sensitivity supplied by the user for single rows, 50 pairs tried with units of up to 1 row, 22 of them hunted, not a proof"
    assert said in step.certificates()[-1].assumptions
    custom.sensitivity_at(lambda x, k: 0.0)
    assert custom.verdict is None  # a new claim starts anew
    sd.lab.falsify(custom, pairs=50)
    assert "REFUTED" in custom.claim
    assert custom.relation is Relation.ADD_REMOVE
    assert custom([3, 1, 2]) == 2
