"""Several groupings in one release: numbers that add up, bars that hold, a price for each grouping."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.lab.conformance import check_statistic
from sordino.remote.wording import RemoteAsked, Words
from sordino.server.wire import CallBody
from sordino.statistics.added import Added
from sordino.statistics.grouping_sets import GroupingSets, fitted, in_order, weights_of

RNG = np.random.default_rng(8)
N = 3000
DATA = {"a": RNG.choice(list("xyz"), N), "b": RNG.choice(list("uv"), N), "who": np.arange(N) // 2, "v": RNG.integers(-5, 50, N)}


@pytest.fixture(scope="module")
def table():
    facts = {"keys": {"a": list("xyz"), "b": list("uv")}, "bounds": {"v": (-5, 50)}, "unit": "who"}
    limits = {"max_rows": 2, "max_groups": 2, "max_rows_per_group": 2}
    with sd.table(DATA, budget=sd.Budget(epsilon=10**6, delta=0.01), ledger=":memory:", name="t", **facts, **limits) as made:
        yield made


SHAPES = [((3, 2), [(0, 1), (0,), (1,), ()]), ((3, 2), [(0, 1), (0,), ()]), ((2, 3, 2), [(0, 2), (1,), (2,)]), ((4,), [(0,), ()])]


@pytest.mark.parametrize(("shape", "listed"), SHAPES)
def test_the_fit_is_the_least_squares_of_a_design_matrix(shape, listed):
    sets = in_order(listed)
    cells = list(product(*map(range, shape)))
    design = np.array([[float(all(cell[j] == group[at] for at, j in enumerate(s))) for cell in cells]
                       for s in sets for group in product(*(range(shape[j]) for j in s))])  # fmt: skip
    y = RNG.normal(size=len(design))
    sizes = [int(np.prod([shape[j] for j in s])) for s in sets]
    parts = [part.reshape([shape[j] for j in s]) for part, s in zip(np.split(y, np.cumsum(sizes)[:-1]), sets, strict=True)]
    projection = design @ np.linalg.pinv(design)
    found = np.concatenate([part.ravel() for part in fitted(shape, sets, parts)])
    assert found == pytest.approx(projection @ y)
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    for s, row in zip(sets, first, strict=True):
        assert weights_of(shape, sets, s) == pytest.approx(projection[row])


def truth(row):
    chosen = np.ones(N, bool)
    for name, key in row.items():
        chosen &= np.ones(N, bool) if key is None else DATA[name] == key
    return chosen


def test_numbers_are_right_and_add_up(table):
    found = table.cube("a", "b").agg(n=sd.count(), s=sd.sum("v")).release(epsilon=10_000).to_dict()
    assert len(found["n"]) == 12
    for a, b, n, s in zip(found["a"], found["b"], found["n"], found["s"], strict=True):
        rows = truth({"a": a, "b": b})
        assert (n, s) == (pytest.approx(rows.sum(), abs=0.5), pytest.approx(DATA["v"][rows].sum(), abs=20))
    drawn = table.rollup("a", "b").count().release(epsilon=0.1).to_dict()
    cells = dict(zip(zip(drawn["a"], drawn["b"], strict=True), drawn["count"], strict=True))
    assert cells["x", None] == pytest.approx(cells["x", "u"] + cells["x", "v"])
    assert cells[None, None] == pytest.approx(sum(cells[key, None] for key in "xyz"))
    assert (None, "u") not in cells, "a roll-up has no grouping by the last column alone"


def test_bars_cover_and_are_narrower_than_what_was_drawn(table):
    inside, asked = [], table.cube("a", "b").count()
    for _ in range(50):
        found = asked.release(epsilon=1, fresh=True).to_dict()
        for a, b, low, high in zip(found["a"], found["b"], found["count_low"], found["count_high"], strict=True):
            inside.append(low <= truth({"a": a, "b": b}).sum() <= high)
    assert 0.9 < np.mean(inside) < 0.99
    (step,) = asked.settle(1, 0).steps.values()
    assert step.width(None) < 0.75 * step.noise.radius(0.95)
    half = table.cube("a", "b").count().release(epsilon=1).at(0.5).to_dict()
    assert half["count_high"][0] - half["count_low"][0] < 0.5 * (found["count_high"][0] - found["count_low"][0])


@pytest.mark.parametrize(("relation", "rows", "groups", "each"), [("add_remove", 3, 2, 2), ("replace", 2, 2, 1), ("replace", 3, 2, 3)])
def test_no_person_moves_all_groupings_by_more_than_is_paid_for(relation, rows, groups, each):
    facts = {"size": 10} if relation == "replace" else {}
    limits = {"max_rows": rows, "max_groups": groups, "max_rows_per_group": each}
    with sd.table(DATA, unit="who", relation=relation, keys={"a": list("xyz"), "b": list("uv")}, budget=sd.Budget(epsilon=9, delta=0.01),
                  ledger=":memory:", **limits, **facts) as made:  # fmt: skip
        steps = {
            way: made.rollup("a", "b").count().settle(1, Fraction(1, 10**6), way=way).steps["count"] for way in ("laplace", "gaussian")
        }
    held = [cells for cells in product(range(each + 1), repeat=6) if sum(cells) <= rows and sum(map(bool, cells)) <= groups]
    moves = np.array(held, float).reshape(-1, 3, 2)
    numbers = np.concatenate([moves.reshape(len(held), -1), moves.sum(2), moves.sum((1, 2))[:, None]], axis=1)
    change = numbers if relation == "add_remove" else (numbers[:, None, :] - numbers[None, :, :]).reshape(-1, numbers.shape[1])
    assert np.abs(change).sum(1).max() <= steps["laplace"].noise.reach
    assert np.linalg.norm(change, axis=1).max() <= float(steps["gaussian"].noise.reach) * (1 + 1e-9)
    if relation == "add_remove":
        assert np.abs(change).sum(1).max() == steps["laplace"].noise.reach


def test_conformance_of_a_cube():
    found = check_statistic(lambda place: place.cube("sex", "job").count(), places=("",))
    assert found.ok, str(found)
    assert found.reached > 0.9


def test_noise_for_one_grouping_only_is_caught(monkeypatch):
    def planted(self, total, epsilon, delta, context):
        honest = Added(epsilon, (made := whole(self, total, epsilon, Fraction(0), context)["laplace"]).reach, made.moved, made.most)
        object.__setattr__(honest, "scale", honest.scale / len(self.sets))
        return {"laplace": honest}

    whole = GroupingSets._noises
    monkeypatch.setattr(GroupingSets, "_noises", planted)
    assert not check_statistic(lambda place: place.cube("sex", "job").count(), places=("",)).ok


def test_sql_says_the_same_as_python(table):
    said = {
        "GROUP BY ROLLUP (a, b)": table.rollup("a", "b"),
        "GROUP BY CUBE (a, b)": table.cube("a", "b"),
        "GROUP BY GROUPING SETS ((a, b), (b), ())": table.grouping_sets(["a", "b"], ["b"], []),
        "GROUP BY a, ROLLUP (b)": table.grouping_sets(["a", "b"], ["a"]),
        "GROUP BY GROUPING SETS (b, a)": table.grouping_sets(["b"], ["a"]),
    }
    for text, rows in said.items():
        assert table.sql(f"SELECT a, b, COUNT(*) FROM t {text}").key() == rows.count().key(), text
    shown = table.sql("SELECT a, b, COUNT(*) AS n FROM t GROUP BY ROLLUP (a, b) ORDER BY n DESC LIMIT 3").release(epsilon=1).to_dict()
    assert shown["a"][0] is None
    assert len(shown["n"]) == 3


def test_from_afar_and_non_negative_and_refused(table):
    said = Words(RemoteAsked("t"), lambda asked: asked.call, lambda *_, **options: options).rollup("a", "b").count()
    assert CallBody.model_validate_json(json.dumps(said)).sets == [["a", "b"], ["a"], []]
    found = table.where("a = 'x'").cube("a", "b").count().release(epsilon=0.01).nonnegative().to_dict()
    cells = dict(zip(zip(found["a"], found["b"], strict=True), found["count"], strict=True))
    assert min(cells.values()) >= 0
    assert cells[None, None] == pytest.approx(sum(cells[key, None] for key in "xyz"))
    for wrong in (lambda: table.cube("a", "b").median("v"), lambda: table.grouping_sets("a"), lambda: table.cube(),
                  lambda: table.grouping_sets(["a"], ["nobody"])):  # fmt: skip
        with pytest.raises(QueryError):
            wrong()
    assert table.cube("a", "b").group_by("a").count().key() == table.group_by("a").count().key(), "later groups replace earlier ones"
