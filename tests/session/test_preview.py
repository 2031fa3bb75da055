"""Prices before paying: what a preview predicts, what it never does, and what it says when a wish is too much."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from tests.session.people import STATISTICS, declared, rows, table

import sordino as sd
from sordino.errors import BudgetExceeded, QueryError
from sordino.noise import draw
from sordino.session.price import price


def unreadable(people, monkeypatch):
    monkeypatch.setattr(people.engine, "bounded", lambda *_: pytest.fail("the private source was opened"))
    return people


@pytest.mark.parametrize("name", STATISTICS)
@pytest.mark.parametrize("size", [None, 60])
def test_a_preview_opens_no_source_and_spends_nothing(name, size, monkeypatch):
    monkeypatch.setattr("sordino.session.forecast.GUESSES", 3)
    with table(size=size) as people:
        unreadable(people, monkeypatch)
        found = STATISTICS[name](people).preview(epsilons=["0.5", 1])
        assert {line.epsilon for line in found.lines} <= {0.5, 1.0}
        assert "nothing read, nothing spent" in str(found)
        assert json.loads(found.to_json())["lines"]
        assert "<table>" in found._repr_html_()
        assert STATISTICS[name](people).explain(1).theorems
        assert people.budget.spent == 0


def test_a_source_that_cannot_be_read_can_be_previewed(tmp_path):
    """The file is gone after the table was opened: prices do not need it."""
    file = tmp_path / "people.csv"
    file.write_text("age\n1\n2\n", encoding="utf-8")
    with sd.table(str(file), bounds={"age": (0, 120)}, budget=sd.Budget(epsilon=1), ledger=":memory:", size=100) as people:
        file.unlink()
        assert people.median("age").preview(epsilons=[1]).lines[0].forecasts[0].source == "codebook"
        assert people.mean("age").explain(1).choices[0].chosen


def test_the_plan_is_the_same_whatever_the_data_are():
    mild = rows(400, people=60)
    wild = {name: list(reversed(cells)) for name, cells in rows(7, seed=9).items()}
    wild["income"] = [float("nan"), math.inf, -math.inf, 0.0, 1e308, -1e308, 5.0]
    with table(mild, size=60) as one, table(wild, size=60) as other:
        for name, ask in STATISTICS.items():
            first, second = ask(one).settle("0.7"), ask(other).settle("0.7")
            assert first.mechanism == second.mechanism, name
            assert [part.cost for part in first.plan.parts] == [part.cost for part in second.plan.parts]
            assert first.key == second.key


DRAWS = 200_000  # the relative error of a simulated rmse is then below 0.003, so 3% is ten deviations


@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "5"])
def test_closed_forms_agree_with_what_is_drawn(epsilon):
    with table(size=60) as people:
        for ask in (people.count(), people.sum("income"), people.sum("age"), people.counts(["age > 3", "ok"]), people.histogram("sex")):
            plan = ask.settle(epsilon)
            (name,) = plan.names
            step = plan.steps[name]
            known = ask.preview(epsilons=[epsilon]).lines[0].forecasts[0]
            noise = getattr(step, "noise", None)
            if noise is None:
                drawn = [float(v) for v in _counts(step)]
                unit = 1.0
            else:
                drawn = noise.around(np.zeros(DRAWS, np.int64), draw)
                unit = float(step.grid.step / step.unit) if hasattr(step, "grid") else 1.0
            errors = np.abs(np.asarray(drawn, float)) * unit
            assert math.sqrt((errors**2).mean()) == pytest.approx(known.rmse, rel=0.03)
            assert (errors <= known.half_width).mean() > 0.945


def _counts(step):
    from sordino.privacy.discrete import DiscreteLaplace

    return draw(DiscreteLaplace(step.mechanism.scale, np.zeros(DRAWS, np.int64)))


def test_the_mean_is_predicted_at_the_table_where_it_is_worst():
    facts = {"bounds": {"age": (0, 120)}, "columns": {"age": "int"}, "budget": sd.Budget(epsilon=10), "ledger": ":memory:"}
    with sd.table({"age": [0] * 2000}, size=2000, **facts) as people:
        plan = people.mean("age", method="clamped").settle(1)
        source = plan.steps["mean(age)"].source
        raw = source.noise.around(np.tile(source.locations(np.array([2000]), np.array([0])), (DRAWS, 1)), draw) / source._row
        unclipped = 120 * raw[:, 0] / raw.sum(axis=1)
        known = people.mean("age", method="clamped").preview(epsilons=[1]).lines[0].forecasts[0]
        assert math.sqrt((unclipped**2).mean()) == pytest.approx(known.rmse, rel=0.03)
        assert (np.abs(unclipped) <= known.half_width).mean() > 0.945


def test_without_a_size_three_sizes_are_shown_and_a_released_count_replaces_them():
    with table() as people:
        found = people.mean("age").preview()
        assert sorted({line.rows for line in found.lines}) == [1_000, 10_000, 100_000]
        people.count().release(epsilon=5)
        found = people.mean("age").preview()
        assert {line.rows for line in found.lines} == {None}
        assert found.lines[0].forecasts[0].half_width is not None


def test_quantiles_are_guessed_on_a_codebook_and_simulated_on_a_twin():
    public = rows(300, seed=5)
    with table(size=60) as people:
        assert "(guess)" in str(people.median("income").preview(epsilons=[1]))
    with table(size=60, twin=public) as people:
        found = people.median("income").preview(epsilons=[1])
        assert "(twin)" in str(found)
        assert found.facts["twin"] == "public twin"
        chosen, *others = people.median("income").explain(1).choices
        assert chosen.way == "exponential"
        assert {choice.way for choice in others} == {"interval", "smooth", "published", "ptr"}  # of 60 rows the ends would be the bounds
        assert all(choice.rmse or choice.problem for choice in others)


def test_a_width_of_a_quantile_is_priced_on_a_twin_and_kept_there():
    """2,000 releases on the twin itself: at least 95% within the promise (93.2% is four deviations below)."""
    public = {"age": [int(v) for v in np.random.default_rng(2).integers(0, 100, 400)]}
    facts = {"bounds": {"age": (0, 120)}, "columns": {"age": "int"}, "budget": sd.Budget(epsilon=10), "ledger": ":memory:"}
    with sd.table(public, twin=public, **facts) as t:
        offer = price(t.median("age"), {"median(age)": 4.0})
        answers = np.asarray(sd.lab.simulate(t.median("age"), epsilon=offer.epsilon, repeats=2_000), float)
        middle = np.sort(public["age"])[199]
        assert (np.abs(answers - middle) <= 4).mean() >= 0.932
        assert t.budget.spent == 0


def test_ranks_need_a_size_only():
    with table() as people, pytest.raises(QueryError, match="number is unknown"):
        people.median("income").release(within_rank=0.2)
    with table(rows(800, people=400), size=400, unit=None) as people:
        release = people.median("income").release(within_rank=0.1)
        assert release.ranks[1] <= 40
        assert people.median("income").release(within_rank=0.2).recalled
        with pytest.raises(QueryError, match="no rank bar"):
            people.count().release(within_rank=0.1)
        with pytest.raises(QueryError, match="two wishes"):
            people.median("income").release(within_rank=0.1, within=3)
        for share in (0, 1, -1, "x", True, math.nan):
            with pytest.raises(QueryError, match="within_rank"):
                people.median("income").release(within_rank=share)


def test_an_impossible_wish_names_the_best_width_and_spends_nothing():
    with table(budget=sd.Budget(epsilon=1, max_per_release="0.2"), size=60) as people:
        found = people.count().preview(within=1)
        assert found.best is None
        assert "best half-width" in found.problem
        with pytest.raises(BudgetExceeded, match=r"best rank half-width .* at epsilon 0\.2"):
            people.median("age").release(within_rank=0.001)
        assert people.budget.spent == 0


def test_a_wish_has_a_line_of_its_own():
    with table() as people:
        found = people.count().preview(within=10)
        assert found.best.forecasts[0].half_width <= 10
        assert "* the price of your wish" in str(found)
        release = people.count().release(within=10)
        assert release.cost.epsilon == pytest.approx(found.best.epsilon)


def test_noise_beyond_half_the_range_is_said_with_a_way_out():
    with table(size=60) as people:
        found = people.mean("income").preview(epsilons=["0.01", "0.02"])
        assert "more than half of its public range" in str(found)
        assert "rows would give a tenth" in str(found)
        assert "warning" not in str(people.mean("age").preview(epsilons=[5, 10]))


def test_private_keys_and_modes_say_how_large_they_must_be():
    with table() as people:
        assert people.group_by("zip").count().preview(epsilons=[1]).lines[0].appears
        assert people.mode("zip").preview(epsilons=[1]).lines[0].appears
        assert people.histogram("zip").preview(epsilons=[1]).lines[0].appears
        assert people.mode("sex").preview(epsilons=[1]).lines[0].appears == ""


def test_several_wishes_share_the_price_in_the_proportion_they_need():
    """A tight wish beside a loose one costs little more than the tight one alone; an equal split would cost twice as much."""
    with table() as people:
        tight = price(people.count(), {"count": 10.0}).epsilon
        both = people.agg(n=sd.count(), m=sd.count_units())
        offer = price(both, {"n": 10.0, "m": 200.0})
        assert offer.epsilon < 1.1 * float(tight)
        release = both.release(within={"n": 10, "m": 200})
        found = release.to_dict()
        assert (found["n_high"][0] - found["n_low"][0]) / 2 <= 10
        assert (found["m_high"][0] - found["m_low"][0]) / 2 <= 200


@pytest.mark.parametrize(("mechanism", "options"), [("smooth", {}), ("published", {}), ("ptr", {"propose": 5})])
def test_a_named_mechanism_answers_and_is_another_question(mechanism, options):
    with table(rows(400), size=60) as people:
        release = people.median("age").release(epsilon=2, mechanism=mechanism, **options)
        assert release.mechanism.lower().startswith({"smooth": "smooth", "published": "published", "ptr": "propose"}[mechanism])
        assert release.refused or 0 <= release.value <= 120
        assert people.median("age").release(epsilon=2, mechanism=mechanism, **options).recalled
        assert not people.median("age").release(epsilon=1).recalled


def test_a_mechanism_that_does_not_fit_is_refused_with_those_that_do():
    with table() as people:
        with pytest.raises(QueryError, match="Use one of laplace"):
            people.count().release(epsilon=1, mechanism="smooth")
        with pytest.raises(QueryError, match="exponential, smooth, published, ptr"):
            people.median("age").release(epsilon=1, mechanism="laplace")
        with pytest.raises(QueryError, match="propose="):
            people.median("age").release(epsilon=1, mechanism="ptr")
        assert people.budget.spent == 0
    with sd.table(rows(), **declared(budget=sd.Budget(epsilon=1))) as people, pytest.raises(QueryError, match="takes a delta"):
        people.median("age").release(epsilon=1, mechanism="published")


@pytest.mark.parametrize("twin", ["town", "codebook", {"age": [1]}])
def test_a_twin_that_cannot_stand_in_is_refused_at_the_door_or_at_its_first_use(twin):
    with pytest.raises(QueryError, match=r"twin|not in the source"), table(twin=twin) as people:
        people.median("age").preview()
