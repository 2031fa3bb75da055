"""Prices by parts on a ledger that adds rho: what is charged is the sum of what is drawn, and a wish takes the least of this ledger."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import sordino as sd
from sordino.privacy.cost import Cost
from sordino.privacy.pld import total

GROUPS = [f"g{i}" for i in range(20)]
ROWS = {"id": np.arange(4000) % 200, "x": np.arange(4000) % 100, "k": [GROUPS[i % 20] for i in range(4000)]}
ASKED = {
    "four statistics": lambda t: t.agg(a=sd.count(), b=sd.median("x"), c=sd.sum("x"), d=sd.quantile("x", 0.9)),
    "count by groups": lambda t: t.group_by("k").count(),
    "median by groups": lambda t: t.group_by("k").median("x"),
    "top ten by rounds": lambda t: t.top_k("k", 10).by_mechanism("permute_and_flip"),
    "two stages": lambda t: t.mean("x", method="two_stage"),
    "many quantiles": lambda t: t.quantiles("x", [i / 100 for i in range(1, 100)]),
}


def opened(accounting: str = "zcdp", **limits: Any) -> Any:
    person = {"max_rows": 20, "max_groups": 20, "max_rows_per_group": 1, **limits}
    budget = sd.Budget(epsilon=30, delta=1e-6, accounting=accounting)
    return sd.table(ROWS, unit="id", **person, bounds={"x": (0, 100)}, keys={"k": GROUPS}, budget=budget, ledger=":memory:", size=200)


@pytest.mark.parametrize("name", ASKED)
def test_the_charge_is_the_sum_of_the_parts_and_nothing_is_paid_twice(name: str) -> None:
    with opened() as table:
        plan = ASKED[name](table).settle(1)
        drawn = sum(part.cost.rho for part in plan.plan.parts)
        release = ASKED[name](table).release(epsilon=1)
        assert release.cost.charged[0] == pytest.approx(float(drawn), rel=1e-9)
        assert release.cost.exact.epsilon == 1
        assert drawn < Cost.pure(1).rho  # what a whole epsilon would be charged


def test_a_person_of_eight_yearly_rows_pays_for_eight() -> None:
    with opened("pure", max_rows=8, max_groups=8) as table:
        assert table.group_by("k").count().settle(1).steps["count"].noise.scale == 8
    with opened("pure", max_rows=8, max_groups=8, max_rows_per_group=8) as table:
        assert table.group_by("k").count().settle(1).steps["count"].noise.scale == 8  # eight rows in all, wherever they are
        assert table.count().settle(1).steps["count"].noise.scale == 8


def test_a_release_sold_by_rho_costs_that_and_is_recalled_by_it() -> None:
    with opened() as table:
        query = table.group_by("k").count()
        release = query.release(rho="0.01")
        assert Fraction("0.00999") < release.cost.exact.rho <= Fraction("0.01")
        assert release.cost.charged[0] == release.cost.exact.rho
        assert query.release(rho="0.01").recalled
        assert query.release(rho="0.005").recalled
        assert not query.release(rho="0.02").recalled
        for wrong in ({}, {"rho": 1, "epsilon": 1}, {"rho": 0}, {"rho": -1}, {"rho": "x"}, {"rho": 1, "within": 5}):
            with pytest.raises(sd.errors.QueryError):
                query.release(**wrong)
    with opened("pure") as table, pytest.raises(sd.errors.QueryError, match="does not add rho"):
        table.count().release(rho=1)


@pytest.mark.parametrize("asked", [{"n": sd.count()}, {"n": sd.count(), "s": sd.sum("x")}], ids=["one", "two"])
@pytest.mark.parametrize("rho", ["0.01", "0.2"])
def test_what_is_sold_by_rho_has_the_epsilon_of_its_exact_profile(asked: dict[str, Any], rho: str) -> None:
    with opened() as table:
        cost = table.group_by("k").agg(**asked).release(rho=rho).cost.exact
    assert cost.delta
    exact = total([cost]).epsilon(float(cost.delta))
    assert float(cost.epsilon) == pytest.approx(exact, rel=1e-9)
    assert total([cost]).delta(float(cost.epsilon)) <= cost.delta


def test_a_wish_takes_the_least_of_this_ledger() -> None:
    """Twelve counts within 100: Gaussian noise costs less rho, Laplace noise less epsilon beside a delta."""
    conditions = [f"x > {i}" for i in range(12)]
    with opened() as table:
        plan = table.counts(conditions).priced(within=100)
        assert plan.mechanism == "Gaussian"
        other = table.counts(conditions).by_mechanism("laplace").priced(within=100)
        assert table.budget.weight(plan.cost) < table.budget.weight(other.cost) / 5
    with opened("pure") as table:
        plan = table.counts(conditions).priced(within=100)
        for way in ("laplace", "gaussian"):
            rival = table.counts(conditions).by_mechanism(way).priced(within=100)
            assert table.budget.weight(plan.cost) <= table.budget.weight(rival.cost)


def test_a_preview_shows_the_unit_of_the_ledger_and_the_share_of_the_cap() -> None:
    with opened() as table:
        shown = table.group_by("k").count().preview(epsilons=[1])
        assert shown.adds == "rho"
        assert shown.lines[0].loss == pytest.approx(float(table.group_by("k").count().settle(1).cost.rho))
        head, line = str(shown).splitlines()[2:4]
        assert head.split()[:2] == ["epsilon", "rho"]
        assert line.split()[1] == f"{shown.lines[0].loss:.3g}"
        assert shown.lines[0].charged == pytest.approx(100 * shown.lines[0].loss / float(table.budget.exact["cap_loss"]))
    with opened("pure") as table:
        assert "rho" not in str(table.count().preview())


def test_a_batch_is_charged_the_cheaper_of_its_parts_and_one_event() -> None:
    with opened() as table:
        with table.batch(epsilon=2) as batch:
            for ask in (table.count(), table.group_by("k").count(), table.group_by("k").median("x")):
                batch.ask(ask)
            parts = sum(plan.cost.rho for plan in batch.settle())
        (entry,) = table.ledger.entries()
        assert entry.charged.loss <= parts
    with opened("pure") as table:
        with table.batch(epsilon=2) as batch:
            for least in range(3):
                batch.ask(table.where(f"x > {least}").group_by("k").count())
        assert table.budget.spent < 1.9  # sixty small Laplace draws are one event at a hundredth of the delta


@pytest.mark.parametrize("groups", [1, 5, 20])
def test_a_wish_for_totals_by_group_pays_for_gaussian_noise(groups: int) -> None:
    """Within 100 on every group: rho is J 1.96^2/(2 100^2), to the width's whole steps and the search's 1%."""
    with opened(max_rows=groups, max_groups=groups) as table:
        plan = table.group_by("k").count().priced(within=100)
        assert plan.mechanism == "Gaussian"
        assert float(plan.cost.rho) == pytest.approx(groups * 1.96**2 / 2 / 100**2, rel=0.03)
        assert plan.cost.rho_delta == 0
        laplace = table.group_by("k").count().by_mechanism("laplace").priced(within=100)
        assert float(laplace.cost.rho) == pytest.approx(groups * (3.0 / 100) ** 2 / 2, rel=0.06)
        several = table.group_by("k").agg(n=sd.count(), s=sd.sum("x")).priced(within={"n": 100, "s": 10_000})
        assert several.mechanism.startswith("Gaussian")


def test_a_price_in_rho_buys_the_narrower_noise() -> None:
    with opened() as table:
        for query in (table.group_by("k").count(), table.group_by("k").mean("x"), table.count()):
            plan = query.priced(rho="0.05")
            assert plan.mechanism.startswith("Gaussian")
            assert plan.cost.rho <= Fraction("0.05")
        assert table.count().priced(rho=8).mechanism == "discrete Laplace"  # a loss above 3.3


def test_an_interval_at_another_level_and_a_better_answer_know_the_noise_that_was_drawn() -> None:
    with opened() as table:
        made = table.count().release(within=50)
        assert made.mechanism == "Gaussian"
        low, high = made.interval(0.5)
        assert (high - low) / (made.high - made.low) == pytest.approx(0.6745 / 1.96, rel=0.08)
        better = table.count().improve(within=30)
        assert (better.high - better.low) / 2 <= 30
        assert "inverse-variance mean" in better.card["post-processing"][-1]
