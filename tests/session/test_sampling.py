"""Total intervals: noise and sampling together cover the population, from released numbers alone."""

from __future__ import annotations

import numpy as np
import pytest

import sordino as sd
from sordino.errors import QueryError
from sordino.schema.column import Column
from sordino.session.sampling import Population, sample
from sordino.statistics import median
from sordino.summaries.totals import Rows


def opened(seed=1, rows=2000, **facts):
    x = {"x": np.random.default_rng(seed).normal(50, 10, rows), "g": ["a"] * rows}
    budget = sd.Budget(epsilon=1000, delta=1e-3)
    return sd.table(x, bounds={"x": (0, 100)}, keys={"g": ["a"]}, budget=budget, ledger=":memory:", **{"size": 2000, **facts})


SPREADS = {"std": lambda people: people.std("x"), "quartiles": lambda people: people.quantiles("x", [0.25, 0.5, 0.75])}
QUESTIONS = {
    "mean": (lambda people: people.mean("x"), "std", 50),
    "mean in two stages": (lambda people: people.mean("x", method="two_stage"), "std", 50),
    "huber_mean": (lambda people: people.huber_mean("x"), "quartiles", 50),
    "trimmed_mean": (lambda people: people.trimmed_mean("x"), "quartiles", 50),
    "median": (lambda people: people.median("x"), "quartiles", 50),
    "quantile .9": (lambda people: people.quantile("x", 0.9), "std", 62.8155),
    "quartiles": (lambda people: people.quantiles("x", [0.25, 0.5, 0.75]), "quartiles", (43.2551, 50, 56.7449)),
}


@pytest.mark.parametrize("name", QUESTIONS)
def test_the_population_is_covered(name):
    """The widest interval holds the truth, and the one at 95% is neither too narrow for the error of sampling nor simply wide."""
    ask, spread, truth = QUESTIONS[name]
    with opened() as people:
        SPREADS[spread](people).release(epsilon=5)
        answer = ask(people).release(epsilon=1)
        (low, high), (lower, upper) = answer.interval(0.95, kind="total"), answer.interval(1 - 1e-9, kind="total")
        assert np.all(np.array(lower) <= np.array(low))
        assert np.all(np.array(lower) < truth)
        assert np.all(truth < np.array(upper))
        sampling = 10 / np.sqrt(2000)
        assert np.all(2 * sampling < np.array(high) - np.array(low))
        assert np.all(np.array(high) - np.array(low) < 16 * sampling)


def test_a_count_is_about_the_number_expected():
    with opened(size=None) as people:
        low, high = people.count().release(epsilon=1).interval(kind="total")
        assert low < 2000 < high
        assert 150 < high - low < 260  # a Poisson number has a standard deviation of 44.7


def test_intervals_hold_as_often_as_they_say():
    """400 simulated tables and noises, in floats: the same construction with the same errors covers at least 95%."""
    rng = np.random.default_rng(3)
    with opened() as people:
        people.std("x").release(epsilon=20)
        widths = []
        for _ in range(2):
            low, high = people.mean("x", method="clamped").release(epsilon=1, fresh=True).interval(kind="total")
            widths.append((high - low) / 2)
    noise = 100 / 2000 * rng.laplace(size=(400, 2)) @ np.array([0.5, -0.5])
    errors = np.abs(rng.normal(0, 10 / np.sqrt(2000), 400) + noise)
    assert np.mean(errors <= min(widths)) >= 0.95 - 5 * np.sqrt(0.95 * 0.05 / 400)
    assert max(widths) < 3.2 * 10 / np.sqrt(2000)


def test_nothing_is_paid():
    with opened() as people:
        people.std("x").release(epsilon=5)
        mean = people.mean("x").release(epsilon=1)
        spent = people.budget.spent
        narrow, wide = mean.interval(0.5, kind="total"), mean.interval(0.99, kind="total")
        assert wide[0] < narrow[0] < narrow[1] < wide[1]
        assert people.budget.spent == spent


def test_what_has_no_total_interval_says_so():
    with opened() as people:
        mean = people.mean("x").release(epsilon=1)
        with pytest.raises(QueryError, match="std"):
            mean.interval(kind="total")
        with pytest.raises(QueryError, match="kind"):
            mean.interval(kind="both")
        for query in (people.sum("x"), people.group_by("g").mean("x"), people.mode("g"), people.std("x")):
            with pytest.raises(QueryError, match="one count, mean"):
                query.release(epsilon=1).interval(kind="total")
        assert people.trimmed_mean("x").release(epsilon=1).interval() is None
    with opened(size=None) as people:
        people.std("x").release(epsilon=5)
        with pytest.raises(QueryError, match="size="):
            people.median("x").release(epsilon=1).interval(kind="total")


def test_rows_of_one_person_are_not_a_sample():
    rows = {"id": list(range(50)) * 2, "x": [1.0] * 100}
    budget = sd.Budget(epsilon=100)
    with sd.table(rows, unit="id", max_rows=2, max_groups=1, bounds={"x": (0, 9)}, budget=budget, ledger=":memory:", size=50) as people:
        mean = people.mean("x").release(epsilon=1)
        with pytest.raises(QueryError, match="independent"):
            mean.interval(kind="total")


def test_a_population_goes_through_its_quantiles():
    bent = Population.through((0.25, 0.5, 0.75), (0, 1, 5))
    even = bent.even(100_000)
    assert np.quantile(even, [0.25, 0.5, 0.75]) == pytest.approx([0, 1, 5], abs=0.01)
    assert even.min() < -3
    assert even.max() > 15


def test_a_sample_answers_as_an_engine_would():
    column = Column("x", "int", (0, 100))
    table = sample("x", column.grid(), np.array([5.0, 200.0, -3.0, 7.5]))
    assert next(table.ask(Rows("x"))).values.tolist() == [0, 5, 7, 100]
    with pytest.raises(QueryError):
        table.ask(median("x"))
