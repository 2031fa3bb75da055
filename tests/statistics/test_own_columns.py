"""Functions of several columns: what they are given, what they cost, and that neighbours move them as claimed."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from statistics_world import seeded

import sordino as sd
from sordino import statistics as st
from sordino.errors import QueryError
from sordino.lab import check_statistic
from sordino.lab.reference_engine import Reference
from sordino.privacy.relation import PrivacyUnit
from sordino.schema.column import Column
from sordino.schema.frame import Frame
from sordino.statistics.evaluation import Evaluation
from sordino.summaries.records import Records

RNG = np.random.default_rng(23)
N = 600
X = np.clip(RNG.normal(50, 10, N), 0, 100)
Y = np.clip(100 - X + RNG.normal(0, 5, N), 0, 100)
FRAME = {"id": np.arange(N) // 2, "x": X, "y": Y, "g": np.where(np.arange(N) % 3 == 0, "a", "b")}


def table(**facts: Any) -> Any:
    given: dict[str, Any] = {"unit": "id", "max_rows": 2, "max_groups": 2, "max_rows_per_group": 2} | facts
    bounds = {"x": (0, 100), "y": (0, 100)}
    budget = sd.Budget(epsilon=1000, delta=1e-2)
    return sd.table(FRAME, bounds=bounds, keys={"g": ["a", "b"]}, budget=budget, ledger=":memory:", **{k: v for k, v in given.items() if v})


def above(**facts: Any) -> Any:
    """How many rows have y above x."""
    given: dict[str, Any] = {"columns": ("x", "y"), "bounds": (0, 100), "range": (0, 10_000), "sensitivity": 1} | facts
    return sd.statistic(**given)(lambda rows: int((rows["y"] > rows["x"]).sum()))


def middle(relation: str = "add_remove") -> Any:
    """The median of the larger of two columns, with all that can be said about it."""
    custom = sd.statistic(columns=("x", "y"), bounds=(0, 100), range=(0, 100), relation=relation, points=101)(lambda r: centre(larger(r)))

    @custom.sensitivity_at
    def _(rows: Any, k: int) -> float:
        z = larger(rows)
        padded = np.concatenate([[0.0] * (k + 2), z, [100.0] * (k + 2)])
        low, high = (-((k + 1 - len(z)) // 2), (len(z) + k) // 2 + 1) if relation == "add_remove" else rank(z, k)
        return float(padded[high + k + 1] - padded[low + k + 1])

    custom.distance_to(lambda rows, y: to(larger(rows), y))
    return custom


def rank(z: Any, k: int) -> tuple[int, int]:
    r = (len(z) + 1) // 2
    return r - k - 1, r + k + 1


def larger(rows: Any) -> Any:
    return np.sort(np.maximum(rows["x"], rows["y"]))


def centre(z: Any) -> float:
    return float(z[(len(z) + 1) // 2 - 1]) if len(z) else 0.0


def to(z: Any, y: float) -> int:
    """Rows that must come or go until y lies between those of the middle, at most."""
    below, upto = int((z < y).sum()), int((z <= y).sum())
    return max(0, 2 * below - len(z), len(z) - 2 * upto) if len(z) else 0


def test_a_function_is_given_complete_rows_in_the_order_of_their_values() -> None:
    seen: list[Any] = []
    custom = sd.statistic(columns=("x", "y"), sensitivity=1)(lambda rows: seen.append(rows) or 0)
    holes = {"x": [3, None, 1, 1, 200], "y": [4.0, 5.0, float("nan"), 2.0, -7]}
    with sd.table(holes, bounds={"x": (0, 100), "y": (0, 10)}, budget=sd.Budget(epsilon=10), ledger=":memory:") as rows:
        rows.apply(custom).release(epsilon=1)
    assert [list(zip(r["x"], r["y"], strict=True)) for r in seen if len(r["x"])] == [[(1, 2), (3, 4), (100, 0)]]
    assert not seen[-1]["x"].flags.writeable


def test_a_matrix_is_given_where_it_was_asked_for_and_columns_may_have_other_names() -> None:
    seen: list[Any] = []
    custom = sd.statistic(columns=("x", "y"), sensitivity=1, matrix=True)(lambda rows: seen.append(rows) or 0)
    with table() as people:
        people.apply(custom, {"y": "x", "x": "y"}).release(epsilon=1)
        people.apply(custom, ["y", "x"]).release(epsilon=2)
    one, other = [rows for rows in seen if len(rows)]
    assert one.shape == (N, 2)
    assert np.array_equal(one, other)
    assert one[:, 0].mean() == pytest.approx(Y.mean(), abs=0.01)


@pytest.mark.parametrize("facts", [{}, {"unit": None, "max_rows": None, "max_groups": None, "max_rows_per_group": None}])
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_the_answer_is_near_and_its_noise_is_that_of_a_person(facts: Any, relation: str) -> None:
    truth = int((Y > X).sum())
    with table(relation=relation, size=N, **facts) as people:
        answer = people.apply(above()).release(epsilon=2)
        rows = 1 if facts else 2
        steps = rows * (2 if relation == "replace" else 1)
        assert abs(answer.value - truth) < 60
        assert (answer.high - answer.low) / 2 == pytest.approx(steps / 2 * np.log(20), rel=0.1)
        assert answer.cost.epsilon == 2
        assert "above" in answer.about or "x and y" in answer.about


def test_groups_filters_previews_and_repeats() -> None:
    with table(twin=FRAME) as people:
        asked = people.group_by("g").apply(above(), ["x", "y"])
        answer = asked.release(epsilon=50)
        wanted = [int(((Y > X) & (FRAME["g"] == key)).sum()) for key in ("a", "b")]
        assert np.abs(np.array(answer.to_dict()[answer.names[0]]) - wanted).max() < 5
        assert answer.cost.epsilon == 50
        few = people.where("x > 50").apply(above()).release(epsilon=50)
        assert abs(few.value - int(((Y > X) & (X > 50)).sum())) < 5
        assert people.where("x > 50").apply(above()).release(epsilon=10).id == few.id  # free: the same question at less
        assert "twin" in str(people.apply(middle()).preview()) or people.apply(middle()).preview()


@pytest.mark.parametrize("way", ["smooth", "published", "ptr", "inverse", "stability"])
def test_every_way_works_on_several_columns(way: str) -> None:
    with table() as people:
        asked = people.apply(middle(), propose=20) if way == "ptr" else people.apply(middle())
        answer = asked.release(epsilon=20, delta=1e-3, mechanism=way)
        assert answer.refused or abs(answer.value - centre(np.sort(np.maximum(X, Y)))) < 10
        assert answer.cost.epsilon == 20


WORLD = list(itertools.product((0.0, 60.0, 100.0), (0.0, 60.0, 100.0)))


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_in_every_small_world_the_distance_to_a_point_moves_by_one_and_the_rungs_are_legal(relation: str) -> None:
    custom = middle()
    made = Evaluation(custom, 2 if relation == "replace" else 1)
    tables = [rows for n in range(3) for rows in itertools.combinations_with_replacement(WORLD, n)]
    known = {rows: custom.prepared(np.array(rows).reshape(-1, 2)) for rows in tables}
    goals = (0.0, 59.0, 60.0, 99.0)
    facts = {rows: ([made.steps_to(x, y) for y in goals], made.value(x), made.ladder(x).rungs(6)) for rows, x in known.items()}
    pairs = 0
    for rows in tables:
        cores = {rows} | ({rows[:i] + rows[i + 1 :] for i in range(len(rows))} if relation == "replace" else set())
        for core, row in itertools.product(cores, WORLD):
            other = tuple(sorted((*core, row)))
            if other in facts:
                (d, f, rungs), (e, g, others) = facts[rows], facts[other]
                assert max(abs(a - b) for a, b in zip(d, e, strict=True)) <= made.moves
                assert abs(f - g) <= min(rungs[0], others[0])
                assert all(rungs[:-1] <= others[1:])
                assert all(others[:-1] <= rungs[1:])
                pairs += 1
    assert pairs > 80


def test_the_inverse_mechanism_draws_with_the_weights_of_its_distances() -> None:
    custom = middle()
    column = (Column("x", "int", (0, 100)), Column("y", "int", (0, 100)))
    context = st.port.Context(PrivacyUnit(), {c.name: c for c in column})
    step = st.apply(custom).ways(Fraction(2), Fraction(0), context)["inverse"]()
    laws: list[Any] = []

    def draw(law: Any) -> Any:
        laws.append(law)
        return seeded()(law) if type(law).__name__ != "ArgMax" else 60

    rows = {"x": [1, 60, 70], "y": [2, 50, 10]}
    with Reference(rows, column).bounded(Frame(PrivacyUnit(), columns=column, counted=st.apply(custom).predicates), 1) as held:
        (answer,) = step.release(held.ask, draw, None)
    assert answer.value == 60
    scores = np.array(laws[-1].scores)
    assert scores[60] == 0
    assert scores[0] == -3
    assert float(laws[-1].scale) == pytest.approx(2 / (2 * 0.99))
    assert "after" in step.covers


def test_claims_about_several_columns_are_falsified() -> None:
    assert sd.lab.falsify(above(), 500, rows=2).ok
    found = sd.lab.falsify(above(sensitivity=0.5), 500)
    assert not found.ok
    assert len(found.witness.x) + len(found.witness.neighbour) == 1
    assert all(len(row) == 2 for row in (*found.witness.x, *found.witness.neighbour))
    assert sd.lab.falsify(middle(), 400).ok
    wrong = middle()
    wrong.distance_to(lambda rows, y: 2 * to(larger(rows), y))
    assert "d(x, y)" in sd.lab.falsify(wrong, 2_000).witness.claim


def test_parts_share_nobody_and_a_person_changes_one_of_them() -> None:
    column = (Column("x", "int", (0, 9)), Column("y", "int", (0, 9)))
    unit, name = PrivacyUnit("id", max_rows=3), Column("id", "id")
    frame = Frame(unit, name, columns=column)
    rows = {"id": [i // 3 for i in range(60)], "x": [i % 7 for i in range(60)], "y": [i % 5 for i in range(60)]}

    def parts(keep: Any, most: int) -> list[Any]:
        kept = {key: [v for i, v in zip(rows["id"], values, strict=True) if keep(i)] for key, values in rows.items()}
        with Reference(kept, (name, *column)).bounded(frame, 7) as held:
            (found,) = held.ask(Records(("x", "y"), parts=5, most=most))
        return [found.values[found.part == i].tolist() for i in range(5)]

    for most in (5_000, 20):
        everyone = parts(lambda i: True, most)
        for person in range(20):
            without = parts(lambda i, person=person: i != person, most)
            assert sum(a != b for a, b in zip(everyone, without, strict=True)) <= 1


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda t: sd.statistic(columns=("x", "x"), sensitivity=1)(len), "columns are"),
        (lambda t: sd.statistic(columns=("x", "y"), bounds={"z": (0, 1)}, sensitivity=1)(len), "bounds are given"),
        (lambda t: sd.statistic(columns=("x", "y"))(len).sensitivity_at(lambda x, k: 0), "no range"),
        (lambda t: sd.lab.falsify(sd.statistic(columns=("x", "y"), sensitivity=1)(len), 5), "bounds of 'x'"),
        (lambda t: t.apply(above(), "x"), "columns were named"),
        (lambda t: t.apply(above(), {"x": "x"}), "columns are given"),
        (lambda t: t.apply(above(), ["x", "nothing"]), "no column"),
        (lambda t: sd.statistic(columns=("x", "y"), points=1, sensitivity=1)(len), "points"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_the_fix(made: Any, word: str) -> None:
    with table() as people:
        with pytest.raises(QueryError, match=word):
            made(people)
        assert people.budget.spent == 0


@pytest.mark.parametrize("made", [above(bounds={"x": (0, 10**6), "y": (0, 10**6)}), middle()])
def test_nobody_draws_more_than_is_charged(made: Any) -> None:
    found = check_statistic(made, places=("", ", by public keys") if made.rungs is None else ("",), propose=20)
    assert found.ok, found
