"""Sensitivities that follow from how a statistic is written, against the definitions on small worlds and against the closed forms."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from sordino import sensitivity
from sordino.errors import QueryError
from sordino.privacy.relation import Relation
from sordino.sensitivity import average, position
from sordino.sensitivity.ball import Ball, moves
from sordino.sensitivity.row_term import column
from sordino.sensitivity.term import Term

VALUES, DEPTH = (0, 1, 4), 4
X = column("x", (0, 4))
TERMS = {
    "median": X.median(),
    "quantile": X.quantile("0.75"),
    "minimum": X.min(),
    "maximum": X.max(),
    "rank from below": X.rank(2),
    "rank from above": X.rank(-2),
    "count": 2 * X.count() - 1,
    "sum": X.sum(),
    "sum around zero": (X - 3).sum(),
    "mean": X.mean(),
    "trimmed sum": (X - 3).sum(trim=1),
    "trimmed mean": X.mean(trim=1),
    "winsorised mean": (X.rank(2) + X.sum(trim=1) + X.rank(-2)) / X.count().at_least(1),
    "interquartile range": X.quantile("0.75") - X.quantile("0.25"),
    "variance": (X**2).mean() - X.mean() ** 2,
    "standard deviation": ((X * X).mean() - X.mean() * X.mean()).sqrt(),
    "Gini coefficient": X.differences() / (X.count() * X.sum()),
    "share": (X > 2).sum() / X.count(),
    "product": (X.median() - 2) * X.mean(),
    "skewness by quartiles": abs(X.max() - 2 * X.median()).at_most(X.max()) / X.sum().at_least(1),
    "distance from 1": (1 / (1 + abs(X - 1))).sum(),
}


def ball(table: Any, relation: str, term: Term, depth: int = DEPTH) -> Ball:
    rows = {"x": np.array(table, float)}
    return Ball(rows, len(table), Relation.of(relation), depth, moves(Relation.of(relation), term.numbers))


def worlds(term: Term, relation: str, **facts: Any) -> Any:
    sizes = [range(7)] if relation == "add_remove" else [[n] for n in range(6)]
    for size in sizes:
        yield sensitivity.exhaustive(lambda table: term.value(ball(table, relation, term, 1)), VALUES, relation, sizes=size, **facts)


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("name", TERMS)
def test_in_every_small_world_the_rungs_are_legal_and_hold_and_the_paths_are_nested(name: str, relation: str) -> None:
    term = TERMS[name]
    for world in worlds(term, relation):
        known = [term.enclosure(ball(table, relation, term)) for table in world.tables]
        for i, (table, found) in enumerate(zip(world.tables, known, strict=True)):
            assert found.low[0] - 1e-9 <= world.values[i] <= found.high[0] + 1e-9
            for k in range(DEPTH if relation == "replace" else min(DEPTH, 6 - len(table))):
                assert found.rungs[k] >= world.rung(table, k) - 1e-9, (table, k)
            for j in world.edges[i]:
                there = known[j]
                assert (found.rungs[:-1] <= there.rungs[1:] + 1e-9).all(), (table, world.tables[j])
                assert (found.low[:-1] >= there.low[1:] - 1e-9).all()
                assert (found.high[:-1] <= there.high[1:] + 1e-9).all()


@pytest.mark.parametrize("name", ["median", "interquartile range", "trimmed mean", "Gini coefficient"])
def test_people_of_two_rows_move_it_by_no_more_than_two_rungs(name: str) -> None:
    term = TERMS[name]
    for relation in ("add_remove", "replace"):
        for world in worlds(term, relation, max_rows=2):
            for table in world.tables:
                rungs = term.enclosure(ball(table, relation, term)).rungs
                if relation == "replace" or len(table) <= 2:
                    assert rungs[0] + rungs[1] >= world.rung(table, 0) - 1e-9
                    assert rungs[2] + rungs[3] >= world.rung(table, 1) - 1e-9


def test_two_columns_move_together() -> None:
    """Every table of up to four rows of two bits, and every row that comes or goes."""
    x, y = column("x", (0, 1)), column("y", (0, 1))
    covered = (x * y).mean() - x.mean() * y.mean()
    for term in (x.sum() / y.sum().at_least(1), covered / ((x.mean() - x.mean() ** 2) * (y.mean() - y.mean() ** 2)).sqrt(), covered):
        kinds = moves(Relation.ADD_REMOVE, term.numbers)

        def around(table: Any, term: Term = term, kinds: Any = kinds) -> Any:
            cells = np.array(table, float).reshape(-1, 2)
            held = Ball({"x": cells[:, 0], "y": cells[:, 1]}, len(table), Relation.ADD_REMOVE, 3, kinds)
            return term.value(held), term.enclosure(held)

        tables = [rows for n in range(5) for rows in product(product((0, 1), repeat=2), repeat=n) if list(rows) == sorted(rows)]
        known = {rows: around(rows) for rows in tables}
        for rows, (value, found) in known.items():
            for i in range(len(rows)):
                there, beside = known[rows[:i] + rows[i + 1 :]]
                assert abs(value - there) <= min(found.rungs[0], beside.rungs[0]) + 1e-9
                assert (found.rungs[:-1] <= beside.rungs[1:] + 1e-9).all()
                assert (beside.rungs[:-1] <= found.rungs[1:] + 1e-9).all()


RNG = np.random.default_rng(23)
SAMPLES = [np.sort(RNG.uniform(0, 4, 101)), np.sort(np.clip(RNG.normal(2, 0.3, 80), 0, 4)), np.array([0.0] * 30 + [4.0] * 31)]


@pytest.mark.parametrize("x", SAMPLES, ids=["uniform", "normal", "bimodal"])
def test_the_derived_rungs_are_those_of_the_closed_forms(x: Any) -> None:
    """Median, quantiles, extremes, trimmed means and replaced means exactly; the mean of rows that come and go is smaller."""
    both, facts = ("add_remove", "replace"), {"bounds": (0.0, 4.0)}
    for relation in both:
        for term, closed in ((X.median(), position.median), (X.max(), position.max), (X.min(), position.min)):
            wanted = closed(x, relation=relation, **facts).rungs(40)
            assert term.enclosure(ball(x, relation, term, 40)).rungs == pytest.approx(wanted)
    term = X.mean(trim=9)
    assert term.enclosure(ball(x, "replace", term, 40)).rungs == pytest.approx(
        average.trimmed_mean(x, trim=9, relation="replace", **facts).rungs(40)
    )
    term = X.quantile("0.75") - X.quantile("0.25")
    assert term.enclosure(ball(x, "replace", term, 40)).rungs == pytest.approx(position.iqr(x, relation="replace", **facts).rungs(40))
    for relation in both:
        found = X.mean().enclosure(ball(x, relation, X.mean(), 40)).rungs
        wanted = average.mean(x, relation=relation, **facts).rungs(40)
        assert (found <= wanted + 1e-9).all()
        if relation == "add_remove":
            mean, n = x.mean(), len(x)
            assert found[0] == pytest.approx(max(max(4 - mean, mean) / (n + 1), max(x[-1] - mean, mean - x[0]) / (n - 1)))


@pytest.mark.parametrize(("name", "factor"), [("variance", 3.0), ("winsorised mean", 1.5)])
def test_where_parts_move_together_the_derived_rungs_are_within_a_factor(name: str, factor: float) -> None:
    """The variance moves by (n - 1)/n^2 D^2; written by two means whose moves are told apart in eight pieces, by up to three times that."""
    for x in SAMPLES[:2]:
        term = TERMS[name]
        found = term.enclosure(ball(x, "replace", term, 10)).rungs
        closed = average.variance if name == "variance" else lambda x, **facts: average.winsorized_mean(x, trim=1, **facts)
        wanted = closed(x, bounds=(0.0, 4.0), relation="replace").rungs(10)
        assert (found <= factor * wanted).all(), found / wanted


def test_what_is_written_is_said() -> None:
    assert repr((2 * X - 1).mean(trim=3) / X.count()) == "(mean(((x * 2) - 1), trim=3) / count)"
    assert repr(abs(X - 0.1).quantile("1/4").clip(0, 3)) == "min(max(quantile(|(x - 0.1)|, 1/4), 0), 3)"
    assert repr(column("(x * 2)", (0, 1)).sum()) == "sum('(x * 2)')"  # a column of that name is not twice the other
    assert (X > 2).ends == (0.0, 1.0)
    assert (X**2).ends == (0.0, 16.0)


@pytest.mark.parametrize(
    "bad",
    [
        lambda: X.sum() + X,
        lambda: X.sum() + "much",
        lambda: X.sum() ** 3,
        lambda: 1 / X,
        lambda: X / X,
        lambda: X.rank(0),
        lambda: X.mean() * float("nan"),
        lambda: X.quantile(2),
        lambda: X.sum(trim=-1),
    ],
)
def test_what_cannot_be_written_is_refused(bad: Any) -> None:
    with pytest.raises(QueryError):
        bad()
