"""Statistics whose sensitivity follows from how they are written: card, derivation, wrong rules that are found out.

That releases draw what they are charged for is traced for a written maximum of the catalogue, and for the examples of the how-to.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.sensitivity import leaf
from sordino.sensitivity.ball import Ball
from sordino.sensitivity.enclosure import Enclosure, product, ratio
from sordino.statistics.evaluation import Evaluation

RNG = np.random.default_rng(23)
N = 1_000
ROWS = {"x": np.clip(RNG.normal(50, 10, N), 0, 100), "y": np.clip(RNG.normal(30, 10, N), 1, 100)}
PAIR = {"columns": ("x", "y"), "bounds": {"x": (0, 100), "y": (1, 100)}}


def middle(relation: str = "add_remove") -> Any:
    return sd.written(bounds=(0, 100), relation=relation)(lambda x: x.median())


def spread(relation: str = "add_remove") -> Any:
    return sd.written(bounds=(0, 100), relation=relation, range=(0, 100))(lambda x: x.quantile("0.75") - x.quantile("0.25"))


def times() -> Any:
    return sd.written(**PAIR, range=(0, 100))(lambda rows: rows["x"].sum() / rows["y"].sum())


def product_of() -> Any:
    return sd.written(bounds=(0, 1), range=(0, 1))(lambda x: x.mean() * x.median())


def trimmed() -> Any:
    return sd.written(bounds=(-1, 1), range=(-9, 9))(lambda x: x.sum(trim=1))


def table(**facts: Any) -> Any:
    bounds = {"x": (0, 100), "y": (1, 100)}
    return sd.table(ROWS, bounds=bounds, budget=sd.Budget(epsilon=1000, delta=1e-2), ledger=":memory:", **facts)


@pytest.mark.parametrize("way", ["smooth", "smooth_laplace", "published", "inverse", "ladder", "stability"])
def test_a_written_statistic_is_released_by_every_way_that_needs_no_guess(way: str) -> None:
    with table() as people:
        answer = people.apply(middle(), "x").release(epsilon=5, delta=1e-3, mechanism=way)
        assert answer.refused or abs(answer.value - np.median(ROWS["x"])) < 3
        answer = people.apply(times()).release(epsilon=5, delta=1e-3, mechanism=way)
        assert answer.refused or abs(answer.value - ROWS["x"].sum() / ROWS["y"].sum()) < 0.2
        assert answer.cost.epsilon == 5


def test_the_planner_takes_smooth_sensitivity_and_the_card_says_where_it_comes_from() -> None:
    with table(twin=ROWS) as people:
        asked = people.apply(times())
        assert asked.preview(epsilons=[2]).lines[0].forecasts[0].half_width < 0.1
        answer = asked.release(epsilon=2)
        assert answer.mechanism.startswith("Smooth")
        assert "derived and proved from how the statistic is written, for single rows, no pairs tried" in str(answer.card)
    replaced = middle()
    replaced.sensitivity_at(lambda x, k: 100.0)
    assert "supplied by the user" in replaced.claim
    assert replaced.derivation is None


def test_the_derivation_is_shown() -> None:
    custom = times()
    said = str(custom.derivation)
    assert said.startswith("(sum(x) / sum(y)): rows come and go, x in [0, 100], y in [1, 100]")
    assert "(da - (a/b) db)/b'" in said
    shown = custom.derivation.shown({"x": np.array([10.0, 30.0]), "y": np.array([10.0, 10.0])}, 0, 1)
    assert "within 0 rows:\n  sum(x) in [40, 40], one row moves it by at most 100" in shown
    assert "(sum(x) / sum(y)) in [2, 2]" in shown


def test_far_away_anything_is_possible() -> None:
    custom = times()
    x = custom.prepared({name: values[:20] for name, values in ROWS.items()})
    far = custom.derivation.farthest
    assert far > 1_000
    assert custom.rungs(x, far - 1) <= custom.rungs(x, far) == float("inf")
    assert custom.reached(x, far) == (0.0, 100.0)
    assert Evaluation(custom).rung(x, far) == Evaluation(custom).top


def test_two_that_are_written_differently_are_two_questions() -> None:
    made = [sd.written(bounds=(0, 1), range=(0, 1))(lambda x, c=c: x.mean() * c) for c in (0.1234567, 0.1234567, 0.12345671)]
    marks = [sd.apply(custom, "x").question() for custom in made]
    assert marks[0] == marks[1] != marks[2]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("rows", [1, 2])
def test_in_every_small_world_releases_see_legal_ladders_and_paths(relation: str, rows: int) -> None:
    custom = sd.written(bounds=(0, 100), range=(0, 100))(lambda x: x.mean(trim=1))
    made = Evaluation(custom, rows * (2 if relation == "replace" else 1))
    tables = [rows for n in range(5) for rows in itertools.combinations_with_replacement((0.0, 30.0, 100.0), n)]
    facts = {}
    for table in tables:
        x = custom.prepared(table)
        facts[table] = made.value(x), made.ladder(x).rungs(4), [made.steps_to(x, y) for y in (0.0, 29.0, 77.0)]
    for table, more in itertools.product(tables, tables):
        other = tuple(sorted((*table, *more)))
        if other in facts and len(more) <= rows:
            (f, rungs, far), (g, others, away) = facts[table], facts[other]
            assert abs(f - g) <= min(rungs[0], others[0])
            assert (rungs[:-1] <= others[1:]).all()
            assert (others[:-1] <= rungs[1:]).all()
            assert max(abs(a - b) for a, b in zip(far, away, strict=True)) <= made.moves


@pytest.mark.parametrize("made", [middle, spread, times, product_of, trimmed])
def test_the_hunt_finds_nothing(made: Any) -> None:
    found = sd.lab.falsify(made(), 100, rows=2)
    assert found.ok, found
    assert max(found.closest.values()) > 0.99


def one_sided(self: Enclosure, other: Enclosure) -> Enclosure:
    low, high = product((self.low, self.high), (other.low, other.high))
    down, up = product(self.step, other.here)  # a db is forgotten
    return replace(self, low=low, high=high, down=down, up=up)


def fixed_below(self: Enclosure, other: Enclosure, limits: Any = ()) -> Enclosure:
    low, high = ratio((self.low, self.high), (other.low, other.high))
    down, up = ratio(self.step, other.here)  # as if what stands below did not move
    return replace(self, low=low, high=high, down=down, up=up)


def still(ball: Ball, row: Any, q: Any) -> Enclosure:
    found = RIGHT_QUANTILE(ball, row, q)
    return replace(found, down=found.down[:, :1] + 0 * found.down, up=found.up[:, :1] + 0 * found.up)  # the first rung for all


def unclamped(ball: Ball, row: Any, trim: int) -> Enclosure:
    found = RIGHT_TOTAL(ball, row, trim)
    return replace(found, down=found.down * 0, up=found.up)  # a row that goes takes nothing away


RIGHT_QUANTILE, RIGHT_TOTAL = leaf.quantile, leaf.total


@pytest.mark.parametrize(
    ("where", "name", "wrong", "made"),
    [
        (Enclosure, "__mul__", one_sided, product_of),
        (Enclosure, "over", fixed_below, times),
        (leaf, "quantile", still, middle),
        (leaf, "total", unclamped, trimmed),
    ],
    ids=["a product with one moving factor", "a quotient over a fixed number", "a ladder without rungs", "a sum nobody leaves"],
)
def test_a_wrong_rule_is_found(where: Any, name: str, wrong: Any, made: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(where, name, wrong)
    found = sd.lab.falsify(made(), 1_000)
    assert not found.ok
    assert found.witness.left > found.witness.right


def test_a_path_of_ones_own_gives_the_inverse_mechanism() -> None:
    """The sum of rows in [0, 1]: k rows that come and go take it anywhere within k."""

    def total(step: float) -> Any:
        custom = sd.statistic(bounds=(0, 1), range=(0, 2_000), points=2_001)(lambda x: float(x.sum()))
        custom.path_at(lambda x, k: (max(x.sum() - step * k, 0), x.sum() + step * k))
        return custom

    assert sd.lab.falsify(total(1), 300, rows=2).ok
    assert "d(x, y)" in sd.lab.falsify(total(0.25), 2_000).witness.claim
    with sd.table({"x": np.full(N, 0.5)}, bounds={"x": (0, 1)}, budget=sd.Budget(epsilon=100), ledger=":memory:") as people:
        answer = people.apply(total(1), "x").release(epsilon=2)
        assert abs(answer.value - 500) < 20
        assert "inverse" in answer.mechanism
    custom = total(1)
    x = custom.prepared([0.5] * 10)
    assert Evaluation(custom).walked(x, np.array([0.0, 3.0, 5.0, 9.4, 100.0]), 0.5, 20).tolist() == [5, 2, 0, 4, 20]
    custom.path_at(lambda x, k: "nowhere")
    assert Evaluation(custom).walked(x, np.array([3.0]), 0.5, 20).tolist() == [20]
    broken = sd.statistic(bounds=(0, 1), columns=("x",))(len)
    with pytest.raises(QueryError, match="no range"):
        broken.path_at(lambda x, k: (0, 1))


@pytest.mark.parametrize(
    ("made", "word"),
    [
        (lambda: sd.written(bounds=(0, 1))(lambda x: x.sum()), "how large"),
        (lambda: sd.written(bounds=(0, 1))(lambda x: x), "a number of every row"),
        (lambda: sd.written(bounds=(0, 1))(lambda x: 3), "gives int"),
        (lambda: sd.written(bounds={"x": (0, 1)}, columns=("x", "y"))(lambda rows: rows["x"].mean()), "no bounds"),
    ],
)
def test_what_cannot_be_derived_is_refused_with_the_fix(made: Any, word: str) -> None:
    with pytest.raises(QueryError, match=word):
        made()
